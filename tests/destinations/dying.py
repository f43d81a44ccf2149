"""Deliveries in forked children that are killed at a step, or end."""

import os
import signal
from collections.abc import Callable, Sequence
from typing import Any

from tests.destinations.places import bring
from tests.forked import Ran, in_child


def die_after(steps: int, owner: Any, names: Sequence[str]) -> None:
    """Kill this process before these methods of a class are called once more than so many times."""
    remaining = [steps]

    def count_steps(original: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **named: Any) -> Any:
            if not remaining[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            remaining[0] -= 1
            return original(*arguments, **named)

        return step

    for name in names:
        setattr(owner, name, count_steps(getattr(owner, name)))


def kill_delivery(line: Any, place: Any, steps: int, owner: Any, names: Sequence[str]) -> bool:
    """Deliver in a child that is killed after some steps; False where it ended before that."""

    def run() -> int:
        os.environ["SFUMATO_WORK"] = str(line.work)
        die_after(steps, owner, names)
        delivery = bring(line, place)
        print(delivery)
        return 0 if delivery.behind is None else 1

    ran: Ran = in_child(run, line.public)
    assert ran.code in (0, -signal.SIGKILL), (ran.out, ran.err)
    return ran.code != 0
