"""The states in which runs end, and the events about them, in an operator's words.

A refusal is the pipeline at work and not a crash: it has a state of its own and no traceback, and
is never tried again. Messages are only those of our errors, so nothing in them is of the data.
"""

import logging
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from prefect.client.schemas import State
from prefect.client.schemas.objects import StateType
from prefect.events import emit_event
from prefect.events.worker import EventsWorker

from sfumato.expectations.shared.errors import Fault, SfumatoError
from sfumato.tasks.approval.held import HeldCandidate
from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.terms.opened import open_release

PUBLISHED, STANDS, REFUSED, FAULTED = "Published", "Stands", "Refused", "Faulted"
PENDING = "Pending approval"
_SHOWN = 12  # digits of a digest
_PATIENCE = 10.0  # seconds
_SENDERS = ("EventsWorker", "prefect._internal.concurrency", "prefect.events.clients")


def published_state(release: Path, behind: Sequence[str] = ()) -> State:
    """Return the end of a run that published a version; its result is the directory.

    Args:
        release: the directory.
        behind: destinations to which it could not be copied.
    """
    return _ended_well(PUBLISHED, release, behind)


def standing_state(release: Path, behind: Sequence[str] = ()) -> State:
    """Return the end of a run whose source and spec have a version already; it is the result."""
    return _ended_well(STANDS, release, behind)


def pending_state(candidate: HeldCandidate) -> State:
    """Return the end of a run whose candidate waits for approval; its result is the place."""
    request = candidate.request
    message = (
        f"digest {request.digest}, {request.reviewers} to approve it until {request.expires:%F %R}"
    )
    return State(type=StateType.COMPLETED, name=PENDING, message=message, data=str(candidate.place))


def failed_state(error: SfumatoError) -> State:
    """Return the end of a run or task that published nothing; its result is the error."""
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


def tell_at_once(happened: str, line: str, facts: Mapping[str, Any]) -> bool:
    """Emit the event, and send it, in a process that has no run.

    Prefect's messages about it name Prefect's own parts: they are not repeated.

    Returns:
        False where no server took it.
    """
    failed: list[logging.LogRecord] = []

    def hear(record: logging.LogRecord) -> bool:
        if record.levelno >= logging.ERROR:
            failed.append(record)
        return False

    loggers = [logging.getLogger(name) for name in _SENDERS]
    for logger in loggers:
        logger.addFilter(hear)
    try:
        tell(happened, line, facts)
        send_events()
    finally:
        for logger in loggers:
            logger.removeFilter(hear)
    return not failed


def event_name(happened: str) -> str:
    """Return the name of an event.

    >>> event_name("withdrawn")
    'sfumato.release.withdrawn'
    """
    return f"sfumato.release.{happened}"


def send_events() -> None:
    """Send the events that wait: a command that ends does not wait for threads of Prefect's.

    A process with an event loop, such as a notebook's, lives on, and need not wait for them.
    """
    waiting = EventsWorker.drain_all(timeout=_PATIENCE, at_exit=False)
    if isinstance(waiting, Coroutine):
        waiting.close()


def newer_version(release: Path) -> str | None:
    """Return the number of the line's current version, or None if that is this one."""
    current = read_record(release.parent).current
    return None if current in (None, release.name) else current


def identify(release: Path) -> dict[str, str]:
    """Return the number and the digest of a version."""
    digest = str(open_release(release).manifest["sfumato"]["digest"])
    return {"version": release.name, "digest": digest}


def _ended_well(name: str, release: Path, behind: Sequence[str]) -> State:
    version = identify(release)
    message = f"version {version['version']}, digest {version['digest'][:_SHOWN]}…"
    if newer := newer_version(release):
        message += f"; the current version is {newer}, from another source or spec"
    if behind:
        places = ", ".join(behind)
        message += f"; not yet complete in {places} (the next run or sfumato deliver completes it)"
    return State(type=StateType.COMPLETED, name=name, message=message, data=str(release))
