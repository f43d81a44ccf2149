"""Between which shares the values of a part stay, as loops decide it: in whole numbers.

What β-likeness and δ-disclosure ask of the share of a value in a part depends on its share in all
rows alone, and is met by whatever lies between two bounds. These are not rational, most of them,
but shares are, of at most so many rows: among fractions of such denominators the nearest within a
bound decides as the bound does. It is found on the tree of Stern and Brocot.

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
    """What the shares of a part's values keep.

    Each value is shown by at least `least` and at most `most` of the part's rows (int64, a fraction
    for each value as a row of two); both are empty where nothing is asked. `values` of them occur
    in every part.
    """

    least: np.ndarray
    most: np.ndarray
    values: int


def share_rule(promises: Sequence[PrivacyModel], coded: Coded | None) -> ShareRule | None:
    """What promises ask of the shares of a sensitive attribute; None where that takes too long.

    `coded` is the attribute, None where no promise is about one.
    """
    asked = [one for one in promises if isinstance(one, BetaLikeness | DeltaDisclosure)]
    nothing = np.zeros((0, 2), dtype=np.int64)
    if coded is None or not asked:
        return ShareRule(nothing, nothing, 0)
    totals, rows = np.bincount(coded.codes, minlength=coded.values), len(coded.codes)
    different, of = np.unique(totals, return_inverse=True)
    if len(different) > _MOST:
        return None
    bounds = [_bounds(asked, Fraction(int(total), rows), rows) for total in different]
    least, most = (
        np.array([(b.numerator, b.denominator) for b in side], dtype=np.int64)[of]
        for side in zip(*bounds, strict=True)
    )
    return ShareRule(least, most, int(np.count_nonzero(least[totals > 0, 0])))


def _bounds(
    asked: Sequence[BetaLikeness | DeltaDisclosure], common: Fraction, rows: int
) -> tuple[Fraction, Fraction]:
    """The least and the largest share that is allowed to a value, of at most so many rows."""
    if common == 0:
        return Fraction(0), Fraction(0)  # no part has it

    def allowed(share: Fraction) -> bool:
        return all(promise.allows(share, common) for promise in asked)

    most = nearest(lambda share: share <= common or allowed(share), rows)
    least = 1 - nearest(lambda share: 1 - share >= common or allowed(1 - share), rows)
    return least, most


def nearest(within: Callable[[Fraction], bool], most: int) -> Fraction:
    """The largest fraction from 0 to 1 within a bound, of a denominator of at most `most`.

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
        low = _towards(low, high, within, most)
        if low[1] + high[1] <= most:
            high = _towards(high, low, lambda share: not within(share), most)
    return Fraction(*low)


def _towards(
    one: tuple[int, int], other: tuple[int, int], stays: Callable[[Fraction], bool], most: int
) -> tuple[int, int]:
    """The last step from one fraction towards another that stays on its side of the bound."""

    def after(steps: int) -> tuple[int, int]:
        return one[0] + steps * other[0], one[1] + steps * other[1]

    def is_there(steps: int) -> bool:
        return after(steps)[1] <= most and stays(Fraction(*after(steps)))

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
    return after(low)


def is_shared(found: np.ndarray, rows: int, shares: ShareRule, tally: np.ndarray) -> bool:
    """True where the values have shares that are allowed, those of all rows beside them.

    Args:
        found: the different values of the part (int32).
        rows: of the part.
        shares: what is kept.
        tally: how often each value occurs in the part (int32).
    """
    if len(shares.most) == 0:
        return True
    if len(found) < shares.values:
        return False
    for value in found:
        times, least, most = tally[value], shares.least[value], shares.most[value]
        if times * most[1] > rows * most[0] or times * least[1] < rows * least[0]:
            return False
    return True


LOOPS = (is_shared,)
