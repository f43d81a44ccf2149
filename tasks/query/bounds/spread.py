"""The variance of numbers when it is open which of them count, and what each of them is.

In every group between `least` and `most` intervals count, and each stands for any number in it. The
sum of squared deviations of numbers x from their mean is the least of Σ (x - c)² over all centres
c. For a lower bound the numbers nearest to c are chosen, and the least result over all c counts.
For an upper bound the numbers farthest from c are chosen; any single c gives a valid bound.

If the numbers and the number that counts are known, the least variance is attained: the nearest
numbers of a group follow each other, and a sweep over c visits every such choice. Otherwise bounds
are computed for intervals of centres, and the interval with the least bound is halved. The greatest
variance is convex in c, and the slope at a centre shows on which side the best centre is.

Exact, in integers: a coarser grid of centres widens bounds and never breaks them.
"""

import heapq
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import NamedTuple

import numpy as np

_WORD = 62  # bits of an int64 that sums may use
_HALVINGS = 96  # of intervals of centres, at most
_CLOSE = 4096  # if bounds differ by one part in so many, they are close enough


@dataclass(frozen=True, eq=False)
class Choices:
    """Intervals of which between `least` and `most` of each group 0, 1, … count.

    Attributes:
        group: the group of each interval; equal intervals are listed one by one (int64).
        low: the least number of each interval, in units (int64 or Python integers).
        high: the greatest number of each interval, in the same way.
        least: the least number of intervals of each group that count (int64, one per group).
        most: the greatest number of intervals of each group that count, at most all (in the same
            way).
        digits: 10**digits units make 1.
    """

    group: np.ndarray
    low: np.ndarray
    high: np.ndarray
    least: np.ndarray
    most: np.ndarray
    digits: int

    @property
    def rows(self) -> tuple[int, int]:
        """The least and the greatest number of intervals that count."""
        return int(self.least.sum()), int(self.most.sum())


_NOTHING = np.empty(0, dtype=np.int64)
NO_CHOICES = Choices(_NOTHING, _NOTHING, _NOTHING, _NOTHING, _NOTHING, digits=0)
"""Nothing that could count."""


def choices_of(group: np.ndarray, units: np.ndarray, counts: np.ndarray, digits: int) -> Choices:
    """Return the choices among known numbers.

    Args:
        group: the group of each number, any integer (int64).
        units: the numbers in units (int64 or Python integers).
        counts: the number of copies of each number, then the least and the greatest number of
            numbers of its group that count (int64, numbers x 3); these two are the same for all
            numbers of a group.
        digits: 10**digits units make 1.
    """
    _, first, number = np.unique(group, return_index=True, return_inverse=True)
    least, most = counts[first, 1], counts[first, 2]
    times = np.minimum(counts[:, 0], most[number])
    copies = np.repeat(units, times)
    return Choices(np.repeat(number, times), copies, copies, least, most, digits)


def variance(choices: Choices) -> tuple[Fraction, Fraction] | None:
    """Bound the sample variance of at least two numbers; return None if there are always fewer."""
    if choices.rows[1] < 2:
        return None
    is_known = choices.rows[0] == choices.rows[1] and bool((choices.low == choices.high).all())
    centred = _Centred(choices)
    lower = _least_of_known(choices) if is_known else centred.least()
    scale = 100**choices.digits
    return lower / scale, max(centred.greatest(), lower) / scale


def root_below(number: Fraction) -> Fraction:
    """Return the square root if it is rational, otherwise a number just below it.

    >>> root_below(Fraction(9, 4)), root_below(Fraction(2)) < root_above(Fraction(2))
    (Fraction(3, 2), True)
    """
    return _root(number)[0]


def root_above(number: Fraction) -> Fraction:
    """Return the square root if it is rational, otherwise a number just above it."""
    return _root(number)[1]


