"""A registry whose entries are imported when they are named: a command loads what it uses."""

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any, TypeVar

Entry = TypeVar("Entry")


class Entries(MutableMapping[str, Entry]):
    """Entries by their names, each imported at its first use.

    The places are literal strings in the source: the tests of the house read them there, draw
    arrows of imports through them, too, and import every one.
    """

    def __init__(self, package: str, places: Mapping[str, str]) -> None:
        """Say where entries are, without importing any.

        Args:
            package: which the places begin with.
            places: by the name of each entry `module:attribute` below that package, or the module
                alone where it is the entry.
        """
        self._package = package
        self._places = dict(places)
        self._entries: dict[str, Entry] = {}

    def __getitem__(self, name: str) -> Entry:
        if name not in self._entries:
            self._entries[name] = _imported(f"{self._package}.{self._places[name]}")
        return self._entries[name]

    def __setitem__(self, name: str, entry: Entry) -> None:
        self._places.setdefault(name, "")
        self._entries[name] = entry

    def __delitem__(self, name: str) -> None:
        del self._places[name]
        self._entries.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _imported(place: str) -> Any:
    module, _, attribute = place.partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found
