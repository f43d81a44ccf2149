"""What a column's values are like, in counts: for the private page, and for proposals."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa

from sfumato.expectations.exact import is_ordered
from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.profile.names import Meaning, is_postal, sense_of
from sfumato.tasks.profile.patterns import POSTCODE, USES, recognise
from sfumato.tasks.schema.columns import NUMBERS, ColumnType


@dataclass(frozen=True, eq=False)
class ColumnFacts:
    """A column of the represented rows.

    Attributes:
        column: its values.
        type: of them.
        rows: how many there are (int64, one per value).
        missing: number of rows without a value.
        meaning: what its name says.
        look: what its values look like.
    """

    column: Column
    type: ColumnType
    rows: np.ndarray
    missing: int
    meaning: Meaning | None
    look: str | None

    @property
    def name(self) -> str:
        """Of the column."""
        return self.column.name

    @property
    def distinct(self) -> int:
        """Number of different values."""
        return len(self.rows)

    @property
    def filled(self) -> int:
        """Number of rows with a value."""
        return int(self.rows.sum())

    @property
    def alone(self) -> int:
        """Number of values that one row alone has."""
        return int((self.rows == 1).sum())

    @property
    def largest(self) -> int:
        """Number of rows with the most frequent value."""
        return int(self.rows.max(initial=0))

    @property
    def own(self) -> Fraction:
        """Different values per row that has one: 1 where each row has its own."""
        return Fraction(self.distinct, max(self.filled, 1))

    @property
    def is_constant(self) -> bool:
        """True where all rows have the same value, or none."""
        return self.distinct + bool(self.missing) < 2

    @property
    def is_number(self) -> bool:
        """True where values can be added up."""
        return self.type in NUMBERS

    @property
    def is_ordered(self) -> bool:
        """True where values have an order of their own."""
        return is_ordered(self.column.values.type)

    @property
    def use(self) -> str | None:
        """What such values are to people: contact, code or text."""
        return None if self.look is None else USES[self.look]


def facts_of(microdata: Microdata, types: dict[str, ColumnType]) -> tuple[ColumnFacts, ...]:
    """What the columns of a table are like."""
    return tuple(_facts(column, types[column.name]) for column in microdata.columns)


def _has_postcodes(column: Column) -> bool:
    return is_postal(column.name) and pa.types.is_string(column.values.type)


def _facts(column: Column, type_: ColumnType) -> ColumnFacts:
    counts = np.bincount(column.codes.astype(np.int64) + 1, minlength=len(column.values) + 1)
    return ColumnFacts(
        column=column,
        type=type_,
        rows=counts[1:],
        missing=int(counts[0]),
        meaning=sense_of(column.name),
        look=recognise(column) or (POSTCODE if _has_postcodes(column) else None),
    )
