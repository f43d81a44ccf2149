"""Deletion of old runs of lines, whose logs and artifacts have counts, from Prefect's database.

A server can be set to delete old runs of all flows by itself. This module deletes only ours, also
from the database of commands that ran without a server.
"""

import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import (
    ArtifactFilter,
    ArtifactFilterFlowRunId,
    FlowFilter,
    FlowFilterName,
    FlowRunFilter,
    FlowRunFilterEndTime,
    FlowRunFilterState,
    FlowRunFilterStateType,
    LogFilter,
    LogFilterFlowRunId,
)
from prefect.client.schemas.objects import TERMINAL_STATES
from prefect.exceptions import ObjectNotFound

from sfumato.expectations.shared.errors import TransientFault
from sfumato.flows.operation.deployments import FLOWS, LINE_TAG

_PAGE = 100
_PATIENCE = 30.0  # seconds for a server to delete logs, which it does apart


def delete_runs(before: datetime, *, dry: bool) -> int:
    """Delete the runs of lines that ended before a moment, with their artifacts and logs.

    Args:
        before: the moment.
        dry: only count them.

    Returns:
        How many there are.

    Raises:
        TransientFault: where logs are still there after a while.
    """
    with get_client(sync_client=True) as client:
        ended = list(_pages(client, before))
        for runs in () if dry else ended:
            _delete(client, runs)
    return sum(map(len, ended))


def _pages(client: SyncPrefectClient, before: datetime) -> Iterator[list[UUID]]:
    """Yield the ids of ended runs of our flows that have the tag of a line, page by page."""
    run_filter = FlowRunFilter(
        state=FlowRunFilterState(type=FlowRunFilterStateType(any_=sorted(TERMINAL_STATES))),
        end_time=FlowRunFilterEndTime(before_=before),
    )
    named = FlowFilter(name=FlowFilterName(any_=[flow.flow for flow in FLOWS]))
    passed = 0
    while page := client.read_flow_runs(
        flow_filter=named, flow_run_filter=run_filter, limit=_PAGE, offset=passed
    ):
        yield [run.id for run in page if any(tag.startswith(LINE_TAG) for tag in run.tags)]
        passed += len(page)


def _delete(client: SyncPrefectClient, runs: list[UUID]) -> None:
    """Delete what runs left before the runs: a stopped deletion can begin again."""
    artifact_filter = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=runs))
    while artifacts := client.read_artifacts(artifact_filter=artifact_filter, limit=_PAGE):
        for artifact in artifacts:
            with suppress(ObjectNotFound):
                client.delete_artifact(artifact.id)
    for run in runs:
        with suppress(ObjectNotFound):
            client.delete_flow_run(run)
    _wait_for_logs(client, runs)


def _wait_for_logs(client: SyncPrefectClient, runs: list[UUID]) -> None:
    log_filter = LogFilter(flow_run_id=LogFilterFlowRunId(any_=runs))
    until = time.monotonic() + _PATIENCE
    while client.read_logs(log_filter=log_filter, limit=1):
        if time.monotonic() > until:
            raise TransientFault("the runs are deleted, but the server did not delete their logs")
        time.sleep(0.1)
