"""What may be said of a failure: messages of other libraries may quote the data."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from expectations.errors import Fault, SfumatoError

_PACKAGES = ("flows", "tasks", "expectations")


@contextmanager
def sanitised(stage: str) -> Iterator[None]:
    """Let pass only errors made to be shown; of any other say its type and place alone.

    The error that leaves has no cause and no context: nothing that walks the chain of exceptions
    finds the original.
    """
    failure: SfumatoError | None = None
    try:
        yield
    except SfumatoError as error:
        failure = type(error)(str(error))
    except Exception as error:  # noqa: BLE001 - the one border at which everything is caught
        failure = Fault(f"{stage}: {_kind(error)} at {_place(error.__traceback__)}")
    if failure is not None:
        try:
            raise failure
        finally:
            # Here the exception that came in is still being handled, and Python notes it.
            failure.__context__ = None


def _kind(error: Exception) -> str:
    name = type(error).__name__
    code = errno.errorcode.get(error.errno or 0) if isinstance(error, OSError) else None
    return name if code is None else f"{name} {code}"


def _place(traceback: TracebackType | None) -> str:
    """The innermost line of our own that was running."""
    place = "an unknown place"
    while traceback is not None:
        file = Path(traceback.tb_frame.f_code.co_filename)
        package = next((p for p in _PACKAGES if p in file.parts), None)
        if package is not None and "site-packages" not in file.parts:
            start = len(file.parts) - 1 - file.parts[::-1].index(package)
            place = f"{'/'.join(file.parts[start:])}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place
