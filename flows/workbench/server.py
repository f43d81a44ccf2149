"""The server of the workbench: a port of this machine, until its terminal or its hour ends."""

import asyncio
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from sfumato.expectations.machine.fault import with_remedies
from sfumato.expectations.shared.errors import InputError
from sfumato.flows.workbench.guard import LOOPBACK, Guard, Keys
from sfumato.tasks.private.durable import write_atomically

IDLE_SECONDS = 3600.0
_LOOK_SECONDS = 1.0
_BACKLOG = 64
_ENDINGS = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGTERM,
)  # of a terminal that closes, ctrl-C, and kill
_LEAVE_SECONDS = 2  # that open answers get when the server ends
_OPENING = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>PRIVATE: Sfumato workbench</title>
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}"></head>
<body><p><a href="{address}">Open the workbench</a>. This link works once.</p></body></html>
"""


def open_port() -> socket.socket:
    """Return a socket on a free port of this machine, which no other process can share.

    Raises:
        InputError: where the machine has no free port.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.bind((LOOPBACK, 0))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise InputError(with_remedies("no port can be opened on this machine", error)) from None
    return listener


@contextmanager
def opening_file(place: Path, keys: Keys, port: int) -> Iterator[Path]:
    """Yield a file of mode 0600 that lets a browser in once; it goes at the end.

    An address on a browser's command line would stand in the list of processes, which every user
    of the machine can read.

    Args:
        place: a private directory.
        keys: the secrets of the run.
        port: the port of the server.
    """
    path = place / f"open-{port}.html"
    address = escape(f"http://{LOOPBACK}:{port}{keys.entrance}", quote=True)
    write_atomically(path, _OPENING.format(address=address).encode(), mode=0o600)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


class Activity:
    """The application, and when it was last asked for something."""

    def __init__(self, application: ASGIApp, is_busy: Callable[[], bool]) -> None:
        """Take the application, and what tells if it works on something."""
        self._application, self._is_busy = application, is_busy
        self._latest = time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and note the time."""
        self._latest = time.monotonic()
        await self._application(scope, receive, send)

    def idle_seconds(self) -> float:
        """Return the seconds since the last request; 0 while something is worked on."""
        if self._is_busy():
            self._latest = time.monotonic()
        return time.monotonic() - self._latest


class _SignalledServer(uvicorn.Server):
    """A server that leaves signals to its caller, who has commands to stop and files to delete."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leave signals as they are."""
        yield


class WorkbenchServer:
    """A server without logs, which ends with its terminal, or when it was not used for long.

    Attributes:
        guard: the application behind its door.
    """

    def __init__(
        self, application: ASGIApp, keys: Keys, listener: socket.socket, is_busy: Callable[[], bool]
    ) -> None:
        """Take the application, the secrets of the run, the socket, and what tells if it works."""
        port = listener.getsockname()[1]
        self._activity = Activity(application, is_busy)
        self._keys, self._listener, self._parent = keys, listener, os.getppid()
        self.guard = Guard(self._activity, keys, port)
        config = uvicorn.Config(
            self.guard,
            log_config=None,
            access_log=False,
            log_level="critical",
            lifespan="off",
            ws="none",
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_LEAVE_SECONDS,
        )
        self._server = _SignalledServer(config)

    def run(self, opening: Path, idle_seconds: float = IDLE_SECONDS) -> None:
        """Serve until the terminal ends, the user interrupts, or nobody has used it for long.

        Args:
            opening: the file that lets a browser in; it goes when it was used.
            idle_seconds: after how many seconds without a request the server ends.
        """
        asyncio.run(self._serve(opening, idle_seconds))

    def stop(self) -> None:
        """End the server after the answers that it is giving."""
        self._server.should_exit = True

    async def _serve(self, opening: Path, idle_seconds: float) -> None:
        if threading.current_thread() is threading.main_thread():  # which alone gets signals
            for ending in _ENDINGS:
                asyncio.get_running_loop().add_signal_handler(ending, self.stop)
        watching = asyncio.create_task(self._watch(opening, idle_seconds))
        try:
            await self._server.serve(sockets=[self._listener])
        finally:
            watching.cancel()

    async def _watch(self, opening: Path, idle_seconds: float) -> None:
        """End the server if it is idle, or the process that started it has ended."""
        while not self._server.should_exit:
            await asyncio.sleep(_LOOK_SECONDS)
            if self._keys.is_used:
                opening.unlink(missing_ok=True)
            is_orphan = os.getppid() != self._parent
            if is_orphan or self._activity.idle_seconds() > idle_seconds:
                self.stop()


def open_browser(file: Path) -> bool:
    """Open a file in the user's browser; return False where there is none to open.

    Its messages are not shown, because browsers write much on terminals.
    """
    import webbrowser

    if not (sys.platform in ("darwin", "win32") or _has_screen()):
        return False
    with suppress(webbrowser.Error, OSError):
        return webbrowser.open(file.as_uri())
    return False


def _has_screen() -> bool:
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
