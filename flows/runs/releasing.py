"""The run of a release: from a source that nobody may see to a version that everybody may."""

import logging
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from os import environ
from pathlib import Path
from typing import Any

from sfumato.expectations.shared.errors import SfumatoError
from sfumato.flows.inputs.environment import imports_apart, quiet
from sfumato.flows.inputs.hidden import whole
from sfumato.flows.inputs.overrides import ShownOverrides
from sfumato.flows.inputs.passphrases import passphrases, source_secrets
from sfumato.flows.inputs.resolved import ResolvedRun, resolve_run, with_references
from sfumato.flows.inputs.spec import line_named
from sfumato.flows.life.copies import bring_copies
from sfumato.flows.life.mending import tidy_up
from sfumato.tasks.anonymize import anonymize
from sfumato.tasks.approval.held import HeldCandidate
from sfumato.tasks.approval.settle import forget_candidate
from sfumato.tasks.arrays.at_rest import encrypted_below
from sfumato.tasks.candidates.wished import WishedTerms
from sfumato.tasks.deidentify import choose, deidentify
from sfumato.tasks.evaluate import evaluate, evaluate_before, record_evaluated
from sfumato.tasks.hold import find_candidate, hold
from sfumato.tasks.ingest import ingest, ingest_related
from sfumato.tasks.lines.line import require_writable
from sfumato.tasks.lines.versions import is_measured, pending_versions
from sfumato.tasks.outcomes import RunOutcome, pending_outcome, published_outcome, standing_outcome
from sfumato.tasks.policy import PrivateFlow, say_in_run, say_that_it_stands
from sfumato.tasks.private.scratch import run_directory
from sfumato.tasks.publication.publish import after_appearance
from sfumato.tasks.publish import publish
from sfumato.tasks.query.accuracy.usefulness import MeasuredBounds
from sfumato.tasks.stages.attack import can_be_attacked, keep_attacks
from sfumato.tasks.stages.hold import report_place
from sfumato.tasks.validate import attack, validate
from sfumato.tasks.verify import verify

quiet()


_log = logging.getLogger("prefect.sfumato")  # whose lines Prefect's formatters write


def line_of(spec: str, *_: Any, **__: Any) -> str:
    """Return the name of the line that a run is of, from the run's parameters."""
    return line_named(Path(spec))


def _name_run(spec: str, overrides: Any = None) -> str:
    """Return the line and the month of the run, both known before anything is read."""
    changes = ShownOverrides.model_validate(overrides or {})
    return f"{line_of(spec)} {changes.as_of or datetime.now(UTC).date():%Y-%m}"


def release(spec: str, overrides: ShownOverrides | None = None) -> RunOutcome:
    """Publish the next version of a release line, or find the one that stands.

    Args:
        spec: path of the release spec.
        overrides: what this run changes of it: the source's address, publish, evaluate, approval.

    Returns:
        How the run ended. Its result is the published directory, or that of the candidate which
        waits for approval.
    """
    tidy_up(environ, _log.warning)
    resolved = resolve_run(Path(spec), whole(overrides))
    _require_statements(resolved, Path(spec))
    for notice in resolved.notices:
        say_in_run(notice)
    if not resolved.line.reviewers:
        require_writable(resolved.line)
    try:
        result = _run(resolved)
    except SfumatoError:
        with suppress(SfumatoError):  # an evaluation may have withdrawn a version
            _bring_copies(resolved)
        raise
    behind = _bring_copies(resolved)  # no stage of the run is left by now
    if isinstance(result, HeldCandidate):
        return pending_outcome(result)
    version, stood = result
    return (standing_outcome if stood else published_outcome)(version.resolve(), behind)


def _require_statements(resolved: ResolvedRun, spec: Path) -> None:
    """Make sure that people answered what the spec's policy asks, if it has a policy."""
    if resolved.spec.policy is not None:
        from sfumato.flows.inputs.policies import require_statements  # few specs have one

        require_statements(resolved.spec.policy, spec)


RELEASE = PrivateFlow("release", release, _name_run, line_of)
"""The run of `sfumato release`."""


