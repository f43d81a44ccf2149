"""The task that brings the copies of a line in other places up to it."""

import os
from collections.abc import Sequence

from sfumato.tasks.outcomes import tell
from sfumato.tasks.policy import private_task, say_in_run
from sfumato.tasks.publication.destinations.declared import DatabaseDestination, StoreDestination
from sfumato.tasks.publication.destinations.deliver import Secrets, remember
from sfumato.tasks.publication.destinations.deliver import deliver as deliver_line
from sfumato.tasks.publication.line import Line


@private_task()
def deliver(
    line: Line, declared: Sequence[StoreDestination | DatabaseDestination], secrets: Secrets
) -> tuple[str, ...]:
    """Bring every destination that a spec names up to the line; one that fails stays behind.

    Returns:
        The addresses of those that are behind.
    """
    for notice in remember(line, declared):
        say_in_run(notice)
    found = deliver_line(line, os.environ, secrets)
    for one in found:
        for said in one.said:
            say_in_run(said)
        if one.behind is not None:
            tell("behind", line.name, {"destination": one.place, "reason": one.behind})
    return tuple(one.place for one in found if one.behind is not None)
