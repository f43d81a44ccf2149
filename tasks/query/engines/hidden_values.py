"""Values behind labels, to be aggregated: they lie between the ends that a condition leaves.

The ends of a row are the least and the greatest value that it may have. A combination of labels
with few values has them listed, and those on which the condition cannot hold are left out. A label
of many values has ends only if the aggregated expression rises or falls throughout the column.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from sfumato.expectations.shared.arrow import as_numpy
from sfumato.expectations.shared.errors import QueryError
from sfumato.expectations.shared.exact import Exact, exact
from sfumato.tasks.forms.labels import Admitted
from sfumato.tasks.microdata.table import Column
from sfumato.tasks.query.aggregates.kind import AggregateKind
from sfumato.tasks.query.behind_labels.decide import columns_of, parts_by_column
from sfumato.tasks.query.behind_labels.ends import Ends, EndsOfLabels
from sfumato.tasks.query.behind_labels.number_line import hull_of
from sfumato.tasks.query.behind_labels.scales import scale_of
from sfumato.tasks.query.behind_labels.values_behind_labels import ANY, TRUE
from sfumato.tasks.query.bounds.bounds import Bounds, clamp_estimate
from sfumato.tasks.query.bounds.extremes import ArrowValues, CountedValues, estimate_of
from sfumato.tasks.query.engines.attendance import Attendance, PossibleRows
from sfumato.tasks.query.engines.rows_with_labels import Combinations, Rows
from sfumato.tasks.query.question.calculations import direction
from sfumato.tasks.query.question.question import Aggregate
from sfumato.tasks.sql.parse import literal

_UNDEFINED = (
    "a calculation fails for a value that a label may hide, because of a division by 0 "
    "or a number too large. Divide by NULLIF(…, 0), or leave such values out with WHERE"
)


@dataclass(frozen=True, eq=False)
class ValuesOfRows:
    """The least and the greatest value that each row may have in a column.

    Attributes:
        values: all values that are ends or listed, ascending, each once.
        exact: converts the values to exact numbers.
        low: the position of each row's least value (int64), -1 if it has no value.
        high: the position of each row's greatest value (int64), -1 if it has no value.
        expected: returns the expected number of each value (float64), given positions of rows
            (int64) and the expected number of published rows that count for each (float64).
        attained: whether each row can surely have its least and its greatest value.
    """

    values: pa.Array
    exact: Callable[[], Exact]
    low: np.ndarray
    high: np.ndarray
    expected: Callable[[np.ndarray, np.ndarray], np.ndarray]
    attained: bool = True

    def bounds(self, aggregate: Aggregate, rows: PossibleRows, attendance: Attendance) -> Bounds:
        """Bound the aggregate over the rows on which a condition may hold.

        Rows without a value are left out. The attendance decides how many rows count.
        """
        kind = aggregate.kind
        rows = rows.where(self.low[rows.rows] >= 0)
        least, most = attendance.counts(rows)
        if most < kind.fewest:
            return Bounds(None, None, None)
        if kind.of_choices is not None:
            return self._of_choices(kind, rows, attendance)
        bounds = aggregate.bounds_over(self._count_values(rows, attendance))
        attained = bounds.attained and self.attained
        return replace(bounds, may_be_empty=least < kind.fewest, attained=attained)

    def _of_choices(
        self, kind: AggregateKind, rows: PossibleRows, attendance: Attendance
    ) -> Bounds:
        """Bound and estimate an aggregate of the deviations of values from their mean."""
        if kind.of_choices is None:
            raise TypeError(kind.name)
        numbers = self.exact()
        low, high = (
            attendance.choices(rows, numbers.units[ends[rows.rows]], numbers.digits)
            for ends in (self.low, self.high)
        )
        bounds = kind.of_choices(replace(low, high=high.high))
        squares = self._count_values(rows, attendance)
        expected = squares.expected_squares
        if kind.of_squares is None or expected is None:
            return bounds
        if not isinstance(bounds.lower, Fraction) or not isinstance(bounds.upper, Fraction):
            return bounds
        estimate = estimate_of(kind.of_squares(expected, float(squares.expected_rows)))
        return replace(bounds, estimate=clamp_estimate(estimate, bounds.lower, bounds.upper))

    def _count_values(self, rows: PossibleRows, attendance: Attendance) -> CountedValues:
        """Count the least values for lower bounds, and the greatest values for upper bounds."""
        size, chance = len(self.values), attendance.chances(rows)
        low, high = (
            attendance.countings(rows, ends[rows.rows], size)[side]
            for side, ends in enumerate((self.low, self.high))
        )
        return CountedValues(
            values=ArrowValues(self.values),
            exact=self.exact,
            low=low,
            high=high,
            whole=bool(pa.types.is_integer(self.values.type)),
            expected=self.expected(rows.rows, chance),
            expected_rows=chance.sum(),
        )


def known_values(column: Column, exact_of: Callable[[Column], Exact]) -> ValuesOfRows:
    """Return the values of a column that is published unchanged.

    Args:
        column: the column.
        exact_of: returns its values as exact numbers.
    """
    codes = column.codes

    def expect_values(rows: np.ndarray, chance: np.ndarray) -> np.ndarray:
        return np.bincount(codes[rows], chance, len(column.values))

    return ValuesOfRows(column.values, lambda: exact_of(column), codes, codes, expect_values)


@dataclass(frozen=True, eq=False)
class HiddenValues:
    """A labelled column, or a calculation on some, over the rows on which a condition may hold.

    Attributes:
        rows: the published rows.
        name: the column, which is a published or a calculated one.
        node: the expression over published columns that it stands for.
        condition: the condition on the rows; None if it holds on all.
    """

    rows: Rows
    name: str
    node: exp.Expr
    condition: exp.Expr | None

    def values(self, rows: PossibleRows, attendance: Attendance, called: str) -> ValuesOfRows:
        """Return the ends of each row's values.

        Args:
            rows: the rows on which the condition may hold.
            attendance: the rows that belong to people.
            called: the name of the aggregate, for the refusal.

        Raises:
            QueryError: if a row that may count has no ends.
        """
        self._require_ends(rows, attendance, called)
        return self._values

    @cached_property
    def _names(self) -> list[str]:
        return columns_of(self.node)

    @cached_property
    def _parts(self) -> tuple[exp.Expr | None, bool]:
        """The part of the condition about only these columns, and whether other parts use them.

        The first is None if there is no such part.
        """
        if self.condition is None:
            return None, False
        inner = self.condition.unnest()
        parts = parts_by_column(inner) if isinstance(inner, exp.And) else [inner]
        own = [
            part for part in parts if columns_of(part) and set(columns_of(part)) <= set(self._names)
        ]
        others = [part for part in parts if part not in own]
        mixed = any(set(columns_of(part)) & set(self._names) for part in others)
        return (exp.and_(*own) if own else None), mixed

    @cached_property
    def _combinations(self) -> Combinations:
        own = self._parts[0]
        return self.rows.combinations(self._names, [self.node] if own is None else [self.node, own])

    @cached_property
    def _listed_values(self) -> tuple[pa.Array, np.ndarray]:
        """The listed values that the condition allows, and the combination of each."""
        table, combination, own = (
            self._combinations.table,
            self._combinations.combination,
            self._parts[0],
        )
        if own is not None:
            outcome = self.rows.decide(table, own.copy())
            is_possible = (outcome == TRUE) | (outcome == ANY)
            table, combination = table.filter(pa.array(is_possible)), combination[is_possible]
        values = self._evaluate(table)
        has_value = ~as_numpy(values.is_null().cast(pa.uint8())).astype(bool)
        return values.filter(pa.array(has_value)), combination[has_value]

    def _evaluate(self, table: pa.Table) -> pa.Array:
        """Return the value of the expression on each row of a table.

        Raises:
            QueryError: if it has none on some row, or is infinite or NaN.
        """
        try:
            values = self.rows.evaluate(table, self.node.copy())
            result = values.cast(self.rows.schema[self.name].arrow_type)
        except (QueryError, pa.ArrowInvalid):
            raise QueryError(_UNDEFINED) from None
        if pa.types.is_floating(result.type) and pc.all(pc.is_finite(result)).as_py() is False:
            raise QueryError(_UNDEFINED)
        return result

    @cached_property
    def _ends(self) -> EndsOfLabels | None:
        """The ends of labels of the column; None for several, or a function not monotone in one."""
        if len(self._names) != 1 or not direction(self.node):
            return None
        (name,) = self._names
        column, own = self.rows.schema[name], self._parts[0]
        return EndsOfLabels(name, column, own, self.rows.decide, self.rows.fold)

    @cached_property
    def _wide(self) -> tuple[list[int], list[Ends], list[int]]:
        """The open combinations with ends, these ends, and the open combinations without ends.

        Combinations of which the condition leaves no value are in neither list.
        """
        places, limits, without = [], [], []
        for place in np.flatnonzero(self._combinations.is_open).tolist():
            label = self._label(place)
            if self._ends is None or label is None:
                without.append(place)
            elif not self._ends.is_emptied(label):
                ends = self._ends.of_label(label)
                if ends is None:
                    without.append(place)
                else:
                    places.append(place)
                    limits.append(ends)
        return places, limits, without

    def _label(self, combination: int) -> Admitted | None:
        """Return the label of a combination; None if there are several columns."""
        if len(self._names) != 1:
            return None
        labels, codes = self.rows.labels[self._names[0]]
        return labels[int(codes[self._combinations.first[combination]])]

    def _limits(self) -> tuple[pa.Array, pa.Array]:
        """Return the results of the expression at the ends, the least first."""
        ends = self._wide[1]
        if not ends:
            nothing = pa.nulls(0, self.rows.schema[self.name].arrow_type)
            return nothing, nothing
        (name,) = self._names
        type_ = self.rows.schema[name].arrow_type
        low, high = (
            self._evaluate(pa.table({name: pa.array([pair[side] for pair in ends], type_)}))
            for side in (0, 1)
        )
        return (low, high) if direction(self.node) > 0 else (high, low)

    @cached_property
    def _values(self) -> ValuesOfRows:
        """The ends of all rows; estimates take a combination's values to be equally likely."""
        listed, combination = self._listed_values
        wide = np.array(self._wide[0], dtype=np.int64)
        pool = pa.concat_arrays([listed, *self._limits()])
        unique = pc.unique(pool)
        unique = unique.take(pc.sort_indices(unique))
        rank = as_numpy(pc.index_in(pool, value_set=unique)).astype(np.int64)
        combinations = np.concatenate([combination, wide, wide])
        number = self._combinations.number
        # the least and the greatest rank of each combination; -1 for those without values
        low, high = np.full(number, len(unique)), np.full(number, -1)
        np.minimum.at(low, combinations, rank)
        np.maximum.at(high, combinations, rank)
        low[high < 0] = -1
        times = np.bincount(combinations, minlength=number)
        of_row = self._combinations.of_row

        def expect_values(rows: np.ndarray, chance: np.ndarray) -> np.ndarray:
            by_combination = np.bincount(of_row[rows], chance, number)
            return np.bincount(
                rank, by_combination[combinations] / times[combinations], len(unique)
            )

        return ValuesOfRows(
            unique,
            lambda: exact(unique, self.name),
            low[of_row],
            high[of_row],
            expect_values,
            attained=not self._parts[1],
        )

    def _require_ends(self, rows: PossibleRows, attendance: Attendance, called: str) -> None:
        """Check that every row that may count has ends.

        Raises:
            QueryError: if a row has none.
        """
        without = np.zeros(self._combinations.number, dtype=bool)
        without[self._wide[2]] = True
        hiding = without[self._combinations.of_row[rows.rows]]
        if hiding.any():
            number = attendance.counts(rows.where(hiding))[1]
            raise QueryError(self._refusal(number, called))

    def _refusal(self, number: int, called: str) -> str:
        """Return the refusal of an aggregate without bounds, with what to ask instead."""
        hidden = ", ".join(_column_text(name) for name in self._names if name in self.rows.labels)
        rows = f"{number:,} {'row hides' if number == 1 else 'rows hide'} {hidden}"
        if self._ends is None:
            return (
                f"{called}({self._text}) has no bounds: {rows} behind a label. "
                "Ask about each column separately, or for COUNT(*) FILTER (WHERE …) "
                "with this calculation"
            )
        ends = self._known_ends()
        where = f"Add {hidden} BETWEEN {ends[0]} AND {ends[1]} to WHERE, or ask" if ends else "Ask"
        return f"{called}({self._text}) has no bounds: {rows} (*). {where} about another column"

    @property
    def _text(self) -> str:
        """The aggregated expression in SQL."""
        return self.node.copy().transform(_unquote).sql("duckdb")

    def _known_ends(self) -> tuple[str, str] | None:
        """Return the least and the greatest value that labels of the column state, in SQL.

        Returns None for several columns, a type without an order, or labels that state no value.
        """
        (name, *more) = self._names
        scale = scale_of(self.rows.schema[name])
        if more or scale is None:
            return None
        hull = hull_of(self.rows.labels[name][0], scale)
        if hull is None:
            return None
        low, high = (literal(scale.value(end)).sql("duckdb") for end in hull)
        return low, high


def _column_text(name: str) -> str:
    """Return a column's name as a query writes it."""
    return _unquote(exp.column(name)).sql("duckdb")


def _unquote(node: exp.Expr) -> exp.Expr:
    """Return a column without quotes if its name needs none."""
    if not isinstance(node, exp.Column):
        return node
    return exp.column(node.name, quoted=not (node.name.isidentifier() and node.name.islower()))
