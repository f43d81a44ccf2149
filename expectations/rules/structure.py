"""What must hold of a published table besides promises, computed from the table alone.

A rule's `type` is the name of the Great Expectations expectation that asserts it, and its
`parameters` are that expectation's: the same rows come out with Great Expectations and without.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.rules.identifiers import ForbiddenColumns, NoRowNumber


class Rule(Protocol):
    """Something that must hold of a table; it says how much is wrong, never with which value."""

    type: ClassVar[str]

    def parameters(self) -> dict[str, Any]:
        """What it asks for, ready for JSON."""

    def observed(self, table: pa.Table) -> int | None:
        """What was counted, None where there is nothing to count."""

    def holds(self, table: pa.Table) -> bool:
        """True where the table keeps it."""


@dataclass(frozen=True)
class OrderedColumns:
    """The table has these columns, in this order, and no others."""

    type: ClassVar[str] = "expect_table_columns_to_match_ordered_list"
    columns: tuple[str, ...]

    def parameters(self) -> dict[str, Any]:
        """The names."""
        return {"column_list": list(self.columns)}

    def observed(self, table: pa.Table) -> None:
        """Nothing: names are either right or wrong."""

    def holds(self, table: pa.Table) -> bool:
        """True where the names are these."""
        return tuple(table.column_names) == self.columns


@dataclass(frozen=True)
class RowCount:
    """The table has exactly so many rows."""

    type: ClassVar[str] = "expect_table_row_count_to_equal"
    rows: int

    def parameters(self) -> dict[str, Any]:
        """The number of rows."""
        return {"value": self.rows}

    def observed(self, table: pa.Table) -> int:
        """The table's rows."""
        return int(table.num_rows)

    def holds(self, table: pa.Table) -> bool:
        """True where they are so many."""
        return self.observed(table) == self.rows


@dataclass(frozen=True)
class TotalCount:
    """The counts in a column, all positive, add up to exactly so many rows."""

    type: ClassVar[str] = "expect_total_count"
    column: str
    rows: int

    def parameters(self) -> dict[str, Any]:
        """The column's name and the sum."""
        return {"column": self.column, "value": self.rows}

    def observed(self, table: pa.Table) -> int | None:
        """The sum, None where a count is not positive."""
        if table.num_rows and pc.min(table[self.column]).as_py() < 1:
            return None
        return int(pc.sum(table[self.column]).as_py() or 0)

    def holds(self, table: pa.Table) -> bool:
        """True where the sum is this."""
        return self.observed(table) == self.rows


@dataclass(frozen=True)
class NotEmpty:
    """The table has rows."""

    type: ClassVar[str] = "expect_table_row_count_to_be_between"

    def parameters(self) -> dict[str, Any]:
        """At least one."""
        return {"min_value": 1}

    def observed(self, table: pa.Table) -> int:
        """The table's rows."""
        return int(table.num_rows)

    def holds(self, table: pa.Table) -> bool:
        """True where there is one."""
        return self.observed(table) >= 1


@dataclass(frozen=True)
class NotNull:
    """A column holds no null."""

    type: ClassVar[str] = "expect_column_values_to_not_be_null"
    column: str

    def parameters(self) -> dict[str, Any]:
        """The column's name."""
        return {"column": self.column}

    def observed(self, table: pa.Table) -> int:
        """The column's nulls.

        Raises:
            PromiseError: where there is no such column.
        """
        if self.column not in table.column_names:
            raise PromiseError(f"column {self.column!r} is missing")
        return int(table[self.column].null_count)

    def holds(self, table: pa.Table) -> bool:
        """True where it has none."""
        return self.observed(table) == 0


@dataclass(frozen=True)
class ColumnTypes:
    """Each column has the Arrow type that was declared for it, dictionary-encoded or not."""

    type: ClassVar[str] = "expect_column_types"
    types: tuple[tuple[str, pa.DataType], ...]

    def parameters(self) -> dict[str, Any]:
        """The names of the types by column."""
        return {"types": {name: str(type_) for name, type_ in self.types}}

    def observed(self, table: pa.Table) -> int:
        """How many columns have another type, or none declared, or are missing."""
        published = {(field.name, _plain(field.type)) for field in table.schema}
        return len({name for name, _ in published ^ set(self.types)})

    def holds(self, table: pa.Table) -> bool:
        """True where all types are those declared."""
        return self.observed(table) == 0


@dataclass(frozen=True)
class ReadableLabels:
    """Every label in a recoded column means something; `unreadable` counts those that do not."""

    type: ClassVar[str] = "expect_readable_labels"
    column: str
    unreadable: Callable[[pa.Table], int]

    def parameters(self) -> dict[str, Any]:
        """The column's name."""
        return {"column": self.column}

    def observed(self, table: pa.Table) -> int:
        """How many different labels mean nothing."""
        return self.unreadable(table)

    def holds(self, table: pa.Table) -> bool:
        """True where there is none."""
        return self.observed(table) == 0


@dataclass(frozen=True)
class CanonicalOrder:
    """The rows stand in the order that is a function of their content; `canonical` decides."""

    type: ClassVar[str] = "expect_canonical_order"
    canonical: Callable[[pa.Table], bool]

    def parameters(self) -> dict[str, Any]:
        """Nothing: there is one canonical order."""
        return {}

    def observed(self, table: pa.Table) -> None:
        """Nothing: an order is either the canonical one or another."""

    def holds(self, table: pa.Table) -> bool:
        """True where the rows stand in it."""
        return bool(self.canonical(table))


def rules_of_published(
    schema: pa.Schema,
    rows: int | None,
    canonical: Callable[[pa.Table], bool],
    forbidden: Iterable[str] = (),
    besides: Iterable[str] = ("group_id",),
) -> tuple[Rule, ...]:
    """Everything that must hold of a table published with this schema (nulls where nullable).

    Forbidden names are known only to whoever publishes: without them there is no such rule. Without
    a number of `rows` there may be any.
    """
    withheld = tuple(forbidden)
    return (
        OrderedColumns(tuple(schema.names)),
        ColumnTypes(tuple((field.name, field.type) for field in schema)),
        NotEmpty(),
        *([] if rows is None else [RowCount(rows)]),
        *(NotNull(field.name) for field in schema if not field.nullable),
        *([ForbiddenColumns(withheld)] if withheld else []),
        NoRowNumber(tuple(besides)),
        CanonicalOrder(canonical),
    )


def _plain(type_: pa.DataType) -> pa.DataType:
    return type_.value_type if pa.types.is_dictionary(type_) else type_
