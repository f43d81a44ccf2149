"""Whether the workers of a cluster can do what this process would: same software, same disk."""

import secrets
from pathlib import Path
from typing import Any

from sfumato.expectations.errors import InputError
from sfumato.tasks.declaration.software import software
from sfumato.tasks.schema.files import read_text

_SEEN = "seen-by-workers"


def require_alike(client: Any, run: Path) -> None:
    """Hold the workers that are there to this process.

    Args:
        client: of the cluster.
        run: a private directory, which all of them must see.

    Raises:
        InputError: where there is none, or one has other software or sees another disk.
    """
    token = secrets.token_hex(16)
    (run / _SEEN).write_text(token, encoding="ascii")
    found = client.run(_answer, str(run / _SEEN), on_error="return")
    if not found:
        raise InputError("SFUMATO_DASK: the cluster has no workers")
    here = software()
    for number, answer in enumerate(found.values(), start=1):
        called = f"SFUMATO_DASK: worker {number} of {len(found)}"
        if not isinstance(answer, tuple):
            raise InputError(f"{called}: does not have this software installed")
        versions, seen = answer
        if other := next((name for name in here if versions.get(name) != here[name]), None):
            raise InputError(
                f"{called}: has {other} {versions.get(other)}, and this process {here[other]}"
            )
        if seen != token:
            raise InputError(
                f"{called}: does not see the work directory: it must be on a disk that all share, "
                "at the same path, and of the same user"
            )


def _answer(path: str) -> tuple[dict[str, str], str | None]:
    """What a worker has installed, and what it reads at a path."""
    try:
        return software(), read_text(Path(path), encoding="ascii")
    except OSError:
        return software(), None
