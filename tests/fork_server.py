"""Runs of the command that start at once: forked from a process that has imported everything.

A fresh process spends seconds importing Prefect and Great Expectations. One process imports them
once, starts no thread, and forks a child for each run, which has its own environment, directory
and output, reads Prefect's settings anew and runs the command's own `main`.
"""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from tests.users import become, renounce

ROOT = Path(__file__).parents[1]
THREADLESS = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}

_LOOK_EVERY = 5.0


class Run:
    """A run in a child of the fork server; used like `subprocess.Popen`."""

    def __init__(self, connection: socket.socket, out: IO[bytes], err: IO[bytes]) -> None:
        self._connection, self._texts = connection, (out, err)
        self.pid = int(self._line())
        self.returncode: int | None = None

    def communicate(self, timeout: float) -> tuple[str, str]:
        """Wait for the run's end, once; what it wrote to stdout and stderr."""
        with self._connection:
            self._connection.settimeout(timeout)
            self.returncode = int(self._line())
        out, err = (_content(file) for file in self._texts)
        return out, err

    def _line(self) -> str:
        text = b""
        while not text.endswith(b"\n"):
            if not (more := self._connection.recv(1)):
                raise RuntimeError("the fork server is gone")
            text += more
        return text.decode()


def _content(file: IO[bytes]) -> str:
    """All that was written to a file, which is closed."""
    with file:
        file.seek(0)
        return file.read().decode()


class ForkServer:
    """The process that forks, as its clients see it."""

    def __init__(self, address: Path, home: Path) -> None:
        self.address, self.home = address, home

    def start(
        self,
        arguments: list[str],
        environ: Mapping[str, str],
        stop: str | None,
        place: Path = ROOT,
        user: tuple[int, ...] = (),
        limits: Mapping[str, int] | None = None,
    ) -> Run:
        """Start the command in a child; with `stop` it kills itself at that point.

        Args:
            arguments: of the command.
            environ: its environment.
            stop: the point, as `tests.faults.stop_at` reads it.
            place: the directory where it runs.
            user: whose it is, and the groups beside the user's own: root can say so.
            limits: of the system by the names that `resource` gives them; that of the address
                space (RLIMIT_AS) is beside what the process has already. With any, root has no
                powers over the files of others.
        """
        out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - Run has them
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(self.address))
        request = {"arguments": arguments, "environ": dict(environ), "stop": stop}
        request |= {"place": str(place), "user": user, "limits": limits}
        with tempfile.TemporaryFile() as file:
            file.write(json.dumps(request).encode())
            file.flush()
            descriptors = [file.fileno(), out.fileno(), err.fileno()]
            socket.send_fds(connection, [b"run"], descriptors)
            return Run(connection, out, err)


@contextmanager
def fork_server(folder: Path, timeout: float = 120) -> Iterator[ForkServer]:
    """A fork server with a home of its own, which ends with the block."""
    address, home = folder / "socket", folder / "home"
    home.mkdir()
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "SFUMATO_WORK"))}
    environ = {**plain, **THREADLESS, "HOME": str(home), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.fork_server", str(address)]
    process = subprocess.Popen(command, cwd=ROOT, env=environ)
    try:
        end = time.monotonic() + timeout
        while not address.exists():
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("the fork server did not start")
            time.sleep(0.05)
        yield ForkServer(address, home)
    finally:
        process.kill()
        process.wait()


def serve(address: Path) -> None:
    """Import what runs need, then fork a child for each request while the starter lives."""
    started_by = os.getppid()
    _import_everything()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those who answer requests leave no zombies
    with socket.socket(socket.AF_UNIX) as listener:
        fresh = address.with_suffix(".new")
        listener.bind(str(fresh))
        listener.listen(8)
        fresh.rename(address)
        listener.settimeout(_LOOK_EVERY)
        while os.getppid() == started_by:  # else who started it was killed
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            connection.setblocking(True)
            _require_one_thread()
            if os.fork() == 0:
                listener.close()
                _answer(connection)
            connection.close()


def _import_everything() -> None:
    from sfumato.flows.inputs.environment import quiet

    quiet()
    import great_expectations  # noqa: F401 - imported to be there
    import prefect.main  # noqa: F401

    import sfumato.flows.cli.main
    import sfumato.flows.release  # noqa: F401
    from sfumato.flows.cli.registry import MODULES
    from tests.made_once import make_once, make_ready

    for module in MODULES.values():
        import_module(module)
    make_once()
    make_ready()


def _require_one_thread() -> None:
    """A forked child has the one thread that forked: more would leave their locks held."""
    threads = [path.joinpath("comm").read_text() for path in Path("/proc/self/task").iterdir()]
    if threading.active_count() != 1 or len(threads) != 1:
        raise RuntimeError(f"the fork server has threads: {threads}")


def _answer(connection: socket.socket) -> None:
    """Fork the run, and tell its process and, when it ended, its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, descriptors, _, _ = socket.recv_fds(connection, 16, 3)
    if (child := os.fork()) == 0:
        connection.close()
        try:
            _run(*descriptors)
        except BaseException:  # noqa: BLE001 - the child ends here, and what ended it is told
            traceback.print_exc()
        os._exit(70)  # the command leaves by itself
    connection.sendall(f"{child}\n".encode())
    _, status = os.waitpid(child, 0)
    connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _limit(limits: Mapping[str, int]) -> None:
    """Set limits of this process, which it cannot raise again."""
    for name, value in limits.items():
        if name == "RLIMIT_AS":
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            value += pages * resource.getpagesize()
        resource.setrlimit(getattr(resource, name), (value, value))


def _run(request: int, out: int, err: int) -> None:
    with os.fdopen(request) as file:
        file.seek(0)
        call: dict[str, Any] = json.load(file)
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.environ.clear()
    os.environ.update(call["environ"])
    if call["user"]:
        become(*call["user"])
    os.chdir(call["place"])
    _settle()
    if call["limits"] is not None:
        renounce()
        _limit(call["limits"])
    if call["stop"]:
        from tests.faults.stop_at import main as stopped

        stopped(call["stop"], call["arguments"])
    from sfumato.flows.cli.main import main

    sys.argv[1:] = call["arguments"]
    main()


def _settle() -> None:
    """Let Prefect read its settings from this environment, as an import in it would."""
    from prefect.context import refresh_global_settings_context
    from prefect.logging.configuration import setup_logging

    from sfumato.flows.inputs.environment import quiet

    quiet()
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "ERROR")  # as the command sets it
    refresh_global_settings_context()
    setup_logging()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
