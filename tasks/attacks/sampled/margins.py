"""Margins of figures from samples: nineteen of twenty such margins hold the exact figure.

Source: Clopper, Pearson, The use of confidence or fiducial limits illustrated in the case of the
binomial (Biometrika 1934); for people drawn without replacement the same by the hypergeometric
distribution. Where successes are expected ones, which are no whole numbers, they are rounded away
from the middle.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any

_EACH = 0.025  # outside of a margin, at either end
TRIES = "Clopper and Pearson's limits, {of:,} independent tries"
PEOPLE = "limits of Clopper and Pearson's kind, {of:,} of {people:,} people without replacement"


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
