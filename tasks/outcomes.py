"""The states in which runs end, and the events that tell of them, in an operator's words.

A refusal is the pipeline at work and not a crash: it has a state of its own and no traceback, and
is never tried again. Messages are those of our errors alone, so nothing in them is of the data.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from prefect.client.schemas import State
from prefect.client.schemas.objects import StateType
from prefect.events import emit_event
from prefect.events.worker import EventsWorker

from sfumato.expectations.errors import Fault, SfumatoError
from sfumato.tasks.declaration.opened import open_release

PUBLISHED, STANDS, REFUSED, FAULTED = "Published", "Stands", "Refused", "Faulted"
_SHOWN = 12  # digits of a digest
_PATIENCE = 10.0  # seconds


def published_state(release: Path, behind: Sequence[str] = ()) -> State:
    """The end of a run that published a version; its result is the directory.

    Args:
        release: the directory.
        behind: destinations to which it could not be copied.
    """
    return _ended_well(PUBLISHED, release, behind)


def standing_state(release: Path, behind: Sequence[str] = ()) -> State:
    """The end of a run whose source and spec have a version already, which is its result."""
    return _ended_well(STANDS, release, behind)


def failed_state(error: SfumatoError) -> State:
    """The end of a run or task that published nothing; its result is the error."""
    name = FAULTED if isinstance(error, Fault) else REFUSED
    return State(type=StateType.FAILED, name=name, message=str(error), data=error)


def tell(happened: str, line: str, facts: Mapping[str, Any]) -> None:
    """Emit the event of what happened to a line, for automations.

    Args:
        happened: `published`, `refused`, `faulted`, `pending`, `withdrawn` or `behind`.
        line: the line's name.
        facts: names, numbers and digests, all of them public.
    """
    resource = {"prefect.resource.id": f"sfumato.line.{line}", "prefect.resource.name": line}
    with suppress(Exception):  # a version stands whether or not somebody hears of it
        emit_event(event_name(happened), resource=resource, payload=dict(facts))


def event_name(happened: str) -> str:
    """The name of the event.

    >>> event_name("withdrawn")
    'sfumato.release.withdrawn'
    """
    return f"sfumato.release.{happened}"


def send_events() -> None:
    """Send the events that wait: a command that ends does not wait for threads of Prefect's."""
    EventsWorker.drain_all(timeout=_PATIENCE, at_exit=False)


def identify(release: Path) -> dict[str, str]:
    """The number and the digest of a version."""
    digest = str(open_release(release).manifest["sfumato"]["digest"])
    return {"version": release.name, "digest": digest}


def _ended_well(name: str, release: Path, behind: Sequence[str]) -> State:
    known = identify(release)
    message = f"version {known['version']}, digest {known['digest'][:_SHOWN]}…"
    if behind:
        message += f"; behind: {', '.join(behind)} (the next run completes it, or sfumato deliver)"
    return State(type=StateType.COMPLETED, name=name, message=message, data=str(release))
