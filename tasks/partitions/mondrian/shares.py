"""The allowed shares of the values of a part, as fractions that loops compare in whole numbers.

Whether β-likeness and δ-disclosure allow the share of a value in a part depends only on its share
in all rows, and they allow whatever lies between two bounds. Most of these bounds are not rational,
but shares are fractions with a bounded denominator, the number of rows. Among such fractions the
nearest one within a bound decides as the bound does; it is found on the tree of Stern and Brocot.

`LOOPS` has the function that is compiled.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from sfumato.expectations.groups.counting import Coded
from sfumato.expectations.models.beta_likeness import BetaLikeness
from sfumato.expectations.models.delta_disclosure import DeltaDisclosure
from sfumato.expectations.models.model import PrivacyModel

_MOST = 1_000  # different numbers of rows of values; bounds are looked for once for each


class ShareRule(NamedTuple):
    """Bounds on the shares of a part's values.

    Attributes:
        least: the least share of each value in the part, as numerator and denominator (int64,
            values x 2); no row if shares are not bounded.
        most: the largest share of each value, in the same way.
        values: how many values must occur in every part, because their least share is above 0.
    """

    least: np.ndarray
    most: np.ndarray
    values: int


def share_rule(promises: Sequence[PrivacyModel], coded: Coded | None) -> ShareRule | None:
    """Return the bounds that promises set to the shares of a sensitive attribute.

    Args:
        promises: all promises; only β-likeness and δ-disclosure bound shares.
        coded: the attribute in all rows; None if no promise is about one.

    Returns:
        None if values have too many different shares in all rows to look for their bounds.
    """
    compared = [
        promise for promise in promises if isinstance(promise, BetaLikeness | DeltaDisclosure)
    ]
    nothing = np.zeros((0, 2), dtype=np.int64)
    if coded is None or not compared:
        return ShareRule(nothing, nothing, 0)
    totals, rows = np.bincount(coded.codes, minlength=coded.values), len(coded.codes)
    different, place = np.unique(totals, return_inverse=True)
    if len(different) > _MOST:
        return None
    bounds = [_bounds(compared, Fraction(int(total), rows), rows) for total in different]
    least, most = (
        np.array([(b.numerator, b.denominator) for b in side], dtype=np.int64)[place]
        for side in zip(*bounds, strict=True)
    )
    return ShareRule(least, most, int(np.count_nonzero(least[totals > 0, 0])))


def _bounds(
    promises: Sequence[BetaLikeness | DeltaDisclosure], common: Fraction, rows: int
) -> tuple[Fraction, Fraction]:
    """Return the least and the largest share that a value may have in a part.

    Args:
        promises: the promises that bound shares.
        common: the share of the value in all rows, which is allowed itself.
        rows: the number of all rows, and so the largest denominator.
    """
    if common == 0:
        return Fraction(0), Fraction(0)  # no part has it

    def is_allowed(share: Fraction) -> bool:
        return all(promise.allows(share, common) for promise in promises)

    # the least share is 1 minus the largest share of all other values together
    most = nearest(lambda share: share <= common or is_allowed(share), rows)
    least = 1 - nearest(lambda share: 1 - share >= common or is_allowed(1 - share), rows)
    return least, most


def nearest(within: Callable[[Fraction], bool], most: int) -> Fraction:
    """Return the largest fraction from 0 to 1 within a bound, with denominator at most `most`.

    Args:
        within: decides for a fraction. It holds for 0, and for all fractions below one for which
            it holds.
        most: the largest denominator.

    >>> nearest(lambda share: share * share <= Fraction(1, 2), 20)
    Fraction(12, 17)
    """
    if within(Fraction(1)):
        return Fraction(1)
    # neighbours on the tree: `low` is within the bound, `high` is not
    low, high = (0, 1), (1, 1)
    while low[1] + high[1] <= most:
        low = _step_towards(low, high, within, most)
        if low[1] + high[1] <= most:
            high = _step_towards(high, low, lambda share: not within(share), most)
    return Fraction(*low)


def _step_towards(
    start: tuple[int, int], other: tuple[int, int], stays: Callable[[Fraction], bool], most: int
) -> tuple[int, int]:
    """Return the last step from a fraction towards another that stays on its side of the bound.

    The n-th step adds n times the numerator and denominator of the other. The last one that stays
    is found by doubling n, then by halving the range. Denominators are at most `most`.
    """

    def fraction_after(steps: int) -> tuple[int, int]:
        return start[0] + steps * other[0], start[1] + steps * other[1]

    def is_there(steps: int) -> bool:
        return fraction_after(steps)[1] <= most and stays(Fraction(*fraction_after(steps)))

    steps = 1
    while is_there(steps):
        steps *= 2
    low, high = steps // 2, steps
    while high - low > 1:
        middle = (low + high) // 2
        if is_there(middle):
            low = middle
        else:
            high = middle
    return fraction_after(low)


def is_shared(different: np.ndarray, rows: int, shares: ShareRule, tally: np.ndarray) -> bool:
    """Return True if the shares of all values in a part are allowed, also of values that it lacks.

    Args:
        different: the different values of the part (int32).
        rows: the number of rows of the part.
        shares: the bounds on shares.
        tally: how often each value occurs in the part (int32).
    """
    if len(shares.most) == 0:
        return True
    if len(different) < shares.values:  # by these promises, all values must occur, or none must
        return False
    for value in different:
        times, least, most = tally[value], shares.least[value], shares.most[value]
        if times * most[1] > rows * most[0] or times * least[1] < rows * least[0]:
            return False
    return True


LOOPS = (is_shared,)  # for the compiler
