"""Values of a parameter of promises, to see what each of them costs."""

import re
from fractions import Fraction
from math import exp, log
from typing import Any

from sfumato.expectations.errors import SpecError

_MOST = 12
_RANGE = re.compile(r"(?P<low>[0-9.]+?)\.\.(?P<high>[0-9.]+)")


def read_sweep(told: str) -> tuple[str, list[Any]]:
    """A parameter and its values: `k=2..50`, `alpha=0.05..0.5`, or `l=2,3,5`.

    Of a range twelve values at most, each about as much larger than the one before.

    Raises:
        SpecError: where it is none.

    >>> read_sweep("k=2..50")
    ('k', [2, 3, 4, 5, 6, 9, 12, 16, 21, 28, 37, 50])
    >>> read_sweep("l=2,3,5"), read_sweep("k=2..4")
    (('l', [2, 3, 5]), ('k', [2, 3, 4]))
    """
    name, equals, values = told.partition("=")
    try:
        found = _values(values)
    except ValueError:
        found = []
    if not (equals and name.isidentifier() and found):
        raise SpecError(f"--sweep {told}: write a parameter and its values: k=2..50, or l=2,3,5")
    return name, found


def _values(text: str) -> list[Any]:
    matched = _RANGE.fullmatch(text)
    if matched is None:
        return [_number(value) for value in text.split(",")]
    low, high = _number(matched["low"]), _number(matched["high"])
    if not 0 < low <= high:
        raise ValueError(text)
    steps = (exp(log(low) + n * (log(high) - log(low)) / (_MOST - 1)) for n in range(1, _MOST - 1))
    if isinstance(low, int) and isinstance(high, int):
        whole = range(low, high + 1)
        return list(whole) if len(whole) <= _MOST else _whole(low, high, list(steps))
    return list(dict.fromkeys([low, *(float(f"{step:.3g}") for step in steps), high]))


def _whole(low: int, high: int, steps: list[float]) -> list[int]:
    """Integers near the steps, each once."""
    found = [low]
    for step in steps:
        found.append(max(round(step), found[-1] + 1))
    return [*(n for n in found if n < high), high]


def _number(text: str) -> int | float:
    number = Fraction(text)
    return int(number) if number.denominator == 1 and "." not in text else float(number)
