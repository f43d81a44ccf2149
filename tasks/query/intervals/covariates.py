"""Values expected of rows by their quasi-identifiers, fitted from the published groups.

Within a group the release does not show which row has which value. Across groups it shows which
values come with which quasi-identifiers: the covariance of the groups' means shows how far a row is
expected to differ from its group's mean. If groups were made by quasi-identifiers (boxes), the
regression of the values' means on quasi-identifiers is also that of the rows. If groups were made
by the values, the regression of the quasi-identifiers on the values is; the opposite one would
describe the grouping. The larger differences, between groups or within them, show which is the
case.

The construction is this project's own. It is Cox and Robins' warning of ecological regression, and
the learning step of Kifer's attack on partitions, used for an estimate. It discloses no person's
value: it moves the middle of intervals over many rows, and calibration measures how far it can be
trusted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

_BINS = 12  # of each column, at most
_RIDGE = 5.0  # rows; shrinks slopes that few rows support
_CELLS = 20_000_000  # counts of groups' rows in bins; beyond these some groups represent all


@dataclass(frozen=True, eq=False)
class Binned:
    """A column in bins: the bin of each row (`of_row`, int64), and the number of bins."""

    of_row: np.ndarray
    number: int


@dataclass(frozen=True, eq=False)
class SelectedOfGroups:
    """Rows that a cell selects.

    Attributes:
        group: the groups with a selected row (integers, ascending).
        hits: the number of selected rows of each (int64, parallel).
        rows: the positions of the rows (integers).
    """

    group: np.ndarray
    hits: np.ndarray
    rows: np.ndarray

    @property
    def number(self) -> int:
        """The number of selected rows."""
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class GroupedNumbers:
    """The numbers of groups; all float64, one per group.

    Attributes:
        size: the number of numbers of each group.
        mean: their mean.
        variance: their variance around this mean.
        inner: the mean variance of a number within its subdomain; 0 if numbers are known exactly.
    """

    size: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    inner: np.ndarray


def in_bins(codes: np.ndarray, values: int, *, ordered: bool) -> Binned:
    """Return a column of codes in a few bins.

    Bins are ranges of about equally many rows if codes are ordered. Otherwise each frequent value
    has its own bin, and the last bin is for all others.

    Args:
        codes: the code of each row (integers).
        values: the number of codes.
        ordered: whether codes follow the order of values.
    """
    times = np.bincount(codes, minlength=values)
    if values <= _BINS:
        return Binned(codes.astype(np.int64), values)
    if ordered:
        middle = np.cumsum(times) - times / 2
        of_value = np.minimum(middle * _BINS // max(times.sum(), 1), _BINS - 1).astype(np.int64)
    else:
        of_value = np.full(values, _BINS - 1, dtype=np.int64)
        of_value[np.argsort(-times, kind="stable")[: _BINS - 1]] = np.arange(_BINS - 1)
    return Binned(of_value[codes], _BINS)


class Covariates:
    """Quasi-identifiers of grouped rows, which predict how rows differ from their groups."""

    def __init__(self, group: np.ndarray, groups: int, columns: Sequence[Binned]) -> None:
        """Count the rows of each group in each bin.

        Args:
            group: the group of each row (integers).
            groups: the number of groups.
            columns: the columns of the rows, in bins.
        """
        self._group, self.columns = group, columns
        self._rows = np.bincount(group, minlength=groups).astype(np.float64)
        ends = np.cumsum([0, *(column.number for column in columns)])
        self._slices = [slice(*pair) for pair in pairwise(ends)]
        # the groups that are counted: all, or every `step`-th if there are too many
        step = max(int(groups * ends[-1]) // _CELLS, 1)
        self._used = np.flatnonzero(self._rows > 0)[::step]
        self._share = len(self._used) / max(int(np.count_nonzero(self._rows)), 1)
        self._counts = self._count_bins()
        self._total = self._cross_products(int(ends[-1]))
        # the covariance of the bins between groups, times the number of rows
        scaled = self._counts / np.sqrt(self._rows[self._used, None])
        self._among = scaled.T @ scaled / self._share
        ridge = _RIDGE * np.eye(len(self._among))
        self._of_boxes = np.linalg.inv(self._among + ridge)
        self._of_values = np.linalg.inv(self._total + ridge)

    @property
    def groups(self) -> int:
        """The number of groups."""
        return len(self._rows)

    @property
    def bins(self) -> int:
        """The number of bins of all columns."""
        return len(self._frequent)

    def expected_bins(self, groups: np.ndarray) -> np.ndarray:
        """Return the share of groups' rows in each bin, as `less_expected` has it.

        Args:
            groups: the groups (integers); each has rows.

        Returns:
            Float64, groups x bins.
        """
        place = self._place_of_used[groups]
        expected: np.ndarray = self._counts[place]
        expected /= self._rows[groups, None]
        expected[place < 0] = 0.0
        expected += self._frequent
        return expected

    @cached_property
    def _place_of_used(self) -> np.ndarray:
        """The place of each group among those that are counted (int64); -1 for others."""
        place = np.full(len(self._rows), -1, dtype=np.int64)
        place[self._used] = np.arange(len(self._used))
        return place

    def _count_bins(self) -> np.ndarray:
        """Return the rows of each used group in each bin, less those that chance predicts.

        A group is predicted to have the same share of its rows in a bin as all used groups.
        """
        place = self._place_of_used[self._group]
        is_used = place >= 0
        parts = []
        for column in self.columns:
            key = place[is_used] * column.number + column.of_row[is_used]
            counted = np.bincount(key, minlength=len(self._used) * column.number)
            parts.append(counted.reshape(len(self._used), column.number).astype(np.float64))
        counts = np.concatenate(parts, axis=1)
        self._frequent = counts.sum(axis=0) / max(is_used.sum(), 1)
        counts -= np.outer(self._rows[self._used], self._frequent)
        return counts

    def _cross_products(self, bins: int) -> np.ndarray:
        """Return the covariance of the bins over all rows, times the number of rows."""
        rows = max(len(self._group), 1)
        products = np.zeros((bins, bins))
        for column, part in zip(self.columns, self._slices, strict=True):
            for other, other_part in zip(self.columns, self._slices, strict=True):
                key = column.of_row * other.number + other.of_row
                counted = np.bincount(key, minlength=column.number * other.number)
                products[part, other_part] = counted.reshape(column.number, other.number)
        times = np.diag(products).copy()
        return products - np.outer(times, times) / rows

    def fit(self, numbers: GroupedNumbers) -> "Deviations":
        """Return how far rows' numbers are expected to be above their groups' means.

        Args:
            numbers: the numbers of all groups.
        """
        (deviations,) = self.fit_all(
            numbers.size, numbers.mean[None], numbers.variance[None], numbers.inner[None]
        )
        return deviations

    def fit_all(
        self,
        size: np.ndarray,
        mean: np.ndarray,
        variance: np.ndarray,
        inner: np.ndarray | None = None,
    ) -> list["Deviations"]:
        """Return the deviations of several numbers of rows; see `fit` and `GroupedNumbers`.

        Args:
            size: the size of each group (float64, one per group).
            mean: the means of the numbers in each group (float64, numbers x groups).
            variance: their variances within each group (float64, numbers x groups).
            inner: their mean variances within subdomains (float64, numbers x groups); None for 0.
        """
        spread = variance * (size / np.maximum(size - 1, 1))
        if inner is not None:
            variance, spread = variance + inner, spread + inner
        slopes = self._slopes_of(mean, variance)
        parts = slopes.part_of(spread)
        return [
            Deviations(
                slopes.slopes[number],
                parts[number],
                slopes.variance[number]
                * self.shape_of_noise(of_values=bool(slopes.of_values[number])),
                self,
            )
            if slopes.variance[number] > 0
            else Deviations(np.zeros(self.bins), parts[number], None, self)
            for number in range(len(mean))
        ]

    def _slopes_of(self, mean: np.ndarray, variance: np.ndarray) -> "Slopes":
        """Return the slopes of several numbers on the bins, which come from the groups' means.

        Args:
            mean: the means of the numbers in each group (float64, numbers x groups).
            variance: their variances within each group (float64, numbers x groups).
        """
        # sums of squares: between groups, and in all
        rows, used, number = self._rows, self._used, max(float(self._rows.sum()), 1.0)
        apart = mean - (mean @ rows / number)[:, None]
        between = np.einsum("ng,ng,g->n", apart, apart, rows)
        total = between + variance @ rows
        # sums of products of bins and numbers between groups
        apart_of_used = apart if len(used) == len(rows) else apart[:, used]
        joint = apart_of_used @ self._counts / self._share
        return self.slopes_from(between, total, joint)

    def joint_by_kind(
        self, kind: np.ndarray, group: np.ndarray, weight: np.ndarray, kinds: int
    ) -> np.ndarray:
        """Return the sums of products of bins and numbers between groups, for kinds of items.

        The number of a group is the weight of its items of a kind.

        Args:
            kind: the kind of each item (integers).
            group: the group of each item (integers).
            weight: the weight of each item (float64).
            kinds: the number of kinds.

        Returns:
            Float64, (kinds + 1) x bins; the last row is for a number that is 1 for each group.
        """
        place = self._place_of_used
        items = np.flatnonzero(place[group] >= 0)
        kind, weight, member = kind[items], weight[items], place[group[items]]
        joint = np.empty((kinds + 1, self.bins))
        for column in range(self.bins):
            counts = np.ascontiguousarray(self._counts[:, column])
            joint[:kinds, column] = np.bincount(kind, weight * counts[member], kinds)
            joint[kinds, column] = counts.sum()
        return joint / self._share

    def slopes_from(self, between: np.ndarray, total: np.ndarray, joint: np.ndarray) -> "Slopes":
        """Return the slopes of several numbers on the bins.

        The module's docstring says why there are two regressions.

        Args:
            between: the sum of squares of groups' means around the mean of all, times the rows of
                groups (float64, one per number).
            total: that of rows' numbers around the mean of all (float64, one per number).
            joint: the sums of products of bins and numbers between groups (float64, numbers x
                bins).
        """
        number = max(float(self._rows.sum()), 1.0)
        differs = (between > 0) & bool(len(self._used))
        ratio = np.divide(total, between, out=np.ones_like(total), where=differs)
        shares = np.trace(self._among) / max(np.trace(self._total), 1e-300)
        of_values = differs & (shares * ratio < 1)
        # if groups were made by values: the bins' slopes on the numbers, joint / between, hold for
        # rows, so joint * total / between is the sum of products over rows
        slopes = np.where(
            of_values[:, None], joint @ self._of_values * ratio[:, None], joint @ self._of_boxes
        )
        slopes[~differs] = 0.0
        explained = ((slopes @ self._total) * slopes).sum(axis=1)
        residual = np.maximum(total - explained, total / 100) / number
        residual[~differs] = np.inf
        # the variance of `joint`, then that of the slopes, each times a fixed matrix
        noise = np.where(of_values, ratio**2 * between / number, residual)
        return Slopes(slopes, residual, np.where(differs, noise, 0.0), of_values)

    def shape_of_noise(self, *, of_values: bool) -> np.ndarray:
        """Return the covariance of slopes divided by their `variance` (float64, bins x bins)."""
        return self._noise_of_values if of_values else self._noise_of_boxes

    @cached_property
    def _noise_of_values(self) -> np.ndarray:
        noise: np.ndarray = self._of_values @ self._total @ self._of_values
        return noise

    @cached_property
    def _noise_of_boxes(self) -> np.ndarray:
        noise: np.ndarray = self._of_boxes @ self._among @ self._of_boxes
        return noise

    def row_deviations(self, slopes: np.ndarray, part: np.ndarray) -> np.ndarray:
        """Return each row's deviation from its group's mean by the slopes (float64, one per row).

        Deviations are multiplied by the group's `part`, and add up to 0 in each group.
        """
        moves = np.zeros(len(self._group))
        for column, bins in zip(self.columns, self._slices, strict=True):
            moves += slopes[bins][column.of_row]
        middle = np.bincount(self._group, moves, len(self._rows)) / np.maximum(self._rows, 1)
        moves -= middle[self._group]
        moves *= part[self._group]
        return moves

    def unlike(self, selected: SelectedOfGroups, part: np.ndarray) -> np.ndarray:
        """Return the excess of selected rows in each bin over their groups (float64, per bin).

        It is the number of selected rows in the bin, less that of as many rows of each group that
        are like the group.

        Args:
            selected: the rows.
            part: the weight of each group's rows (float64, one per group).
        """
        weight = part[self._group[selected.rows]]
        counts = [
            np.bincount(column.of_row[selected.rows], weight, column.number)
            for column in self.columns
        ]
        whole = np.zeros(len(self._rows))
        whole[selected.group] = selected.hits * part[selected.group]
        return self.less_expected(np.concatenate(counts), whole)

    def less_expected(self, in_bins: np.ndarray, whole: np.ndarray) -> np.ndarray:
        """Return rows in bins, less those that are expected of rows like their groups.

        Args:
            in_bins: the weight of selected rows in each bin (float64, bins; or sums x bins).
            whole: the weight of selected rows of each group (float64, groups; or sums x groups).

        Returns:
            The difference (float64, bins; or sums x bins).
        """
        middle = (whole / np.maximum(self._rows, 1))[..., self._used] @ self._counts
        number = whole.sum(axis=-1, keepdims=True)
        away: np.ndarray = in_bins - number * self._frequent - middle
        return away


@dataclass(frozen=True, eq=False)
class Slopes:
    """Slopes of several numbers on the bins of covariates.

    Attributes:
        slopes: the slopes (float64, numbers x bins); 0 for a number that is the same in all groups.
        residual: the variance of rows' numbers that slopes leave open (float64, one per number);
            infinite if there are no slopes.
        variance: the factor of `Covariates.shape_of_noise` that gives the slopes' covariance
            (float64, one per number); 0 if there are no slopes.
        of_values: whether groups were made by the number (bool, one per number).
    """

    slopes: np.ndarray
    residual: np.ndarray
    variance: np.ndarray
    of_values: np.ndarray

    def of_numbers(self, numbers: np.ndarray) -> "Slopes":
        """Return the slopes of some of the numbers (positions)."""
        parts = (self.slopes, self.residual, self.variance, self.of_values)
        return Slopes(*(part[numbers] for part in parts))

    def part_of(self, spread: np.ndarray) -> np.ndarray:
        """Return the share of rows' differences that each group allows.

        Groups in which numbers differ less than slopes leave open allow only a part of the moves.

        Args:
            spread: the variance of the numbers in each group (float64, numbers x groups).

        Returns:
            Float64, numbers x groups.
        """
        return np.asarray(np.minimum(spread / self.residual[:, None], 1.0))


@dataclass(frozen=True, eq=False)
class Deviations:
    """Expected deviations of rows' numbers from their groups' means.

    Attributes:
        slopes: the slopes on the bins of covariates (float64, one per bin).
        part: the share of rows' differences that each group allows (float64, one per group).
        noise: the covariance of the fitted slopes; None if there are no slopes.
        covariates: the covariates from which they were fitted.
    """

    slopes: np.ndarray
    part: np.ndarray
    noise: np.ndarray | None
    covariates: Covariates

    @cached_property
    def of_rows(self) -> np.ndarray:
        """The deviation of each row (float64)."""
        return self.covariates.row_deviations(self.slopes, self.part)

    def moved_over(self, selected: SelectedOfGroups) -> float:
        """Return the amount by which a sum over selected rows moves."""
        return float(self.of_rows[selected.rows].sum())

    def sum_over(
        self, selected: SelectedOfGroups, unlike: np.ndarray | None = None
    ) -> tuple[float, float]:
        """Return the amount by which a sum over selected rows moves, and its standard error.

        Args:
            selected: the rows.
            unlike: the result of `Covariates.unlike` for these rows, which takes longest to
                compute. That for other numbers will do if their `part` is about the same. None if
                it is to be computed.
        """
        moved = self.moved_over(selected)
        if self.noise is None:
            return moved, 0.0
        if unlike is None:
            unlike = self.covariates.unlike(selected, self.part)
        return moved, float(np.sqrt(max(float(unlike @ self.noise @ unlike), 0.0)))
