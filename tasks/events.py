"""Events about lines, for automations of a Prefect server: nothing hears them where there is none.

Prefect takes a second to import, so it is imported only where an event is sent.
"""

import logging
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import Any

from sfumato.expectations.machine.prefect_in_use import in_prefect_run, named_server

_PATIENCE = 10.0  # seconds
_SENDERS = ("EventsWorker", "prefect._internal.concurrency", "prefect.events.clients")


def tell(happened: str, line: str, facts: Mapping[str, Any]) -> None:
    """Emit the event of what happened to a line, if a server is in use.

    Args:
        happened: `published`, `refused`, `faulted`, `pending`, `withdrawn` or `behind`.
        line: the line's name.
        facts: names, numbers and digests, all of them public.
    """
    if not in_prefect_run() and named_server() is None:
        return
    with suppress(Exception):  # a version stands whether or not somebody hears of it
        from prefect.events import emit_event

        resource = {"prefect.resource.id": f"sfumato.line.{line}", "prefect.resource.name": line}
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
    from prefect.events.worker import EventsWorker

    waiting = EventsWorker.drain_all(timeout=_PATIENCE, at_exit=False)
    if isinstance(waiting, Coroutine):
        waiting.close()
