"""The one door to numba: loops that are compiled where the data are large enough to pay for it."""

from collections.abc import Callable
from types import FunctionType
from typing import Any

Loop = Callable[..., Any]


def compile_loop(scope: dict[str, Any], *functions: Loop) -> Loop:
    """The last of some functions of a module, compiled, with the others it calls.

    They are compiled at the first call, and once for all processes. The module's own functions
    stay as they are, for data that are too small to be worth it.
    """
    from numba import njit  # imported where it pays: compiling takes seconds

    inner = dict(scope)
    for function in functions:
        name = function.__name__
        plain = FunctionType(function.__code__, inner, name)
        inner[name] = njit(cache=True)(plain)
    last: Loop = inner[functions[-1].__name__]
    return last


def choose_loop(large: bool, function: Loop, compiled_function: Callable[[], Loop]) -> Loop:
    """A function as it is, or compiled where the data are large enough to pay for it."""
    return compiled_function() if large else function
