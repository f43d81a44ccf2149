"""What quasi-identifiers tell of the values in groups, fitted from the published groups alone.

Within a group the release does not tell whose value is whose, but across groups it shows which
values come with which quasi-identifiers: from the covariance of the groups' means follows what is
expected of a row beyond its group's mean. Where groups were made of quasi-identifiers (boxes), the
regression of the values' means on these is that of the rows. Where they were made of the values
themselves, the regression of the quasi-identifiers on the values is; the other way around it would
tell of the grouping. Which is the case shows in what differs more between groups than within.

The construction is this project's own; it is Cox and Robins' warning of ecological regression, and
the learning step of Kifer's attack on partitions, used for an estimate. It tells nobody's value: it
moves the middle of intervals over many rows, and calibration says how far it can be trusted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

_BINS = 12  # of each column
_RIDGE = 5.0  # rows; shrinks what few rows tell
_CELLS = 20_000_000  # numbers of groups' rows in bins, beyond which some groups stand for all


@dataclass(frozen=True, eq=False)
class Binned:
    """A column in bins: that of each row (int64), and how many there are."""

    of_row: np.ndarray
    number: int


@dataclass(frozen=True, eq=False)
class SelectedOfGroups:
    """Rows that a cell selects.

    Attributes:
        group: those of which there are any (integers, ascending).
        hits: how many of each (int64, parallel).
        rows: their positions (integers).
    """

    group: np.ndarray
    hits: np.ndarray
    rows: np.ndarray

    @property
    def number(self) -> int:
        """How many rows there are."""
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class GroupedNumbers:
    """The numbers of groups; all float64, one per group.

    Attributes:
        size: how many numbers each group has.
        mean: of these.
        variance: of these around their mean.
        inner: the variance of a number that is known by its subdomain alone; 0 of others.
    """

    size: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    inner: np.ndarray


def in_bins(codes: np.ndarray, values: int, *, ordered: bool) -> Binned:
    """A column of codes in a few bins: neighbours where it has an order, else frequent values.

    Args:
        codes: of each row (integers).
        values: how many there are.
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
    """Quasi-identifiers of grouped rows, from which numbers of groups are expected for rows."""

    def __init__(self, group: np.ndarray, groups: int, columns: Sequence[Binned]) -> None:
        """Count the bins of groups.

        Args:
            group: of each row (integers).
            groups: how many there are.
            columns: of the rows, in bins.
        """
        self._group, self._columns = group, columns
        self._rows = np.bincount(group, minlength=groups).astype(np.float64)
        ends = np.cumsum([0, *(column.number for column in columns)])
        self._slices = [slice(*pair) for pair in pairwise(ends)]
        step = max(int(groups * ends[-1]) // _CELLS, 1)
        self._used = np.flatnonzero(self._rows > 0)[::step]
        self._share = len(self._used) / max(int(np.count_nonzero(self._rows)), 1)
        self._counts = self._counted(groups)
        self._total = self._cross_products(int(ends[-1]))
        scaled = self._counts / np.sqrt(self._rows[self._used, None])
        self._among = scaled.T @ scaled / self._share
        ridge = _RIDGE * np.eye(len(self._among))
        self._of_boxes = np.linalg.inv(self._among + ridge)
        self._of_values = np.linalg.inv(self._total + ridge)

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len(self._rows)

    def _counted(self, groups: int) -> np.ndarray:
        """How many rows of each used group are in each bin, beyond the share of all rows."""
        chosen = np.full(groups, -1, dtype=np.int64)
        chosen[self._used] = np.arange(len(self._used))
        place = chosen[self._group]
        kept = place >= 0
        parts = []
        for column in self._columns:
            key = place[kept] * column.number + column.of_row[kept]
            counted = np.bincount(key, minlength=len(self._used) * column.number)
            parts.append(counted.reshape(len(self._used), column.number).astype(np.float64))
        found = np.concatenate(parts, axis=1)
        self._frequent = found.sum(axis=0) / max(kept.sum(), 1)
        found -= np.outer(self._rows[self._used], self._frequent)
        return found

    def _cross_products(self, bins: int) -> np.ndarray:
        """The covariance of the bins over all rows, times their number."""
        rows = max(len(self._group), 1)
        found = np.zeros((bins, bins))
        for one, at in zip(self._columns, self._slices, strict=True):
            for other, beside in zip(self._columns, self._slices, strict=True):
                key = one.of_row * other.number + other.of_row
                counted = np.bincount(key, minlength=one.number * other.number)
                found[at, beside] = counted.reshape(one.number, other.number)
        times = np.diag(found).copy()
        return found - np.outer(times, times) / rows

    def fit(self, numbers: GroupedNumbers) -> "Deviations":
        """By how much rows' numbers are expected to be above their groups' means."""
        rows, used = self._rows, self._used
        middle = float((rows * numbers.mean).sum() / max(rows.sum(), 1))
        apart = numbers.mean - middle
        between = float((rows * apart**2).sum())
        total = between + float((rows * (numbers.variance + numbers.inner)).sum())
        if between <= 0 or not len(used):
            return Deviations(np.zeros(len(self._group)), np.zeros(len(rows)), None, self)
        joint = self._counts.T @ apart[used] / self._share
        shares = np.trace(self._among) / max(np.trace(self._total), 1e-300)
        of_values = between / total > shares
        inverse = self._of_values * (total / between) if of_values else self._of_boxes
        slopes = inverse @ joint
        left = max(total - float(slopes @ self._total @ slopes), total / 100) / max(rows.sum(), 1)
        noise = self._total * between / max(rows.sum(), 1) if of_values else self._among * left
        spread = numbers.variance * numbers.size / np.maximum(numbers.size - 1, 1) + numbers.inner
        part = np.minimum(spread / left, 1.0)
        return Deviations(self._moved(slopes, part), part, inverse @ noise @ inverse, self)

    def _moved(self, slopes: np.ndarray, part: np.ndarray) -> np.ndarray:
        """What slopes say of each row beyond its group, as far as its group can differ."""
        found = np.zeros(len(self._group))
        for column, at in zip(self._columns, self._slices, strict=True):
            found += slopes[at][column.of_row]
        middle = np.bincount(self._group, found, len(self._rows)) / np.maximum(self._rows, 1)
        found -= middle[self._group]
        found *= part[self._group]
        return found

    def unlike(self, selected: SelectedOfGroups, part: np.ndarray) -> np.ndarray:
        """By how much selected rows are in other bins than their groups' (float64, per bin).

        Args:
            selected: the rows.
            part: the weight of each group (float64).
        """
        weight = part[self._group[selected.rows]]
        whole = np.zeros(len(self._rows))
        whole[selected.group] = selected.hits * part[selected.group]
        middle = self._counts.T @ (whole / np.maximum(self._rows, 1))[self._used]
        found = [
            np.bincount(column.of_row[selected.rows], weight, column.number)
            for column in self._columns
        ]
        away: np.ndarray = np.concatenate(found) - whole.sum() * self._frequent - middle
        return away


@dataclass(frozen=True, eq=False)
class Deviations:
    """By how much numbers of rows are expected to be above their groups' means.

    Attributes:
        moved: of each row (float64).
        part: of what rows differ by, how much each group lets them (float64, one per group).
        noise: the covariance of the slopes that this comes of; None where there are none.
        covariates: of the rows.
    """

    moved: np.ndarray
    part: np.ndarray
    noise: np.ndarray | None
    covariates: Covariates

    def moved_over(self, selected: SelectedOfGroups) -> float:
        """By how much a sum over selected rows moves."""
        return float(self.moved[selected.rows].sum())

    def sum_over(
        self, selected: SelectedOfGroups, unlike: np.ndarray | None = None
    ) -> tuple[float, float]:
        """By how much a sum over selected rows moves, and the standard error of that.

        Args:
            selected: the rows.
            unlike: see `Covariates.unlike`, where that is known of numbers that the same groups
                let differ by about as much; it takes longest to find out.
        """
        moved = self.moved_over(selected)
        if self.noise is None:
            return moved, 0.0
        if unlike is None:
            unlike = self.covariates.unlike(selected, self.part)
        return moved, float(np.sqrt(max(float(unlike @ self.noise @ unlike), 0.0)))
