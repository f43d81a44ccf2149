"""The kinds of places elsewhere, by the scheme of their addresses."""

from collections.abc import Callable, Mapping

from sfumato.expectations.shared.registered import Entries
from sfumato.tasks.verification.elsewhere.place import PlaceElsewhere

PLACES: Mapping[str, Callable[[str, Mapping[str, str]], PlaceElsewhere]] = Entries(
    "sfumato.tasks.verification.elsewhere",
    {
        "http": "web:WebDirectory",
        "https": "web:WebDirectory",
        "s3": "store:StoreDirectory",
    },
)
