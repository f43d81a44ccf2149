"""Calibration of intervals on the original, before a release is sealed; everything here is private.

The published files give each answer a law, with a middle and a 95 % range. An interval is that
range, made wider or narrower by a factor for each family of queries (see `shapes`). Random queries
of the family are asked of the published tables and of the original. The score of a query is the
least factor whose interval contains the true answer. The factor of the family is so high that the
scores of 95 % of such queries are not above it.

Rows are selected by one column, or by two or three. For a column with an order a range of its
values is drawn, and for another one some of its values; often it is a single value, as in a GROUP
BY. A sensitive value is drawn as often as it occurs.

Source: Vovk, Gammerman, Shafer, Algorithmic learning in a random world; Lei, G'Sell, Rinaldo,
Tibshirani, Wasserman, Distribution-free predictive inference for regression (split conformal).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from sqlglot import exp

from sfumato.expectations.shared.exact import Exact, exact
from sfumato.tasks.microdata.table import Column, Microdata, Randomness
from sfumato.tasks.query.aggregates.registry import AGGREGATES
from sfumato.tasks.query.bounds.extremes import ArrowValues, CountedValues, Counting
from sfumato.tasks.query.engines.conditions import ValueConditions
from sfumato.tasks.query.engines.published_columns import PublishedColumns
from sfumato.tasks.query.engines.truth import OriginalColumn
from sfumato.tasks.query.intervals.shapes import (
    ALIKE,
    LEAST_ROWS,
    MOST_COLUMNS,
    Selection,
    family_of,
    selections_in,
    shape_of,
)
from sfumato.tasks.query.intervals.spread import AnswerLaw
from sfumato.tasks.query.intervals.way import LikelyAnswers
from sfumato.tasks.query.question.conditions import question_of
from sfumato.tasks.query.question.question import Aggregate
from sfumato.tasks.schema.columns import ORDERED
from sfumato.tasks.schema.published import Schema
from sfumato.tasks.schema.stated import CalibratedFamily, CalibratedIntervals, rounded_up
from sfumato.tasks.terms.terms import Declared

_WHOLE = float(2**64)  # random numbers are below it
_ALONE = 0.25  # chance that one value of a column is drawn, or all values of one with nulls
FamilyKey = tuple[str, str]
"""The name of a family, and the sensitive column that it is about ("" if there is none)."""
QUERIES = 2_000
"""The number of queries on which each family is calibrated, if so many can be drawn."""
_TRIES = 3  # times as many queries are drawn at most, since small and exact ones do not count
FEWEST = 1_000
"""The least number of queries on which a family is calibrated."""
_NULL = np.zeros(1, dtype=bool)  # no selection admits null


@dataclass(frozen=True, eq=False)
class Domains:
    """The values by which queries may select.

    Attributes:
        schema: the published columns.
        values: the values of each column, ascending if they have an order.
        times: how often each value of a sensitive column occurs (int64).
    """

    schema: Schema
    values: Mapping[str, Sequence[Any]]
    times: Mapping[str, np.ndarray]

    def names(self, *roles: str) -> list[str]:
        """Return the columns of some roles with more than one value."""
        return [
            name
            for name, values in self.values.items()
            if self.schema[name].role in roles and len(values) > 1
        ]


def draw_selections(
    domains: Domains, *, several: bool, sensitive: str | None, randomness: Randomness
) -> list[Selection]:
    """Draw the selections of a random query.

    Args:
        domains: the values by which it may select.
        several: whether it selects by two or three columns.
        sensitive: the sensitive column of which it also selects a value; None if there is none.
        randomness: the source of random numbers.
    """
    names = domains.names("quasi-identifier")
    number = 2 + draw_below(MOST_COLUMNS - 1, randomness) if several else 1
    order = np.argsort(randomness(len(names)), kind="stable")[:number]
    selections = [_select(domains, names[position], several, randomness) for position in order]
    return (
        selections
        if sensitive is None
        else [*selections, _select_sensitive(domains, sensitive, randomness)]
    )


def _select(domains: Domains, name: str, several: bool, randomness: Randomness) -> Selection:
    """Draw a range of a column with an order, or some values of another one.

    With a chance of `_ALONE` it is a single value. Otherwise, if several columns select, it is at
    least a tenth of the values.
    """
    values, share = domains.values[name], _share(randomness)
    number = 1
    if _share(randomness) >= _ALONE:
        number = int(np.ceil((max(share, 0.1) if several else share) * len(values)))
    if domains.schema[name].type in ORDERED:
        return _range(name, values, number, randomness)
    number = min(number, len(values) - 1)
    positions = np.sort(np.argsort(randomness(len(values)), kind="stable")[:number])
    return Selection(name, values=tuple(values[position] for position in positions))


def _select_sensitive(domains: Domains, name: str, randomness: Randomness) -> Selection:
    """Draw a value, or a range that begins with one and has at most half of the values.

    If the column has nulls, the selection often contains all values.
    """
    if domains.schema[name].nulls and _share(randomness) < _ALONE:
        return Selection(name)
    values, before = domains.values[name], np.cumsum(domains.times[name])
    position = int(np.searchsorted(before, draw_below(int(before[-1]), randomness), side="right"))
    if domains.schema[name].type not in ORDERED:
        return Selection(name, values=(values[position],))
    number = int(np.ceil(_share(randomness) * len(values) / 2))
    return Selection(
        name, low=values[position], high=values[min(position + number, len(values)) - 1]
    )


def _range(name: str, values: Sequence[Any], number: int, randomness: Randomness) -> Selection:
    """Draw a range of a number of neighbouring values."""
    first = draw_below(len(values) - number + 1, randomness)
    return Selection(name, low=values[first], high=values[first + number - 1])


def _share(randomness: Randomness) -> float:
    """Draw a number above 0, and up to 1."""
    return (float(randomness(1)[0]) + 1) / (_WHOLE + 1)


def draw_below(end: int, randomness: Randomness) -> int:
    """Draw a number from 0 to below `end`."""
    return int(randomness(1)[0] % end)


class TruthOfColumn:
    """A column of the original, for true answers; its nulls are left out."""

    def __init__(self, column: Column) -> None:
        """Take the column."""
        self._column = column

    def codes_in(self, rows: np.ndarray) -> np.ndarray:
        """Return the codes of the values of chosen rows (int32); `rows` is bool, one per row."""
        codes: np.ndarray = self._column.codes[rows]
        return codes[codes >= 0]

    def answer(self, aggregate: Aggregate, codes: np.ndarray) -> float | None:
        """Return the aggregate over values, given as codes; None if it is null over them."""
        kind = aggregate.kind
        if kind.truth is not None:
            truth = kind.truth(self._numbers, codes)
            return None if truth is None else float(truth)
        if len(codes) < kind.fewest:
            return None
        if kind.of_squares is not None:
            numbers = self._floats[codes]
            return kind.of_squares(float(((numbers - numbers.mean()) ** 2).sum()), len(numbers))
        return self._quantile(aggregate, codes)

    def _quantile(self, aggregate: Aggregate, codes: np.ndarray) -> float:
        """Return the quantile of values with known counts, for which both bounds are the same."""
        times = np.bincount(codes, minlength=len(self._column.values)).astype(np.int64)
        counting = Counting(times, np.zeros_like(times))
        values = ArrowValues(self._column.values)
        counted = CountedValues(
            values, lambda: self._numbers, counting, counting, False, None, len(codes)
        )
        quantile = aggregate.bounds_over(counted).lower
        return float(Fraction(quantile)) if isinstance(quantile, int | Fraction) else float("nan")

    @cached_property
    def _numbers(self) -> Exact:
        return exact(self._column.values, self._column.name)

    @cached_property
    def _floats(self) -> np.ndarray:
        floats: np.ndarray = self._numbers.units.astype(np.float64) / 10**self._numbers.digits
        return floats


@dataclass(frozen=True, eq=False)
class MeasuredQuery:
    """The law of the answer to a random query, and the true answer."""

    law: AnswerLaw
    truth: float

    @property
    def score(self) -> float:
        """The least factor whose interval contains the truth."""
        return self.law.score(self.truth)


@dataclass(frozen=True)
class _Target:
    """Alike aggregates of a column, of which any one is asked.

    Attributes:
        alike: their common name (see `shapes.ALIKE`).
        column: the aggregated column; None if rows are counted.
    """

    alike: str
    column: str | None


_ROWS = _Target("count", None)


@dataclass(frozen=True)
class _Kind:
    """Queries that are drawn alike.

    Attributes:
        several: whether they select by two or three columns, not by one.
        sensitive: the sensitive column of which they also select a value; None if there is none.
        targets: the aggregates that are asked over the selected rows.
    """

    several: bool
    sensitive: str | None
    targets: tuple[_Target, ...]


class QueriesOnOriginal:
    """Random queries, asked of the published tables and of the original.

    The original contains the rows in the release before anonymization.
    """

    def __init__(self, likely: LikelyAnswers, declared: Declared, original: Microdata) -> None:
        """Find the columns and values by which queries may select.

        Args:
            likely: the laws of answers on the published tables.
            declared: the declared columns of the release.
            original: the rows of the release before anonymization.
        """
        self._likely, self._declared, self._original = likely, declared, original
        sensitive = [name for name in declared.names_with_roles("sensitive") if self._laws_of(name)]
        names = [*declared.names_with_roles("quasi-identifier"), *sensitive]
        self._domains = Domains(
            declared.columns,
            {name: likely.domain(name) for name in names},
            {name: likely.times_of(name) for name in sensitive},
        )
        self._columns = {name: OriginalColumn(original[name]) for name in names}
        self._truths: dict[str, TruthOfColumn] = {}

    def measure(self, number: int, randomness: Randomness) -> dict[FamilyKey, list[MeasuredQuery]]:
        """Measure a number of queries of each family.

        A family gets fewer if too many of the drawn queries select few rows or have exact answers.
        """
        measured: dict[FamilyKey, list[MeasuredQuery]] = {}
        for kind in self._kinds():
            waiting = set(kind.targets)
            for _ in range(number * _TRIES):
                if not waiting:
                    break
                for target, family, query in self._ask(kind, waiting, randomness):
                    queries = measured.setdefault(family, [])
                    queries.append(query)
                    if len(queries) == number:
                        waiting.remove(target)
        return measured

    def _kinds(self) -> Iterator[_Kind]:
        """Yield the kinds of queries to draw, each with aggregates whose answers have a law.

        All aggregates of columns without nulls share their queries, and so does COUNT(*).
        """
        laws, columns = self._likely.laws, len(self._domains.names("quasi-identifier"))
        names = self._domains.names("sensitive")
        whole = [name for name in names if not self._declared.columns[name].nulls]
        together = (*((_ROWS,) if "rows" in laws else ()), *self._targets(whole))
        for several in [False, True][: min(columns, 2)]:
            if together:
                yield _Kind(several, None, together)
            for name in names:
                yield _Kind(several, name, (_ROWS,))
                single = () if name in whole else tuple(self._targets([name]))
                if single:  # each passes over its own nulls
                    yield _Kind(several, None, single)

    def _targets(self, names: Sequence[str]) -> Iterator[_Target]:
        """Yield the alike aggregates of sensitive columns that have a law and take their type."""
        for name in names:
            type_, laws = self._declared.columns[name].type, self._laws_of(name)
            for alike in (candidate for candidate in ALIKE if candidate in laws):
                kinds = [AGGREGATES[function] for function in ALIKE[alike].functions]
                takes = all(type_ in kind.takes and not kind.counts_rows for kind in kinds)
                if takes and type_ not in ("string", "boolean"):
                    yield _Target(alike, name)

    def _laws_of(self, name: str) -> frozenset[str]:
        """Return the common names of alike aggregates of a sensitive column that have laws."""
        nullable = self._declared.columns[name].nulls
        return self._likely.laws_over_nulls if nullable else self._likely.laws

    def _ask(
        self, kind: _Kind, waiting: set[_Target], randomness: Randomness
    ) -> Iterator[tuple[_Target, FamilyKey, MeasuredQuery]]:
        """Ask a random query for all aggregates that are still waiting for queries.

        Yields the aggregates, their family and the measured query, without small and exact ones.
        """
        selections = draw_selections(
            self._domains, several=kind.several, sensitive=kind.sensitive, randomness=randomness
        )
        chosen = self._selected_rows(selections[:-1] if kind.sensitive else selections)
        if chosen.sum() < LEAST_ROWS:  # excludes most small queries, cheaply
            return
        condition = exp.and_(*(selection.condition for selection in selections), copy=False)
        aggregates = {
            ALIKE[target.alike].draw(
                target.column, partial(draw_below, randomness=randomness)
            ): target
            for target in kind.targets
            if target in waiting
        }
        question = question_of(next(iter(aggregates)), condition, self._declared)
        question = question.with_aggregates(aggregates)
        laws = self._likely.spreads(question).get((), {})
        laws = {a: law for a, law in laws.items() if not (law.size.is_small or law.is_exact)}
        if kind.sensitive is not None:
            chosen &= selections[-1].holds(self._columns[kind.sensitive])
        shape = shape_of(question, self._declared)
        values = cache(lambda name: self._truth_of(name).codes_in(chosen))
        for aggregate, law in laws.items():
            family, name = family_of(shape, aggregate), aggregate.sensitive
            truth: float | None = float(chosen.sum())
            if name is not None:
                truth = self._truth_of(name).answer(aggregate, values(name))
            if family is not None and truth is not None:
                yield aggregates[aggregate], family, MeasuredQuery(law, truth)

    def _selected_rows(self, selections: Sequence[Selection]) -> np.ndarray:
        """Return whether each row of the original is selected (bool)."""
        chosen = np.ones(self._original.rows, dtype=bool)
        for selection in selections:
            chosen &= selection.holds(self._columns[selection.name])
        return chosen

    def _truth_of(self, name: str) -> TruthOfColumn:
        if name not in self._truths:
            self._truths[name] = TruthOfColumn(self._original[name])
        return self._truths[name]


def conformal_quantile(scores: Sequence[float]) -> float:
    """Return the ⌈(n + 1) · 0.95⌉-th least of n scores; infinite if that is more than n.

    The score of one more query of the same kind is not above it with a chance of at least 95 %.

    >>> conformal_quantile(range(1, 20)), conformal_quantile(range(1, 19))
    (19.0, inf)
    """
    rank = -(-(len(scores) + 1) * 95 // 100)
    return math.inf if rank > len(scores) else float(sorted(scores)[rank - 1])


def factor_of(scores: Sequence[float]) -> Decimal | None:
    """Return the factor for some scores: their quantile, rounded up to the grid of factors.

    Returns None for too few scores, or if the quantile is beyond the grid.
    """
    return None if len(scores) < FEWEST else rounded_up(conformal_quantile(scores))


def calibrate(
    measured: Mapping[FamilyKey, Sequence[MeasuredQuery]], frozen: CalibratedIntervals | None
) -> CalibratedIntervals:
    """Return the factors of the families that were measured often enough.

    Args:
        measured: queries of each family.
        frozen: the factors that earlier versions of the line stated, below which none falls; None
            if there are none.
    """
    families = []
    for (name, column), queries in sorted(measured.items()):
        factor = factor_of([query.score for query in queries])
        before = None if frozen is None else frozen.factor_of((name, column))
        if factor is not None:
            highest = factor if before is None else max(factor, before)
            families.append(CalibratedFamily(family=name, of=column, factor=highest))
    return CalibratedIntervals(grid="fine", families=tuple(families))


class DrawnConditions(ValueConditions):
    """Evaluates conditions that `draw_selections` made directly, and others by DuckDB."""

    def rows(self, table: PublishedColumns, condition: exp.Expr) -> np.ndarray:
        """Return whether a condition holds on each row (bool, one per row).

        Raises:
            NotDirectError: if it compares columns, or cannot be evaluated on some value.
        """
        selections = selections_in(condition)
        if selections is None:
            return super().rows(table, condition)
        holds = np.ones(len(table.group), dtype=bool)
        for selection in selections:
            column = table.coded_column(selection.name)
            admitted = selection.admits(self._values_of(table, selection.name))
            holds &= column.rows_with(np.append(admitted, _NULL[: column.values.null_count]))
        return holds

    def _values_of(self, table: PublishedColumns, name: str) -> list[Any]:
        values = self._lists.get((table, name))
        if values is None:
            values = table.coded_column(name).values.drop_null().to_pylist()
            self._lists[table, name] = values
        return values

    def __init__(self, connection: Any) -> None:
        """Read no values yet."""
        super().__init__(connection)
        self._lists: dict[tuple[PublishedColumns, str], list[Any]] = {}
