"""Margins of figures from samples of tries, of people, and of groups and their worlds.

Source: Clopper, Pearson, The use of confidence or fiducial limits illustrated in the case of the
binomial (Biometrika 1934); for people drawn without replacement the same by the hypergeometric
distribution. Where successes are expected ones, which are no whole numbers, they are rounded away
from the middle.

Groups are drawn without replacement, and a ratio to their rows is told of (Cochran, Sampling
techniques, 1977, chapter 6), with Student's limits. Where few of the groups tell anything, the
spread says too little: then the limit is what it would be if so many more of the others did as
Clopper and Pearson's limits leave open.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, sqrt
from typing import Any

import numpy as np

_EACH = 0.025  # outside of a margin, at either end
TRIES = "Clopper and Pearson's limits, {of:,} independent tries"
PEOPLE = "limits of Clopper and Pearson's kind, {of:,} of {people:,} people without replacement"
_EACH_OF_GROUPS = 0.02  # the same of groups; the rest is for beliefs that are farther off


@dataclass(frozen=True)
class Margin:
    """Between which shares the exact figure is, with 95 %.

    Attributes:
        low: the smaller one.
        high: the larger one.
        by: how it was found, and of how large a sample.
    """

    low: float
    high: float
    by: str

    @property
    def words(self) -> str:
        """The margin in words."""
        return f"{self.low:.1%} to {self.high:.1%} with 95 %, by {self.by}"

    def document(self) -> dict[str, Any]:
        """The margin for JSON and tables."""
        return {"low": self.low, "high": self.high, "margin": self.by}


def margin_of_tries(found: int, of: int) -> Margin:
    """The margin of a share of independent tries.

    >>> margin = margin_of_tries(0, 500)
    >>> margin.low, round(margin.high, 4)
    (0.0, 0.0074)
    """
    from scipy.stats import beta  # imported where it is used: it takes long

    low = float(beta.ppf(_EACH, found, of - found + 1)) if found else 0.0
    high = float(beta.ppf(1 - _EACH, found + 1, of - found)) if found < of else 1.0
    return Margin(low, high, TRIES.format(of=of))


def margin_of_people(found: Fraction | int, of: int, people: int) -> Margin | None:
    """The margin of a share of people of whom some were tried; None where all were.

    Args:
        found: how many of those tried succeed, or are expected to.
        of: how many were tried.
        people: how many there are.
    """
    if of == people:
        return None
    low = people - _most(of - floor(found), of, people)
    high = _most(ceil(found), of, people)
    return Margin(low / people, high / people, PEOPLE.format(of=of, people=people))


def _most(found: int, of: int, people: int) -> int:
    """The most of all people who may succeed where so few of those tried do, nearly surely."""
    from scipy.stats import hypergeom

    least, most = found, people - (of - found)
    while least < most:
        middle = (least + most + 1) // 2
        if hypergeom.cdf(found, people, middle, of) > _EACH:
            least = middle
        else:
            most = middle - 1
    return least


_SOME, _FEW = 5, 30  # groups that tell something


@dataclass(frozen=True, eq=False)
class SampledGroups:
    """Some groups of all.

    Attributes:
        sizes: the rows of each (int64).
        of: the rows of each of all groups (int64).
    """

    sizes: np.ndarray
    of: np.ndarray

    def ratio(self, found: np.ndarray) -> float:
        """What is found in groups (float64, one each), as a share of their rows."""
        return float(found.sum() / self.sizes.sum())

    def error(self, found: np.ndarray) -> float:
        """How far the ratio is from that of all groups, with 96 %, at most."""
        drawn, number = len(self.sizes), len(self.of)
        if drawn == number:
            return 0.0
        if drawn < 2:
            return 1.0
        is_few = np.count_nonzero(found) < _FEW
        return max(self._spread(found), self._few(found) if is_few else 0.0)

    def _spread(self, found: np.ndarray) -> float:
        from scipy.stats import t  # imported where it is used: it takes long

        drawn, number = len(self.sizes), len(self.of)
        apart = found - self.ratio(found) * self.sizes
        variance = (1 - drawn / number) * float((apart**2).sum()) / (drawn - 1) / drawn
        return (
            float(t.ppf(1 - _EACH_OF_GROUPS, drawn - 1)) * sqrt(variance) / float(self.sizes.mean())
        )

    def _few(self, found: np.ndarray) -> float:
        """By how many more of all groups may tell something, as much as the one that tells most."""
        telling, shares = int(np.count_nonzero(found)), np.abs(found) / self.sizes
        most = margin_of_people(telling, len(self.sizes), len(self.of))
        more = 0.0 if most is None else most.high - telling / len(self.sizes)
        each = float(shares.max()) if telling >= _SOME else 1.0
        return more * each * float(self.of.max() / self.of.mean())
