"""The software that makes a release's bytes, and the layout of the page among them."""

from collections.abc import Mapping
from importlib.metadata import version

LAYOUT = "sfumato-page"
"""The name under which a release says how its page, and its list of files, are laid out."""
_LAYOUT = "5"
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
    return _since(2, stated)


def tells_guesses(stated: Mapping[str, str]) -> bool:
    """True where the page of a release that names such versions tells what can be guessed of it."""
    return _since(3, stated)


def tells_tool(stated: Mapping[str, str]) -> bool:
    """True where the page of a release that names such versions tells how to get the software."""
    return _since(4, stated)


def describes_every_file(stated: Mapping[str, str]) -> bool:
    """True where the manifest of a release that names such versions has schemas of all tables."""
    return _since(5, stated)


def tells_little_left(stated: Mapping[str, str]) -> bool:
    """True where the page of a release that names such versions warns that little is left."""
    return _since(5, stated)


def tells_learning(stated: Mapping[str, str]) -> bool:
    """True where the page of a release that names such versions tells what all groups teach."""
    return _since(5, stated)


def tells_references(stated: Mapping[str, str]) -> bool:
    """True where the page of a release that names such versions compares with dealt values."""
    return _since(5, stated)


def _since(layout: int, stated: Mapping[str, str]) -> bool:
    """True where a page is not laid out as those before some layout."""
    return stated.get(LAYOUT, _FIRST) not in map(str, range(1, layout))
