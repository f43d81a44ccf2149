"""Bounds over rows whose values are known only by subdomain.

A subdomain is a set of values, and each group shows some copies of subdomains. Each row of the
group has one of the copies, no two rows the same, and any value of that subdomain. A cell is a row
of an answer: it selects some rows of each group, its hits, by other columns.

A condition on values holds on all values of a subdomain, on some, or on none. A row counts if it is
a hit and the condition holds on its value. A copy on whose values the condition always holds is
inside; a hit with another copy is free to count or not to count. So at most as many hits count as
there are copies with a matching value, and at least as many as exceed the number of free copies.
The rows that count have the best values for a bound: the least ones for a lower bound.

Values are numbered by rank, ascending, and added up as units, integers of which 10**digits make 1.
Bounds are exact and attained. The least mean is found by Dinkelbach's method: given a guess, the
values below it are counted where possible, and their mean is the next guess, until none is lower.

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

from sfumato.expectations.shared.errors import QueryError
from sfumato.expectations.shared.exact import INT64_MAX, Exact
from sfumato.expectations.shared.sorting import stable_order
from sfumato.tasks.query.bounds.bounds import Bounds, Value, clamp_estimate, sum_of, value_of
from sfumato.tasks.query.bounds.spread import Choices

Ends = Sequence[tuple[Fraction, Fraction]]


@dataclass(frozen=True, eq=False)
class Selected:
    """The rows that each cell selects of each group.

    Attributes:
        cell: the cell of each pair of a cell and a group (int64, as are the next two).
        group: the group of each pair; ascending, so that lookups by group stay close in memory.
        hits: the number of rows that the cell selects of the group, at least 1.
        cells: the number of all cells 0, 1, …, also of those without a row.
    """

    cell: np.ndarray
    group: np.ndarray
    hits: np.ndarray
    cells: int

    def sums(self, numbers: np.ndarray) -> np.ndarray:
        """Return the sums of `numbers` (one per pair) by cell (same dtype, one per cell)."""
        sums = np.zeros(self.cells, dtype=numbers.dtype)
        np.add.at(sums, self.cell, numbers)
        return sums


@dataclass(frozen=True, eq=False)
class Copies:
    """Values one after the other, each of which occurs `times` (int64) times.

    The values (int64, or Python integers) are of several groups; those of one group ascend.
    """

    values: np.ndarray
    times: np.ndarray

    @cached_property
    def counts_before(self) -> np.ndarray:
        """The number of copies before each value, then of all copies (int64, values + 1)."""
        return np.append(0, np.cumsum(self.times))

    @cached_property
    def sums(self) -> np.ndarray:
        """The sum of the copies before each value, then of all copies (values + 1)."""
        return np.append(0, np.cumsum(self.values * self.times))

    def total(self, copies: np.ndarray) -> np.ndarray:
        """Return the sums of the first copies, as many as each of `copies` (int64) says."""
        position = np.searchsorted(self.counts_before, copies, side="right") - 1
        values = np.append(self.values, 0)
        total: np.ndarray = (
            self.sums[position] + (copies - self.counts_before[position]) * values[position]
        )
        return total

    def positions_of(self, copy: np.ndarray) -> np.ndarray:
        """Return the position of each copy's value (int64); copies are counted from 1."""
        positions: np.ndarray = np.searchsorted(self.counts_before, copy) - 1
        return positions


