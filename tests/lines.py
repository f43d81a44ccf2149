"""One run of a release line by its stages alone, without Prefect."""

from dataclasses import replace
from pathlib import Path

from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.inputs.resolved import ResolvedRun, resolve_run, with_references
from sfumato.tasks.continued.parameters import rule_of
from sfumato.tasks.microdata.table import Randomness, load
from sfumato.tasks.publication.publish import Published, existing_version, publish
from sfumato.tasks.stages.anonymize import keep_private_diagnostics, write_candidate
from sfumato.tasks.stages.deidentify import choose_terms, identity, write_deidentified
from sfumato.tasks.stages.evaluate import evaluate_release
from sfumato.tasks.stages.ingest import (
    write_ingested,
    write_related_source,
    write_source,
    write_with_related,
)
from sfumato.tasks.stages.validate import (
    assess_candidate,
    seal_candidate,
    sealed_candidate,
)
from sfumato.tasks.stages.verify import measure_feasibility

TIME = "2026-01-01T00:00:00+00:00"


def prepare(
    spec: Path, run: Path, draw: Randomness, overrides: Overrides | None = None
) -> ResolvedRun:
    """Leave a judged candidate in `run`, ready to be published."""
    resolved, deidentified = deidentify(spec, run, overrides)
    return anonymize(resolved, deidentified, run, draw)


def deidentify(
    spec: Path, run: Path, overrides: Overrides | None = None
) -> tuple[ResolvedRun, Path]:
    """Leave the rows that would be published in `run`."""
    resolved = with_references(resolve_run(spec, overrides))
    run.mkdir(parents=True)
    parts, line = resolved.spec, resolved.line.private
    columns, nulls, base = parts.own_columns, parts.nulls, resolved.base
    whole = write_source(parts.source, columns, base, run)
    ingested = write_ingested(whole, parts.source, columns, nulls, base, run)
    if parts.related is not None:
        keyed = parts.columns_with_key
        rows = write_related_source(parts.related, keyed, base, run)
        ingested = write_with_related(ingested, rows, parts.related, keyed, nulls, base, run)
    remember = resolved.spec.remember
    identifiers = resolved.identifiers
    others = resolved.line.others
    return resolved, write_deidentified(
        ingested, resolved.terms, identifiers, line, run, remember, others=others
    )


def anonymize(
    resolved: ResolvedRun, deidentified: Path, run: Path, draw: Randomness
) -> ResolvedRun:
    """Leave a candidate of these rows in `run`."""
    parts, line = resolved.spec, resolved.line.private
    terms = choose_terms(deidentified, resolved.terms, parts.choosing, line, draw)
    resolved = replace(resolved, terms=terms)
    measure_feasibility(deidentified, resolved.terms, resolved.references)
    continuing, intervals = resolved.continuing, parts.evaluate.intervals is not None
    write_candidate(
        deidentified, resolved.terms, run, draw, continuing, resolved.line, intervals=intervals
    )
    return resolved


def standing(resolved: ResolvedRun, deidentified: Path) -> Published | None:
    """The version of these rows that stands, as a run finds it before it draws anything."""
    rule = rule_of(resolved.terms.versions)
    version = existing_version(resolved.line, identity(deidentified), rule)
    return None if version is None else Published(version, existed=True)


def publish_prepared(resolved: ResolvedRun, run: Path) -> Published:
    """Make the candidate in `run` the line's next version, or find the one that stands."""
    candidate = run / "candidate"
    references = resolved.references
    seal_candidate(candidate, assess_candidate(candidate, resolved.withheld, references=references))
    identification = identity(run / "deidentified")
    published = publish(resolved.line, sealed_candidate(candidate), identification, TIME)
    if not published.existed:
        keep_private_diagnostics(candidate, resolved.line.reports(published.directory.name))
    return published


def evaluate_prepared(resolved: ResolvedRun, run: Path, version: Path, draw: Randomness) -> None:
    """Measure the version's accuracy against the rows in `run`."""
    original = load(run / "deidentified")
    evaluate_release(
        version, original, resolved.spec.evaluate, resolved.line, draw, lambda _d, _o: None
    )
