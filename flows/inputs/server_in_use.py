"""The Prefect server that commands use: the configured one, or the one that lines were deployed at.

    <work>/.servers/address.json   its address, without a login

Only the private work directory is believed, and only a server that answers.
"""

import json
import os
from collections.abc import Mapping
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

from sfumato.expectations.machine.prefect_in_use import named_server
from sfumato.expectations.machine.servers import without_login
from sfumato.expectations.shared.errors import SfumatoError
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.workdir import is_private, private_directory, work_directory
from sfumato.tasks.schema.files import read_json

_PLACE, _FILE = ".servers", "address.json"
_SECONDS = 0.5  # that it has for an answer: a command begins without it after that
_FINE = 200


def note_server(address: str, environ: Mapping[str, str]) -> None:
    """Remember the server, so that commands of this work directory show their runs to it.

    A deployment does not fail for that.
    """
    with suppress(OSError, SfumatoError):
        place = private_directory(private_directory(work_directory(environ)) / _PLACE)
        write_atomically(place / _FILE, json.dumps({"address": without_login(address)}).encode())


def server_in_use() -> str | None:
    """Return the address of the server for this process, or None if there is none.

    A remembered server is named in the environment from then on, where Prefect looks for it.
    """
    if (address := named_server()) is None and (address := known_server(os.environ)) is not None:
        os.environ["PREFECT_API_URL"] = address
    return address


def known_server(environ: Mapping[str, str]) -> str | None:
    """Return the address of the remembered server, if it answers as Prefect's does."""
    address = _remembered_address(work_directory(environ) / _PLACE)
    return address if address is not None and _answers(address) else None


def _remembered_address(place: Path) -> str | None:
    """Return the address in the file; None without one, or if others could have changed it."""
    if not (is_private(place.parent) and is_private(place)):
        return None
    with suppress(OSError, ValueError, KeyError, TypeError):
        return str(read_json(place / _FILE)["address"])
    return None


def _answers(address: str) -> bool:
    """Decide whether a server says that it is well."""
    with suppress(OSError, ValueError, HTTPException):
        parts = urlsplit(address)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        with closing(kind(parts.hostname or "", parts.port, timeout=_SECONDS)) as connection:
            connection.request("GET", f"{parts.path.rstrip('/')}/health")
            answer = connection.getresponse()
            return answer.status == _FINE and answer.read(64).strip() == b"true"
    return False