@dataclass(frozen=True, eq=False)
class GroupSubdomains:
    """The subdomains of groups 0, 1, … that have values on which a condition holds.

    Attributes:
        group: the group that shows the subdomain (int64, one per subdomain, as the next four).
        least: the rank of its least value that counts (int64).
        greatest: the rank of its greatest value that counts (int64).
        inside: 1 if all of its values count, otherwise 0 (int64).
        times: the number of its copies (int64).
        sizes: the number of copies of all subdomains of each group, of those without values that
            count, too (int64, one per group).
        units: the values of the domain in units, ascending (int64 or Python integers, one per
            rank); their ranks if they are not numbers.
    """

    group: np.ndarray
    least: np.ndarray
    greatest: np.ndarray
    inside: np.ndarray
    times: np.ndarray
    sizes: np.ndarray
    units: np.ndarray

    def counts(self, selected: Selected) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the greatest number of rows that count (int64, one per cell)."""
        most = np.minimum(selected.hits, self._copies(self.times)[selected.group])
        return selected.sums(self.sure(selected)), selected.sums(most)

    def sure(self, selected: Selected) -> np.ndarray:
        """Return the least number of each pair's hits that count (int64)."""
        free = self.sizes - self._copies(self.times * self.inside)
        least: np.ndarray = np.maximum(selected.hits - free[selected.group], 0)
        return least

    def _copies(self, times: np.ndarray) -> np.ndarray:
        """Return the sum of `times` (int64, one per subdomain) by group (int64)."""
        copies = np.zeros(len(self.sizes), dtype=np.int64)
        np.add.at(copies, self.group, times)
        return copies

    @cached_property
    def low(self) -> "End":
        """The values ordered from below."""
        return End(self, self.least, self.units)

    @cached_property
    def high(self) -> "End":
        """The values ordered from above: each is negated, and ranks begin at the greatest."""
        return End(self, len(self.units) - 1 - self.greatest, -self.units[::-1])


