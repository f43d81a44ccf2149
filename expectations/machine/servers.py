"""Faults of Prefect's server in words: not there, silent, closed to us, or another server.

Prefect speaks to its server through httpx, and nothing else here uses httpx.
"""

import os
import re
import shutil
from pathlib import Path

from sfumato.expectations.machine.disks import in_units
from sfumato.expectations.machine.fault import MachineFault
from sfumato.expectations.machine.prefect_in_use import named_server
from sfumato.expectations.shared.errors import Fault, TransientFault

_START = "start a server: prefect server start"
_NAME = "name another: export PREFECT_API_URL=http://127.0.0.1:4200/api"
_WITHOUT = "do without: unset PREFECT_API_URL (release and publish then run without one)"
_AGAIN = "type the same command again"
_LOGINS = (
    "export PREFECT_API_AUTH_STRING=USER:PASSWORD (as the server's PREFECT_SERVER_API_AUTH_STRING)",
    "export PREFECT_API_KEY=KEY, where a proxy asks for a key",
)
_LOGIN_NAMES = ("PREFECT_API_AUTH_STRING", "PREFECT_API_KEY")
_CLOSED, _SERVER_ERROR = (401, 403), 500
_BUSY = (408, 425, 429)
_REASONS = {
    r"refused|Errno 111": "refuses connections: no server listens there",
    r"Name or service|name resolution|getaddrinfo": "is not known: no machine has this name",
    r"unreachable|No route": "cannot be reached: there is no way through the network",
    r"CERTIFICATE|certificate": "shows a certificate that this machine does not trust",
    r"SSL|TLS": "does not speak https",
    r"protocol": "is not an address: it begins neither with http:// nor with https://",
}


def without_login(address: str) -> str:
    """Return the address of a server as it may be shown.

    >>> without_login("https://me:hunter2@prefect.example/api?token=1")
    'https://prefect.example/api'
    """
    scheme, there, rest = address.partition("://")
    host, slash, path = re.split(r"[?#]", rest or scheme)[0].partition("/")
    return f"{scheme + there if there else ''}{host.rpartition('@')[2]}{slash}{path}"


def missing_server(error: BaseException) -> MachineFault:
    """Return the words for a server with which no connection can be made or kept."""
    text = str(error)
    reason = next(
        (words for pattern, words in _REASONS.items() if re.search(pattern, text)),
        "broke the connection off",
    )
    return _fault(reason)


def wrong_address(_error: BaseException) -> MachineFault:
    """Return the words for an address that is none."""
    return _fault("is not an address")


def silent_server(_error: BaseException) -> MachineFault:
    """Return the words for a server that does not answer in time."""
    return _fault("does not answer in time: it is busy, or is not a Prefect server")


def other_server(_error: BaseException | None = None) -> MachineFault:
    """Return the words for a server that is no Prefect server."""
    reason = f"{_subject()} answers, but not as Prefect's API does"
    return MachineFault(reason, (f"{_NAME} (the address ends with /api)", _START, _WITHOUT))


def refusing_server(error: BaseException) -> MachineFault:
    """Return the words for a server that answers with a status of refusal or failure."""
    status = int(getattr(getattr(error, "response", None), "status_code", 0))
    if status in _CLOSED:
        login = next((name for name in _LOGIN_NAMES if os.environ.get(name)), None)
        state = "PREFECT_API_AUTH_STRING is not set" if login is None else f"{login} is wrong"
        return MachineFault(f"{_subject()} needs a login (HTTP status {status}): {state}", _LOGINS)
    if status >= _SERVER_ERROR or status in _BUSY:
        return _failing(status)
    if _is_prefect(error):
        return _fault(f"refused the request (HTTP status {status})", transient=False)
    return other_server()


def unreached_server(error: BaseException) -> MachineFault | None:
    """Return the words for what Prefect's client says of a server, None for any other error."""
    text = str(error)
    if text.startswith("Failed to reach API"):
        cause = error.__cause__
        status = getattr(cause, "response", None)
        if status is not None and cause is not None:
            return refusing_server(cause)
        return missing_server(cause or error) if cause else _fault("cannot be reached")
    if text.startswith("Found incompatible versions"):
        return _fault("has another version than the Prefect installed here", transient=False)
    if "ephemeral Prefect API server" in text or "Unable to find an available port" in text:
        return _no_start()
    return None


def _fault(reason: str, *, transient: bool = True) -> MachineFault:
    remedies = (_AGAIN, _START, _NAME) if named_server() is None else (_START, _NAME, _WITHOUT)
    return MachineFault(f"{_subject()} {reason}", remedies, TransientFault if transient else Fault)


def _subject() -> str:
    address = named_server()
    if address is None:
        return "the Prefect server that this command started"
    return f"Prefect's server at {without_login(address)} (PREFECT_API_URL)"


def _failing(status: int) -> MachineFault:
    """Return the words for a server that failed at a request: its database may have no room."""
    if named_server() is not None:
        reason = f"failed (HTTP status {status})"
        remedy = (
            "look at its log, as its database may be locked or its disk full, "
            "then type the same command again"
        )
        return MachineFault(f"{_subject()} {reason}", (remedy,), TransientFault)
    return MachineFault(
        f"{_subject()} failed (HTTP status {status}): its database is in {_home()}",
        (f"make room there, then type the same command again: {_room()}", _show_log()),
        TransientFault,
    )


def _no_start() -> MachineFault:
    reason = f"{_subject()} did not start: its database is in {_home()} ({_room()})"
    slower = "give it more time: export PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS=300"
    return MachineFault(reason, (_show_log(), slower, _START))


def _show_log() -> str:
    return "to see why, type PREFECT_SERVER_LOGGING_LEVEL=ERROR before the command"


def _home() -> Path:
    return Path(os.environ.get("PREFECT_HOME") or "~/.prefect").expanduser()


def _room() -> str:
    try:
        free = shutil.disk_usage(_home()).free
    except OSError:
        return "it is not there"
    return f"{in_units(free)} are free on its disk"


def _is_prefect(error: BaseException) -> bool:
    """Decide whether a refusal has the form of Prefect's: a JSON object with a detail."""
    response = getattr(error, "response", None)
    kind = str(getattr(response, "headers", {}).get("content-type", ""))
    return kind.startswith("application/json")
