"""All outcomes of chance: every order of the keys that are drawn, one after the other.

This is for functions that only sort by the keys, and look at them in no other way.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import factorial
from typing import TypeVar

import numpy as np

from sfumato.tasks.microdata.table import Randomness

_LONGEST = 6  # most keys whose orders are enumerated
Result = TypeVar("Result")


class TooManyOrdersError(Exception):
    """More orders than can be enumerated."""


def all_orders(run: Callable[[Randomness], Result], most: int) -> Iterator[tuple[Result, Fraction]]:
    """Yield the result of `run` with each order of keys, and the chance of that order.

    Args:
        run: a function that draws its keys from its argument.
        most: the largest number of orders to enumerate.

    Raises:
        TooManyOrdersError: there are more orders.
    """
    numbers: list[int] = []
    for _ in range(most):
        chance = ListedOrders(numbers)
        result = run(chance)
        yield result, chance.likely
        numbers = chance.next()
        if not numbers:
            return
    raise TooManyOrdersError


class ListedOrders:
    """Source of keys in listed orders, call by call; calls beyond the list get the first order.

    Attributes:
        likely: the chance of all orders drawn so far.
    """

    def __init__(self, numbers: list[int]) -> None:
        """Take the numbers of the orders of the first calls."""
        self._numbers, self._sizes = numbers, list[int]()
        self.likely = Fraction(1)

    def __call__(self, n: int) -> np.ndarray:
        """Return `n` keys (uint64)."""
        if n > _LONGEST:
            raise TooManyOrdersError
        call = len(self._sizes)
        number = self._numbers[call] if call < len(self._numbers) else 0
        self._sizes.append(factorial(n))
        self.likely /= factorial(n)
        return order_of(number, n)

    def next(self) -> list[int]:
        """Return the numbers of the next orders; empty after the last."""
        numbers = [*self._numbers, *[0] * (len(self._sizes) - len(self._numbers))]
        while numbers and numbers[-1] + 1 == self._sizes[len(numbers) - 1]:
            numbers.pop()
        return [*numbers[:-1], numbers[-1] + 1] if numbers else []


def order_of(number: int, n: int) -> np.ndarray:
    """Return keys in the order with that number among all orders of `n` keys (uint64).

    >>> [order_of(number, 3).tolist() for number in range(6)]
    [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
    """
    remaining, order = list(range(n)), []
    for size in range(n, 0, -1):
        place, number = divmod(number, factorial(size - 1))
        order.append(remaining.pop(place))
    return np.array(order, dtype=np.uint64)
