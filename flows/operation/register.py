"""Registers release lines with a Prefect server: pool, deployments and automations."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import DeploymentScheduleCreate, WorkPoolCreate
from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyOptions
from prefect.client.schemas.schedules import CronSchedule
from prefect.exceptions import ObjectAlreadyExists
from prefect.utilities.callables import parameter_schema
from pydantic import ValidationError

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.operation.automations import (
    notifications,
    replace_automations,
    zombie_automation,
)
from sfumato.flows.operation.deployments import DeployedFlow, DeployedLine, document
from sfumato.flows.publish import publish
from sfumato.flows.release import release

_RUN_BY: Mapping[str, Any] = {"release": release, "publish": publish}


def register(lines: Sequence[DeployedLine], root: Path, environment: Mapping[str, str]) -> None:
    """Register lines; replaces what is registered already of them, and touches nothing else.

    Args:
        lines: to be deployed.
        root: the directory that their specs are below, as the worker finds it.
        environment: of the runs, beside what every deployment has.

    Raises:
        SpecError: where a schedule is none, or a notification block is missing.
    """
    deployed = [(line, flow) for line in lines for flow in line.flows]
    documents = document(lines)["deployments"]
    schedules = {line.spec.name: _schedules(line) for line in lines}
    with get_client(sync_client=True) as client:
        automations = [automation for line in lines for automation in notifications(client, line)]
        flow_ids = {flow: _make_flow(client, flow) for _, flow in deployed}
        for (line, flow), document_ in zip(deployed, documents, strict=True):
            times = schedules[line.spec.name] if document_["schedules"] else []
            _deploy(client, flow_ids[flow], flow, document_, times, root, environment)
        replace_automations(client, lines, [zombie_automation(), *automations])


def _make_flow(client: SyncPrefectClient, flow: DeployedFlow) -> UUID:
    """Make the pool of a flow if there is none, and name the flow; return the flow's id."""
    with suppress(ObjectAlreadyExists):
        client.create_work_pool(WorkPoolCreate(name=flow.pool, type="process"))
    return client.create_flow_from_name(flow.flow)


def _deploy(
    client: SyncPrefectClient,
    flow_id: UUID,
    flow: DeployedFlow,
    declared: Mapping[str, Any],
    schedules: list[DeploymentScheduleCreate],
    root: Path,
    environment: Mapping[str, str],
) -> None:
    own = declared["work_pool"]["job_variables"]["env"]
    limit = ConcurrencyLimitConfig.model_validate(declared["concurrency_limit"])
    client.create_deployment(
        flow_id,
        name=declared["name"],
        description=declared["description"],
        tags=declared["tags"],
        entrypoint=declared["entrypoint"],
        parameters=declared["parameters"],
        schedules=schedules,
        concurrency_limit=limit.limit,
        concurrency_options=ConcurrencyOptions(collision_strategy=limit.collision_strategy),
        work_pool_name=flow.pool,
        work_queue_name=declared["work_pool"]["work_queue_name"],
        job_variables={"env": {**own, **environment}},
        pull_steps=[{"prefect.deployments.steps.set_working_directory": {"directory": str(root)}}],
        parameter_openapi_schema=_parameters(flow, declared["parameters"]["spec"]),
        enforce_parameter_schema=True,
    )


def _parameters(flow: DeployedFlow, spec: str) -> dict[str, Any]:
    """Return the schema of a run's parameters; it admits only the deployment's own spec."""
    schema = parameter_schema(_RUN_BY[flow.flow]).model_dump_for_openapi()
    schema["properties"]["spec"]["enum"] = [spec]
    return {**schema, "additionalProperties": False}


def _schedules(line: DeployedLine) -> list[DeploymentScheduleCreate]:
    schedule = line.spec.schedule
    if schedule is None:
        return []
    try:
        times = CronSchedule(cron=schedule.cron, timezone=schedule.timezone)
    except ValidationError:
        raise SpecError(
            f"{line.path}: schedule.cron: {schedule.cron!r} is not a cron line. Write "
            "minute, hour, day, month and weekday, such as `0 6 * * 1`"
        ) from None
    return [DeploymentScheduleCreate(schedule=times, active=True)]