def _bring_copies(resolved: ResolvedRun) -> tuple[str, ...]:
    """Bring copies up to date, unless the line has reviewers.

    The publishing user brings the copies of a line that has some.
    """
    return () if resolved.line.reviewers else bring_copies(resolved)


def _run(resolved: ResolvedRun) -> tuple[Path, bool] | HeldCandidate:
    """Return the version, and True if it existed before; or the candidate that waits."""
    with (
        imports_apart(),
        passphrases(environ),
        source_secrets(resolved.spec.source, environ),
        _secrets_of_related(resolved),
        run_directory(resolved.line.private, resolved.spec.retain) as run,
        encrypted_below(run) if resolved.spec.stages == "encrypted" else nullcontext(),
    ):
        resolved = with_references(resolved)
        make = _make if resolved.terms.parts is None else _make_in_parts
        return _finish(resolved, make(resolved, run), run)


def _secrets_of_related(resolved: ResolvedRun) -> AbstractContextManager[None]:
    """Provide the secrets of the source of related rows, if there is one."""
    related = resolved.spec.related
    return nullcontext() if related is None else source_secrets(related.source, environ)


@dataclass(frozen=True)
class StandingVersion:
    """The existing version of this source and spec, and the stage of the rows that were read."""

    version: Path
    deidentified: Path


@dataclass(frozen=True)
class JudgedCandidate:
    """The stage of a candidate that keeps its promises, and the stage of the rows read."""

    candidate: Path
    deidentified: Path


_Made = StandingVersion | HeldCandidate | JudgedCandidate


def _make(resolved: ResolvedRun, run: Path) -> _Made:
    spec, terms, line = resolved.spec, resolved.terms, resolved.line
    raw = spec.artifacts == "all"
    owned = spec.expectations
    ingested = _ingest(resolved, run, raw)
    whose, remember = resolved.identifiers, spec.remember
    deidentified = deidentify(ingested, terms, whose, line, run, remember, spec.columns)
    if isinstance(terms, WishedTerms):
        terms = choose(deidentified, terms, spec.choosing, line)
    version = verify(deidentified, terms, line, resolved.references, raw)
    if version is not None:
        return StandingVersion(version, deidentified)
    _measure_pending(resolved, deidentified)
    if (waiting := find_candidate(deidentified, line)) is not None:
        return waiting
    intervals = spec.evaluate.intervals is not None
    candidate = anonymize(deidentified, terms, run, resolved.continuing, line, intervals=intervals)
    validate(candidate, resolved.withheld, line.name, owned.release, resolved.references)
    if can_be_attacked(terms):
        attack(candidate, deidentified, spec.attacks.with_local_registers(resolved.base), line, raw)
    return JudgedCandidate(candidate, deidentified)


def _ingest(resolved: ResolvedRun, run: Path, raw: bool) -> Path:
    """Return the stage of the rows that were read: people, with rows that belong to them."""
    spec, name, base = resolved.spec, resolved.line.name, resolved.base
    read, owned = (spec.source, spec.own_columns, spec.nulls, base), spec.expectations
    ingested = ingest(*read, run, name, raw, owned.source, tells_people=spec.version > 1)
    if spec.related is None:
        return ingested
    columns = spec.columns_with_key
    settings = (spec.related, columns, spec.nulls, base, run, name, raw)
    return ingest_related(ingested, *settings, facts=spec.facts)


def _make_in_parts(resolved: ResolvedRun, run: Path) -> _Made:
    from sfumato.tasks.in_parts import anonymize_parts, divide, find_version, validate_parts
    from sfumato.tasks.parts.divide import DeclaredRows
    from sfumato.tasks.validate import attack_parts
    from sfumato.tasks.workers.registry import open_engine

    spec, terms, line = resolved.spec, resolved.terms, resolved.line
    rows = DeclaredRows(spec.source, spec.columns, spec.nulls, resolved.base, resolved.unit)
    raw, measured = spec.artifacts == "all", bool(spec.evaluate.workloads)
    divided = divide(rows, terms, line, run, raw, keep_rows=measured)
    version = find_version(divided, terms, line)
    if version is not None:
        return StandingVersion(version, divided)
    _tell_pending(resolved)
    if (waiting := find_candidate(divided, line)) is not None:
        return waiting
    with open_engine(spec.engine, run, environ) as workers:
        candidate = anonymize_parts(
            divided, terms, run, workers, resolved.continuing, keep_rows=measured
        )
        validate_parts(candidate, divided, terms, resolved.withheld, line, workers)
        if can_be_attacked(terms):
            attack_parts(candidate, divided, spec.attacks, line, raw, workers)
    return JudgedCandidate(candidate, divided)


