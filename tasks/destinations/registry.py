"""Every kind of destination by its name, under which lines remember them."""

from collections.abc import Mapping

from sfumato.expectations.shared.registered import Entries
from sfumato.tasks.destinations.destination import DestinationKind

DESTINATIONS: Mapping[str, DestinationKind] = Entries(
    "sfumato.tasks.destinations",
    {
        "store": "store:STORE",
        "database": "database:DATABASE",
    },
)
