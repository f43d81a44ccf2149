"""The public part of a run: its progress, and messages of its failures that show no data."""

import errno
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Literal

from sfumato.expectations.shared.errors import Fault, SfumatoError, SpecError, TransientFault

_PACKAGE = "sfumato."
_TRANSIENT = frozenset(
    {errno.EAGAIN, errno.EINTR, errno.EIO, errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ESTALE}
)
_FULL = {
    errno.ENOSPC: "no space is left on the disk",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the disk is read-only",
}
_catching: list[list[SfumatoError]] = []  # the lists of `caught_failures` that are open
Event = Literal["started", "finished", "failed", "said"]
Counts = Mapping[str, int]
Listener = Callable[[str, Event, Counts], None]
"""Takes the name of a stage or a message, the event, and the counts in a message."""
_EVERY = 5.0  # seconds between messages about a long step
_listeners: list[Listener] = []


@contextmanager
def caught_failures() -> Iterator[list[SfumatoError]]:
    """Yield the list of failures with which runs of this process end, in order, as errors."""
    failures: list[SfumatoError] = []
    _catching.append(failures)
    try:
        yield failures
    finally:
        _catching.remove(failures)


def note_failure(error: SfumatoError) -> None:
    """Add a failure to the lists of all who wait for it in this process."""
    for failures in _catching:
        failures.append(error)


@contextmanager
def sanitise_errors(stage: str) -> Iterator[None]:
    """Pass on only errors made to be shown; reduce any other to its type and place.

    The error that is raised has no cause and no context, so nothing that walks the chain of
    exceptions finds the original.
    """
    failure: SfumatoError | None = None
    try:
        yield
    except SfumatoError as error:
        failure = type(error)(str(error))
    except Exception as error:  # noqa: BLE001 - the one border at which everything is caught
        failure = _showable_error(stage, error)
    if failure is not None:
        try:
            raise failure
        finally:
            # Here the exception that came in is still being handled, and Python notes it.
            failure.__context__ = None


def path_fault(error: Exception) -> str | None:
    """Return what is wrong with a path that the user gave, or None; our own are short enough."""
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return "a path is longer than this system allows. Use shorter paths"
    return None


def _showable_error(stage: str, error: Exception) -> SfumatoError:
    if fault := path_fault(error):
        return SpecError(f"{stage}: {fault}")
    if isinstance(error, OSError) and error.errno in _FULL:
        return Fault(f"{stage}: {_FULL[error.errno]} ({_place(error.__traceback__)})")
    kind = TransientFault if _is_transient(error) else Fault
    return kind(f"{stage}: {_kind(error)} at {_place(error.__traceback__)}")


def _kind(error: Exception) -> str:
    name = type(error).__name__
    code = errno.errorcode.get(error.errno or 0) if isinstance(error, OSError) else None
    return name if code is None else f"{name} {code}"


def _is_transient(error: Exception) -> bool:
    """Decide whether a disk or network failed in a way that may pass."""
    if isinstance(error, ConnectionError | TimeoutError):
        return True
    return isinstance(error, OSError) and error.errno in _TRANSIENT


def _place(traceback: TracebackType | None) -> str:
    """Return the innermost line of our own code that was running, wherever it is installed."""
    place = "an unknown place"
    while traceback is not None:
        module = str(traceback.tb_frame.f_globals.get("__name__"))
        if module.startswith(_PACKAGE):
            file = module.removeprefix(_PACKAGE).replace(".", "/")
            place = f"{file}.py:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send `listener` every event of this process's runs."""
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
    """Announce a message about the run."""
    _tell(message, "said", counts or {})


def steps(number: int, what: str) -> Iterator[int]:
    """Yield the numbers from 0, and announce the progress every few seconds.

    Args:
        number: the number of steps.
        what: the name of the steps, in the plural.
    """
    last_time = time.monotonic()
    for done in range(number):
        if (now := time.monotonic()) - last_time >= _EVERY:
            last_time = now
            say(f"{done:,} of {number:,} {what}", {"done": done, "of": number})
        yield done


def _tell(name: str, event: Event, counts: Counts | None = None) -> None:
    for listener in _listeners:
        listener(name, event, counts or {})
