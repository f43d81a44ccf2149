"""The automations of a server: runs whose process is gone end, and notification blocks are told.

Events of flow runs are named after their states, and ours have names of their own: whatever waits
for the end of a run waits for these, too.
"""

from datetime import timedelta
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient
from prefect.events.actions import ChangeFlowRunState, SendNotification
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.exceptions import ObjectNotFound
from prefect.server.schemas.states import StateType

from sfumato.expectations.errors import SpecError
from sfumato.flows.operation.deployments import FLOW, HEARTBEAT, DeployedLine
from sfumato.tasks.outcomes import FAULTED, PUBLISHED, REFUSED, STANDS

SILENCE = 3 * HEARTBEAT  # seconds without a sign of life after which a run's process is gone
_BEGINNINGS = ("Pending", "Running")  # a process may be gone before its first heartbeat
_ENDS = ("Completed", "Failed", "Cancelled", "Crashed", PUBLISHED, STANDS, REFUSED, FAULTED)
_WAITS = ("AwaitingConcurrencySlot", "AwaitingRetry", "Scheduled", "Late", "Paused", "Suspended")
_OF_RELEASES = {"prefect.resource.role": "flow", "prefect.resource.name": FLOW}
_OF_RUNS = {"late": "prefect.flow-run.Late", "crashed": "prefect.flow-run.Crashed"}


def zombie_automation() -> AutomationCore:
    """End runs of releases that have stopped to give signs of life, which frees their slots."""
    begun = {f"prefect.flow-run.{name}" for name in ("heartbeat", *_BEGINNINGS)}
    return AutomationCore(
        name="sfumato: runs whose process is gone",
        description=f"No heartbeat for {SILENCE} s: the run is crashed, and its slot free",
        trigger=EventTrigger(
            after=begun,
            expect=begun | {f"prefect.flow-run.{name}" for name in (*_ENDS, *_WAITS)},
            match_related=_OF_RELEASES,
            for_each={"prefect.resource.id"},
            posture=Posture.Proactive,
            threshold=1,
            within=timedelta(seconds=SILENCE),
        ),
        actions=[
            ChangeFlowRunState(
                state=StateType.CRASHED, message=f"no sign of life for {SILENCE} s: process gone"
            )
        ],
    )


def notifications(client: SyncPrefectClient, line: DeployedLine) -> list[AutomationCore]:
    """Tell the block that the spec names of what happens to the line.

    Raises:
        SpecError: where there is no such block.
    """
    wanted = line.spec.notifications
    if wanted is None:
        return []
    block = _block(client, line, wanted.block)
    return [_notification(line.spec.name, happened, block) for happened in wanted.on]


def save_automation(client: SyncPrefectClient, automation: AutomationCore) -> None:
    """Create an automation, or put it in the place of that of the same name.

    One that is there already is left alone: replaced, it would forget the runs that it watches.
    """
    wanted = automation.model_dump()
    for present in client.read_automations_by_name(automation.name):
        if present.model_dump(exclude={"id"}) != wanted:
            client.update_automation(present.id, automation)
        return
    client.create_automation(automation)


def _notification(line: str, happened: str, block: UUID) -> AutomationCore:
    if happened in _OF_RUNS:
        expect, match = _OF_RUNS[happened], {}
        related = {"prefect.resource.id": f"prefect.tag.line:{line}"}
        body = "{{ event.resource['prefect.resource.name'] }}"
    else:
        expect, related = f"sfumato.release.{happened}", {}
        match = {"prefect.resource.id": f"sfumato.line.{line}"}
        body = "{{ event.payload }}"
    return AutomationCore(
        name=f"sfumato: {line} {happened}",
        trigger=EventTrigger(
            expect={expect},
            match=match,
            match_related=related,
            posture=Posture.Reactive,
            threshold=1,
            within=timedelta(0),
        ),
        actions=[
            SendNotification(block_document_id=block, subject=f"{line}: {happened}", body=body)
        ],
    )


def _block(client: SyncPrefectClient, line: DeployedLine, address: str) -> UUID:
    kind, name = address.split("/")
    try:
        return client.read_block_document_by_name(name, kind).id
    except ObjectNotFound:
        raise SpecError(
            f"{line.path}: notifications.block: the server has no block {address}"
        ) from None
