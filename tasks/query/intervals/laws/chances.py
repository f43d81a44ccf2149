"""What is likely of sums over rows that are meant with a chance of their own each."""

import numpy as np

from sfumato.tasks.query.intervals.laws.normal import Z95
from sfumato.tasks.query.intervals.laws.spread import NumberSpread, SelectedSize

_LEAN = 0.75  # by which the odds of a row to be meant may be off, for all rows alike


def count_of_chances(size: SelectedSize, chance: np.ndarray) -> NumberSpread:
    """The law of how many rows are meant, each with its own chance."""
    variance = float((chance * (1 - chance)).sum())
    width = Z95 * float(np.hypot(np.sqrt(variance), _LEAN * variance))
    return NumberSpread(size, float(chance.sum()), width, width)


def likely_size(chance: np.ndarray, groups: int) -> SelectedSize:
    """How many rows are likely to be meant at least, each with a chance, of so many groups."""
    law = count_of_chances(SelectedSize(0, 0), chance)
    return SelectedSize(law.estimate - law.below, groups)


def sum_of_chances(size: SelectedSize, chance: np.ndarray, numbers: np.ndarray) -> NumberSpread:
    """The law of the sum of rows' numbers, each meant with its own chance."""
    apart = chance * (1 - chance)
    lean = _LEAN * abs(float((apart * numbers).sum()))
    width = Z95 * float(np.hypot(np.sqrt((apart * numbers**2).sum()), lean))
    return NumberSpread(size, float((chance * numbers).sum()), width, width)


def mean_of_chances(size: SelectedSize, chance: np.ndarray, numbers: np.ndarray) -> NumberSpread:
    """The law of the mean of rows' numbers, each meant with its own chance."""
    rows = float(chance.sum())
    middle = float((chance * numbers).sum()) / rows
    apart, beside = chance * (1 - chance), np.abs(numbers - middle)
    lean = _LEAN * float((apart * beside).sum())
    width = Z95 * float(np.hypot(np.sqrt((apart * beside**2).sum()), lean)) / rows
    return NumberSpread(size, middle, width, width)
