"""The identifiers of a source that tell whose its rows are: private, and in no release."""

from typing import NamedTuple


class Identifiers(NamedTuple):
    """The columns that say whom a row is about, and whose household; None where none does."""

    unit: str | None
    household: str | None = None

    @property
    def counted(self) -> str | None:
        """The one over whose values promises are kept, where they are kept over more than rows."""
        return self.household or self.unit
