"""The allowed shares of the values of a part, decided by loops in whole numbers.

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

_MOST = 1_000  # different numbers of rows that values have, whose bounds are looked for


class ShareRule(NamedTuple):
    """Bounds on the shares of a part's values.

    The share of each value in the part is at least `least` and at most `most` (int64, a fraction
    for each value as a row of two); both are empty if nothing is asked. `values` of them occur in
    every part.
    """

    least: np.ndarray
    most: np.ndarray
    values: int


def share_rule(promises: Sequence[PrivacyModel], coded: Coded | None) -> ShareRule | None:
    """Return what promises ask of the shares of a sensitive attribute; None if that takes too long.

    `coded` is the attribute, None if no promise is about one.
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
    """Return the least and the largest share that a value may have, for at most `rows` rows."""
    if common == 0:
        return Fraction(0), Fraction(0)  # no part has it

    def is_allowed(share: Fraction) -> bool:
        return all(promise.allows(share, common) for promise in promises)

    most = nearest(lambda share: share <= common or is_allowed(share), rows)
    least = 1 - nearest(lambda share: 1 - share >= common or is_allowed(1 - share), rows)
    return least, most


def nearest(within: Callable[[Fraction], bool], most: int) -> Fraction:
    """Return the largest fraction from 0 to 1 within a bound, with denominator at most `most`.

    Args:
        within: whether a fraction is; 0 is, and whatever is smaller than one that is.
        most: the largest denominator.

    >>> nearest(lambda share: share * share <= Fraction(1, 2), 20)
    Fraction(12, 17)
    """
    if within(Fraction(1)):
        return Fraction(1)
    low, high = (0, 1), (1, 1)
    while low[1] + high[1] <= most:
        low = _step_towards(low, high, within, most)
        if low[1] + high[1] <= most:
            high = _step_towards(high, low, lambda share: not within(share), most)
    return Fraction(*low)


def _step_towards(
    start: tuple[int, int], other: tuple[int, int], stays: Callable[[Fraction], bool], most: int
) -> tuple[int, int]:
    """Return the last step from a fraction towards another that stays on its side of the bound."""

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
    """Return True if all values have allowed shares, values that the part lacks included.

    Args:
        different: the different values of the part (int32).
        rows: of the part.
        shares: what is kept.
        tally: how often each value occurs in the part (int32).
    """
    if len(shares.most) == 0:
        return True
    if len(different) < shares.values:
        return False
    for value in different:
        times, least, most = tally[value], shares.least[value], shares.most[value]
        if times * most[1] > rows * most[0] or times * least[1] < rows * least[0]:
            return False
    return True


LOOPS = (is_shared,)
