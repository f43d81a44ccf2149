"""The software that makes a release's bytes, and the layout of the page among them."""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Literal

LAYOUT = "sfumato-page"
"""The name under which a release says how its page, files and ready SQL are laid out."""
_LAYOUT = "6"
_FIRST = "1"  # that of releases which say none
ToldByPages = Literal[
    "codebook",  # what columns have
    "guesses",  # what can be guessed from the files alone
    "tool",  # how to get the software
    "schemas",  # of all tables, in the manifest
    "little left",  # a warning that little is left
    "learning",  # what all groups teach
    "references",  # what would be guessed of values that are dealt at random
    "outward bounds",  # of means in ready SQL, which were rounded to the nearest float
]
"""What came to pages, or to files beside them, with a later layout than the first."""
_SINCE: Mapping[ToldByPages, int] = {
    "codebook": 2,
    "guesses": 3,
    "tool": 4,
    "schemas": 5,
    "little left": 5,
    "learning": 5,
    "references": 5,
    "outward bounds": 6,
}


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


def tells(what: ToldByPages, stated: Mapping[str, str]) -> bool:
    """True where the page, or the manifest, of a release that names such versions tells it."""
    return stated.get(LAYOUT, _FIRST) not in map(str, range(1, _SINCE[what]))
