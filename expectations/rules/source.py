"""The rules that a spec declares for the values of its source, judged on the whole table.

Nulls are not judged here: each column has a policy for them. Columns may be dictionary-encoded;
a rule is evaluated on the distinct values.
"""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.rules.rule import CountingRule, Rule
from sfumato.expectations.rules.structure import ColumnTypes, NotEmpty, OrderedColumns
from sfumato.expectations.shared.arrow import as_number
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.exact import exact, is_ordered


@dataclass(frozen=True)
class ValueRule(CountingRule):
    """A rule about the values of one column, judged on the distinct values."""

    type: ClassVar[str]
    column: str

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Return the rule's parameters, ready for JSON."""

    @abstractmethod
    def words(self) -> str:
        """Return a phrase for what is wrong with a value that breaks the rule."""

    def count(self, table: pa.Table) -> int:
        """Return the number of rows that break the rule.

        Raises:
            PromiseError: where there is no such column.
        """
        return int(self._offending(table).sum())

    def first(self, table: pa.Table) -> int | None:
        """Return the position of the first row that breaks the rule (from 0), None without one."""
        offending = self._offending(table)
        return int(offending.argmax()) if offending.any() else None

    def _offending(self, table: pa.Table) -> np.ndarray:
        if table.column_names.count(self.column) != 1:
            raise PromiseError(f"column {self.column!r} is missing")
        values, codes = _distinct(table[self.column])
        wrong = self._wrong(values) if len(values) else np.zeros(0, dtype=bool)
        return np.asarray(np.append(wrong, False)[codes])

    @abstractmethod
    def _wrong(self, values: pa.Array) -> np.ndarray: ...


@dataclass(frozen=True)
class AcceptedValues(ValueRule):
    """Every value of a column is one of these, compared as values of the column's type."""

    type: ClassVar[str] = "expect_accepted_values"
    values: tuple[str, ...]

    def parameters(self) -> dict[str, Any]:
        """Return the column and the accepted values as texts."""
        return {"column": self.column, "values": list(self.values)}

    def words(self) -> str:
        """Return the rule; the accepted values are in the spec."""
        return "not one of the accepted values"

    def _wrong(self, values: pa.Array) -> np.ndarray:
        if not is_ordered(values.type):
            texts = pc.cast(values, pa.string())
            is_accepted = pc.is_in(texts, value_set=pa.array(self.values, pa.string()))
            return np.asarray(~is_accepted.to_numpy(zero_copy_only=False))
        numbers = exact(values, self.column)
        kind = _kind(values.type)
        accepted = {Fraction(as_number(text, kind)) * 10**numbers.digits for text in self.values}
        return np.array([unit not in accepted for unit in numbers.units.tolist()], dtype=bool)


@dataclass(frozen=True)
class ValuesInRange(ValueRule):
    """Every value of a column is between these limits, inclusive; None is no limit."""

    type: ClassVar[str] = "expect_values_in_range"
    minimum: str | None
    maximum: str | None

    def parameters(self) -> dict[str, Any]:
        """Return the column and the limits as texts."""
        limits = {"minimum": self.minimum, "maximum": self.maximum}
        return {"column": self.column} | {k: v for k, v in limits.items() if v is not None}

    def words(self) -> str:
        """Return the rule with its limits, which are the spec's."""
        low = "" if self.minimum is None else f" from {self.minimum}"
        high = "" if self.maximum is None else f" to {self.maximum}"
        return f"not in the range{low}{high}"

    def _wrong(self, values: pa.Array) -> np.ndarray:
        numbers, kind = exact(values, self.column), _kind(values.type)
        wrong = np.zeros(len(values), dtype=bool)
        if self.minimum is not None:
            wrong |= numbers.units < numbers.at_least(as_number(self.minimum, kind))
        if self.maximum is not None:
            wrong |= numbers.units > -numbers.at_least(-as_number(self.maximum, kind))
        return wrong


@dataclass(frozen=True)
class PositiveValues(ValueRule):
    """Every value of a column is above 0, as weights are."""

    type: ClassVar[str] = "expect_positive_values"
    column: str

    def parameters(self) -> dict[str, Any]:
        """Return the column."""
        return {"column": self.column}

    def words(self) -> str:
        """Return the rule."""
        return "not above 0, as a weight must be"

    def _wrong(self, values: pa.Array) -> np.ndarray:
        return np.asarray(exact(values, self.column).units <= 0, dtype=bool)


def source_rules(schema: pa.Schema, values: Iterable[ValueRule]) -> tuple[Rule, ...]:
    """Return all rules of a source: its columns, their types, that it has rows, and its values."""
    return (
        OrderedColumns(tuple(schema.names)),
        ColumnTypes(tuple((field.name, field.type) for field in schema)),
        NotEmpty(),
        *values,
    )


def _distinct(column: pa.ChunkedArray) -> tuple[pa.Array, np.ndarray]:
    """Return the distinct values, and each row's position in them (int64), -1 for null."""
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    if not len(column):
        return pa.array([], column.type.value_type), np.zeros(0, dtype=np.int64)
    whole = column.unify_dictionaries().combine_chunks()
    codes = pc.fill_null(whole.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
    return whole.dictionary, codes


def _kind(type_: pa.DataType) -> str:
    if pa.types.is_date(type_):
        return "date"
    return "timestamp" if pa.types.is_timestamp(type_) else "float"
