"""The laws of destinations, for every kind that is registered."""

import pytest

from sfumato.tasks.destinations.registry import DESTINATIONS
from tests.destinations.destination_laws import DestinationLaws


class TestStore(DestinationLaws):
    @pytest.fixture
    def place(self, store):
        return store


@pytest.mark.postgres
class TestDatabase(DestinationLaws):
    @pytest.fixture
    def place(self, database):
        return database


def test_every_kind_keeps_to_them():
    assert set(DESTINATIONS) == {"store", "database"}
