"""Sensitive texts that would break what promises say: spellings of one value, and all of their own.

A promise of different values counts two spellings of one illness as two. And a text of which nearly
every row has one of its own tells whose row it is, whatever group it stands in.
"""

import numpy as np

_MANY = 20  # values, below which any text may be everybody's own
_PERCENT = 90  # of the values, which one row alone has


def nearly_all_differ(rows: np.ndarray) -> bool:
    """Decide whether nearly every value is one row's alone, given the rows of each (int64).

    >>> nearly_all_differ(np.array([1] * 18 + [2] * 2)), nearly_all_differ(np.array([1] * 19))
    (True, False)
    """
    alone = int((rows == 1).sum())
    return len(rows) >= _MANY and 100 * alone >= _PERCENT * len(rows)
