"""The automations of a server: runs whose process is gone end, and notification blocks are told.

Events of flow runs are named after their states, and ours have names of their own: a trigger that
waits for the end of a run also waits for these.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient
from prefect.events.actions import ChangeFlowRunState, SendNotification
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.exceptions import ObjectNotFound
from prefect.server.schemas.states import StateType

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.operation.deployments import FLOWS, HEARTBEAT, DeployedLine
from sfumato.flows.rules.spec_parts import WATCHED
from sfumato.tasks.events import event_name
from sfumato.tasks.outcomes import FAULTED, PENDING, PUBLISHED, REFUSED, STANDS

SILENCE = 3 * HEARTBEAT  # seconds without a sign of life after which a run's process is gone
_BEGINNINGS = ("Pending", "Running")  # a process may be gone before its first heartbeat
_ENDS = (
    "Completed",
    "Failed",
    "Cancelled",
    "Crashed",
    PUBLISHED,
    STANDS,
    PENDING,
    REFUSED,
    FAULTED,
)
_WAITS = ("AwaitingConcurrencySlot", "AwaitingRetry", "Scheduled", "Late", "Paused", "Suspended")
_OF_RELEASES = {
    "prefect.resource.role": "flow",
    "prefect.resource.name": [deployed.flow for deployed in FLOWS],
}
_OF_RUNS = {"late": "prefect.flow-run.Late", "crashed": "prefect.flow-run.Crashed"}


def zombie_automation() -> AutomationCore:
    """Return the automation that ends runs without signs of life, which frees their slots."""
    begun = {f"prefect.flow-run.{name}" for name in ("heartbeat", *_BEGINNINGS)}
    return AutomationCore(
        name="sfumato: runs whose process is gone",
        description=(
            f"No heartbeat for {SILENCE} s, so the run counts as crashed, and the next run "
            "may start"
        ),
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
                state=StateType.CRASHED,
                message=f"no sign of life for {SILENCE} s; its process has ended",
            )
        ],
    )


def notifications(client: SyncPrefectClient, line: DeployedLine) -> list[AutomationCore]:
    """Return the automations that send a line's events to the block that its spec names.

    Raises:
        SpecError: where there is no such block.
    """
    wish = line.spec.notifications
    if wish is None:
        return []
    block = _block(client, line, wish.block)
    return [_notification(line.spec.name, happened, block) for happened in wish.on]


def replace_automations(
    client: SyncPrefectClient, lines: Sequence[DeployedLine], automations: Sequence[AutomationCore]
) -> None:
    """Save automations, and delete those about the same lines that no spec asks for any more.

    An unchanged automation is not touched: replaced, it would forget the runs that it watches.
    """
    names = {_name(line.spec.name, happened) for line in lines for happened in WATCHED}
    present = {automation.name: automation for automation in client.read_automations()}
    for automation in automations:
        existing = present.get(automation.name)
        if existing is None:
            client.create_automation(automation)
        elif existing.model_dump(exclude={"id"}) != automation.model_dump():
            client.update_automation(existing.id, automation)
    for name in (names & present.keys()) - {automation.name for automation in automations}:
        client.delete_automation(present[name].id)


def _name(line: str, happened: str) -> str:
    return f"sfumato: {line} {happened}"


def _notification(line: str, happened: str, block: UUID) -> AutomationCore:
    trigger, body = (
        _run_event(line, happened) if happened in _OF_RUNS else _line_event(line, happened)
    )
    notify = SendNotification(block_document_id=block, subject=f"{line}: {happened}", body=body)
    return AutomationCore(name=_name(line, happened), trigger=trigger, actions=[notify])


def _run_event(line: str, happened: str) -> tuple[EventTrigger, str]:
    """Return the trigger of Prefect's own event of a run of the line, and the message about it."""
    related = {"prefect.resource.id": f"prefect.tag.line:{line}"}
    name = "{{ event.resource['prefect.resource.name'] }}"
    return _at_once(expect={_OF_RUNS[happened]}, match_related=related), name


def _line_event(line: str, happened: str) -> tuple[EventTrigger, str]:
    """Return the trigger of Sfumato's event about the line, and the message about it."""
    resource = {"prefect.resource.id": f"sfumato.line.{line}"}
    return _at_once(expect={event_name(happened)}, match=resource), "{{ event.payload }}"


def _at_once(**what: Any) -> EventTrigger:
    return EventTrigger(posture=Posture.Reactive, threshold=1, within=timedelta(0), **what)


def _block(client: SyncPrefectClient, line: DeployedLine, address: str) -> UUID:
    kind, name = address.split("/")
    try:
        return client.read_block_document_by_name(name, kind).id
    except ObjectNotFound:
        raise SpecError(
            f"{line.path}: notifications.block: the server has no block {address}. "
            "Make the block in Prefect, or correct the name"
        ) from None
