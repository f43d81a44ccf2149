"""The release flow: from a source that nobody may see to a version that everybody may."""

from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from os import environ
from pathlib import Path

from prefect.client.schemas import State
from prefect.logging import get_logger
from prefect.runtime import flow_run

from sfumato.expectations.errors import SfumatoError
from sfumato.flows.environment import imports_apart, open_home, quiet
from sfumato.flows.hidden import whole
from sfumato.flows.passphrases import destination_secrets, passphrases, source_secrets
from sfumato.flows.plan import Plan, plan_run
from sfumato.flows.spec import ShownOverrides, line_named
from sfumato.tasks.anonymize import anonymize
from sfumato.tasks.arrays.at_rest import encrypted_below
from sfumato.tasks.deidentify import deidentify
from sfumato.tasks.deliver import deliver
from sfumato.tasks.evaluate import evaluate
from sfumato.tasks.in_parts import anonymize_parts, divide, find_version, validate_parts
from sfumato.tasks.ingest import ingest
from sfumato.tasks.outcomes import published_state, standing_state
from sfumato.tasks.parts.divide import DeclaredRows
from sfumato.tasks.policy import private_flow, say_in_run, say_that_it_stands
from sfumato.tasks.private.destinations import knows_destinations
from sfumato.tasks.private.scratch import run_directory, sweep
from sfumato.tasks.publication.versions import is_measured
from sfumato.tasks.publish import publish
from sfumato.tasks.validate import validate
from sfumato.tasks.verify import verify
from sfumato.tasks.workers.registry import open_engine

quiet()


def _line_name() -> str:
    return line_named(Path(flow_run.parameters["spec"]))


def _run_name() -> str:
    """The line and the month that the run is about, which are known before anything is read."""
    told = ShownOverrides.model_validate(flow_run.parameters.get("overrides") or {})
    return f"{_line_name()} {told.as_of or datetime.now(UTC).date():%Y-%m}"


@private_flow(_run_name, _line_name)
def release(spec: str, overrides: ShownOverrides | None = None) -> State:
    """Publish the next version of a release line, or find the one that stands.

    Args:
        spec: path of the release spec.
        overrides: what this run changes of it: the source's address, publish, evaluate, approval.

    Returns:
        The state of the run, whose result is the published directory.
    """
    if warning := open_home(environ):
        get_logger("sfumato").warning(warning)
    with suppress(SfumatoError, OSError):
        sweep()  # no command does where a worker runs this
    plan = plan_run(Path(spec), whole(overrides))
    for notice in plan.notices:
        say_in_run(notice)
    try:
        version, stood = _made(plan)
    except SfumatoError:
        with suppress(SfumatoError):  # an evaluation may have withdrawn a version
            _deliver(plan)
        raise
    behind = _deliver(plan)
    return (standing_state if stood else published_state)(version.resolve(), behind)


def _made(plan: Plan) -> tuple[Path, bool]:
    """The version of this source and spec, and whether it stood before."""
    with (
        imports_apart(),
        passphrases(environ),
        source_secrets(plan.spec.source, environ),
        run_directory(plan.line.private, plan.spec.retain) as run,
        encrypted_below(run) if plan.spec.stages == "encrypted" else nullcontext(),
    ):
        return (_publish if plan.terms.parts is None else _publish_in_parts)(plan, run)


def _deliver(plan: Plan) -> tuple[str, ...]:
    """The destinations that are behind, once all were tried; no stage of a run is left by then."""
    copies = plan.spec.publish.copies
    if not (copies or knows_destinations(plan.line.private)):
        return ()
    return deliver(plan.line, copies, destination_secrets)


def _publish(plan: Plan, run: Path) -> tuple[Path, bool]:
    """The version of this source and spec, and whether it stood before."""
    spec, terms, line = plan.spec, plan.terms, plan.line
    raw = spec.artifacts == "all"
    owned = spec.expectations
    read = (spec.source, spec.columns, spec.nulls, plan.base)
    ingested = ingest(*read, run, line.name, raw, owned.source)
    deidentified = deidentify(ingested, terms, plan.unit, line, run, spec.remember)
    version, stood = verify(deidentified, terms, line, plan.base, raw), True
    if version is None:
        candidate = anonymize(deidentified, terms, run, plan.continuing, line)
        judged = validate(candidate, plan.withheld, line.name, owned.release)
        version, stood = publish(judged, deidentified, line, plan.page_of, raw)
    else:
        say_that_it_stands(version)
        if is_measured(line.public, version.name):
            return version, True
    return evaluate(version, deidentified, spec.evaluate, line), stood


def _publish_in_parts(plan: Plan, run: Path) -> tuple[Path, bool]:
    spec, terms, line = plan.spec, plan.terms, plan.line
    rows = DeclaredRows(spec.source, spec.columns, spec.nulls, plan.base, plan.unit)
    raw = spec.artifacts == "all"
    divided = divide(rows, terms, line, run, raw)
    version = find_version(divided, terms, line)
    if version is None:
        with open_engine(spec.engine, run, environ) as workers:
            candidate = anonymize_parts(divided, terms, run, workers)
            judged = validate_parts(candidate, divided, terms, plan.withheld, line, workers)
        return publish(judged, divided, line, plan.page_of, raw)
    say_that_it_stands(version)
    return version, True
