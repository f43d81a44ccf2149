"""Calibration of intervals on the original, before a release is sealed; everything here is private.

The published files give each answer a law, with a middle and a 95 % range. An interval is that
range, made wider or narrower by a factor for each family of queries (see `shapes`). Random queries
of the family are asked of the published tables and of the original. The score of a query is the
least factor whose interval contains the true answer. The factor of the family is so high that the
scores of 95 % of such queries are not above it.

Source: Vovk, Gammerman, Shafer, Algorithmic learning in a random world; Lei, G'Sell, Rinaldo,
Tibshirani, Wasserman, Distribution-free predictive inference for regression (split conformal).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
from sqlglot import exp

from sfumato.expectations.shared.exact import Exact, exact
from sfumato.tasks.microdata.table import Column, Microdata, Randomness
from sfumato.tasks.query.aggregates.registry import AGGREGATES
from sfumato.tasks.query.bounds.extremes import ArrowValues, CountedValues, Counting
from sfumato.tasks.query.engines.truth import OriginalColumn
from sfumato.tasks.query.intervals.calibration.block import (
    Blocks,
    DrawnQueries,
    Scores,
    Target,
)
from sfumato.tasks.query.intervals.calibration.drawn_queries import (
    Domains,
    draw_selections,
    draw_some,
    select_sensitive,
)
from sfumato.tasks.query.intervals.calibration.original import OriginalRows
from sfumato.tasks.query.intervals.calibration.registry import BLOCKS
from sfumato.tasks.query.intervals.shapes import (
    ALIKE,
    LEAST_ROWS,
    Selection,
    family_of,
    name_of_family,
    shape_of,
)
from sfumato.tasks.query.intervals.spread import AnswerLaw
from sfumato.tasks.query.intervals.way import LikelyAnswers
from sfumato.tasks.query.question.conditions import question_of
from sfumato.tasks.query.question.question import Aggregate
from sfumato.tasks.schema.stated import CalibratedFamily, CalibratedIntervals, rounded_up
from sfumato.tasks.terms.terms import Declared

FamilyKey = tuple[str, str]
"""The name of a family, and the sensitive column that it is about ("" if there is none)."""
QUERIES = 1_000
"""The number of queries on which each family is calibrated, if so many can be drawn."""
_TRIES = 6  # times as many queries are drawn at most, since small and exact ones do not count
_RESERVE = 8  # queries that are drawn beyond those that will probably be enough
_MISTAKE = 1e-9  # chance that a family with enough queries is given up after some block
FEWEST = 1_000
"""The least number of queries on which a family is calibrated."""


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

    def scores(self, number: int, randomness: Randomness) -> dict[FamilyKey, np.ndarray]:
        """Return the scores of a number of queries of each family; see `measure`.

        Queries are asked in blocks if the release's way of showing people allows it. All aggregates
        then share the queries by one column, and those by several.
        """
        names, targets = self._domains.names("quasi-identifier"), self._all_targets()
        blocks = self._blocks(names, randomness)
        if blocks is None:
            measured = self.measure(number, randomness)
            return {
                family: np.array([query.score for query in queries])
                for family, queries in measured.items()
            }
        original = OriginalRows(self._original, names, self._domains.names("sensitive"))
        scores: dict[FamilyKey, np.ndarray] = {}
        for several in [False, True][: min(len(names), 2)]:
            of_targets = _Waiting(targets, number)
            while of_targets.waiting and of_targets.number_asked < number * _TRIES:
                together = min(blocks.queries, of_targets.number_to_ask)
                queries = self.draw_block(together, of_targets.waiting, several, randomness)
                of_targets.add(blocks.scores(queries, original), len(queries.selections))
            for (alike, name), of_family in of_targets.scores():
                scores[name_of_family(alike, several=several), name] = of_family
        return scores

    def _blocks(self, names: Sequence[str], randomness: Randomness) -> Blocks | None:
        """Return what asks many queries at once by some quasi-identifiers, if anything does."""
        shows = self._declared.form.shows
        if shows not in BLOCKS or not names:
            return None
        return BLOCKS[shows](self._likely, names, self._domains.names("sensitive"), randomness)

    def _all_targets(self) -> set[Target]:
        """Return all aggregates that have laws."""
        names = self._domains.names("sensitive")
        targets = {(target.alike, target.column or "") for target in self._targets(names)}
        rows = {("rows", "")} if "rows" in self._likely.laws else set()
        return targets | {("count", name) for name in names} | rows

    def draw_block(
        self, number: int, targets: set[Target], several: bool, randomness: Randomness
    ) -> DrawnQueries:
        """Draw queries that are asked for all targets."""
        selections = [
            draw_selections(self._domains, several=several, sensitive=None, randomness=randomness)
            for _ in range(number)
        ]
        ordered = sorted(targets)
        return DrawnQueries(
            selections,
            {
                name: [select_sensitive(self._domains, name, randomness) for _ in range(number)]
                for alike, name in ordered
                if alike == "count"
            }
            | ({"": ()} if ("rows", "") in targets else {}),
            {
                (alike, name): draw_some(ALIKE[alike].choices(name), number, randomness)
                for alike, name in ordered
                if alike not in ("count", "rows")
            },
        )

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
            draw_some(ALIKE[target.alike].choices(target.column), 1, randomness)[0]: target
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


class _Waiting:
    """The scores of targets, and the targets for which more queries are drawn."""

    def __init__(self, targets: set[Target], number: int) -> None:
        """Wait for a number of scores of each target."""
        self.waiting, self.number_asked, self._number = set(targets), 0, number
        self._found: dict[Target, list[np.ndarray]] = {target: [] for target in sorted(targets)}

    def add(self, scores: Iterable[tuple[Target, Scores]], queries: int) -> None:
        """Add the scores of one more block of a number of queries."""
        self.number_asked += queries
        for target, of_block in scores:
            self._found[target].append(of_block[~np.isnan(of_block)])
        self.waiting = {
            target
            for target in self.waiting
            if _is_worth_more(sum(map(len, self._found[target])), self.number_asked, self._number)
        }

    @property
    def number_to_ask(self) -> int:
        """The number of queries after which about enough will count for all waiting targets."""
        counting = min(sum(map(len, self._found[target])) for target in self.waiting)
        missing = self._number - counting
        return -(-missing * max(self.number_asked, 1) // max(counting, 1)) + _RESERVE

    def scores(self) -> Iterator[tuple[Target, np.ndarray]]:
        """Yield the scores of each target that has any."""
        for target, parts in self._found.items():
            if any(map(len, parts)):
                yield target, np.concatenate(parts)[: self._number]


def _is_worth_more(counting: int, queries: int, number: int) -> bool:
    """Decide whether more queries of a family are worth drawing.

    They are not if enough of them count, or if so few do that there will hardly be enough, which
    are a share of 1 / `_TRIES`. By the bound of Chernoff and Hoeffding, the logarithm of the chance
    that a family with that share shows no larger one is at most minus the number of queries times
    the divergence of both shares. A family is given up if the chance is below `_MISTAKE`.

    Args:
        counting: the number of queries that count for the factor.
        queries: the number of all drawn queries.
        number: how many have to count.
    """
    if counting >= number:
        return False
    share, enough = counting / queries, 1 / _TRIES
    if share >= enough:
        return True
    divergence = (1 - share) * math.log((1 - share) / (1 - enough))
    divergence += share * math.log(share / enough) if counting else 0.0
    return queries * divergence <= -math.log(_MISTAKE)


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
    scores: Mapping[FamilyKey, np.ndarray], frozen: CalibratedIntervals | None
) -> CalibratedIntervals:
    """Return the factors of the families that were measured often enough.

    Args:
        scores: the scores of the queries of each family (float64).
        frozen: the factors that earlier versions of the line stated, below which none falls; None
            if there are none.
    """
    families = []
    for (name, column), of_family in sorted(scores.items()):
        factor = factor_of(of_family.tolist())
        before = None if frozen is None else frozen.factor_of((name, column))
        if factor is not None:
            highest = factor if before is None else max(factor, before)
            families.append(CalibratedFamily(family=name, of=column, factor=highest))
    return CalibratedIntervals(grid="fine", families=tuple(families))
