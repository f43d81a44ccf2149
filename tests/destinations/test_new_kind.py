"""A toy destination, entered into the registry with nothing else changed, keeps to the laws."""

from pathlib import Path

import pytest

from sfumato.tasks.destinations.registry import DESTINATIONS
from tests.destinations.destination_laws import DestinationLaws
from tests.house.shelf import SHELF, ShelfDestination


class ShelfPlace:
    """A directory that tells whether it is as a line is."""

    kind, environ = "shelf", {}

    def __init__(self, folder):
        self.declared = ShelfDestination(uri=str(folder))

    def require_as(self, line):
        assert files(Path(self.declared.uri) / line.name) == files(line.public)


def files(folder):
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name[0] != ".")
    return {path.relative_to(folder): path.read_bytes() for path in paths}


class TestShelf(DestinationLaws):
    @pytest.fixture
    def place(self, tmp_path, monkeypatch):
        monkeypatch.setitem(DESTINATIONS, "shelf", SHELF)
        return ShelfPlace(tmp_path / "shelf")
