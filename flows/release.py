"""The release flow: from a source that nobody may see to a version that everybody may."""

from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from os import environ
from pathlib import Path

from prefect.logging import get_logger
from prefect.runtime import flow_run

from sfumato.expectations.errors import SfumatoError
from sfumato.flows.environment import imports_apart, open_home, quiet
from sfumato.flows.hidden import whole
from sfumato.flows.passphrases import passphrases
from sfumato.flows.plan import Plan, plan_run
from sfumato.flows.spec import ShownOverrides
from sfumato.tasks.anonymize import anonymize
from sfumato.tasks.arrays.at_rest import encrypted_below
from sfumato.tasks.deidentify import deidentify
from sfumato.tasks.evaluate import evaluate
from sfumato.tasks.in_parts import anonymize_parts, divide, find_version, validate_parts
from sfumato.tasks.ingest import ingest
from sfumato.tasks.parts.divide import DeclaredRows
from sfumato.tasks.policy import private_flow, say_in_run, say_that_it_stands
from sfumato.tasks.private.scratch import run_directory, sweep
from sfumato.tasks.publication.versions import is_measured
from sfumato.tasks.publish import publish
from sfumato.tasks.validate import validate
from sfumato.tasks.verify import verify
from sfumato.tasks.workers.registry import open_engine

quiet()


def _run_name() -> str:
    line = Path(flow_run.parameters["spec"]).stem
    return f"{line} {datetime.now(UTC).isoformat(timespec='seconds')}"


@private_flow(_run_name)
def release(spec: str, overrides: ShownOverrides | None = None) -> str:
    """Publish the next version of a release line, or find the one that stands.

    Args:
        spec: path of the release spec.
        overrides: what this run changes of it: the source's address, publish, evaluate, approval.

    Returns:
        The published directory.
    """
    if warning := open_home(environ):
        get_logger("sfumato").warning(warning)
    with suppress(SfumatoError, OSError):
        sweep()  # no command does where a worker runs this
    plan = plan_run(Path(spec), whole(overrides))
    for notice in plan.notices:
        say_in_run(notice)
    with (
        imports_apart(),
        passphrases(environ),
        run_directory(plan.line.private, plan.spec.retain) as run,
        encrypted_below(run) if plan.spec.stages == "encrypted" else nullcontext(),
    ):
        made = _publish if plan.terms.parts is None else _publish_in_parts
        return str(made(plan, run).resolve())


def _publish(plan: Plan, run: Path) -> Path:
    spec, terms, line = plan.spec, plan.terms, plan.line
    raw = spec.artifacts == "all"
    ingested = ingest(spec.source, spec.columns, spec.nulls, plan.base, run, line.name, raw)
    deidentified = deidentify(ingested, terms, plan.unit, line, run, spec.remember)
    version = verify(deidentified, terms, line, plan.base, raw)
    if version is None:
        candidate = anonymize(deidentified, terms, run, plan.continuing, line)
        judged = validate(candidate, plan.withheld, line.name)
        version = publish(judged, deidentified, line, raw)
    else:
        say_that_it_stands(version)
        if is_measured(line.public, version.name):
            return version
    return evaluate(version, deidentified, spec.evaluate, line)


def _publish_in_parts(plan: Plan, run: Path) -> Path:
    spec, terms, line = plan.spec, plan.terms, plan.line
    rows = DeclaredRows(spec.source, spec.columns, spec.nulls, plan.base, plan.unit)
    raw = spec.artifacts == "all"
    divided = divide(rows, terms, line, run, raw)
    version = find_version(divided, terms, line)
    if version is None:
        with open_engine(spec.engine, run, environ) as workers:
            candidate = anonymize_parts(divided, terms, run, workers)
            judged = validate_parts(candidate, divided, terms, plan.withheld, line, workers)
        return publish(judged, divided, line, raw)
    say_that_it_stands(version)
    return version
