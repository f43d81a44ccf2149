"""Margins of figures from samples of tries, of people, and of groups and their worlds.

Source: Clopper, Pearson, The use of confidence or fiducial limits illustrated in the case of the
binomial (Biometrika 1934); people drawn without replacement have limits of the same kind by the
hypergeometric distribution. Expected successes, which are no whole numbers, are rounded away from
the middle.

Groups are drawn without replacement, and their figure is a ratio to their rows (Cochran, Sampling
techniques, 1977, chapter 6), with Student's limits. If few of the groups have a count, their spread
is too small an estimate. Then the limit assumes that as many more groups have a count as Clopper
and Pearson's limits allow.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, sqrt
from typing import Any

import numpy as np

_EACH = 0.025  # chance outside of a margin, at either end
TRIES = "Clopper and Pearson's limits, {of:,} independent tries"
PEOPLE = "limits of Clopper and Pearson's kind, {of:,} of {people:,} people without replacement"
_EACH_OF_GROUPS = 0.02  # as `_EACH`, for groups; the other 0.005 are for errors of their beliefs


@dataclass(frozen=True)
class Margin:
    """Interval that contains the exact share, with 95 %.

    Attributes:
        low: the lower end, as a share.
        high: the upper end, as a share.
        method: the method in words, and the size of the sample.
    """

    low: float
    high: float
    method: str

    @property
    def words(self) -> str:
        """The margin in words."""
        return f"{self.low:.1%} to {self.high:.1%} with 95 %, by {self.method}"

    def document(self) -> dict[str, Any]:
        """The margin for JSON and tables."""
        return {"low": self.low, "high": self.high, "margin": self.method}


def margin_of_tries(successes: int, tries: int) -> Margin:
    """Return the margin of a share of independent tries.

    >>> margin = margin_of_tries(0, 500)
    >>> margin.low, round(margin.high, 4)
    (0.0, 0.0074)
    """
    low = beta_quantile(_EACH, successes, tries - successes + 1) if successes else 0.0
    high = beta_quantile(1 - _EACH, successes + 1, tries - successes) if successes < tries else 1.0
    return Margin(low, high, TRIES.format(of=tries))


def beta_quantile(chance: float, first: int, second: int) -> float:
    """Return a quantile of the beta distribution with two parameters.

    `scipy.special` has it, too, and is imported in a tenth of the time of `scipy.stats`.
    """
    from scipy.special import betaincinv

    return float(betaincinv(first, second, chance))


def margin_of_people(successes: Fraction | int, tried: int, people: int) -> Margin | None:
    """Return the margin of a share that was measured on some people; None for everyone.

    Args:
        successes: the number, or expected number, of successes among the people tried.
        tried: the number of people tried.
        people: the number of all people.
    """
    if tried == people:
        return None
    low = people - _most_successes(tried - floor(successes), tried, people)
    high = _most_successes(ceil(successes), tried, people)
    return Margin(low / people, high / people, PEOPLE.format(of=tried, people=people))


def _most_successes(successes: int, tried: int, people: int) -> int:
    """Return the most successes that all people may have, given those of the people tried."""
    least, most = successes, people - (tried - successes)
    while least < most:
        middle = (least + most + 1) // 2
        if _chance_of_few(successes, people, middle, tried) > _EACH:
            least = middle
        else:
            most = middle - 1
    return least


def _chance_of_few(few: int, people: int, successes: int, tried: int) -> float:
    """Return the chance of at most a few successes among the people tried (hypergeometric)."""
    from scipy.special import gammaln, logsumexp

    def ways(number: int, taken: np.ndarray) -> np.ndarray:
        """Return the logarithm of the number of ways to take some of a number (float64)."""
        rest = number - taken
        return np.asarray(gammaln(number + 1) - gammaln(taken + 1) - gammaln(rest + 1))

    seen = np.arange(max(0, tried - (people - successes)), few + 1)
    each = ways(successes, seen) + ways(people - successes, tried - seen)
    return float(np.exp(logsumexp(each - ways(people, np.array(tried)))))


# numbers of groups with a count: from which on their largest share is used, and below which their
# spread is not trusted
_SOME, _FEW = 5, 30


@dataclass(frozen=True, eq=False)
class SampledGroups:
    """Groups that were sampled from all groups.

    Attributes:
        sizes: the rows of each sampled group (int64).
        all_sizes: the rows of each of all groups (int64).
    """

    sizes: np.ndarray
    all_sizes: np.ndarray

    def ratio(self, counts: np.ndarray) -> float:
        """Return counts of the sampled groups (float64, one each) as a share of their rows."""
        return float(counts.sum() / self.sizes.sum())

    def error(self, counts: np.ndarray) -> float:
        """Return the largest difference, with 96 %, between `ratio` and the ratio of all groups.

        It is 0 if all groups were sampled, and 1 if fewer than two were.
        """
        sampled, number = len(self.sizes), len(self.all_sizes)
        if sampled == number:
            return 0.0
        if sampled < 2:
            return 1.0
        is_few = np.count_nonzero(counts) < _FEW
        return max(self._spread(counts), self._few(counts) if is_few else 0.0)

    def _spread(self, counts: np.ndarray) -> float:
        from scipy.special import stdtrit  # the quantile of Student's t

        sampled, number = len(self.sizes), len(self.all_sizes)
        apart = counts - self.ratio(counts) * self.sizes
        variance = (1 - sampled / number) * float((apart**2).sum()) / (sampled - 1) / sampled
        return (
            float(stdtrit(sampled - 1, 1 - _EACH_OF_GROUPS))
            * sqrt(variance)
            / float(self.sizes.mean())
        )

    def _few(self, counts: np.ndarray) -> float:
        """Return by how much the ratio may grow through groups not sampled, if few have a count."""
        telling, shares = int(np.count_nonzero(counts)), np.abs(counts) / self.sizes
        most = margin_of_people(telling, len(self.sizes), len(self.all_sizes))
        more = 0.0 if most is None else most.high - telling / len(self.sizes)
        each = float(shares.max()) if telling >= _SOME else 1.0
        return more * each * float(self.all_sizes.max() / self.all_sizes.mean())
