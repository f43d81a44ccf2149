"""Three-valued logic (Kleene's) on sets of possible outcomes, with the chances of each.

A condition can be true on a row, false, or null, and more than one of them may be possible. Parts
of a condition are combined as if they did not depend on each other, which leaves nothing out.
"""

from dataclasses import dataclass

import numpy as np

FAILED = 3  # what cannot be evaluated: it would not be answered on the original, or any way


@dataclass(frozen=True, eq=False)
class ThreeValued:
    """The possible outcomes of a condition on each row (or label), and their chances.

    Attributes:
        true: where it can be true (bool, one per row, as `false` and `null`).
        false: where it can be false.
        null: where it can be null.
        chance: that it is true, NaN where nothing is known (float64, one per row).
        against: the chance that it is false (float64, one per row).
    """

    true: np.ndarray
    false: np.ndarray
    null: np.ndarray
    chance: np.ndarray
    against: np.ndarray

    @property
    def must(self) -> np.ndarray:
        """The rows on which the condition surely holds (bool, one per row)."""
        surely: np.ndarray = self.true & ~self.false & ~self.null
        return surely

    @property
    def may(self) -> np.ndarray:
        """The rows on which it possibly holds (bool, one per row)."""
        return self.true

    def take(self, codes: np.ndarray) -> "ThreeValued":
        """The outcomes at some positions (integers, of any number)."""
        parts = (self.true, self.false, self.null, self.chance, self.against)
        return ThreeValued(*(part[codes] for part in parts))


def conjunction(left: ThreeValued, right: ThreeValued) -> ThreeValued:
    """The outcomes of AND: null with true or null is null, false with anything is false."""
    return ThreeValued(
        left.true & right.true,
        left.false | right.false,
        (left.null & (right.true | right.null)) | (right.null & (left.true | left.null)),
        left.chance * right.chance,
        1 - (1 - left.against) * (1 - right.against),
    )


def negation(of: ThreeValued) -> ThreeValued:
    """The outcomes of NOT."""
    return ThreeValued(of.false, of.true, of.null, of.against, of.chance)


def disjunction(left: ThreeValued, right: ThreeValued) -> ThreeValued:
    """The outcomes of OR."""
    return negation(conjunction(negation(left), negation(right)))


def one_outcome(found: np.ndarray) -> ThreeValued:
    """One outcome on each row, and any where the condition could not be evaluated.

    Args:
        found: 0 for false, 1 for true, 2 for null, `FAILED` for no outcome (int8, one per row).
    """
    failed = found == FAILED
    true, false, null = (found == one for one in (1, 0, 2))
    chance, against = (np.where(failed, np.nan, one) for one in (true, false))
    return ThreeValued(true | failed, false | failed, null | failed, chance, against)
