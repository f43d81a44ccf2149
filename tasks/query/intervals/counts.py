"""The law of a count over rows whose values are shuffled within groups.

Of a group's n values m match, and h of its rows are selected. As far as the release shows, these
rows have any h of the n values, so that the number of matching ones has the hypergeometric
distribution. Groups are shuffled independently, so that counts add up to the convolution of these
distributions. If the result is wide, its quantiles follow from its first three moments (Cornish and
Fisher), to less than one count.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sfumato.tasks.query.intervals.spread import Z95

WIDE = 10.0
"""The standard deviation in counts from which on moments are precise enough."""
REACH = 24
"""Standard deviations; the chance of counts that are farther from the middle is no float."""


@dataclass(frozen=True, eq=False)
class CountLaw:
    """The distribution of a count: the chances of all counts from `first` on (float64)."""

    first: int
    chances: np.ndarray

    def quantile(self, level: float) -> int:
        """Return the least count that is not exceeded with this probability."""
        below = np.cumsum(self.chances)
        return self.first + int(np.searchsorted(below, level * below[-1], side="left"))


@dataclass(frozen=True, eq=False)
class ShuffledGroups:
    """Selected rows of groups, some of whose values match; all int64, one per group.

    Attributes:
        size: the number of values of each group.
        matching: the number of its values that match.
        selected: the number of its rows that are selected.
    """

    size: np.ndarray
    matching: np.ndarray
    selected: np.ndarray

    @property
    def least(self) -> np.ndarray:
        """The least number of selected rows with a matching value."""
        least: np.ndarray = np.maximum(self.selected + self.matching - self.size, 0)
        return least

    @property
    def most(self) -> np.ndarray:
        """The greatest number of selected rows with a matching value."""
        most: np.ndarray = np.minimum(self.selected, self.matching)
        return most

    def moments(self) -> tuple[float, float, float]:
        """Return the mean of the count, its variance, and its third central moment."""
        n, m, h = (
            counts.astype(np.float64) for counts in (self.size, self.matching, self.selected)
        )
        mean = h * m / n
        variance = mean * (1 - m / n) * (n - h) / np.maximum(n - 1, 1)
        third = variance * (n - 2 * m) * (n - 2 * h) / (n * np.maximum(n - 2, 1))
        return float(mean.sum()), float(variance.sum()), float(third.sum())

    def law(self) -> CountLaw:
        """Return the exact distribution of the count.

        The hypergeometric distributions are convolved by a Fourier transform around a ring that is
        long enough for nearly all of the probability; groups of the same numbers are transformed
        once.
        """
        open_ = self.most > self.least
        kinds, times = np.unique(
            np.stack(
                [counts[open_] for counts in (self.size, self.matching, self.selected)], axis=1
            ),
            axis=0,
            return_counts=True,
        )
        number = int((self.most - self.least).sum()) + 1
        mean, variance, _ = self.moments()
        least = int(self.least.sum())
        length = min(number, int(REACH * np.sqrt(variance)) + REACH)
        length = 1 << max(length - 1, 1).bit_length()
        wave = np.ones(length // 2 + 1, dtype=np.complex128)
        for (size, matching, selected), repeated in zip(
            kinds.tolist(), times.tolist(), strict=True
        ):
            chances = hypergeometric(size, matching, selected)
            around = np.bincount(np.arange(len(chances)) % length, chances, length)
            wave *= np.fft.rfft(around) ** repeated
        chances = np.maximum(np.fft.irfft(wave, length), 0.0)
        # the ring has all counts, or those around the mean; `first` is the first one, from `least`
        first = 0 if number <= length else max(int(mean) - least - length // 2, 0)
        return CountLaw(least + first, np.roll(chances, -first))

    def quantiles(self) -> tuple[float, float]:
        """Return the counts between which 95 % of the distribution lie."""
        mean, variance, third = self.moments()
        deviation = np.sqrt(variance)
        if deviation < WIDE:
            law = self.law()
            return law.quantile(0.025), law.quantile(0.975)
        lean = third / (variance * deviation) * (Z95**2 - 1) / 6
        return mean + deviation * (lean - Z95), mean + deviation * (lean + Z95)


def hypergeometric(size: int, matching: int, selected: int) -> np.ndarray:
    """Return the chances of each count from the least possible one to the greatest (float64).

    >>> hypergeometric(4, 2, 2).round(4).tolist()
    [0.1667, 0.6667, 0.1667]
    """
    logs = _logs_of_factorials(1 << max(size, 1).bit_length())
    counts = np.arange(max(0, selected + matching - size), min(matching, selected) + 1)
    ways = _ways(logs, matching, counts) + _ways(logs, size - matching, selected - counts)
    chances: np.ndarray = np.exp(ways - _ways(logs, size, selected))
    return chances


def _ways(logs: np.ndarray, number: int, some: int | np.ndarray) -> np.ndarray:
    """Return the logarithm of the number of ways to choose some of a number of items."""
    return np.asarray(logs[number] - logs[some] - logs[number - some])


@lru_cache(maxsize=2)
def _logs_of_factorials(most: int) -> np.ndarray:
    return np.append(0.0, np.cumsum(np.log(np.arange(1, most + 1))))
