"""The kinds of places elsewhere, by the scheme of their addresses."""

from collections.abc import Callable, Mapping

from sfumato.tasks.verification.elsewhere.place import PlaceElsewhere
from sfumato.tasks.verification.elsewhere.store import StoreDirectory
from sfumato.tasks.verification.elsewhere.web import WebDirectory

PLACES: Mapping[str, Callable[[str, Mapping[str, str]], PlaceElsewhere]] = {
    "http": WebDirectory,
    "https": WebDirectory,
    "s3": StoreDirectory,
}
