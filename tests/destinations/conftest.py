import shutil

import pytest

from tests.destinations.places import DatabasePlace, store_server
from tests.release.small import Small, people


@pytest.fixture(scope="session")
def stores():
    """Makes buckets of a simulated store."""
    with store_server() as bucket:
        yield bucket


@pytest.fixture
def store(stores):
    """A bucket."""
    return stores()


@pytest.fixture
def database():
    """A database of its own."""
    return DatabasePlace()


@pytest.fixture(scope="session")
def lines(tmp_path_factory):
    """Folders of a line with one, two and three versions."""
    folder = tmp_path_factory.mktemp("lines")
    places_by_number = {}
    with pytest.MonkeyPatch.context() as patch:
        for number in (1, 2, 3):
            place = folder / str(number)
            if number > 1:
                shutil.copytree(folder / str(number - 1), place, symlinks=True)
            patch.setenv("SFUMATO_WORK", str(place / "work"))
            place.mkdir(exist_ok=True)
            rows = people(first=1000 * number, seed=number)
            Small(place / "line").write(rows).publish(f"run-{number}")
            places_by_number[number] = place
    return places_by_number


@pytest.fixture
def with_versions(lines, tmp_path, monkeypatch):
    """A line of its own with some versions."""

    def copy_line(number):
        place = tmp_path / f"of-{number}"
        shutil.copytree(lines[number], place, symlinks=True)
        monkeypatch.setenv("SFUMATO_WORK", str(place / "work"))
        return Small(place / "line").plan().line

    return copy_line
