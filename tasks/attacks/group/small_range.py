"""Small-range attack: groups whose numbers differ but are close to each other.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007),
whose (k,e)-anonymity bounds the whole range of a group, and not the range of most of it.
"""

from decimal import Decimal
from fractions import Fraction

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.shared.exact import Exact
from sfumato.expectations.shared.numbers import plain
from sfumato.tasks.attacks.shared.attack import AttackedRelease, Score
from sfumato.tasks.attacks.shared.beliefs import TrueBeliefs

_OF_RANGE = Fraction(1, 20)  # width of a window, as a share of the column's range
_FIFTH = 5  # width of a window: one in so many of the range that (k,e)-anonymity promises


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Guess that a person's number is in the densest window of the group's numbers.

    The width is the declared one, otherwise a fifth of the range that (k,e)-anonymity promises,
    otherwise a twentieth of the column's range.
    """
    counts = target.groups()
    if counts is None or counts.numbers is None or not len(counts.sizes):
        return ()
    units, people = np.asarray(counts.numbers.units), int(counts.sizes.sum())
    width, words = _width(target, counts.numbers, target.declared.window)
    everybody = _densest_of_all(units, counts.totals, width)
    ranges = units[counts.value[counts.ends - 1]] - units[counts.value[counts.starts]]
    return (
        Score(
            f"within a window of {words}, the densest of the group",
            int(densest(counts, units, width).sum()) / people,
            {"without the release": everybody / people},
        ),
        Score(
            f"in a group whose range is below {words}",
            int(counts.sizes[ranges < width].sum()) / people,
        ),
    )


def beliefs(target: AttackedRelease, width: Decimal | None) -> TrueBeliefs | None:
    """Return the beliefs in a window around each person's number, or None if there are no numbers.

    Of all windows that contain the number, the one with most rows of the group is taken.
    """
    counts = target.groups()
    if counts is None or counts.numbers is None or not len(counts.sizes):
        return None
    units = np.asarray(counts.numbers.units)
    inside = densest_around(counts, units, _width(target, counts.numbers, width)[0])
    return TrueBeliefs(counts.count, inside / counts.sizes[counts.group])


def densest_around(counts: Counts, units: np.ndarray, width: int) -> np.ndarray:
    """Return the rows in the densest window that contains each value (int64, one per entry).

    Args:
        counts: the values of each group.
        units: the values as whole numbers, ascending (int64 or Python integers).
        width: the width of windows; both ends belong to them.
    """
    place = counts.group * counts.values + counts.value
    begin = np.searchsorted(units, units - width, side="left")
    first = np.searchsorted(place, counts.group * counts.values + begin[counts.value])
    return _largest(_rows_in_windows(counts, units, width), first)


def _largest(values: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return the largest of `values[first[i] : i + 1]` for each i (int64)."""
    # `longest[j]` is the largest of the 2^step entries up to j: two such ranges cover any range
    largest, ends = values.copy(), np.arange(len(values))
    level = np.frexp(ends - first + 1)[1] - 1  # the largest power of two that is no longer
    longest = values
    for step in range(int(level.max(initial=0)) + 1):
        some = level == step
        largest[some] = np.maximum(longest[first[some] + (1 << step) - 1], longest[ends[some]])
        longest = np.maximum(longest, np.append(longest[: 1 << step], longest[: -(1 << step)]))
    return largest


def densest(counts: Counts, units: np.ndarray, width: int) -> np.ndarray:
    """Return the rows in the densest window of each group (int64, one per group).

    Args:
        counts: the values of each group.
        units: the values as whole numbers, ascending (int64 or Python integers).
        width: the width of windows; both ends belong to them.
    """
    return np.asarray(np.maximum.reduceat(_rows_in_windows(counts, units, width), counts.starts))


def _rows_in_windows(counts: Counts, units: np.ndarray, width: int) -> np.ndarray:
    """Return the group's rows in the window that begins at each value (int64, one per entry)."""
    place = counts.group * counts.values + counts.value
    beyond = counts.group * counts.values + _end_of_window(units, width)[counts.value]
    last = np.searchsorted(place, beyond) - 1
    return np.asarray(counts.up_to[last] - counts.up_to + counts.count)


def _densest_of_all(units: np.ndarray, totals: np.ndarray, width: int) -> int:
    up_to = np.cumsum(totals)
    return int((up_to[_end_of_window(units, width) - 1] - up_to + totals).max())


def _end_of_window(units: np.ndarray, width: int) -> np.ndarray:
    """Return the first value beyond the window that begins at each value (int64, one per value)."""
    return np.searchsorted(units, units + width, side="right")


def _width(target: AttackedRelease, numbers: Exact, declared: Decimal | None) -> tuple[int, str]:
    """Return the width of windows in units of the column, and its name in scores."""
    whole = int(numbers.units[-1]) - int(numbers.units[0])
    if declared is not None:
        units = int(declared * 10**numbers.digits)
        return min(units, whole), f"the declared width of {plain(declared)}"
    promised = [
        promise.e
        for promise in target.declared.promises
        if isinstance(promise, KEAnonymity) and promise.sensitive == target.sensitive and promise.e
    ]
    if promised:
        return int(max(promised) * 10**numbers.digits / _FIFTH), "a fifth of the promised e"
    return int(whole * _OF_RANGE), "a twentieth of the column's range"
