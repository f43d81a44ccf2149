"""A fault of the machine in words, and the registry that finds the words for an exception.

Exceptions are looked up by the names of their classes, so that no library is imported for them, and
then by their error number. Words hold paths of directories, limits and sizes, and never the text of
an exception, which may quote data.
"""

import errno
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module

from sfumato.expectations.shared.errors import (
    WAY_OUT,
    Fault,
    SfumatoError,
    SpecError,
)


@dataclass(frozen=True)
class MachineFault:
    """A fault of the machine in words.

    Attributes:
        reason: what failed, in one line.
        remedies: what to do about it, a line each.
        kind: the error that says so, whose exit code the command has.
    """

    reason: str
    remedies: tuple[str, ...] = ()
    kind: type[SfumatoError] = Fault

    def error(self, stage: str = "") -> SfumatoError:
        """Return the error to be shown: the stage that failed, the reason and the remedies."""
        head = f"{stage}: {self.reason}" if stage else self.reason
        return self.kind(WAY_OUT.join([head, *self.remedies]))


Words = Callable[[BaseException], MachineFault | None]
"""Returns the words for an exception, or None for one that is no fault of the machine."""

_DISKS, _MEMORY, _PACKAGES, _SERVERS = (
    f"sfumato.expectations.machine.{name}" for name in ("disks", "memory", "packages", "servers")
)
_BY_CLASS: Mapping[str, tuple[str, str]] = {
    "builtins.MemoryError": (_MEMORY, "out_of_memory"),
    "builtins.ModuleNotFoundError": (_PACKAGES, "missing_package"),
    "duckdb.OutOfMemoryException": (_MEMORY, "out_of_memory"),
    "_duckdb.OutOfMemoryException": (_MEMORY, "out_of_memory"),
    "concurrent.futures.process.BrokenProcessPool": (_MEMORY, "killed_worker"),
    "distributed.scheduler.KilledWorker": (_MEMORY, "killed_worker"),
    "httpx.HTTPStatusError": (_SERVERS, "refusing_server"),
    "httpx.TimeoutException": (_SERVERS, "silent_server"),
    "httpx.TransportError": (_SERVERS, "missing_server"),
    "httpx.InvalidURL": (_SERVERS, "wrong_address"),
    "httpx.DecodingError": (_SERVERS, "other_server"),
    "builtins.RuntimeError": (_SERVERS, "unreached_server"),
}
"""Function of a module that finds the words, by the class of an exception or one of its bases."""

_BY_NUMBER: Mapping[int, tuple[str, str]] = {
    errno.ENOSPC: (_DISKS, "full_disk"),
    errno.EDQUOT: (_DISKS, "used_quota"),
    errno.EFBIG: (_DISKS, "limited_file"),
    errno.EROFS: (_DISKS, "read_only_disk"),
    errno.EACCES: (_DISKS, "closed_place"),
    errno.EPERM: (_DISKS, "closed_place"),
    errno.EMFILE: (_DISKS, "open_files"),
    errno.ENFILE: (_DISKS, "open_files"),
    errno.EIO: (_DISKS, "broken_disk"),
    errno.ENAMETOOLONG: (_DISKS, "long_path"),
    errno.ENOMEM: (_MEMORY, "out_of_memory"),
    errno.EAGAIN: (_MEMORY, "no_process"),
}
"""The same by error number."""

_IN_TEXTS: Mapping[str, int] = {
    **{os.strerror(number): number for number in _BY_NUMBER},
    "database or disk is full": errno.ENOSPC,  # SQLite
    "failed to map segment": errno.ENOMEM,  # the loader of libraries
    "can't start new thread": errno.EAGAIN,
    "Could not allocate": errno.ENOMEM,  # DuckDB
}
"""Texts of exceptions without an error number of their own, by what they contain."""
_ABOUT_DATA = {"ArrowInvalid", "ArrowTypeError", "DataError", "ProgrammingError"}
"""Classes of exceptions of Arrow and of databases' drivers whose texts are about values."""
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")


def explain(error: BaseException) -> MachineFault | None:
    """Return the words for an exception; None for a bug, or what no words are known for.

    >>> explain(OSError(errno.EROFS, "Read-only file system", "/sys/here")).reason
    'the disk of /sys is mounted read-only'
    >>> explain(ZeroDivisionError())
    """
    for module, function in _entries(error):
        words: Words = getattr(import_module(module), function)
        try:
            fault = words(error)
        except OSError as other:  # the machine cannot even be examined
            fault = MachineFault(os.strerror(error_number(error) or other.errno or 0))
        if fault is not None:
            return fault
    return None


def failure_of(error: BaseException) -> SfumatoError:
    """Return the error that a command shows for an exception: a fault of the machine, or a bug."""
    fault = explain(error)
    if fault is not None:
        return fault.error()
    return Fault(f"{type(error).__name__}: a bug, or a fault of the machine")


def error_number(error: BaseException) -> int | None:
    """Return the system's number of an error, also of one that only repeats the system's text.

    A value of a table may read like the system's text: errors about data are left out, and what is
    quoted.
    """
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    if _ABOUT_DATA & {class_.__name__ for class_ in type(error).__mro__}:
        return None
    text = str(error) if isinstance(error, OSError) else _QUOTED.sub("", str(error))
    return next((number for words, number in _IN_TEXTS.items() if words in text), None)


def reason_of(error: OSError) -> str:
    """Return in words why a file cannot be read or written, to stand in parentheses."""
    fault = explain(error)
    if fault is not None and fault.kind is not SpecError:
        return fault.reason
    if type(error).__module__.startswith("sfumato.") and error.strerror:
        return error.strerror  # our own words: others may quote
    return os.strerror(error.errno) if error.errno else type(error).__name__


def with_remedies(message: str, error: OSError) -> str:
    """Return a message with the reason of an error in parentheses, and what to do below it."""
    fault = explain(error)
    remedies = () if fault is None else fault.remedies
    return WAY_OUT.join([f"{message} ({reason_of(error)})", *remedies])


def require_machine(error: BaseException, stage: str = "") -> None:
    """Raise the words for a fault of the machine, so that no file is blamed for it.

    Raises:
        Fault: where the exception is one.
    """
    fault = explain(error)
    if fault is not None and fault.kind is not SpecError:
        raise fault.error(stage) from None


def _entries(error: BaseException) -> Iterator[tuple[str, str]]:
    """Yield the entries of the registry that an exception may be of, the nearest class first."""
    for class_ in type(error).__mro__:
        if entry := _BY_CLASS.get(f"{class_.__module__}.{class_.__qualname__}"):
            yield entry
    number = error_number(error)
    if number is not None and (entry := _BY_NUMBER.get(number)):
        yield entry
