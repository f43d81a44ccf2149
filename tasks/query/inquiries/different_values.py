"""How many different values rows have, of a column whose values stand apart from them.

A value counts where some row that is meant has it: surely where at least one does in every world,
possibly where one does in some. In each world no more values occur than rows are there. Where it is
known which values occur the number is exact; else it is bounded, and neither end need be attained.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping

from sfumato.tasks.query.bounds.arithmetic import number
from sfumato.tasks.query.bounds.bounds import Bounds, with_estimate
from sfumato.tasks.query.question.question import Key

_NONE = Bounds(0, 0, 0)


def count_different(
    holders: Iterable[Mapping[Key, Bounds]],
    rows: Mapping[Key, Bounds],
    others: Mapping[Key, Bounds],
    *,
    never_null: bool,
) -> dict[Key, Bounds]:
    """The bounds of COUNT(DISTINCT …) by cell.

    Args:
        holders: for each value, by cell, how many rows have it.
        rows: by cell, how many there are.
        others: by cell, how many have another value than these, each perhaps its own.
        never_null: whether each of them has a value.

    >>> holders = [{(): Bounds(1, 2)}, {(): Bounds(0, 2)}]
    >>> found = count_different(holders, {(): Bounds(3, 3)}, {}, never_null=True)
    >>> found[()].lower, found[()].upper
    (1, 2)
    """
    sure: Counter[Key] = Counter()
    possible: Counter[Key] = Counter()
    for counts in holders:
        for key, count in counts.items():
            sure[key] += number(count.lower) >= 1
            possible[key] += number(count.upper) >= 1
    for key, count in others.items():
        sure[key] += number(count.lower) >= 1
        possible[key] += math.floor(number(count.upper))
    found = {}
    for key in possible:
        of = rows.get(key, _NONE)
        lower = max(sure[key], int(never_null and number(of.lower) >= 1))
        upper = min(possible[key], math.floor(number(of.upper)))
        found[key] = with_estimate(Bounds(lower, upper, attained=lower == upper))
    return found
