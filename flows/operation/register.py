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
    """Register lines; what is registered already of them is replaced, and nothing else is touched.

    Args:
        lines: to be deployed.
        root: the directory that their specs are below, as the worker finds it.
        environment: of the runs, beside what every deployment has.

    Raises:
        SpecError: where a schedule is none, or a notification block is missing.
    """
    wanted = [(line, flow) for line in lines for flow in line.flows]
    documents = document(lines)["deployments"]
    schedules = {line.spec.name: _schedules(line) for line in lines}
    with get_client(sync_client=True) as client:
        told = [one for line in lines for one in notifications(client, line)]
        known = {flow: _make_flow(client, flow) for _, flow in wanted}
        for (line, flow), one in zip(wanted, documents, strict=True):
            times = schedules[line.spec.name] if one["schedules"] else []
            _deploy(client, known[flow], flow, one, times, root, environment)
        replace_automations(client, lines, [zombie_automation(), *told])


def _make_flow(client: SyncPrefectClient, flow: DeployedFlow) -> UUID:
    """Make the pool of a flow where there is none, and name the flow; its id."""
    with suppress(ObjectAlreadyExists):
        client.create_work_pool(WorkPoolCreate(name=flow.pool, type="process"))
    return client.create_flow_from_name(flow.flow)


def _deploy(
    client: SyncPrefectClient,
    known: UUID,
    flow: DeployedFlow,
    declared: Mapping[str, Any],
    schedules: list[DeploymentScheduleCreate],
    root: Path,
    environment: Mapping[str, str],
) -> None:
    own = declared["work_pool"]["job_variables"]["env"]
    limit = ConcurrencyLimitConfig.model_validate(declared["concurrency_limit"])
    client.create_deployment(
        known,
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
    """The schema of a run's parameters: a deployment is of one spec, and no run has another."""
    schema = parameter_schema(_RUN_BY[flow.flow]).model_dump_for_openapi()
    schema["properties"]["spec"]["enum"] = [spec]
    return {**schema, "additionalProperties": False}


def _schedules(line: DeployedLine) -> list[DeploymentScheduleCreate]:
    wanted = line.spec.schedule
    if wanted is None:
        return []
    try:
        times = CronSchedule(cron=wanted.cron, timezone=wanted.timezone)
    except ValidationError:
        raise SpecError(f"{line.path}: schedule.cron: {wanted.cron!r} is no cron line") from None
    return [DeploymentScheduleCreate(schedule=times, active=True)]
