"""The rows that a release represents, as they were: in memory as a whole, or part by part."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from sfumato.tasks.microdata.table import Microdata


class OriginalPart(Protocol):
    """Rows of a part of a table, which are read when they are needed."""

    def read(self, names: Sequence[str]) -> Microdata:
        """Some columns of the represented rows."""
        ...


@dataclass(frozen=True)
class OriginalInParts:
    """All parts of a table, in the order of the release's."""

    parts: Sequence[OriginalPart]

    def each(self, names: Sequence[str]) -> Iterator[Microdata]:
        """Some columns of each part, one after the other."""
        for part in self.parts:
            yield part.read(names)


Original = Microdata | OriginalInParts
"""The represented rows before anonymization."""
