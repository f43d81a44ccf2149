"""Who wants to hear how a run gets on: the command line does, a worker does not."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

Event = Literal["started", "finished", "failed"]
Listener = Callable[[str, Event], None]

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


def _tell(name: str, event: Event) -> None:
    for listener in _listeners:
        listener(name, event)
