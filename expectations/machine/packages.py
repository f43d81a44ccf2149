"""Packages that are not installed: which of our extras installs them, and what to type.

`pip install sfumato` installs what reads, checks and asks a release. What publishes, and what
reaches servers, comes with extras: they are looked up in the metadata of the installed package.
"""

import re
from functools import cache
from importlib import import_module
from importlib.metadata import requires
from importlib.util import find_spec
from typing import Any

from sfumato.expectations.machine.fault import MachineFault
from sfumato.expectations.shared.errors import MissingPackageError

_REQUIREMENT = re.compile(r"([\w.-]+)[^;]*(?:; extra == .(\w+).)?$")
_OF_DEVELOPERS = {"test", "dev", "guide"}
_DISTRIBUTIONS = {"stdnum": "python-stdnum", "botocore": "boto3"}
"""The distributions of modules that are named otherwise."""


def missing_package(error: BaseException) -> MachineFault | None:
    """Return the words for a module that is not there; None for one that we do not require."""
    module = (getattr(error, "name", None) or "").partition(".")[0]
    package = _DISTRIBUTIONS.get(module, _index_name(module))
    extra = _extras().get(package)
    if extra is None:
        return None
    return MachineFault(
        f"this needs the package {package}, which is not installed",
        (install(extra),),
        MissingPackageError,
    )


def require_module(name: str) -> None:
    """Refuse to go on without a module that the work ahead imports somewhere.

    Raises:
        ModuleNotFoundError: if it is not installed.
    """
    if find_spec(name) is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def import_extra(module: str, extra: str, what: str) -> Any:
    """Import a module that one of the package's extras installs.

    Args:
        module: its name.
        extra: the extra.
        what: what needs it: a file, a key of the spec, a method.

    Raises:
        MissingPackageError: if it is not installed; it shows the command that installs it.
    """
    try:
        return import_module(module)
    except ImportError:
        raise MissingPackageError(
            f"{what}: needs a package that is not installed. Run {install(extra)}"
        ) from None


def install(extra: str) -> str:
    """Return the command that installs an extra; what every reader has is of no extra.

    >>> install("publish")
    "pip install 'sfumato[publish]'"
    """
    return f"pip install 'sfumato[{extra}]'" if extra else "pip install sfumato"


@cache
def _extras() -> dict[str, str]:
    """Return the extra that installs each package, by the package's normalized name; or ""."""
    extras: dict[str, str] = {}
    for requirement in requires("sfumato") or ():
        match = _REQUIREMENT.match(requirement)
        if match and match[2] not in _OF_DEVELOPERS:
            extras.setdefault(_index_name(match[1]), match[2] or "")
    return extras


def _index_name(name: str) -> str:
    """Return a name as the package index spells it.

    >>> _index_name("Great_Expectations")
    'great-expectations'
    """
    return re.sub(r"[-_.]+", "-", name).lower()
