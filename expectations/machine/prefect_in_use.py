"""The use of Prefect: a server of it is configured, or this is part of one of its runs.

Prefect takes a second to import, so both are found out without it unless it is there already.
"""

import os
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def named_server() -> str | None:
    """Return the address of the server that is configured, or None where there is none.

    The environment may name it, or one of Prefect's files of settings. These are read without
    Prefect unless it is there already, since importing it takes a second.
    """
    address = os.environ.get("PREFECT_API_URL")
    settings = sys.modules.get("prefect.settings")
    if not address and settings is not None:
        address = settings.PREFECT_API_URL.value()
    elif not address:
        address = _find_server_in_files()
    return str(address) if address else None


def _find_server_in_files() -> str | None:
    """Return the address in the active profile, or in the settings of this directory's project."""
    home = Path(os.environ.get("PREFECT_HOME") or "~/.prefect").expanduser()
    profiles = _read_toml(Path(os.environ.get("PREFECT_PROFILES_PATH") or home / "profiles.toml"))
    name = os.environ.get("PREFECT_PROFILE") or profiles.get("active")
    profile = _table_below(profiles, "profiles", str(name))
    addresses = (
        profile.get("PREFECT_API_URL"),
        _table_below(_read_toml(Path("prefect.toml")), "api").get("url"),
        _table_below(_read_toml(Path("pyproject.toml")), "tool", "prefect", "api").get("url"),
    )
    return next((str(address) for address in addresses if address), None)


def _table_below(document: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """Return a table below tables of a document, empty if it is not there."""
    for name in names:
        below = document.get(name)
        document = below if isinstance(below, Mapping) else {}
    return document


def _read_toml(path: Path) -> Mapping[str, Any]:
    """Return a file's tables; none if it is not there, or Prefect could not read it either."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def in_prefect_run() -> bool:
    """Decide whether this is part of a run of Prefect's."""
    context = sys.modules.get("prefect.context")
    if context is None:
        return False
    return bool(context.FlowRunContext.get() or context.TaskRunContext.get())
