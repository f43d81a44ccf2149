"""Attacks on parts: a worker attacks each part, and the scores of all parts are pooled.

When parts are judged, their rows are deleted, and with them the people of each row. So the attacker
knows only what groups show. A value is compared with all people of its part.
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
    """Files and bars that a worker needs to attack a part.

    Attributes:
        directory: the directory of the part, which is a release.
        bars: the bars on attacks.
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
    """Return the attacked parts of a release, and the attacks that failed, each once."""
    jobs = [PartToAttack(part, bars) for part in sorted((release / PARTS).iterdir())]
    attacked = list(workers.each(attack_part, jobs))
    return attacked, list(dict.fromkeys(name for part in attacked for name in part.missing))


def attack_candidates(
    candidate: Path,
    bars: AttackBars,
    whose: Identity,
    line: Line,
    judging: Judging,
    workers: Workers,
) -> AttackedCandidate:
    """Attack a validated candidate in parts, judge all of it, and report in private.

    Args:
        candidate: the stage of the candidate.
        bars: the bars of the spec.
        whose: the identity of its source and spec.
        line: its line, which remembers refusals.
        judging: lets Great Expectations judge the same.
        workers: the workers that attack parts.

    Raises:
        PromiseError: if a bar that refuses is not kept, or a bar that is not looser than one of
            these refused an earlier candidate of the same source and spec.
    """
    read_refusals(line.private).require_none(whose, bars)
    parts, missing = attack_all_parts(candidate / RELEASE, bars, workers)
    judged = [measured.judged_bar for measured in pool_limits(parts)]
    keep_refusals(line.private, refusals_by(judged, whose))
    scores = pool_scores(parts)
    return judge_attacked(candidate, bars, whose, line, judging, judged, scores, missing)
