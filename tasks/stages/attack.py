"""Attack: a validated candidate is attacked before anybody may see it.

The correct guesses of attackers are scored against the truth for every release that can be
attacked, and stay in private files. Others learn only which bars there are, and that they are kept.
A refused candidate cannot be drawn again for luck: the refusal holds for the same source and spec.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.expectations.rules.verdicts import Finding
from sfumato.tasks.attacks.bars import JudgedBar, judge_bars
from sfumato.tasks.attacks.declared import AttackBars
from sfumato.tasks.attacks.refusals import (
    keep_refusals,
    read_refusals,
    refusal,
    refusals_by,
)
from sfumato.tasks.attacks.registry import attacks_on, targets_of
from sfumato.tasks.attacks.shared.attack import AttackedRelease, Score
from sfumato.tasks.candidates.remember import whose_in
from sfumato.tasks.lines.line import Line
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.private.durable import copy_atomically, write_atomically
from sfumato.tasks.private.people.backup import ATTACKED
from sfumato.tasks.private.people.identity import Identity
from sfumato.tasks.publication.staging import digest_in
from sfumato.tasks.stages.anonymize import RELEASE
from sfumato.tasks.stages.evaluate import keep_represented
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables
from sfumato.tasks.terms.terms import Terms

Judging = Callable[[Sequence[JudgedBar]], Sequence[Finding]]


@dataclass(frozen=True)
class AttackedCandidate:
    """The results of a candidate under attack.

    Attributes:
        judged: all bars, including those that only report.
        scores: how well attackers guess, by sensitive column.
        missing: the attacks that could not be scored, by column and name.
    """

    judged: Sequence[JudgedBar]
    scores: Mapping[str, Sequence[Score]]
    missing: Sequence[str]


def can_be_attacked(terms: Terms) -> bool:
    """Return True if attacks are scored on releases: with values, or people's whole records."""
    return bool(terms.names_with_roles("sensitive")) or not (
        terms.parts is not None or terms.is_composed
    )


def attack_candidate(
    candidate: Path,
    original: Microdata,
    bars: AttackBars,
    whose: Identity,
    line: Line,
    judging: Judging,
) -> AttackedCandidate:
    """Attack a validated candidate, judge it by its spec's bars, and record the results privately.

    Args:
        candidate: its stage.
        original: the rows that were to be published.
        bars: of the spec.
        whose: of which source and spec it is.
        line: its line, which remembers refusals.
        judging: has Great Expectations judge the same.

    Raises:
        PromiseError: if one that refuses is not kept, or one that is as strict was not for the
            same source and spec.
    """
    read_refusals(line.private).require_none(whose, bars)
    targets = _targets(candidate, original)
    judged = judge_bars(bars.root, targets)
    keep_refusals(line.private, refusals_by(judged, whose))
    return judge_attacked(candidate, bars, whose, line, judging, judged, *score_all(targets))


def judge_attacked(
    candidate: Path,
    bars: AttackBars,
    whose: Identity,
    line: Line,
    judging: Judging,
    judged: Sequence[JudgedBar],
    scores: Mapping[str, Sequence[Score]],
    missing: Sequence[str],
) -> AttackedCandidate:
    """Write the guesses about a candidate into its private record, and refuse it by its bars.

    Raises:
        PromiseError: if one that refuses is not kept.
    """
    record = {
        "of": {"rows": whose.rows, "spec": whose.spec, "bars": bars.model_dump(mode="json")},
        "bars": [bar.document() for bar in judged],
        "scores": {
            name: [score.document() for score in column_scores]
            for name, column_scores in scores.items()
        },
        "missing": list(missing),
    }
    write_atomically(candidate.parent / ATTACKED, json.dumps(record, indent=1).encode())
    telling = {bar.words for bar in judged if not bar.refuses}
    failed = [finding.parameters["column"] for finding in judging(judged) if not finding.passed]
    broken = [bar.words for bar in judged if bar.refuses and not bar.is_kept]
    if broken or not telling.issuperset(failed):
        copy_atomically(candidate.parent / ATTACKED, line.private / ATTACKED)
        raise refusal(broken)
    return AttackedCandidate(judged, scores, missing)


def keep_attacks(run: Path, reports: Path) -> None:
    """Copy the record of attacks on a run's candidate to its private reports, or its version's.

    It does nothing if the run has no such record.
    """
    if (run / ATTACKED).exists():
        copy_atomically(run / ATTACKED, reports / ATTACKED)


def score_all(targets: Sequence[AttackedRelease]) -> tuple[dict[str, list[Score]], list[str]]:
    """Return the scores of all attacks by sensitive column, and the names of attacks that failed.

    No bar asks for these scores, so a failure stops nothing. Bars are judged separately, and a
    failure there publishes nothing.
    """
    scores: dict[str, list[Score]] = {}
    missing = []
    for target in targets:
        column_scores = scores.setdefault(target.subject, [])
        for name, attack in attacks_on(target).items():
            try:
                column_scores += attack(target)
            except Exception:  # noqa: BLE001 - the report says so, and no figure of a bar is lost
                missing.append(f"{target.subject}: {name}")
    return scores, missing


def _targets(candidate: Path, original: Microdata) -> tuple[AttackedRelease, ...]:
    release = open_release(candidate / RELEASE)
    tables = read_tables(release.declared, release.directory / "data")
    people, digest = keep_represented(candidate, original), digest_in(candidate / RELEASE)
    return targets_of(release.declared, tables, people, whose_in(candidate), digest)
