"""Parts that are left by chance, so that what is left tells little of why.

Who knows that a part is cut wherever that keeps the promises learns from an uncut part that the
promises would have been broken: minimality (Wong, Fu, Wang, Pei, VLDB 2007). Here a part is left
now and then although it could be cut, and one cut alone is tried, which sizes choose. Groups of the
same values are then found by worlds that differ in who has which of them either surely, or with the
probability of being left: no more than the odds between worlds times its inverse is learned.

Source: this project; that such attacks fail where an algorithm decides by chance, too, is from
Cormode, Srivastava, Li, Li, Minimizing minimality and maximizing utility (VLDB 2010).

`LOOPS` has the functions that are compiled, in the order in which they call one another.
"""

from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from sfumato.tasks.microdata.randomness import Randomness

_BITS = 31
_SPREAD = 4  # times the fewest rows of a group: larger parts are left more rarely


class Leaving(NamedTuple):
    """How parts are left by chance.

    A part of n rows is left with probability `often` / 2³¹, and of more rows than `few` with `few`
    / n of it. `keys` (int64, one per row, below 2³¹) are what that is drawn by; where there are
    none, no part is left by chance, and every cut is tried.
    """

    often: int
    few: int
    keys: np.ndarray

    def leaves(self, first: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Mark the parts that are left (bool), given the first row and the size of each (int64)."""
        drawn = mix(self.keys[first], sizes)
        return np.asarray(drawn * np.maximum(sizes, self.few) < self.often * self.few)


def never(rows: int) -> Leaving:
    """No part is left by chance."""
    return Leaving(0, max(rows, 1), np.zeros(0, dtype=np.int64))


def draw_leaving(share: Decimal, least: int, rows: int, randomness: Randomness) -> Leaving:
    """How parts are left of which no group may have fewer rows than `least`."""
    if not share:
        return never(rows)
    keys = (randomness(rows) >> np.uint64(64 - _BITS)).astype(np.int64)
    return Leaving(round(share * 2**_BITS), _SPREAD * least, keys)


def chance_of_leaving(share: Decimal, least: int, rows: int) -> Fraction:
    """The probability that a part of so many rows is left although it could be cut."""
    few = _SPREAD * least
    return Fraction(round(share * 2**_BITS), 2**_BITS) * Fraction(few, max(few, rows))


def mix(key: Any, rows: Any) -> Any:
    """What decides about a part by its first row's key and its rows: 31 bits (int64, any shape)."""
    drawn = (key ^ (rows * 0x5851F42D)) & 0x7FFFFFFF
    drawn = ((drawn ^ (drawn >> 16)) * 0x45D9F3B) & 0x7FFFFFFF
    drawn = ((drawn ^ (drawn >> 15)) * 0x3C6EF372) & 0x7FFFFFFF
    return drawn ^ (drawn >> 16)


LOOPS = (mix,)
