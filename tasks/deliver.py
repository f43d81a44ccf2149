"""The task that brings the copies of a line in other places up to it."""

import os
from collections.abc import Sequence

from sfumato.expectations.shared.errors import SfumatoError
from sfumato.tasks.destinations.declared import DatabaseDestination, StoreDestination
from sfumato.tasks.destinations.deliver import Delivered, Secrets, remember
from sfumato.tasks.destinations.deliver import deliver as deliver_line
from sfumato.tasks.events import tell
from sfumato.tasks.lines.line import Line
from sfumato.tasks.policy import private_task, say_in_run
from sfumato.tasks.private.failure import sanitise_errors

Declared = Sequence[StoreDestination | DatabaseDestination]


@private_task()
def deliver(line: Line, declared: Declared, secrets: Secrets) -> tuple[str, ...]:
    """Bring every destination that a spec names up to the line; one that fails stays behind.

    It fails for no reason: what it is about is published.

    Returns:
        The addresses of those that are behind.
    """
    destinations = _deliver(line, declared, secrets)
    for destination in destinations:
        for message in destination.messages:
            say_in_run(message)
        if destination.behind is not None:
            tell(
                "behind",
                line.name,
                {"destination": destination.place, "reason": destination.behind},
            )
    return tuple(
        destination.place for destination in destinations if destination.behind is not None
    )


def _deliver(line: Line, declared: Declared, secrets: Secrets) -> list[Delivered]:
    try:
        with sanitise_errors("deliver"):
            for notice in remember(line, declared):
                say_in_run(notice)
            return deliver_line(line, os.environ, secrets)
    except SfumatoError as error:  # of what the line remembers of them
        return [Delivered(destination.uri, behind=str(error)) for destination in declared]
