"""The tasks that judge the files that are about to be published, and attack them."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from prefect.artifacts import create_table_artifact

from sfumato.expectations.rules.owned import OwnedRule
from sfumato.expectations.rules.verdicts import Finding
from sfumato.tasks.attacks.bars import JudgedBar
from sfumato.tasks.attacks.declared import AttackBars
from sfumato.tasks.lines.line import Line
from sfumato.tasks.microdata.table import load
from sfumato.tasks.policy import private_task, say_in_run, watch_workers
from sfumato.tasks.private.references import NO_REFERENCES, References
from sfumato.tasks.report.watched import finding_rows, guess_rows
from sfumato.tasks.stages.attack import AttackedCandidate, attack_candidate
from sfumato.tasks.stages.deidentify import identity
from sfumato.tasks.stages.stage import gate_documents
from sfumato.tasks.stages.validate import assess_candidate, seal_candidate
from sfumato.tasks.workers.workers import Workers


@private_task()
def validate(
    candidate: Path,
    withheld: tuple[str, ...],
    name: str,
    owned: tuple[OwnedRule, ...] = (),
    references: References = NO_REFERENCES,
) -> Path:
    """Read the candidate back, let Great Expectations judge it, and make the release of it.

    Whatever fails is refused, rules of the owner's own among it.
    """
    # Great Expectations takes seconds to import.
    from sfumato.expectations.suites.gate import judge

    judging = partial(judge, name, documents=gate_documents(candidate.parent), owned=owned)
    assessment = assess_candidate(candidate, withheld, judging, references)
    create_table_artifact(
        finding_rows(assessment.findings),
        key=f"{name}-promises",
        description="Promises and structure, required and observed on the files to be published",
    )
    seal_candidate(candidate, assessment)
    held = len(assessment.findings)
    say_in_run(f"validate: {held} expectations hold", {"expectations": held})
    return candidate


@private_task()
def attack(candidate: Path, deidentified: Path, bars: AttackBars, line: Line, shown: bool) -> Path:
    """Let attackers guess at a candidate; one that they guess too well for its bars is refused.

    People who watch see which bars are kept, and the shares that are guessed where counts of the
    source are to be shown.
    """
    whose, original = identity(deidentified), load(deidentified)
    judging = partial(_judge_bars, line.name, candidate)
    found = attack_candidate(candidate, original, bars, whose, line, judging)
    _tell_attacked(found, line.name, shown=shown)
    return candidate


@private_task()
def attack_parts(
    candidate: Path,
    divided: Path,
    bars: AttackBars,
    line: Line,
    shown: bool,
    workers: Workers,
) -> Path:
    """Let attackers guess at each part; one that they guess too well for its bars is refused."""
    from sfumato.tasks.parts.attack import attack_candidates

    watched = watch_workers(workers, "attack", line.name)
    judging = partial(_judge_bars, line.name, candidate)
    found = attack_candidates(candidate, bars, identity(divided), line, judging, watched)
    _tell_attacked(found, line.name, shown=shown)
    return candidate


def _tell_attacked(found: AttackedCandidate, name: str, *, shown: bool) -> None:
    """Tell who watches a run which bars are kept, and, where that is shown, what is guessed."""
    if found.judged:
        _tell_bars(found.judged, name)
    if shown:
        create_table_artifact(
            guess_rows(found.scores),
            key=f"{name}-guesses",
            description="What attackers guess, as shares, beside what is guessed without it",
        )
    if found.missing:
        say_in_run(f"warning: could not be scored: {', '.join(found.missing)}", logged=False)
    say_in_run(f"attack: {sum(map(len, found.scores.values()))} scores, for private reports alone")


def _judge_bars(name: str, candidate: Path, judged: Sequence[JudgedBar]) -> Sequence[Finding]:
    """Have Great Expectations judge bars, where there are any: it takes seconds to import."""
    if not judged:
        return ()
    from sfumato.expectations.suites.gate import judge_attacks

    return judge_attacks(name, gate_documents(candidate.parent, "attacks"), judged)


def _tell_bars(judged: Sequence[JudgedBar], name: str) -> None:
    create_table_artifact(
        [{"bar": one.words, "kept": one.is_kept, "refuses": one.refuses} for one in judged],
        key=f"{name}-attacks",
        description="Bars on attacks, and whether they are kept",
    )
    beyond = [one.words for one in judged if not one.is_kept]
    for words in beyond:
        say_in_run(f"warning: beyond {words}")
    say_in_run(f"attack: {len(judged) - len(beyond)} of {len(judged)} bars are kept")
