"""The tasks that judge the files that are about to be published, and attack them."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from sfumato.expectations.rules.owned import OwnedRule
from sfumato.expectations.rules.verdicts import Finding
from sfumato.tasks.attacks.bars import JudgedBar
from sfumato.tasks.attacks.declared import AttackBars
from sfumato.tasks.lines.line import Line
from sfumato.tasks.microdata.table import load
from sfumato.tasks.policy import private_task, say_in_run
from sfumato.tasks.private.references import NO_REFERENCES, References
from sfumato.tasks.report.watched import finding_rows, guess_rows
from sfumato.tasks.shown import show_table, watch_workers
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
    show_table(
        finding_rows(assessment.findings),
        key=f"{name}-promises",
        description=(
            "Promises and structure, as required and as observed on the files to be published"
        ),
    )
    seal_candidate(candidate, assessment)
    number = len(assessment.findings)
    say_in_run(f"validate: {number} expectations passed", {"expectations": number})
    return candidate


@private_task()
def attack(
    candidate: Path, deidentified: Path, bars: AttackBars, line: Line, show_counts: bool
) -> Path:
    """Let attackers guess at a candidate; one that they guess too well for its bars is refused.

    People who watch see which bars are kept, and the shares that are guessed where counts of the
    source are to be shown.
    """
    whose, original = identity(deidentified), load(deidentified)
    judging = partial(_judge_bars, line.name, candidate)
    attacked = attack_candidate(candidate, original, bars, whose, line, judging)
    _tell_attacked(attacked, line.name, with_guesses=show_counts)
    return candidate


@private_task()
def attack_parts(
    candidate: Path,
    divided: Path,
    bars: AttackBars,
    line: Line,
    show_counts: bool,
    workers: Workers,
) -> Path:
    """Let attackers guess at each part; one that they guess too well for its bars is refused."""
    from sfumato.tasks.parts.attack import attack_candidates

    watched = watch_workers(workers, "attack", line.name)
    judging = partial(_judge_bars, line.name, candidate)
    attacked = attack_candidates(candidate, bars, identity(divided), line, judging, watched)
    _tell_attacked(attacked, line.name, with_guesses=show_counts)
    return candidate


def _tell_attacked(attacked: AttackedCandidate, name: str, *, with_guesses: bool) -> None:
    """Report which bars are kept, and, if `with_guesses`, what is guessed."""
    if attacked.judged:
        _tell_bars(attacked.judged, name)
    if with_guesses:
        show_table(
            guess_rows(attacked.scores),
            key=f"{name}-guesses",
            description=(
                "Correct guesses of attackers, as shares, beside the shares guessed "
                "without the release"
            ),
        )
    if attacked.missing:
        say_in_run(
            f"warning: these attacks could not be measured: {', '.join(attacked.missing)}",
            logged=False,
        )
    say_in_run(
        f"attack: {sum(map(len, attacked.scores.values()))} scores, only for private reports"
    )


def _judge_bars(name: str, candidate: Path, judged: Sequence[JudgedBar]) -> Sequence[Finding]:
    """Let Great Expectations judge bars, if there are any: it takes seconds to import."""
    if not judged:
        return ()
    from sfumato.expectations.suites.gate import judge_attacks

    return judge_attacks(name, gate_documents(candidate.parent, "attacks"), judged)


def _tell_bars(judged: Sequence[JudgedBar], name: str) -> None:
    show_table(
        [{"bar": bar.words, "kept": bar.is_kept, "refuses": bar.refuses} for bar in judged],
        key=f"{name}-attacks",
        description="Limits on attacks, and which are kept",
    )
    beyond = [bar.words for bar in judged if not bar.is_kept]
    for words in beyond:
        say_in_run(f"warning: beyond {words}")
    say_in_run(f"attack: {len(judged) - len(beyond)} of {len(judged)} limits are kept")
