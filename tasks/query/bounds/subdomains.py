"""Bounds over rows whose values are known by subdomains alone.

Each row of a group has one of its subdomains, no two rows the same copy, and any value of it. Some
values count, by a condition on them: all those of a subdomain, some, or none. A row whose
subdomain has some is free to count, or not to. What counts at most is therefore a choice of the
best values, and what must count follows from how few copies are free.

Exact, in integers, each bound attained. The mean is that of Dinkelbach's method: under a guess of
the least mean, values below it are worth counting, and what is then counted gives the next guess.

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009);
Dinkelbach, On nonlinear fractional programming (Management Science 13, 1967).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np
import pyarrow as pa

from sfumato.expectations.errors import QueryError
from sfumato.expectations.exact import INT64_MAX, Exact
from sfumato.expectations.sorting import stable_order
from sfumato.tasks.query.bounds.bounds import Bounds, Value, sum_of, value_of, within
from sfumato.tasks.query.bounds.spread import Choices

Ends = Sequence[tuple[Fraction, Fraction]]


@dataclass(frozen=True, eq=False)
class Selected:
    """The rows that each cell selects of each group.

    Attributes:
        cell: of each selection (int64, one per selection).
        group: that it selects from, ascending: neighbours look up neighbouring numbers (int64).
        hits: the number of rows that it selects, at least 1 (int64).
        cells: the number of all cells 0, 1, …, also of those without a row.
    """

    cell: np.ndarray
    group: np.ndarray
    hits: np.ndarray
    cells: int

    def sums(self, numbers: np.ndarray) -> np.ndarray:
        """The sums of `numbers` (one per selection) by cell (same dtype, one per cell)."""
        sums = np.zeros(self.cells, dtype=numbers.dtype)
        np.add.at(sums, self.cell, numbers)
        return sums


@dataclass(frozen=True, eq=False)
class Copies:
    """Values (int64, ascending or descending), each of which occurs `times` (int64) times."""

    values: np.ndarray
    times: np.ndarray

    @cached_property
    def before(self) -> np.ndarray:
        """The number of copies before each value, and last of all (int64, one more than values)."""
        return np.append(0, np.cumsum(self.times))

    @cached_property
    def sums(self) -> np.ndarray:
        """The sum of the copies before each value, and last of all (one more than values)."""
        return np.append(0, np.cumsum(self.values * self.times))

    def total(self, copies: np.ndarray) -> np.ndarray:
        """The sum of so many `copies` (int64), from the first one on (same shape)."""
        at = np.searchsorted(self.before, copies, side="right") - 1
        values = np.append(self.values, 0)
        total: np.ndarray = self.sums[at] + (copies - self.before[at]) * values[at]
        return total

    def holding(self, copy: np.ndarray) -> np.ndarray:
        """The positions of the values with these copies, counted from 1 (int64, same shape)."""
        found: np.ndarray = np.searchsorted(self.before, copy) - 1
        return found


@dataclass(frozen=True, eq=False)
class Held:
    """The subdomains that groups 0, 1, … show, as far as some of their values count.

    Attributes:
        group: that shows a subdomain (int64, one per subdomain, as are the next four).
        least: the rank of its least value that counts (int64).
        greatest: the rank of its greatest value that counts (int64).
        inside: 1 where all of its values count, else 0 (int64).
        times: the number of its copies (int64).
        sizes: the number of copies of any subdomain that a group shows (int64, one per group).
        units: the values as integers, ascending (int64 or object, one per rank).
    """

    group: np.ndarray
    least: np.ndarray
    greatest: np.ndarray
    inside: np.ndarray
    times: np.ndarray
    sizes: np.ndarray
    units: np.ndarray

    def counts(self, selected: Selected) -> tuple[np.ndarray, np.ndarray]:
        """The least and the greatest number of rows that count (int64, one per cell)."""
        most = np.minimum(selected.hits, self._copies(self.times)[selected.group])
        return selected.sums(self.sure(selected)), selected.sums(most)

    def sure(self, selected: Selected) -> np.ndarray:
        """The least number of each selection's rows that count (int64, one per selection)."""
        free = self.sizes - self._copies(self.times * self.inside)
        least: np.ndarray = np.maximum(selected.hits - free[selected.group], 0)
        return least

    def _copies(self, times: np.ndarray) -> np.ndarray:
        copies = np.zeros(len(self.sizes), dtype=np.int64)
        np.add.at(copies, self.group, times)
        return copies

    @cached_property
    def low(self) -> "End":
        """The values from below."""
        return End(self, self.least, self.units)

    @cached_property
    def high(self) -> "End":
        """The values from above: each as its negative, ranked from the greatest."""
        return End(self, len(self.units) - 1 - self.greatest, -self.units[::-1])


