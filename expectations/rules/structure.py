"""Rules that a published table keeps as well as its promises, computed from the table alone.

A rule's `type` is the name of the Great Expectations expectation that asserts it, and its
`parameters` are that expectation's: the findings are the same with Great Expectations and without.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.rules.rule import (
    CountingRule,
    ForbiddenColumns,
    NoRowNumber,
    Rule,
    Ruling,
)
from sfumato.expectations.shared.errors import PromiseError


@dataclass(frozen=True)
class OrderedColumns:
    """The table has these columns, in this order, and no others."""

    type: ClassVar[str] = "expect_table_columns_to_match_ordered_list"
    columns: tuple[str, ...]

    def parameters(self) -> dict[str, Any]:
        """Return the names."""
        return {"column_list": list(self.columns)}

    def judge(self, table: pa.Table) -> Ruling:
        """Decide without a count."""
        return Ruling(self.holds(table), None)

    def holds(self, table: pa.Table) -> bool:
        """Return True if the table has exactly these names, in this order."""
        return tuple(table.column_names) == self.columns


@dataclass(frozen=True)
class RowCount(CountingRule):
    """The table has exactly this many rows."""

    type: ClassVar[str] = "expect_table_row_count_to_equal"
    rows: int

    def parameters(self) -> dict[str, Any]:
        """Return the number of rows."""
        return {"value": self.rows}

    def count(self, table: pa.Table) -> int:
        """Return the table's rows."""
        return int(table.num_rows)

    def allows(self, count: int | None) -> bool:
        """Return True if the number of rows is right."""
        return count == self.rows


@dataclass(frozen=True)
class TotalCount(CountingRule):
    """The counts in a column, all positive, add up to exactly this many rows."""

    type: ClassVar[str] = "expect_total_count"
    column: str
    rows: int

    def parameters(self) -> dict[str, Any]:
        """Return the column's name and the sum."""
        return {"column": self.column, "value": self.rows}

    def count(self, table: pa.Table) -> int | None:
        """Return the sum, None where a count is not positive."""
        if table.num_rows and pc.min(table[self.column]).as_py() < 1:
            return None
        return int(pc.sum(table[self.column]).as_py() or 0)

    def allows(self, count: int | None) -> bool:
        """Return True if the sum is right."""
        return count == self.rows


@dataclass(frozen=True)
class NotEmpty(CountingRule):
    """The table has rows."""

    type: ClassVar[str] = "expect_table_row_count_to_be_between"

    def parameters(self) -> dict[str, Any]:
        """Return the smallest number of rows, 1."""
        return {"min_value": 1}

    def count(self, table: pa.Table) -> int:
        """Return the table's rows."""
        return int(table.num_rows)

    def allows(self, count: int | None) -> bool:
        """Return True if there is at least one row."""
        return count is not None and count >= 1


@dataclass(frozen=True)
class NotNull(CountingRule):
    """A column holds no null."""

    type: ClassVar[str] = "expect_column_values_to_not_be_null"
    column: str

    def parameters(self) -> dict[str, Any]:
        """Return the column's name."""
        return {"column": self.column}

    def count(self, table: pa.Table) -> int:
        """Return the column's nulls.

        Raises:
            PromiseError: where there is no such column.
        """
        if self.column not in table.column_names:
            raise PromiseError(f"column {self.column!r} is missing")
        return int(table[self.column].null_count)


@dataclass(frozen=True)
class ColumnTypes(CountingRule):
    """Each column has the Arrow type that was declared for it, dictionary-encoded or not."""

    type: ClassVar[str] = "expect_column_types"
    types: tuple[tuple[str, pa.DataType], ...]

    def parameters(self) -> dict[str, Any]:
        """Return the names of the types by column."""
        return {"types": {name: str(type_) for name, type_ in self.types}}

    def count(self, table: pa.Table) -> int:
        """Return the number of columns of another type, not declared, or missing."""
        published = {(field.name, _plain(field.type)) for field in table.schema}
        return len({name for name, _ in published ^ set(self.types)})


@dataclass(frozen=True)
class ReadableLabels(CountingRule):
    """Every label in a recoded column means something; `unreadable` counts those that do not."""

    type: ClassVar[str] = "expect_readable_labels"
    column: str
    unreadable: Callable[[pa.Table], int]

    def parameters(self) -> dict[str, Any]:
        """Return the column's name."""
        return {"column": self.column}

    def count(self, table: pa.Table) -> int:
        """Return the number of different labels that mean nothing."""
        return self.unreadable(table)


@dataclass(frozen=True)
class ValuesAsCoded(CountingRule):
    """Every value of a column is one that its codings give; `uncoded` counts those that are not."""

    type: ClassVar[str] = "expect_coded_values"
    column: str
    codings: tuple[str, ...]
    uncoded: Callable[[pa.Table], int]

    def parameters(self) -> dict[str, Any]:
        """Return the column's name, and the codings that can be seen."""
        return {"column": self.column, "codings": list(self.codings)}

    def count(self, table: pa.Table) -> int:
        """Return the number of different values that no such coding gives."""
        return self.uncoded(table)


@dataclass(frozen=True)
class CanonicalOrder:
    """The rows are in the order that is a function of their content; `canonical` decides."""

    type: ClassVar[str] = "expect_canonical_order"
    canonical: Callable[[pa.Table], bool]

    def parameters(self) -> dict[str, Any]:
        """Return no parameters: there is one canonical order."""
        return {}

    def judge(self, table: pa.Table) -> Ruling:
        """Decide without a count."""
        return Ruling(self.holds(table), None)

    def holds(self, table: pa.Table) -> bool:
        """Return True if the rows are in canonical order."""
        return bool(self.canonical(table))


def rules_of_published(
    schema: pa.Schema,
    rows: int | None,
    canonical: Callable[[pa.Table], bool],
    forbidden: Iterable[str] = (),
    besides: Iterable[str] = ("group_id",),
) -> tuple[Rule, ...]:
    """Return all rules of a table published with this schema (nulls where nullable).

    Only the publisher knows the forbidden names: without them there is no such rule. Without
    `rows`, any number of rows passes.
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
