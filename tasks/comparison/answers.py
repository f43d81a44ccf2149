"""Answers of a candidate beside the true ones: how wide they are, and how far their estimates."""

from collections.abc import Callable, Sequence
from fractions import Fraction

from sfumato.tasks.query.accuracy.truth import as_fraction
from sfumato.tasks.query.bounds.bounds import Bounds

Pair = tuple[Bounds | None, Bounds]


def mean_of(
    pairs: Sequence[Pair], score: Callable[[Bounds | None, Bounds], float | None]
) -> float | None:
    """The mean over the cells that have a score, None where none has."""
    found = [one for one in (score(*pair) for pair in pairs) if one is not None]
    return sum(found) / len(found) if found else None


def _ends(bounds: Bounds | None) -> tuple[Fraction, Fraction] | None:
    if bounds is None or bounds.lower is None or bounds.upper is None:
        return None
    low, high = as_fraction(bounds.lower), as_fraction(bounds.upper)
    return None if low is None or high is None else (low, high)


def width_of(bounds: Bounds | None, _truth: Bounds) -> float | None:
    """How far apart bounds are, None where one is missing."""
    ends = _ends(bounds)
    return None if ends is None else float(ends[1] - ends[0])


def relative_of(bounds: Bounds | None, _truth: Bounds) -> float | None:
    """The same by the middle of the bounds, None where that is 0."""
    ends = _ends(bounds)
    if ends is None or not ends[0] + ends[1]:
        return None
    return float((ends[1] - ends[0]) / abs((ends[0] + ends[1]) / 2))


def error_of(bounds: Bounds | None, truth: Bounds) -> float | None:
    """The distance of the estimate, or of the middle without one, from the truth, by the truth."""
    ends, known = _ends(bounds), _ends(truth)
    if bounds is None or ends is None or known is None or not known[0]:
        return None
    guess = as_fraction(bounds.estimate)
    guess = (ends[0] + ends[1]) / 2 if guess is None else guess
    return float(abs(guess - known[0]) / abs(known[0]))
