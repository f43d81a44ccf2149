"""Chance as all that it could decide: every order of whatever is drawn from, one after the other.

For what sorts by keys, and looks at them in no other way.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import factorial
from typing import TypeVar

import numpy as np

from sfumato.tasks.microdata.table import Randomness

_LONGEST = 6  # keys whose orders are gone through
Found = TypeVar("Found")


class TooManyOrdersError(Exception):
    """More orders than can be gone through."""


def all_orders(run: Callable[[Randomness], Found], most: int) -> Iterator[tuple[Found, Fraction]]:
    """What is found with each order of keys, call by call, and how likely that is.

    Args:
        run: finds something, and draws from what it is given.
        most: so many orders are gone through.

    Raises:
        TooManyOrdersError: where there are more.
    """
    told: list[int] = []
    for _ in range(most):
        chance = ListedOrders(told)
        found = run(chance)
        yield found, chance.likely
        told = chance.next()
        if not told:
            return
    raise TooManyOrdersError


class ListedOrders:
    """Keys whose orders are told by their numbers, call by call; the first one, of further calls.

    Attributes:
        likely: how likely all that was drawn is.
    """

    def __init__(self, told: list[int]) -> None:
        """Take the numbers of the orders of the first calls."""
        self._told, self._of = told, list[int]()
        self.likely = Fraction(1)

    def __call__(self, n: int) -> np.ndarray:
        """So many keys (uint64)."""
        if n > _LONGEST:
            raise TooManyOrdersError
        call = len(self._of)
        number = self._told[call] if call < len(self._told) else 0
        self._of.append(factorial(n))
        self.likely /= factorial(n)
        return order_of(number, n)

    def next(self) -> list[int]:
        """The numbers of the orders that come next; none after the last."""
        told = [*self._told, *[0] * (len(self._of) - len(self._told))]
        while told and told[-1] + 1 == self._of[len(told) - 1]:
            told.pop()
        return [*told[:-1], told[-1] + 1] if told else []


def order_of(number: int, n: int) -> np.ndarray:
    """Keys in the order of that number among all orders of so many (uint64).

    >>> [order_of(number, 3).tolist() for number in range(6)]
    [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
    """
    left, found = list(range(n)), []
    for size in range(n, 0, -1):
        place, number = divmod(number, factorial(size - 1))
        found.append(left.pop(place))
    return np.array(found, dtype=np.uint64)
