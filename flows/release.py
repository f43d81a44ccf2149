"""The release flow: from a source that nobody may see to a version that everybody may."""

from contextlib import nullcontext
from datetime import UTC, datetime
from os import environ
from pathlib import Path

from prefect.logging import get_logger
from prefect.runtime import flow_run

from sfumato.flows.environment import open_home, quiet
from sfumato.flows.hidden import whole
from sfumato.flows.plan import Plan, plan_run
from sfumato.flows.spec import ShownOverrides
from sfumato.tasks.anonymize import anonymize
from sfumato.tasks.arrays.at_rest import encrypted_below
from sfumato.tasks.deidentify import deidentify
from sfumato.tasks.evaluate import evaluate
from sfumato.tasks.ingest import ingest
from sfumato.tasks.policy import private_flow
from sfumato.tasks.private.scratch import run_directory
from sfumato.tasks.publish import publish
from sfumato.tasks.validate import validate
from sfumato.tasks.verify import verify

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
    plan = plan_run(Path(spec), whole(overrides))
    with (
        run_directory(plan.line.private, plan.spec.retain) as run,
        encrypted_below(run) if plan.spec.stages == "encrypted" else nullcontext(),
    ):
        return str(_publish(plan, run))


def _publish(plan: Plan, run: Path) -> Path:
    spec, terms, line = plan.spec, plan.terms, plan.line
    raw = spec.artifacts == "all"
    ingested = ingest(spec.source, spec.columns, spec.nulls, plan.base, run, line.name, raw)
    deidentified = deidentify(ingested, terms, plan.unit, line, run)
    version = verify(deidentified, terms, line, plan.base, raw)
    if version is None:
        candidate = anonymize(deidentified, terms, run)
        judged = validate(candidate, plan.withheld, line.name)
        version = publish(judged, deidentified, line)
    return evaluate(version, deidentified, spec.evaluate, line)
