"""Values behind labels, to be aggregated: between the ends that a condition leaves."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from sfumato.expectations.arrow import as_numpy
from sfumato.expectations.errors import QueryError
from sfumato.expectations.exact import Exact, exact
from sfumato.tasks.forms.labels import Admitted
from sfumato.tasks.microdata.table import Column
from sfumato.tasks.query.aggregates.kind import AggregateKind
from sfumato.tasks.query.behind_labels.decide import by_column, columns_of
from sfumato.tasks.query.behind_labels.ends import Ends, EndsOfLabels
from sfumato.tasks.query.behind_labels.number_line import hull_of
from sfumato.tasks.query.behind_labels.scales import scale_of
from sfumato.tasks.query.behind_labels.values_behind_labels import ANY, TRUE
from sfumato.tasks.query.bounds.bounds import Bounds, within
from sfumato.tasks.query.bounds.extremes import ArrowValues, CountedValues, estimate_of
from sfumato.tasks.query.engines.attendance import Attendance, Meant
from sfumato.tasks.query.engines.rows_with_labels import Combinations, Rows
from sfumato.tasks.query.question.calculations import direction
from sfumato.tasks.query.question.question import Aggregate
from sfumato.tasks.sql.parse import literal

_UNDEFINED = (
    "a calculation fails for a value that a label may hide: a division by 0, or a number too "
    "large. Divide by NULLIF(…, 0), or leave such values out with WHERE"
)


@dataclass(frozen=True, eq=False)
class ValuesOfRows:
    """The least and the greatest value that each row may have in a column.

    Attributes:
        values: ascending, each once.
        exact: makes exact numbers of them.
        low: the position of each row's least value (int64), -1 where it has none.
        high: the position of its greatest.
        expected: how often each value is expected (float64), by rows (int64) and their chances.
        attained: whether each row may have both, whatever else is known of it.
    """

    values: pa.Array
    exact: Callable[[], Exact]
    low: np.ndarray
    high: np.ndarray
    expected: Callable[[np.ndarray, np.ndarray], np.ndarray]
    attained: bool = True

    def bounds(self, aggregate: Aggregate, meant: Meant, attendance: Attendance) -> Bounds:
        """The aggregate over rows: all that must count, and any of the others."""
        kind = aggregate.kind
        meant = meant.where(self.low[meant.rows] >= 0)
        least, most = attendance.counts(meant)
        if most < kind.fewest:
            return Bounds(None, None, None)
        if kind.of_choices is not None:
            return self._of_choices(kind, meant, attendance)
        bounds = aggregate.bounds_over(self._counted(meant, attendance))
        attained = bounds.attained and self.attained
        return replace(bounds, may_be_empty=least < kind.fewest, attained=attained)

    def _of_choices(self, kind: AggregateKind, meant: Meant, attendance: Attendance) -> Bounds:
        """Bounds with what is expected of how far values are from their mean."""
        if kind.of_choices is None:
            raise TypeError(kind.name)
        numbers = self.exact()
        low, high = (
            attendance.choices(meant, numbers.units[ends[meant.rows]], numbers.digits)
            for ends in (self.low, self.high)
        )
        bounds = kind.of_choices(replace(low, high=high.high))
        squares = self._counted(meant, attendance)
        expected = squares.expected_squares
        if kind.of_squares is None or expected is None:
            return bounds
        if not isinstance(bounds.lower, Fraction) or not isinstance(bounds.upper, Fraction):
            return bounds
        estimate = estimate_of(kind.of_squares(expected, float(squares.expected_rows)))
        return replace(bounds, estimate=within(estimate, bounds.lower, bounds.upper))

    def _counted(self, meant: Meant, attendance: Attendance) -> CountedValues:
        """The least values, as far as lower bounds go, and the greatest for upper bounds."""
        size, chance = len(self.values), attendance.chances(meant)
        low, high = (
            attendance.countings(meant, ends[meant.rows], size)[side]
            for side, ends in enumerate((self.low, self.high))
        )
        return CountedValues(
            values=ArrowValues(self.values),
            exact=self.exact,
            low=low,
            high=high,
            whole=bool(pa.types.is_integer(self.values.type)),
            expected=self.expected(meant.rows, chance),
            expected_rows=chance.sum(),
        )


def known_values(column: Column, exact_of: Callable[[Column], Exact]) -> ValuesOfRows:
    """The values of a column that is published as it is."""
    codes = column.codes

    def expected(rows: np.ndarray, chance: np.ndarray) -> np.ndarray:
        return np.bincount(codes[rows], chance, len(column.values))

    return ValuesOfRows(column.values, lambda: exact_of(column), codes, codes, expected)


@dataclass(frozen=True, eq=False)
class HiddenValues:
    """A labelled column, or what is calculated of some, on rows that a condition means.

    Attributes:
        rows: published rows.
        name: of the column.
        node: an expression over published columns.
        condition: on the rows.
    """

    rows: Rows
    name: str
    node: exp.Expr
    condition: exp.Expr | None

    def values(self, meant: Meant, attendance: Attendance, called: str) -> ValuesOfRows:
        """The ends of each row's values.

        Raises:
            QueryError: where one that is meant has none.
        """
        self._require_ends(meant, attendance, called)
        return self._values

    @cached_property
    def _names(self) -> list[str]:
        return columns_of(self.node)

    @cached_property
    def _parts(self) -> tuple[exp.Expr | None, bool]:
        """The part of the condition about these columns alone, and whether others are, too."""
        if self.condition is None:
            return None, False
        inner = self.condition.unnest()
        parts = by_column(inner) if isinstance(inner, exp.And) else [inner]
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
        """The values that are tried and left, and of which combination each is."""
        table, combination, own = (
            self._combinations.table,
            self._combinations.combination,
            self._parts[0],
        )
        if own is not None:
            outcome = self.rows.decide(table, own.copy())
            kept = (outcome == TRUE) | (outcome == ANY)
            table, combination = table.filter(pa.array(kept)), combination[kept]
        values = self._evaluate(table)
        there = ~as_numpy(values.is_null().cast(pa.uint8())).astype(bool)
        return values.filter(pa.array(there)), combination[there]

    def _evaluate(self, table: pa.Table) -> pa.Array:
        try:
            values = self.rows.evaluate(table, self.node.copy())
            found = values.cast(self.rows.schema[self.name].arrow_type)
        except (QueryError, pa.ArrowInvalid):
            raise QueryError(_UNDEFINED) from None
        if pa.types.is_floating(found.type) and pc.all(pc.is_finite(found)).as_py() is False:
            raise QueryError(_UNDEFINED)
        return found

    @cached_property
    def _ends(self) -> EndsOfLabels | None:
        """The ends of labels of one column; None where an expression is not monotone in one."""
        if len(self._names) != 1 or not direction(self.node):
            return None
        (name,) = self._names
        column, own = self.rows.schema[name], self._parts[0]
        return EndsOfLabels(name, column, own, self.rows.decide, self.rows.fold)

    @cached_property
    def _wide(self) -> tuple[list[int], list[Ends], list[int]]:
        """The combinations that are not listed and have ends; these; those that have none."""
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
        """The one label of a combination."""
        if len(self._names) != 1:
            return None
        labels, codes = self.rows.labels[self._names[0]]
        return labels[int(codes[self._combinations.first[combination]])]

    def _limits(self) -> tuple[pa.Array, pa.Array]:
        """What the expression comes to at the ends, the least first."""
        ends = self._wide[1]
        if not ends:
            nothing = pa.nulls(0, self.rows.schema[self.name].arrow_type)
            return nothing, nothing
        (name,) = self._names
        type_ = self.rows.schema[name].arrow_type
        low, high = (
            self._evaluate(pa.table({name: pa.array([of[side] for of in ends], type_)}))
            for side in (0, 1)
        )
        return (low, high) if direction(self.node) > 0 else (high, low)

    @cached_property
    def _values(self) -> ValuesOfRows:
        listed, combination = self._listed_values
        wide = np.array(self._wide[0], dtype=np.int64)
        pool = pa.concat_arrays([listed, *self._limits()])
        unique = pc.unique(pool)
        unique = unique.take(pc.sort_indices(unique))
        rank = as_numpy(pc.index_in(pool, value_set=unique)).astype(np.int64)
        of = np.concatenate([combination, wide, wide])
        number = self._combinations.number
        low, high = np.full(number, len(unique)), np.full(number, -1)
        np.minimum.at(low, of, rank)
        np.maximum.at(high, of, rank)
        low[high < 0] = -1
        times = np.bincount(of, minlength=number)
        of_row = self._combinations.of_row

        def expected(rows: np.ndarray, chance: np.ndarray) -> np.ndarray:
            by_combination = np.bincount(of_row[rows], chance, number)
            return np.bincount(rank, by_combination[of] / times[of], len(unique))

        return ValuesOfRows(
            unique,
            lambda: exact(unique, self.name),
            low[of_row],
            high[of_row],
            expected,
            attained=not self._parts[1],
        )

    def _require_ends(self, meant: Meant, attendance: Attendance, called: str) -> None:
        """Make sure that every row that is meant has ends.

        Raises:
            QueryError: where one has not.
        """
        without = np.zeros(self._combinations.number, dtype=bool)
        without[self._wide[2]] = True
        hiding = without[self._combinations.of_row[meant.rows]]
        if hiding.any():
            number = attendance.counts(meant.where(hiding))[1]
            raise QueryError(self._refusal(number, called))

    def _refusal(self, number: int, called: str) -> str:
        """Return the refusal of an aggregate without bounds, with what to ask instead."""
        hidden = ", ".join(_written(name) for name in self._names if name in self.rows.labels)
        rows = f"{number:,} {'row hides' if number == 1 else 'rows hide'} {hidden}"
        if self._ends is None:
            return (
                f"{called}({self._text}) has no bounds: {rows} behind a label. Ask about each "
                "column by itself, or for COUNT(*) FILTER (WHERE …) with this calculation"
            )
        ends = self._known_ends()
        where = f"Add {hidden} BETWEEN {ends[0]} AND {ends[1]} to WHERE, or ask" if ends else "Ask"
        return f"{called}({self._text}) has no bounds: {rows} (*). {where} about another column"

    @property
    def _text(self) -> str:
        """What is aggregated, in SQL."""
        return self.node.copy().transform(_unquoted).sql("duckdb")

    def _known_ends(self) -> tuple[str, str] | None:
        """The least and the greatest number that labels of the column tell."""
        (name, *more) = self._names
        scale = scale_of(self.rows.schema[name])
        if more or scale is None:
            return None
        hull = hull_of(self.rows.labels[name][0], scale)
        if hull is None:
            return None
        low, high = (literal(scale.value(end)).sql("duckdb") for end in hull)
        return low, high


def _written(name: str) -> str:
    """A column's name as a query writes it."""
    return _unquoted(exp.column(name)).sql("duckdb")


def _unquoted(node: exp.Expr) -> exp.Expr:
    """A column without quotes, where its name needs none."""
    if not isinstance(node, exp.Column):
        return node
    return exp.column(node.name, quoted=not (node.name.isidentifier() and node.name.islower()))
