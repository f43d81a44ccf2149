"""Faults of memory in words: too little of it, and workers that the system killed for that."""

import os
import re
from contextlib import suppress
from math import prod
from pathlib import Path

from sfumato.expectations.machine.disks import in_units
from sfumato.expectations.machine.fault import MachineFault
from sfumato.expectations.machine.system import limit
from sfumato.expectations.shared.errors import TransientFault

_SIZE = re.compile(r"size (?:of )?(\d+(?:\.\d+)?)\s?(bytes|[KMGT]i?B)?\b")
_FACTORS = {"K": 10, "M": 20, "G": 30, "T": 40}  # powers of two
_AVAILABLE = re.compile(r"^MemAvailable:\s+(\d+) kB$", re.MULTILINE)
_PARTS = "release in parts, with one in memory at a time (in the spec, `parts: {rows: 1000000}`)"
_FEWER = "let fewer processes work at once (sfumato compare --processes 1)"
_MORE = "use a machine with more memory, or end other programs on this one"


def out_of_memory(error: BaseException) -> MachineFault:
    """Return the words for memory that the system refused."""
    size = requested_bytes(error)
    wish = "" if size is None else f": {in_units(size)} were needed at once"
    most = limit("RLIMIT_AS")
    remedies = (_PARTS, _FEWER)
    if most is not None:
        allowed = f"this process may use {in_units(most)} (ulimit -v)"
        return MachineFault(
            f"out of memory{wish}{';' if wish else ':'} {allowed}",
            (*remedies, "ulimit -v unlimited (of a service: LimitAS=infinity)"),
        )
    available = available_bytes()
    rest = "" if available is None else f" ({in_units(available)} are available)"
    return MachineFault(f"out of memory{wish}{rest}", (*remedies, _MORE))


def killed_worker(_error: BaseException) -> MachineFault:
    """Return the words for a worker process that ended in the midst of its work."""
    return MachineFault(
        "a worker process was killed, as the system does where memory runs out",
        (_FEWER, _PARTS, f"{_MORE} (journalctl -k | grep -i oom shows what was killed)"),
    )


def no_process(error: BaseException) -> MachineFault:
    """Return the words for a process or thread that the system did not let begin."""
    if limit("RLIMIT_AS") is not None:
        return out_of_memory(error)  # a thread's stack counts, and is refused as a thread
    most = limit("RLIMIT_NPROC")
    allowed = "" if most is None else f": this user may have {most:,}"
    return MachineFault(
        f"no further process or thread can be started{allowed}",
        ("ulimit -u unlimited, or end other processes of this user", _FEWER),
        TransientFault,
    )


def requested_bytes(error: BaseException) -> int | None:
    """Return the bytes that were asked for, as far as an exception says so.

    >>> requested_bytes(MemoryError("malloc of size 4096 failed"))  # as Arrow says it
    4096
    >>> requested_bytes(MemoryError("failed to allocate data of size 1.5 GiB"))  # as DuckDB does
    1610612736
    >>> requested_bytes(MemoryError())
    """
    shape, dtype = getattr(error, "shape", None), getattr(error, "dtype", None)
    if isinstance(shape, tuple) and dtype is not None:  # as NumPy says it
        return prod(map(int, shape)) * int(dtype.itemsize)
    match = _SIZE.search(str(error))
    if match is None:
        return None
    power = _FACTORS.get((match[2] or " ")[0], 0)
    return int(float(match[1]) * 2**power)


def available_bytes() -> int | None:
    """Return the memory that new processes can have, or None where the system does not say."""
    with suppress(OSError):
        match = _AVAILABLE.search(Path("/proc/meminfo").read_text(encoding="ascii"))
        return int(match[1]) * 1024 if match else None
    with suppress(OSError, ValueError):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None