def _finish(resolved: ResolvedRun, made: _Made, run: Path) -> tuple[Path, bool] | HeldCandidate:
    """Return the version, and True if it existed before; or the candidate that waits."""
    if isinstance(made, HeldCandidate):
        return made
    if isinstance(made, StandingVersion):
        return _stand(resolved, made), True
    if resolved.spec.approval_wish is not None:
        return _hold(resolved, made, resolved.spec.approval_wish.days, run)
    shows_artifacts = resolved.spec.artifacts == "all"
    before = _measure_before(resolved, made, run) if resolved.spec.evaluate.refuses else None
    version, stood = publish(
        made.candidate,
        made.deidentified,
        resolved.line,
        resolved.page_of,
        show_counts=shows_artifacts,
        pending=_is_measured(resolved),
    )
    with after_appearance(version):
        if not stood:
            keep_attacks(run, resolved.line.reports(version.name))
        if before is not None and not stood:
            record_evaluated(before, report_place(run), version, resolved.line)
        _measure(resolved, version, made.deidentified)
        if not stood and resolved.wants_dossier:
            from sfumato.flows.life.dossier import keep_dossier  # few lines have one

            keep_dossier(resolved, version)
    return version, stood


def _measure_before(
    resolved: ResolvedRun, made: JudgedCandidate, run: Path
) -> MeasuredBounds | None:
    """Measure how accurate a candidate's answers are; return None if nothing is measured."""
    if not _is_measured(resolved):
        return None
    evaluation, reports = resolved.spec.evaluate, report_place(run)
    return evaluate_before(made.candidate, made.deidentified, evaluation, resolved.line, reports)


def _stand(resolved: ResolvedRun, made: StandingVersion) -> Path:
    """Leave the version as it is; measure its accuracy if nobody has to approve the line."""
    say_that_it_stands(made.version)
    if resolved.line.reviewers:
        forget_candidate(resolved.line)
    else:
        _measure(resolved, made.version, made.deidentified)
    return made.version


def _hold(resolved: ResolvedRun, made: JudgedCandidate, days: int, run: Path) -> HeldCandidate:
    """Let the candidate wait for its reviewers, who see how accurate its answers are."""
    measured = _measure_before(resolved, made, run)
    keep_attacks(run, report_place(run))
    return hold(made.candidate, made.deidentified, resolved.line, days, measured)


def _measure_pending(resolved: ResolvedRun, deidentified: Path) -> None:
    """Measure versions that a killed run left unmeasured, if their people are kept."""
    line = resolved.line
    if not resolved.terms.is_composed:
        _tell_pending(resolved)
        return
    for number in pending_versions(line.public):
        evaluate(line.public / number, deidentified, resolved.spec.evaluate, line)


def _tell_pending(resolved: ResolvedRun) -> None:
    """Report which versions another run left unmeasured on a source that is not this one."""
    for number in pending_versions(resolved.line.public):
        say_in_run(
            f"version {number} is pending: its accuracy must be measured on its own "
            "source (sfumato evaluate)"
        )


def _measure(resolved: ResolvedRun, version: Path, deidentified: Path) -> None:
    """Measure a version unless that has been done."""
    if _is_measured(resolved) and not is_measured(resolved.line.public, version.name):
        evaluate(version, deidentified, resolved.spec.evaluate, resolved.line)


def _is_measured(resolved: ResolvedRun) -> bool:
    """Return True if versions are measured; versions in parts are only with workloads."""
    return resolved.terms.parts is None or bool(resolved.spec.evaluate.workloads)