class End:
    """Bounds from one end of the values, of which the first of each subdomain is the best one.

    Bounds are ranks, or sums of units. They hold for cells of which some row may count, and tell
    nothing of the others.
    """

    def __init__(self, held: Held, rank: np.ndarray, units: np.ndarray) -> None:
        """Sort the subdomains of each group by the ranks of their best values."""
        order = np.lexsort((rank, held.group))
        group, self._rank = held.group[order], rank[order]
        times, self._held = held.times[order], held
        self._width = len(units)
        self._units = _summable(units, int(held.sizes.sum()))
        self._key = group * self._width + self._rank
        self._start = np.searchsorted(group, np.arange(len(held.sizes) + 1))
        values = self._units[self._rank]
        self._all = Copies(values, times)
        self._inside = Copies(values, times * held.inside[order])

    def outer(self, selected: Selected) -> np.ndarray:
        """The rank of the best value that may count (int64, one per cell)."""
        first = self._start[selected.group]
        some = first < self._start[selected.group + 1]
        best = np.full(selected.cells, self._width)
        np.minimum.at(best, selected.cell[some], self._rank[first[some]])
        return best

    def inner(self, selected: Selected) -> np.ndarray:
        """The rank of the worst value of the best choice of values (int64, one per cell)."""
        sure = self._held.sure(selected)
        copy = (self._inside.before[self._start[selected.group]] + sure)[sure > 0]
        worst = np.full(selected.cells, -1)
        ranks = self._rank[self._inside.holding(copy)]
        np.maximum.at(worst, selected.cell[sure > 0], ranks)
        found: np.ndarray = np.where(worst < 0, self.outer(selected), worst)
        return found

    def least_sum(self, selected: Selected) -> np.ndarray:
        """The least sum of at least one value (int64 or object, one per cell)."""
        sums, rows = self._best(selected, np.zeros(selected.cells, dtype=np.int64))
        return np.where(rows > 0, sums, self._alone(selected))

    def least_mean(self, selected: Selected) -> tuple[np.ndarray, np.ndarray]:
        """The least mean of at least one value, as a sum and a number of values (one per cell)."""
        guess = np.zeros(selected.cells, dtype=np.int64)
        sums, rows = (part.astype(object) for part in self._best(selected, guess))
        unsure = selected.sums(self._held.sure(selected)) == 0
        sums[unsure], rows[unsure] = self._alone(selected)[unsure], 1
        while True:
            fewer, less = (part.astype(object) for part in self._best(selected, -(-sums // rows)))
            better = (fewer * rows < sums * less).astype(bool) & ~unsure
            if not better.any():
                return sums, rows
            sums, rows = np.where(better, fewer, sums), np.where(better, less, rows)

    def _alone(self, selected: Selected) -> np.ndarray:
        alone: np.ndarray = self._units[np.minimum(self.outer(selected), self._width - 1)]
        return alone

    def _best(self, selected: Selected, limit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sum and number of what counts where values below each cell's limit are worth it."""
        every, inside = self._all.before, self._inside.before
        ranks = np.searchsorted(self._units, limit)[selected.cell]
        start = self._start[selected.group]
        worth = np.searchsorted(self._key, selected.group * self._width + ranks)
        taken = every[start] + np.minimum(selected.hits, every[worth] - every[start])
        forced = np.maximum(inside[start] + self._held.sure(selected), inside[worth])
        sums = self._all.total(taken) - self._all.sums[start]
        sums += self._inside.total(forced) - self._inside.sums[worth]
        rows = taken - every[start] + forced - inside[worth]
        return selected.sums(sums), selected.sums(rows)


def _summable(units: np.ndarray, copies: int) -> np.ndarray:
    """The units as Python's integers where sums over so many copies overflow."""
    largest = max(abs(int(units[0])), abs(int(units[-1]))) if len(units) else 0
    return units if largest * max(copies, 1) <= INT64_MAX else units.astype(object)


def choices_of_cells(held: Held, selected: Selected, digits: int) -> Iterator[Choices]:
    """The choices of each cell: of each group as many intervals as rows may count."""
    order = stable_order(held.group)
    start = np.searchsorted(held.group[order], np.arange(len(held.sizes) + 1))
    sure, by_cell = held.sure(selected), stable_order(selected.cell)
    ends = np.searchsorted(selected.cell[by_cell], np.arange(selected.cells + 1))
    for first, last in pairwise(ends):
        of_cell = by_cell[first:last]
        groups, hits = selected.group[of_cell], selected.hits[of_cell]
        sizes = start[groups + 1] - start[groups]
        number = np.repeat(np.arange(len(groups)), sizes)
        within = np.arange(len(number)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        node = order[start[groups][number] + within]
        times = np.minimum(held.times[node], hits[number])
        copies, able = np.repeat(node, times), np.zeros(len(groups), dtype=np.int64)
        np.add.at(able, number, held.times[node])
        yield Choices(
            group=np.repeat(number, times),
            low=held.units[held.least[copies]],
            high=held.units[held.greatest[copies]],
            least=sure[of_cell],
            most=np.minimum(hits, able),
            digits=digits,
        )


@dataclass(frozen=True, eq=False)
class Expected:
    """The expected number of each cell's rows that count, and their expected sum (float64)."""

    rows: np.ndarray
    sums: np.ndarray


class OfCells(Protocol):
    """An aggregate: its bounds in every cell, and of how many values it is at least."""

    @property
    def called(self) -> str:
        """Its name in messages."""
        ...

    @property
    def of_cells(self) -> Callable[["Cells"], list[Bounds]] | None:
        """Gives the bounds in every cell, None where it knows none."""
        ...

    @property
    def fewest(self) -> int:
        """The smallest number of values that have an answer."""
        ...


class Cells:
    """Cells that select rows of groups, whose values count where a condition holds.

    Attributes:
        most: how many rows of each cell count at most.
    """

    def __init__(
        self,
        held: Held,
        selected: Selected,
        values: pa.Array,
        numbers: Exact | None,
        expected: Expected | None = None,
    ) -> None:
        """Count what each cell has.

        Args:
            held: what the groups show, by the ranks of the values.
            selected: what the cells select.
            values: of the domain, ascending.
            numbers: the same as numbers, None where they are none.
            expected: of the cells, None without estimates.
        """
        self._least, self.most = held.counts(selected)
        self._held, self._selected, self._values = held, selected, values
        self._numbers, self._expected = numbers, expected

    def counts(self) -> list[Bounds]:
        """The bounds of how many rows count."""
        pairs = list(zip(self._least.tolist(), self.most.tolist(), strict=True))
        rows = self._expected.rows if self._expected else None
        near = self._near(rows, [(Fraction(low), Fraction(high)) for low, high in pairs])
        return [Bounds(*pair, of) for pair, of in zip(pairs, near, strict=True)]

    def least(self) -> list[Bounds]:
        """The bounds of the least value that counts."""
        low, high = self._held.low, self._held.high
        return self._ranked(low.outer(self._selected), high.inner(self._selected))

    def greatest(self) -> list[Bounds]:
        """The bounds of the greatest value that counts."""
        low, high = self._held.low, self._held.high
        return self._ranked(low.inner(self._selected), high.outer(self._selected))

    def _ranked(self, lower: np.ndarray, from_above: np.ndarray) -> list[Bounds]:
        ends = self._at(lower), self._at(len(self._values) - 1 - from_above)
        return [Bounds(*pair) for pair in zip(*ends, strict=True)]

    def sums(self) -> list[Bounds]:
        """The bounds of the sum of what counts, and what is expected of it."""
        low = self._held.low.least_sum(self._selected)
        high = -self._held.high.least_sum(self._selected)
        ends = [(self._number(a), self._number(b)) for a, b in zip(low, high, strict=True)]
        expected = self._expected.sums if self._expected else None
        near = self._near(expected, ends)
        whole = self._whole
        return [
            Bounds(sum_of(low, whole), sum_of(high, whole), of)
            for (low, high), of in zip(ends, near, strict=True)
        ]

    def means(self) -> list[Bounds]:
        """The bounds of the mean of what counts, and what is expected of it."""
        low = zip(*self._held.low.least_mean(self._selected), strict=True)
        high = zip(*self._held.high.least_mean(self._selected), strict=True)
        ends = [
            (self._number(a) / int(rows), -self._number(b) / int(others))
            for (a, rows), (b, others) in zip(low, high, strict=True)
        ]
        expected = None
        if self._expected:
            some = np.where(self._expected.rows > 0, self._expected.rows, np.nan)
            expected = self._expected.sums / some
        near = self._near(expected, ends)
        return [Bounds(*pair, of) for pair, of in zip(ends, near, strict=True)]

    def choices(self) -> Iterator[Choices]:
        """The choices of each cell among its groups' subdomains, as intervals of numbers."""
        digits = self._numbers.digits if self._numbers else 0
        return choices_of_cells(self._held, self._selected, digits)

    def bounds(self, kind: "OfCells") -> list[Bounds]:
        """The bounds of an aggregate in each cell: of fewer values than its fewest it is null.

        Raises:
            QueryError: where it has no bounds here.
        """
        of_cells = require_bounds(kind)
        return [
            replace(bounds, may_be_empty=bool(low < kind.fewest))
            if high >= kind.fewest
            else Bounds(None, None, None)
            for bounds, low, high in zip(of_cells(self), self._least, self.most, strict=True)
        ]

    def _at(self, ranks: np.ndarray) -> list[Value]:
        shown = self._values.take(pa.array(np.clip(ranks, 0, len(self._values) - 1)))
        return [value_of(value, self._whole) for value in shown.to_pylist()]

    @cached_property
    def _whole(self) -> bool:
        return bool(pa.types.is_integer(self._values.type))

    def _number(self, units: int) -> Fraction:
        return Fraction(int(units), 10**self._numbers.digits if self._numbers else 1)

    def _near(self, expected: np.ndarray | None, ends: Ends) -> list[Fraction | None]:
        """The expected numbers, moved within the bounds; None where nothing is expected."""
        if expected is None:
            return [None] * len(ends)
        known = (None if np.isnan(of) else Fraction(float(of)) for of in expected)
        return [within(of, *pair) for of, pair in zip(known, ends, strict=True)]


def require_bounds(kind: OfCells) -> Callable[[Cells], list[Bounds]]:
    """Return what bounds an aggregate in every cell.

    Raises:
        QueryError: where nothing does.
    """
    if kind.of_cells is None:
        raise QueryError(
            f"{kind.called} has no bounds where ranges stand for sensitive values. AVG, MIN, MAX "
            "and COUNT(*) FILTER (WHERE …) have"
        )
    return kind.of_cells
