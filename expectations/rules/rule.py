"""Base classes of all rules of tables, and rules against columns that identify single people."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

_ENOUGH = 1000  # values that decide of most columns


class Ruling(NamedTuple):
    """The decision of a rule, and the count that decided it, None if nothing is counted."""

    holds: bool
    observed: int | None


class Rule(Protocol):
    """A condition that a table must meet; it says how much is wrong, never which value."""

    type: ClassVar[str]

    def parameters(self) -> dict[str, Any]:
        """Return the rule's parameters, ready for JSON."""

    def judge(self, table: pa.Table) -> Ruling:
        """Decide whether the table keeps the rule, counting once."""

    def holds(self, table: pa.Table) -> bool:
        """Return True if the table keeps the rule."""


class CountingRule(ABC):
    """A rule that a count decides."""

    @abstractmethod
    def count(self, table: pa.Table) -> int | None:
        """Return the count that decides."""

    def allows(self, count: int | None) -> bool:
        """Decide by the count; by default nothing may be wrong."""
        return count == 0

    def judge(self, table: pa.Table) -> Ruling:
        """Decide whether the table keeps the rule, counting once."""
        count = self.count(table)
        return Ruling(self.allows(count), count)

    def holds(self, table: pa.Table) -> bool:
        """Return True if the table keeps the rule."""
        return self.judge(table).holds


@dataclass(frozen=True)
class ForbiddenColumns(CountingRule):
    """No identifier and no dropped column is published, however its name is capitalized."""

    type: ClassVar[str] = "expect_no_forbidden_columns"
    columns: tuple[str, ...]

    def parameters(self) -> dict[str, Any]:
        """Return the forbidden names; they belong to the source and are not for publication."""
        return {"columns": sorted(self.columns)}

    def count(self, table: pa.Table) -> int:
        """Return the number of columns with a forbidden name."""
        forbidden = {name.casefold() for name in self.columns}
        return sum(name.casefold() in forbidden for name in table.column_names)


@dataclass(frozen=True)
class NoRowNumber(CountingRule):
    """Rule that no column numbers the rows: a number that only one person has is an identifier.

    A column numbers the rows if its values are whole numbers (also as text), n different ones for n
    rows, without a gap, in any order: published rows are sorted by their values, so the order of
    the file says nothing. Tables of up to `more_than` rows pass, because a few values may well be
    consecutive by chance; n sensitive values of real people, all different and none left out, are
    not. Quantities with gaps or repetitions pass. `besides` names columns that number something
    else by design, such as groups or the bounds of subdomains.
    """

    type: ClassVar[str] = "expect_no_row_number"
    besides: tuple[str, ...] = ("group_id",)
    more_than: int = 20

    def parameters(self) -> dict[str, Any]:
        """Return the columns left out, and the number of rows up to which all tables pass."""
        return {"besides": list(self.besides), "more_than": self.more_than}

    def count(self, table: pa.Table) -> int:
        """Return the number of columns that number the rows."""
        if table.num_rows <= self.more_than:
            return 0
        return sum(
            _enumerates(values)
            for name, values in zip(table.column_names, table.columns, strict=True)
            if name not in self.besides
        )


def _enumerates(values: pa.ChunkedArray) -> bool:
    """Return True if n values are n whole numbers without a gap."""
    first = values.slice(0, _ENOUGH)  # tells most columns without reading the others
    if pc.count_distinct(first, mode="all").as_py() < len(first):
        return False
    integers = _integers(values)
    if integers is None:
        return False
    ends = pc.min_max(integers)
    span = int(ends["max"].as_py()) - int(ends["min"].as_py()) + 1
    return span == len(integers) and int(pc.count_distinct(integers).as_py()) == span


def _integers(values: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return the values as whole numbers, None if one is missing or is not a whole number."""
    if values.null_count or pa.types.is_boolean(values.type) or pa.types.is_temporal(values.type):
        return None
    if pa.types.is_integer(values.type):
        return values
    return None if _whole(values.slice(0, _ENOUGH)) is None else _whole(values)


def _whole(values: pa.ChunkedArray) -> pa.ChunkedArray | None:
    try:
        return pc.cast(values, pa.int64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
