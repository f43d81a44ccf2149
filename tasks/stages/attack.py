"""Attack: a validated candidate under attack, before anybody may see it.

What attackers guess right is scored against the truth, and stays in private files: outside it is
told which bars there are, and that they are kept. A candidate that was refused is not drawn anew
for luck: the refusal stands for the same source and spec.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from sfumato.expectations.verdicts import Finding
from sfumato.tasks.attacks.bars import JudgedBar, judge_bars
from sfumato.tasks.attacks.declared import AttackBars
from sfumato.tasks.attacks.refusals import (
    keep_refusals,
    read_refusals,
    refusal,
    refused_by,
)
from sfumato.tasks.attacks.registry import attack_release, targets_of
from sfumato.tasks.candidates.remember import whose_in
from sfumato.tasks.declaration.opened import open_release
from sfumato.tasks.declaration.tables import read_tables
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.private.backup import ATTACKED
from sfumato.tasks.private.durable import copy_atomically, write_atomically
from sfumato.tasks.private.line import Identity
from sfumato.tasks.publication.line import Line
from sfumato.tasks.stages.anonymize import RELEASE
from sfumato.tasks.stages.evaluate import keep_represented

Judging = Callable[[Sequence[JudgedBar]], Sequence[Finding]]


def attack_candidate(
    candidate: Path,
    original: Microdata,
    bars: AttackBars,
    whose: Identity,
    line: Line,
    judging: Judging,
) -> list[JudgedBar]:
    """Attack a validated candidate, and judge it by the bars of its spec.

    Args:
        candidate: its stage.
        original: the rows that were to be published.
        bars: of the spec.
        whose: of which source and spec it is.
        line: its line, which remembers the outcome.
        judging: has Great Expectations judge the same.

    Returns:
        All bars, those among them that only tell.

    Raises:
        PromiseError: where one that refuses is not kept, or one that is as strict was not for the same
            source and spec.
    """
    read_refusals(line.private).require_none(whose, bars)
    release = open_release(candidate / RELEASE)
    tables = read_tables(release.declared, release.directory / "data")
    people = keep_represented(candidate, original)
    targets = targets_of(release.declared, tables, people, whose_in(candidate))
    judged = judge_bars(bars.root, targets)
    keep_refusals(line.private, refused_by(judged, whose))
    record = {
        "of": {"rows": whose.rows, "spec": whose.spec, "bars": bars.model_dump(mode="json")},
        "bars": [one.document() for one in judged],
        "scores": {
            name: [score.document() for score in of] for name, of in attack_release(targets).items()
        },
    }
    write_atomically(line.private / ATTACKED, json.dumps(record, indent=1).encode())
    passed = all(one.passed for one in judging([one for one in judged if one.refuses]))
    broken = [one.words for one in judged if one.refuses and not one.kept]
    if broken or not passed:
        raise refusal(broken)
    return judged


def keep_attacks(line: Line, reports: Path) -> None:
    """Keep what was guessed of a candidate among the private reports of it, or of its version."""
    copy_atomically(line.private / ATTACKED, reports / ATTACKED)
