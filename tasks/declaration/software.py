"""The software that makes a release's bytes, and the layout of the page among them."""

from collections.abc import Mapping
from importlib.metadata import version

LAYOUT = "sfumato-page"
"""The name under which a release says how its page is laid out."""
_LAYOUT = "4"
_FIRST = "1"  # that of releases which say none


def software() -> dict[str, str]:
    """The versions on which a release's bytes depend."""
    return {
        "sfumato": version("sfumato"),
        LAYOUT: _LAYOUT,
        "pyarrow": version("pyarrow"),
        "sqlglot": version("sqlglot"),
    }


def other_software(stated: Mapping[str, str]) -> dict[str, str]:
    """The versions of software that made a release, where another version runs here.

    Args:
        stated: the versions that the release names.
    """
    here = software()
    made = {LAYOUT: _FIRST, **stated}
    return {name: version for name, version in made.items() if here.get(name) != version}


def has_codebook(stated: Mapping[str, str]) -> bool:
    """True where the page of a release that names such versions has a codebook."""
    return stated.get(LAYOUT, _FIRST) != _FIRST


def tells_guesses(stated: Mapping[str, str]) -> bool:
    """True where the page of a release that names such versions tells what can be guessed of it."""
    return stated.get(LAYOUT, _FIRST) not in (_FIRST, "2")


def tells_tool(stated: Mapping[str, str]) -> bool:
    """True where the page of a release that names such versions tells how to get the software."""
    return stated.get(LAYOUT, _FIRST) not in (_FIRST, "2", "3")
