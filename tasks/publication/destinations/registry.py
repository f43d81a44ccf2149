"""Every kind of destination by its name, under which lines remember them."""

from collections.abc import Mapping

from sfumato.tasks.publication.destinations.database import open_database
from sfumato.tasks.publication.destinations.declared import DatabaseDestination, StoreDestination
from sfumato.tasks.publication.destinations.destination import DestinationKind
from sfumato.tasks.publication.destinations.store import open_store

DESTINATIONS: Mapping[str, DestinationKind] = {
    "store": DestinationKind(StoreDestination, open_store),
    "database": DestinationKind(DatabaseDestination, open_database),
}
