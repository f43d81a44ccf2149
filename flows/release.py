"""The release flow: from a source that nobody may see to a version that everybody may."""

from datetime import UTC, datetime
from pathlib import Path

from prefect import flow
from prefect.runtime import flow_run

from sfumato.flows.environment import quiet
from sfumato.flows.plan import Plan, plan_run
from sfumato.flows.spec import Overrides
from sfumato.tasks.anonymize import anonymize
from sfumato.tasks.deidentify import deidentify
from sfumato.tasks.evaluate import evaluate
from sfumato.tasks.ingest import ingest
from sfumato.tasks.private.workdir import run_directory
from sfumato.tasks.publish import publish
from sfumato.tasks.validate import validate
from sfumato.tasks.verify import verify

quiet()


def _run_name() -> str:
    line = Path(flow_run.parameters["spec"]).stem
    return f"{line} {datetime.now(UTC).isoformat(timespec='seconds')}"


@flow(name="release", flow_run_name=_run_name, persist_result=False, log_prints=False)
def release(spec: str, overrides: Overrides | None = None) -> str:
    """Publish the next version of a release line, or find the one that stands.

    Args:
        spec: path of the release spec.
        overrides: what this run changes of it: source, publish, evaluate, approval.

    Returns:
        The published directory.
    """
    plan = plan_run(Path(spec), overrides)
    with run_directory(plan.line.private, plan.spec.retain) as run:
        return str(_publish(plan, run))


def _publish(plan: Plan, run: Path) -> Path:
    spec, terms, line = plan.spec, plan.terms, plan.line
    ingested = ingest(spec.source, spec.columns, spec.nulls, plan.base, run, line.name)
    deidentified = deidentify(ingested, terms, plan.unit, line, run)
    version = verify(deidentified, terms, line, plan.base)
    if version is None:
        candidate = anonymize(deidentified, terms, run)
        judged = validate(candidate, plan.withheld, line.name)
        version = publish(judged, deidentified, line)
    return evaluate(version, deidentified, spec.evaluate, line)
