"""Who wants to hear how a run gets on: the command line does, a worker does not."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

Event = Literal["started", "finished", "failed", "said"]
Counts = Mapping[str, int]
Listener = Callable[[str, Event, Counts], None]
"""Hears the name of a stage with what became of it, or what was said, and the counts in that."""

_EVERY = 5.0  # seconds after which something is said of what takes long
_listeners: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell `listener` of every stage of this process's runs."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Announce a stage."""
    _tell(name, "started")
    try:
        yield
    except BaseException:
        _tell(name, "failed")
        raise
    _tell(name, "finished")


def say(message: str, counts: Counts | None = None) -> None:
    """Say something of the run."""
    _tell(message, "said", counts or {})


def steps(number: int, what: str) -> Iterator[int]:
    """The numbers from 0, of which it is said now and then how many of all there were.

    Args:
        number: of them.
        what: is counted.
    """
    said = time.monotonic()
    for done in range(number):
        if (now := time.monotonic()) - said >= _EVERY:
            said = now
            say(f"{done:,} of {number:,} {what}", {"done": done, "of": number})
        yield done


def _tell(name: str, event: Event, counts: Counts | None = None) -> None:
    for listener in _listeners:
        listener(name, event, counts or {})
