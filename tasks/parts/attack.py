"""Attack parts: each by whoever works on it, by what groups show, and then all together.

Whose rows are whose is gone when parts are judged: their rows went as they were grouped. So they
are attacked by who finds groups alone. A value is compared with all people of its part.
"""

from dataclasses import dataclass
from pathlib import Path

from sfumato.tasks.attacks.bars import AttackedPart, measure_limits, pool_limits, pool_scores
from sfumato.tasks.attacks.declared import AttackBars
from sfumato.tasks.attacks.refusals import keep_refusals, read_refusals, refusals_by
from sfumato.tasks.attacks.registry import targets_of
from sfumato.tasks.lines.line import Line
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.private.people.identity import Identity
from sfumato.tasks.stages.anonymize import RELEASE
from sfumato.tasks.stages.attack import AttackedCandidate, Judging, judge_attacked, score_all
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.parts import PARTS
from sfumato.tasks.terms.tables import read_tables
from sfumato.tasks.workers.workers import Workers


@dataclass(frozen=True)
class PartToAttack:
    """What a worker is told.

    Attributes:
        directory: of the part, a release by itself.
        bars: on attacks.
    """

    directory: Path
    bars: AttackBars


def attack_part(job: PartToAttack) -> AttackedPart:
    """Attack a part by what its groups show."""
    release = open_release(job.directory)
    declared = release.declared.model_copy(update={"window": job.bars.window})
    tables = read_tables(declared, release.directory / "data")
    targets = targets_of(declared, tables, Microdata((), 0))
    scores, missing = score_all(targets)
    return AttackedPart(
        declared.rows.published, scores, measure_limits(job.bars.root, targets), missing
    )


def attack_all_parts(
    release: Path, bars: AttackBars, workers: Workers
) -> tuple[list[AttackedPart], list[str]]:
    """What was found of every part of a release, and the attacks that failed, each once."""
    jobs = [PartToAttack(part, bars) for part in sorted((release / PARTS).iterdir())]
    found = list(workers.each(attack_part, jobs))
    return found, list(dict.fromkeys(name for part in found for name in part.missing))


def attack_candidates(
    candidate: Path,
    bars: AttackBars,
    whose: Identity,
    line: Line,
    judging: Judging,
    workers: Workers,
) -> AttackedCandidate:
    """Attack a validated candidate in parts, judge all of it, and tell in private.

    Args:
        candidate: its stage.
        bars: of the spec.
        whose: of which source and spec it is.
        line: its line, which remembers refusals.
        judging: has Great Expectations judge the same.
        workers: who attacks parts.

    Raises:
        PromiseError: where one that refuses is not kept, or one that is as strict was not for the
            same source and spec.
    """
    read_refusals(line.private).require_none(whose, bars)
    parts, missing = attack_all_parts(candidate / RELEASE, bars, workers)
    judged = [measured.judged_bar for measured in pool_limits(parts)]
    keep_refusals(line.private, refusals_by(judged, whose))
    scores = pool_scores(parts)
    return judge_attacked(candidate, bars, whose, line, judging, judged, scores, missing)
