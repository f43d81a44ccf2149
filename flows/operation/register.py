"""Registers release lines with a Prefect server: pool, deployments and automations."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import DeploymentScheduleCreate, WorkPoolCreate
from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyOptions
from prefect.client.schemas.schedules import CronSchedule
from prefect.exceptions import ObjectAlreadyExists
from prefect.utilities.callables import parameter_schema
from pydantic import ValidationError

from sfumato.expectations.errors import SpecError
from sfumato.flows.operation.automations import (
    notifications,
    replace_automations,
    zombie_automation,
)
from sfumato.flows.operation.deployments import FLOW, POOL, DeployedLine, document
from sfumato.flows.release import release


def register(lines: Sequence[DeployedLine], root: Path, environment: Mapping[str, str]) -> None:
    """Register lines; what is registered already of them is replaced, and nothing else is touched.

    Args:
        lines: to be deployed.
        root: the directory that their specs are below, as the worker finds it.
        environment: of the runs, beside what every deployment has.

    Raises:
        SpecError: where a schedule is none, or a notification block is missing.
    """
    documents = document(lines)["deployments"]
    schedules = [_schedules(line) for line in lines]
    with get_client(sync_client=True) as client:
        told = [one for line in lines for one in notifications(client, line)]
        _make_pool(client)
        flow = client.create_flow_from_name(FLOW)
        for one, times in zip(documents, schedules, strict=True):
            _deploy(client, flow, one, times, root, environment)
        replace_automations(client, lines, [zombie_automation(), *told])


def _make_pool(client: SyncPrefectClient) -> None:
    try:
        client.create_work_pool(WorkPoolCreate(name=POOL, type="process"))
    except ObjectAlreadyExists:
        return


def _deploy(
    client: SyncPrefectClient,
    flow: Any,
    declared: Mapping[str, Any],
    schedules: list[DeploymentScheduleCreate],
    root: Path,
    environment: Mapping[str, str],
) -> None:
    own = declared["work_pool"]["job_variables"]["env"]
    limit = ConcurrencyLimitConfig.model_validate(declared["concurrency_limit"])
    client.create_deployment(
        flow,
        name=declared["name"],
        description=declared["description"],
        tags=declared["tags"],
        entrypoint=declared["entrypoint"],
        parameters=declared["parameters"],
        schedules=schedules,
        concurrency_limit=limit.limit,
        concurrency_options=ConcurrencyOptions(collision_strategy=limit.collision_strategy),
        work_pool_name=POOL,
        work_queue_name=declared["work_pool"]["work_queue_name"],
        job_variables={"env": {**own, **environment}},
        pull_steps=[{"prefect.deployments.steps.set_working_directory": {"directory": str(root)}}],
        parameter_openapi_schema=_parameters(declared["parameters"]["spec"]),
        enforce_parameter_schema=True,
    )


def _parameters(spec: str) -> dict[str, Any]:
    """The schema of a run's parameters: a deployment is of one spec, and no run has another."""
    schema = parameter_schema(release).model_dump_for_openapi()
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