class End:
    """Bounds from one end of the values: the lower, or the upper with all values negated.

    The best value of a subdomain is its first one from this end. Bounds are ranks from this end, or
    sums of units. They are valid for cells in which some row may count.
    """

    def __init__(self, subdomains: GroupSubdomains, rank: np.ndarray, units: np.ndarray) -> None:
        """Sort the subdomains of each group by the ranks of their best values.

        Args:
            subdomains: the subdomains.
            rank: the rank of each subdomain's best value from this end (int64).
            units: the values of the domain in units, by their rank from this end.
        """
        order = np.lexsort((rank, subdomains.group))
        group, self._rank = subdomains.group[order], rank[order]
        times, self._held = subdomains.times[order], subdomains
        self._width = len(units)
        self._units = _summable(units, int(subdomains.sizes.sum()))
        self._key = group * self._width + self._rank
        self._start = np.searchsorted(group, np.arange(len(subdomains.sizes) + 1))
        values = self._units[self._rank]
        self._all = Copies(values, times)
        self._inside = Copies(values, times * subdomains.inside[order])

    def outer(self, selected: Selected) -> np.ndarray:
        """Return the rank of the best value that may count (int64, one per cell).

        The rank is the number of values in the domain if no value may count.
        """
        first = self._start[selected.group]
        some = first < self._start[selected.group + 1]
        best = np.full(selected.cells, self._width)
        np.minimum.at(best, selected.cell[some], self._rank[first[some]])
        return best

    def inner(self, selected: Selected) -> np.ndarray:
        """Return the rank of the worst value if few rows count (int64, one per cell).

        As few rows count as possible, but at least one, and they have the best values they can.
        """
        sure = self._held.sure(selected)
        # rows that surely count have the first `sure` inside copies; the last one is the worst
        copy = (self._inside.counts_before[self._start[selected.group]] + sure)[sure > 0]
        worst = np.full(selected.cells, -1)
        ranks = self._rank[self._inside.positions_of(copy)]
        np.maximum.at(worst, selected.cell[sure > 0], ranks)
        worst_ranks: np.ndarray = np.where(worst < 0, self.outer(selected), worst)
        return worst_ranks

    def least_sum(self, selected: Selected) -> np.ndarray:
        """Return the least sum of at least one value (int64 or object, one per cell)."""
        sums, rows = self._best(selected, np.zeros(selected.cells, dtype=np.int64))
        return np.where(rows > 0, sums, self._alone(selected))

    def least_mean(self, selected: Selected) -> tuple[np.ndarray, np.ndarray]:
        """Return the least mean of at least one value, as its sum and number of values.

        Both are Python integers, one per cell.
        """
        guess = np.zeros(selected.cells, dtype=np.int64)
        sums, rows = (part.astype(object) for part in self._best(selected, guess))
        unsure = selected.sums(self._held.sure(selected)) == 0
        sums[unsure], rows[unsure] = self._alone(selected)[unsure], 1
        while True:
            # an integer is below sums / rows if it is below that quotient, rounded up
            fewer, less = (part.astype(object) for part in self._best(selected, -(-sums // rows)))
            better = (fewer * rows < sums * less).astype(bool) & ~unsure
            if not better.any():
                return sums, rows
            sums, rows = np.where(better, fewer, sums), np.where(better, less, rows)

    def _alone(self, selected: Selected) -> np.ndarray:
        """Return the best value that may count, in units: the sum if one row counts."""
        alone: np.ndarray = self._units[np.minimum(self.outer(selected), self._width - 1)]
        return alone

    def _best(self, selected: Selected, limit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sum and the number of values if all below a limit count that can.

        Other values count only if they must. `limit` is in units, one per cell.
        """
        every, inside = self._all.counts_before, self._inside.counts_before
        ranks = np.searchsorted(self._units, limit)[selected.cell]
        start = self._start[selected.group]
        # the subdomains from `start` to `worth` have a value below the limit
        worth = np.searchsorted(self._key, selected.group * self._width + ranks)
        taken = every[start] + np.minimum(selected.hits, every[worth] - every[start])
        # inside copies from `worth` on, as far as they are needed for all rows that surely count
        forced = np.maximum(inside[start] + self._held.sure(selected), inside[worth])
        sums = self._all.total(taken) - self._all.sums[start]
        sums += self._inside.total(forced) - self._inside.sums[worth]
        rows = taken - every[start] + forced - inside[worth]
        return selected.sums(sums), selected.sums(rows)


def _summable(units: np.ndarray, copies: int) -> np.ndarray:
    """Return the units (ascending), as Python integers if sums of so many copies may overflow."""
    largest = max(abs(int(units[0])), abs(int(units[-1]))) if len(units) else 0
    return units if largest * max(copies, 1) <= INT64_MAX else units.astype(object)


def choices_of_cells(
    subdomains: GroupSubdomains, selected: Selected, digits: int
) -> Iterator[Choices]:
    """Yield the choices among intervals in each cell, for aggregates of deviations.

    An interval is from the least to the greatest value that counts of one copy, in units of which
    10**digits make 1.
    """
    order = stable_order(subdomains.group)
    start = np.searchsorted(subdomains.group[order], np.arange(len(subdomains.sizes) + 1))
    sure, by_cell = subdomains.sure(selected), stable_order(selected.cell)
    ends = np.searchsorted(selected.cell[by_cell], np.arange(selected.cells + 1))
    for first, last in pairwise(ends):
        of_cell = by_cell[first:last]
        groups, hits = selected.group[of_cell], selected.hits[of_cell]
        sizes = start[groups + 1] - start[groups]
        # one entry for each subdomain of each group that the cell selects from
        number = np.repeat(np.arange(len(groups)), sizes)
        within = np.arange(len(number)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        node = order[start[groups][number] + within]
        # one entry for each copy; of equal copies, no more count than there are hits
        times = np.minimum(subdomains.times[node], hits[number])
        copies, able = np.repeat(node, times), np.zeros(len(groups), dtype=np.int64)
        np.add.at(able, number, subdomains.times[node])
        yield Choices(
            group=np.repeat(number, times),
            low=subdomains.units[subdomains.least[copies]],
            high=subdomains.units[subdomains.greatest[copies]],
            least=sure[of_cell],
            most=np.minimum(hits, able),
            digits=digits,
        )


@dataclass(frozen=True, eq=False)
class Expected:
    """The expected number of rows that count in each cell, and their expected sum (float64)."""

    rows: np.ndarray
    sums: np.ndarray


class CellAggregate(Protocol):
    """An aggregate with its bounds in every cell, and the fewest values that it needs."""

    @property
    def sql_name(self) -> str:
        """The aggregate's name in messages."""
        ...

    @property
    def of_cells(self) -> Callable[["Cells"], list[Bounds]] | None:
        """The function that returns the bounds in every cell; None if there is none."""
        ...

    @property
    def fewest(self) -> int:
        """The smallest number of values that have an answer."""
        ...


class Cells:
    """Bounds of aggregates in cells; the rows with values on which a condition holds count.

    Attributes:
        most: the greatest number of rows of each cell that count (int64).
    """

    def __init__(
        self,
        subdomains: GroupSubdomains,
        selected: Selected,
        values: pa.Array,
        numbers: Exact | None,
        expected: Expected | None = None,
    ) -> None:
        """Count the rows of each cell.

        Args:
            subdomains: the groups' subdomains with values that count.
            selected: the rows that the cells select.
            values: the values of the domain, ascending.
            numbers: the values as exact numbers; None if they are not numbers.
            expected: the expected numbers and sums of the cells; None without estimates.
        """
        self._least, self.most = subdomains.counts(selected)
        self._held, self._selected, self._values = subdomains, selected, values
        self._numbers, self._expected = numbers, expected

    def counts(self) -> list[Bounds]:
        """Bound the number of rows that count."""
        pairs = list(zip(self._least.tolist(), self.most.tolist(), strict=True))
        rows = self._expected.rows if self._expected else None
        near = self._clamp_estimates(rows, [(Fraction(low), Fraction(high)) for low, high in pairs])
        return [Bounds(*pair, estimate) for pair, estimate in zip(pairs, near, strict=True)]

    def least(self) -> list[Bounds]:
        """Bound the least value that counts."""
        low, high = self._held.low, self._held.high
        return self._bounds_of_ranks(low.outer(self._selected), high.inner(self._selected))

    def greatest(self) -> list[Bounds]:
        """Bound the greatest value that counts."""
        low, high = self._held.low, self._held.high
        return self._bounds_of_ranks(low.inner(self._selected), high.outer(self._selected))

    def _bounds_of_ranks(self, lower: np.ndarray, from_above: np.ndarray) -> list[Bounds]:
        ends = self._values_at(lower), self._values_at(len(self._values) - 1 - from_above)
        return [Bounds(*pair) for pair in zip(*ends, strict=True)]

    def sums(self) -> list[Bounds]:
        """Bound and estimate the sum of the values that count."""
        low = self._held.low.least_sum(self._selected)
        high = -self._held.high.least_sum(self._selected)
        ends = [(self._number(a), self._number(b)) for a, b in zip(low, high, strict=True)]
        expected = self._expected.sums if self._expected else None
        near = self._clamp_estimates(expected, ends)
        whole = self._whole
        return [
            Bounds(sum_of(low, whole), sum_of(high, whole), estimate)
            for (low, high), estimate in zip(ends, near, strict=True)
        ]

    def means(self) -> list[Bounds]:
        """Bound and estimate the mean of the values that count."""
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
        near = self._clamp_estimates(expected, ends)
        return [Bounds(*pair, estimate) for pair, estimate in zip(ends, near, strict=True)]

    def choices(self) -> Iterator[Choices]:
        """Yield the choices of each cell among its groups' subdomains, as intervals of numbers."""
        digits = self._numbers.digits if self._numbers else 0
        return choices_of_cells(self._held, self._selected, digits)

    def bounds(self, kind: "CellAggregate") -> list[Bounds]:
        """Bound an aggregate in each cell; over fewer values than `kind.fewest` it is null.

        Raises:
            QueryError: if the aggregate has no bounds where subdomains are shown.
        """
        of_cells = require_bounds(kind)
        return [
            replace(bounds, may_be_empty=bool(low < kind.fewest))
            if high >= kind.fewest
            else Bounds(None, None, None)
            for bounds, low, high in zip(of_cells(self), self._least, self.most, strict=True)
        ]

    def _values_at(self, ranks: np.ndarray) -> list[Value]:
        """Return the values of ranks; ranks outside of the domain become its nearest end."""
        values = self._values.take(pa.array(np.clip(ranks, 0, len(self._values) - 1)))
        return [value_of(value, self._whole) for value in values.to_pylist()]

    @cached_property
    def _whole(self) -> bool:
        return bool(pa.types.is_integer(self._values.type))

    def _number(self, units: int) -> Fraction:
        return Fraction(int(units), 10**self._numbers.digits if self._numbers else 1)

    def _clamp_estimates(self, expected: np.ndarray | None, ends: Ends) -> list[Fraction | None]:
        """Return the expected numbers, moved within the bounds; None without estimates."""
        if expected is None:
            return [None] * len(ends)
        numbers = (None if np.isnan(number) else Fraction(float(number)) for number in expected)
        return [clamp_estimate(number, *pair) for number, pair in zip(numbers, ends, strict=True)]


def require_bounds(kind: CellAggregate) -> Callable[[Cells], list[Bounds]]:
    """Return the function that bounds an aggregate in every cell.

    Raises:
        QueryError: if no function does.
    """
    if kind.of_cells is None:
        raise QueryError(
            f"{kind.sql_name} has no bounds in a release that shows ranges of "
            "sensitive values. Use AVG, MIN, MAX or COUNT(*) FILTER (WHERE …)"
        )
    return kind.of_cells