def _root(number: Fraction) -> tuple[Fraction, Fraction]:
    over, under = isqrt(number.numerator), isqrt(number.denominator)
    if over**2 == number.numerator and under**2 == number.denominator:
        return Fraction(over, under), Fraction(over, under)
    missing = number.denominator.bit_length() - number.numerator.bit_length()
    bits = 64 + max(0, (missing + 1) // 2)
    floor = isqrt((number.numerator << 2 * bits) // number.denominator)
    return Fraction(floor, 1 << bits), Fraction(floor + 1, 1 << bits)


def _least_of_known(choices: Choices) -> Fraction:
    """Return the least variance if a fixed number of known numbers counts in each group.

    The nearest numbers of a group are a window of its sorted numbers. As the centre rises, windows
    move up by one number at a time, in the order of the swaps' middles.
    """
    order = np.lexsort((choices.low, choices.group))
    group, numbers = choices.group[order], choices.low[order] - choices.low.min()
    rows, span = choices.rows[0], int(numbers.max())
    if 2 * (span.bit_length() + rows.bit_length()) > _WORD:
        numbers = numbers.astype(object)
    rank, size = _ranks(group)
    taken = choices.most[group]
    first = rank < taken
    # a swap: the number `leaves` leaves its group's window, and `enters` enters
    leaves = np.flatnonzero((taken > 0) & (rank < size - taken))
    enters = leaves + taken[leaves]
    swaps = np.argsort(numbers[leaves] + numbers[enters], kind="stable")
    out, in_ = numbers[leaves[swaps]], numbers[enters[swaps]]
    sums = np.cumsum(np.append(numbers[first].sum(), in_ - out))
    squares = np.cumsum(np.append((numbers[first] ** 2).sum(), in_**2 - out**2))
    return Fraction(int((rows * squares - sums**2).min()), rows * (rows - 1))


class _Far(NamedTuple):
    """The numbers that are farthest from a centre.

    Attributes:
        ratio: the sum of their squared distances from the centre, divided by their number less 1.
        rows: how many they are.
        total: their sum.
        slope: the sum of (centre - number); below 0 if a greater centre has a smaller ratio.
    """

    ratio: Fraction
    rows: int
    total: int
    slope: int


class _Centred:
    """Choices on a grid of centres that is fine enough, and coarse enough for squares to fit.

    Numbers are counted from the least one (`_base`), and the grid divides a unit into
    2**`_spare` steps. `_unit` is the square of that, by which squared steps become squared units.
    """

    def __init__(self, choices: Choices) -> None:
        """Choose the grid, so that sums of squares fit int64 if they can."""
        self._choices, self._base = choices, int(choices.low.min())
        self._span = int(choices.high.max()) - self._base
        copies = len(choices.group).bit_length()
        self._spare = max(0, (_WORD - copies) // 2 - self._span.bit_length())
        self._fits = 2 * (self._span.bit_length() + self._spare) + copies <= _WORD
        self._low, self._high = self._scale(1 << self._spare)

    def _scale(self, factor: int, fits: bool | None = None) -> tuple[np.ndarray, np.ndarray]:
        type_ = np.int64 if (self._fits if fits is None else fits) else object
        ends = self._choices.low, self._choices.high
        low, high = ((end - self._base).astype(type_) * factor for end in ends)
        return low, high

    @cached_property
    def _unit(self) -> int:
        return 1 << 2 * self._spare

    def least(self) -> Fraction:
        """Return a variance that no choice is below, in squared units."""
        best = self._nearest(self._span << self._spare >> 1, self._span << self._spare >> 1)
        waiting = [(Fraction(0), 0, self._span << self._spare)]
        # a heap of intervals of centres, each with a bound of all variances around its centres
        for _ in range(_HALVINGS):
            bound, low, high = waiting[0]
            if high - low < 2 or (best - bound) * _CLOSE <= best:
                break
            heapq.heappop(waiting)
            middle = (low + high) // 2
            best = min(best, self._nearest(middle, middle))
            for part in ((low, middle), (middle, high)):
                heapq.heappush(waiting, (max(bound, self._nearest(*part)), *part))
        return waiting[0][0] / self._unit

    def _nearest(self, first: int, last: int) -> Fraction:
        """Return the least mean square of the numbers nearest to centres from `first` to `last`."""
        gap = np.maximum(np.maximum(self._low - last, first - self._high), 0)
        forced, free = _split(self._choices, gap**2)
        return _ratio(forced, np.sort(free), lowering=True)[0]

    def greatest(self) -> Fraction:
        """Return a variance that no choice is above, in squared units."""
        low, high = 0, self._span << self._spare
        far = self._farthest(low, self._low, self._high)
        best = far.ratio / self._unit
        while high - low > 1:
            middle = (low + high) // 2
            far = self._farthest(middle, self._low, self._high)
            best = min(best, far.ratio / self._unit)
            low, high = (middle, high) if far.slope < 0 else (low, middle)
        # the last numbers' mean, total / rows, as centre: all numbers are multiplied by `rows`
        exact = self._farthest(far.total, *self._scale(far.rows << self._spare, fits=False))
        return min(best, exact.ratio / self._unit / far.rows**2)

    def _farthest(self, centre: int, low: np.ndarray, high: np.ndarray) -> _Far:
        """Return the numbers farthest from a centre that make the greatest ratio."""
        end = np.where(centre - low >= high - centre, low, high)
        far = (end - centre) ** 2
        order = np.lexsort((-far, self._choices.group))
        group = self._choices.group[order]
        rank, _ = _ranks(group)
        forced = order[rank < self._choices.least[group]]
        free = order[(rank >= self._choices.least[group]) & (rank < self._choices.most[group])]
        free = free[np.argsort(-far[free], kind="stable")]
        ratio, number = _ratio(far[forced], far[free], lowering=False)
        chosen = np.append(forced, free[:number])
        total = int(end[chosen].sum())
        return _Far(ratio, len(chosen), total, len(chosen) * centre - total)


def _split(choices: Choices, squares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least squares of each group that must count, and those that may."""
    order = np.lexsort((squares, choices.group))
    group = choices.group[order]
    rank, _ = _ranks(group)
    must = rank < choices.least[group]
    may = ~must & (rank < choices.most[group])
    return squares[order[must]], squares[order[may]]


def _ratio(forced: np.ndarray, free: np.ndarray, *, lowering: bool) -> tuple[Fraction, int]:
    """Return the extreme ratio of a sum to its number of terms less 1, and its free terms' number.

    All forced terms count. Free terms count from the front, for as long as each moves the ratio
    further.
    """
    start = max(0, 2 - len(forced))  # a variance needs two terms
    sums = np.cumsum(np.append(forced.sum(), free))[start:]
    terms = len(forced) - 1 + np.arange(start, len(free) + 1)
    following, sums_before, terms_before = free[start:], sums[:-1], terms[:-1]
    # one more term moves the ratio up if the term exceeds the ratio, multiplied out here
    grown = following * terms_before
    done = grown >= sums_before if lowering else grown <= sums_before
    end = int(np.argmax(np.append(done, True)))
    return Fraction(int(sums[end]), int(terms[end])), start + end


def _ranks(group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rank of each entry in its group, from 0, and the group's size; groups ascend."""
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    sizes = np.diff(np.append(starts, len(group)))
    return np.arange(len(group)) - np.repeat(starts, sizes), np.repeat(sizes, sizes)
