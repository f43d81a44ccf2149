"""Prefect's servers: the one that is configured, and those that commands without one start.

A command that is killed leaves the server that it started running. A record of each is kept in the
work directory until it ends, so that `sfumato sweep` can end it and nothing else:

    <work>/.servers/<pid>.json   when it started and in which home, and the same of its command
"""

import atexit
import json
import os
import select
import signal
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.expectations.machine.fault import explain
from sfumato.expectations.machine.prefect_in_use import named_server
from sfumato.expectations.machine.servers import other_server
from sfumato.expectations.shared.errors import SfumatoError, TransientFault
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.scratch import start_of_process
from sfumato.tasks.private.workdir import is_private, private_directory, work_directory
from sfumato.tasks.schema.files import read_bytes, read_json

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient

_SECONDS = 10.0  # that a server has for an answer
_SERVER_ERROR = 500  # statuses from here on may pass: Prefect's client asks again
_RECORDS = ".servers"
_PATIENCE = 5.0  # seconds that a server has to end by itself
_PROGRAM = b"prefect.server.api.server:create_app"


def require_server() -> None:
    """Refuse to begin without the server that is configured; none is started by this.

    A server that is busy or fails is let pass: Prefect's client asks it again.

    Raises:
        Fault: where it cannot be reached, does not let us in, or is no Prefect server.
    """
    from prefect.settings import PREFECT_CLIENT_MAX_RETRIES, temporary_settings

    if named_server() is None:
        return
    with temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0}):
        failure = _failure()
    if failure is not None:
        raise failure


def _failure() -> SfumatoError | None:
    """Return what is wrong with the server that is configured, as an error."""
    from prefect.client.orchestration import get_client

    try:
        with get_client(httpx_settings={"timeout": _SECONDS}, sync_client=True) as client:
            return None if _is_busy(client) or _is_prefect(client) else other_server().error()
    except Exception as error:  # noqa: BLE001 - the words for it, or Prefect's own client says it
        fault = explain(error)
        return None if fault is None else fault.error()


def _is_busy(client: "SyncPrefectClient") -> bool:
    """Decide whether the server answers with a failure that may pass."""
    error = client.api_healthcheck()
    if error is None:
        return False
    status = getattr(getattr(error, "response", None), "status_code", 0)
    fault = explain(error)
    if status >= _SERVER_ERROR or (status and fault and issubclass(fault.kind, TransientFault)):
        return True
    raise error


def _is_prefect(client: "SyncPrefectClient") -> bool:
    """Decide whether the server tells its version, as Prefect's does."""
    with suppress(ValueError):  # its answer is no JSON
        return isinstance(client.api_version(), str)
    return False


@dataclass(frozen=True)
class TemporaryServer:
    """A server that a command started for itself.

    Attributes:
        pid: of its process.
        start: when its process started: the start of the system, and ticks since then.
        home: Prefect's directory, where its database is.
        command: the process that started it.
        command_start: when that process started.
    """

    pid: int
    start: str
    home: str
    command: int
    command_start: str

    @property
    def runs(self) -> bool:
        """Decide whether the process is this very server: by its start, program and home."""
        process = Path("/proc") / str(self.pid)
        try:
            program, variables = (read_bytes(process / name) for name in ("cmdline", "environ"))
        except OSError:
            return False
        same_home = _home(_variables(variables)) == self.home
        return start_of_process(self.pid) == self.start and _PROGRAM in program and same_home

    @property
    def is_left(self) -> bool:
        """Decide whether it runs, and the command that needs it does not."""
        return self.runs and start_of_process(self.command) != self.command_start

    @property
    def bytes_of_memory(self) -> int:
        """The memory that its process holds."""
        with suppress(OSError, IndexError, ValueError):
            pages = read_bytes(Path("/proc") / str(self.pid) / "statm").split()[1]
            return int(pages) * os.sysconf("SC_PAGE_SIZE")
        return 0

    def end(self) -> bool:
        """End the server, and return True once it has ended."""
        with suppress(ProcessLookupError), closing(_Process(self.pid)) as process:
            if not self.is_left:  # the process may have become another one before it was opened
                return False
            process.send(signal.SIGTERM)
            if not process.has_ended(_PATIENCE):
                process.send(signal.SIGKILL)
            return process.has_ended(_PATIENCE)
        return True


class _Process:
    """A process that stays the same, whatever becomes of its number."""

    def __init__(self, pid: int) -> None:
        self._descriptor = os.pidfd_open(pid)

    def send(self, number: int) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._descriptor, number)

    def has_ended(self, seconds: float) -> bool:
        """Wait so long for its end, and return True if it came."""
        waiting = select.poll()
        waiting.register(self._descriptor, select.POLLIN)
        return bool(waiting.poll(1000 * seconds))

    def close(self) -> None:
        os.close(self._descriptor)


def note_servers(environ: Mapping[str, str]) -> None:
    """Keep a record of the server that Prefect starts for this process, from its start to its end.

    Must run before Prefect's client is used first.
    """
    from prefect.server.api.server import SubprocessASGIServer

    server: Any = SubprocessASGIServer()  # the one that Prefect's client starts
    if server.running or hasattr(server, "noted"):
        return
    work, start = work_directory(environ), server._run_uvicorn_command
    server.noted = True

    def start_noted() -> Any:
        process = start()
        with suppress(OSError, SfumatoError):  # a run does not fail for that
            _write_record(work, process.pid)
        return process

    server._run_uvicorn_command = start_noted
    atexit.register(_forget_ended, work)  # after Prefect's own, which ends the server


def left_servers(environ: Mapping[str, str]) -> list[TemporaryServer]:
    """Return the servers that killed commands left running."""
    records = _records(work_directory(environ))
    return [server for _, server in records if server is not None and server.is_left]


def end_left_servers(environ: Mapping[str, str]) -> int:
    """End the servers that killed commands left running, and return how many have ended."""
    work = work_directory(environ)
    ended = sum(server.end() for server in left_servers(environ))
    _forget_ended(work)
    return ended


def _write_record(work: Path, pid: int) -> None:
    command = os.getpid()
    server = TemporaryServer(
        pid, start_of_process(pid), _home(os.environ), command, start_of_process(command)
    )
    place = private_directory(private_directory(work) / _RECORDS)
    write_atomically(place / f"{pid}.json", json.dumps(asdict(server)).encode())


def _forget_ended(work: Path) -> None:
    """Delete the records of servers that run no more."""
    for path, server in _records(work):
        if server is None or not server.runs:
            with suppress(OSError):
                path.unlink()


def _records(work: Path) -> list[tuple[Path, TemporaryServer | None]]:
    """Return the records in a work directory; None in place of one that is none."""
    place = work / _RECORDS
    if not (is_private(work) and is_private(place)):
        return []
    return [(path, _read(path)) for path in sorted(place.glob("*.json"))]


def _read(path: Path) -> TemporaryServer | None:
    try:
        record = TemporaryServer(**read_json(path))
    except (OSError, ValueError, TypeError):
        return None
    numbers = isinstance(record.pid, int) and isinstance(record.command, int) and record.pid > 1
    return record if numbers else None


def _home(environ: Mapping[str, str]) -> str:
    home = environ.get("PREFECT_HOME") or f"{environ.get('HOME', '')}/.prefect"
    return os.path.realpath(Path(home).expanduser())


def _variables(content: bytes) -> dict[str, str]:
    """Return the environment of a process, as the system shows it."""
    pairs: Iterator[tuple[bytes, bytes, bytes]] = (
        pair.partition(b"=") for pair in content.split(b"\0")
    )
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}
