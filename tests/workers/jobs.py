"""Tasks for the workers of tests."""

import os
import signal
from pathlib import Path

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.workers.workers import attempt

CANARY = "Ada Lovelace, diagnosis F32"


def double(number):
    return 2 * number


def refuse(number):
    if number == 3:
        raise PromiseError(f"part {number}: k=2 where 5 was promised")
    return number


def quote(_number):
    raise ValueError(CANARY)


def die_once(job):
    """Write an attempt; the first time, die of it."""
    attempts, name = job
    with attempt(Path(attempts), name) as place:
        (place / "rows").write_text(name)
        marker = Path(attempts).parent / f"{name}-began"
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return place.name


def die(_number):
    os.kill(os.getpid(), signal.SIGKILL)
