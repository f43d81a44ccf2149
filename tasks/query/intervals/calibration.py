"""Calibration of intervals on the original, before a release is sealed: all here is private.

Rows are selected by one column, or by two or three. Of a column that has an order a range of its
values is drawn, of another one some of its values; often it is a single one, as in a GROUP BY. A
sensitive value is drawn as often as it occurs.

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

from sfumato.expectations.exact import Exact, exact
from sfumato.tasks.microdata.table import Column, Microdata, Randomness
from sfumato.tasks.query.accuracy.truth import OriginalColumn
from sfumato.tasks.query.aggregates.registry import AGGREGATES
from sfumato.tasks.query.bounds.extremes import ArrowValues, CountedValues, Counting
from sfumato.tasks.query.engines.conditions import ValueConditions
from sfumato.tasks.query.engines.published_columns import PublishedColumns
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

_WHOLE = float(2**64)
_ALONE = 0.25  # how often a single value is drawn of a column
FamilyKey = tuple[str, str]
"""The name of a family, and the sensitive column that it is about; "" for none."""
QUERIES = 2_000
"""So many queries of each family are calibrated on, where there are so many."""
_TRIES = 3  # times as many queries are drawn at most: some are too small, or exact
FEWEST = 1_000
"""On fewer queries nothing is calibrated."""
_NULL = np.zeros(1, dtype=bool)


@dataclass(frozen=True, eq=False)
class Domains:
    """What may be selected by.

    Attributes:
        schema: of the published columns.
        values: of each column, ascending where they have an order.
        times: how often each value of a sensitive column occurs (int64).
    """

    schema: Schema
    values: Mapping[str, Sequence[Any]]
    times: Mapping[str, np.ndarray]

    def names(self, *roles: str) -> list[str]:
        """The columns of some roles by which rows can be told apart."""
        return [
            name
            for name, values in self.values.items()
            if self.schema[name].role in roles and len(values) > 1
        ]


def draw_selections(
    domains: Domains, *, several: bool, of: str | None, randomness: Randomness
) -> list[Selection]:
    """What a random query selects.

    Args:
        domains: what may be selected by.
        several: whether by two or three columns.
        of: the sensitive column of which a value is selected, too.
        randomness: what is drawn from.
    """
    names = domains.names("quasi-identifier")
    number = 2 + below(MOST_COLUMNS - 1, randomness) if several else 1
    order = np.argsort(randomness(len(names)), kind="stable")[:number]
    found = [_select(domains, names[at], several, randomness) for at in order]
    return found if of is None else [*found, _select_sensitive(domains, of, randomness)]


def _select(domains: Domains, name: str, several: bool, randomness: Randomness) -> Selection:
    values, share = domains.values[name], _share(randomness)
    number = 1
    if _share(randomness) >= _ALONE:
        number = int(np.ceil((max(share, 0.1) if several else share) * len(values)))
    if domains.schema[name].type in ORDERED:
        return _range(name, values, number, randomness)
    number = min(number, len(values) - 1)
    drawn = np.sort(np.argsort(randomness(len(values)), kind="stable")[:number])
    return Selection(name, values=tuple(values[at] for at in drawn))


def _select_sensitive(domains: Domains, name: str, randomness: Randomness) -> Selection:
    """A value, or a range that begins with one and has at most half of the values.

    Where some are missing it is often all of them.
    """
    if domains.schema[name].nulls and _share(randomness) < _ALONE:
        return Selection(name)
    values, before = domains.values[name], np.cumsum(domains.times[name])
    at = int(np.searchsorted(before, below(int(before[-1]), randomness), side="right"))
    if domains.schema[name].type not in ORDERED:
        return Selection(name, values=(values[at],))
    number = int(np.ceil(_share(randomness) * len(values) / 2))
    return Selection(name, low=values[at], high=values[min(at + number, len(values)) - 1])


def _range(name: str, values: Sequence[Any], number: int, randomness: Randomness) -> Selection:
    first = below(len(values) - number + 1, randomness)
    return Selection(name, low=values[first], high=values[first + number - 1])


def _share(randomness: Randomness) -> float:
    return (float(randomness(1)[0]) + 1) / (_WHOLE + 1)


def below(end: int, randomness: Randomness) -> int:
    """A number below `end`, from 0 on."""
    return int(randomness(1)[0] % end)


class TruthOfColumn:
    """A column of the original, whose nulls are passed over."""

    def __init__(self, column: Column) -> None:
        """Take the column."""
        self._column = column

    def chosen(self, rows: np.ndarray) -> np.ndarray:
        """The codes of the values of chosen rows (int32); `rows` is bool, one per row."""
        codes: np.ndarray = self._column.codes[rows]
        return codes[codes >= 0]

    def answer(self, aggregate: Aggregate, codes: np.ndarray) -> float | None:
        """The aggregate over values, by their codes; None where there is none."""
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
        """Where it is known which values count, both bounds are the quantile."""
        times = np.bincount(codes, minlength=len(self._column.values)).astype(np.int64)
        known = Counting(times, np.zeros_like(times))
        values = ArrowValues(self._column.values)
        counted = CountedValues(
            values, lambda: self._numbers, known, known, False, None, len(codes)
        )
        found = aggregate.bounds_over(counted).lower
        return float(Fraction(found)) if isinstance(found, int | Fraction) else float("nan")

    @cached_property
    def _numbers(self) -> Exact:
        return exact(self._column.values, self._column.name)

    @cached_property
    def _floats(self) -> np.ndarray:
        floats: np.ndarray = self._numbers.units.astype(np.float64) / 10**self._numbers.digits
        return floats


@dataclass(frozen=True, eq=False)
class MeasuredQuery:
    """The law of an answer to a random query, and its truth."""

    law: AnswerLaw
    truth: float

    @property
    def score(self) -> float:
        """The least factor whose interval has the truth."""
        return self.law.score(self.truth)


@dataclass(frozen=True)
class _Asked:
    """Any of some alike aggregates, of a column; of none, rows are counted."""

    alike: str
    of: str | None


_ROWS = _Asked("count", None)


@dataclass(frozen=True)
class _Kind:
    """Queries that are drawn alike: by several columns or one, and by a sensitive value."""

    several: bool
    of: str | None
    asked: tuple[_Asked, ...]


class QueriesOnOriginal:
    """Random queries, asked of the published tables and of the original.

    `original` are the represented rows before anonymization.
    """

    def __init__(self, likely: LikelyAnswers, declared: Declared, original: Microdata) -> None:
        """Find out what queries may select by."""
        self._likely, self._declared, self._original = likely, declared, original
        sensitive = [name for name in declared.named("sensitive") if self._laws_of(name)]
        names = [*declared.named("quasi-identifier"), *sensitive]
        self._domains = Domains(
            declared.columns,
            {name: likely.domain(name) for name in names},
            {name: likely.times_of(name) for name in sensitive},
        )
        self._columns = {name: OriginalColumn(original[name]) for name in names}
        self._truths: dict[str, TruthOfColumn] = {}

    def measure(self, number: int, randomness: Randomness) -> dict[FamilyKey, list[MeasuredQuery]]:
        """So many queries of each family, or fewer where few are large enough and not exact."""
        found: dict[FamilyKey, list[MeasuredQuery]] = {}
        for kind in self._kinds():
            waiting = set(kind.asked)
            for _ in range(number * _TRIES):
                if not waiting:
                    break
                for asked, family, query in self._ask(kind, waiting, randomness):
                    queries = found.setdefault(family, [])
                    queries.append(query)
                    if len(queries) == number:
                        waiting.remove(asked)
        return found

    def _kinds(self) -> Iterator[_Kind]:
        laws, columns = self._likely.laws, len(self._domains.names("quasi-identifier"))
        names = self._domains.names("sensitive")
        whole = [name for name in names if not self._declared.columns[name].nulls]
        together = (*((_ROWS,) if "rows" in laws else ()), *self._aggregates(whole))
        for several in [False, True][: min(columns, 2)]:
            if together:
                yield _Kind(several, None, together)
            for name in names:
                yield _Kind(several, name, (_ROWS,))
                alone = () if name in whole else tuple(self._aggregates([name]))
                if alone:  # each passes over its own nulls
                    yield _Kind(several, None, alone)

    def _aggregates(self, names: Sequence[str]) -> Iterator[_Asked]:
        for name in names:
            type_, laws = self._declared.columns[name].type, self._laws_of(name)
            for alike in (of for of in ALIKE if of in laws):
                kinds = [AGGREGATES[function] for function in ALIKE[alike].functions]
                takes = all(type_ in kind.takes and not kind.counts_rows for kind in kinds)
                if takes and type_ not in ("string", "boolean"):
                    yield _Asked(alike, name)

    def _laws_of(self, name: str) -> frozenset[str]:
        """The families of a sensitive column of which there are laws."""
        nullable = self._declared.columns[name].nulls
        return self._likely.laws_over_nulls if nullable else self._likely.laws

    def _ask(
        self, kind: _Kind, waiting: set[_Asked], randomness: Randomness
    ) -> Iterator[tuple[_Asked, FamilyKey, MeasuredQuery]]:
        """A random query, asked of all aggregates that wait for more."""
        drawn = draw_selections(
            self._domains, several=kind.several, of=kind.of, randomness=randomness
        )
        chosen = self._chosen(drawn[:-1] if kind.of else drawn)
        if chosen.sum() < LEAST_ROWS:  # most are told by this, and it is cheap
            return
        condition = exp.and_(*(selection.condition for selection in drawn), copy=False)
        aggregates = {
            ALIKE[one.alike].draw(one.of, partial(below, randomness=randomness)): one
            for one in kind.asked
            if one in waiting
        }
        question = question_of(next(iter(aggregates)), condition, self._declared)
        question = question.with_aggregates(aggregates)
        laws = self._likely.spreads(question).get((), {})
        laws = {a: law for a, law in laws.items() if not (law.size.is_small or law.is_exact)}
        if kind.of is not None:
            chosen &= drawn[-1].holds(self._columns[kind.of])
        shape = shape_of(question, self._declared)
        values = cache(lambda name: self._truth_of(name).chosen(chosen))
        for aggregate, law in laws.items():
            family, name = family_of(shape, aggregate), aggregate.sensitive
            truth: float | None = float(chosen.sum())
            if name is not None:
                truth = self._truth_of(name).answer(aggregate, values(name))
            if family is not None and truth is not None:
                yield aggregates[aggregate], family, MeasuredQuery(law, truth)

    def _chosen(self, drawn: Sequence[Selection]) -> np.ndarray:
        """The rows of the original that are selected (bool)."""
        chosen = np.ones(self._original.rows, dtype=bool)
        for selection in drawn:
            chosen &= selection.holds(self._columns[selection.name])
        return chosen

    def _truth_of(self, name: str) -> TruthOfColumn:
        if name not in self._truths:
            self._truths[name] = TruthOfColumn(self._original[name])
        return self._truths[name]


def conformal_quantile(scores: Sequence[float]) -> float:
    """The ⌈(n + 1) · 0.95⌉-th least score; infinite where there are fewer.

    >>> conformal_quantile(range(1, 20)), conformal_quantile(range(1, 19))
    (19.0, inf)
    """
    rank = -(-(len(scores) + 1) * 95 // 100)
    return math.inf if rank > len(scores) else float(sorted(scores)[rank - 1])


def factor_of(scores: Sequence[float]) -> Decimal | None:
    """The quantile rounded up to the grid; None of too few scores, or beyond the grid."""
    return None if len(scores) < FEWEST else rounded_up(conformal_quantile(scores))


def calibrate(
    measured: Mapping[FamilyKey, Sequence[MeasuredQuery]], frozen: CalibratedIntervals | None
) -> CalibratedIntervals:
    """The factors of the families that were measured often enough.

    Args:
        measured: queries of each family.
        frozen: what earlier versions of the line stated, below which no factor falls.
    """
    families = []
    for (name, of), queries in sorted(measured.items()):
        factor = factor_of([query.score for query in queries])
        before = None if frozen is None else frozen.factor_of((name, of))
        if factor is not None:
            highest = factor if before is None else max(factor, before)
            families.append(CalibratedFamily(family=name, of=of, factor=highest))
    return CalibratedIntervals(grid="fine", families=tuple(families))


class DrawnConditions(ValueConditions):
    """Judges drawn conditions itself, and others as queries do."""

    def rows(self, table: PublishedColumns, condition: exp.Expr) -> np.ndarray:
        """The rows on which a condition holds (bool, one per row).

        Raises:
            NotDirectError: where it compares columns, or cannot be evaluated on some value.
        """
        selections = selections_in(condition)
        if selections is None:
            return super().rows(table, condition)
        found = np.ones(len(table.group), dtype=bool)
        for selection in selections:
            column = table.coded(selection.name)
            admitted = selection.admits(self._known(table, selection.name))
            found &= column.among(np.append(admitted, _NULL[: column.values.null_count]))
        return found

    def _known(self, table: PublishedColumns, name: str) -> list[Any]:
        known = self._lists.get((table, name))
        if known is None:
            known = table.coded(name).values.drop_null().to_pylist()
            self._lists[table, name] = known
        return known

    def __init__(self, connection: Any) -> None:
        """Know no values yet."""
        super().__init__(connection)
        self._lists: dict[tuple[PublishedColumns, str], list[Any]] = {}
