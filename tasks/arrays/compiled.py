"""The one door to numba: loops that are compiled where the data are large enough to pay for it."""

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from types import FunctionType
from typing import Any

from sfumato.expectations.machine.imports import Spared, import_spared

Loop = Callable[..., Any]
# numba offers to call C and to be measured; no loop of ours does
_NUMBA = Spared(absent=frozenset({"cffi", "coverage"}))


@cache
def can_compile() -> bool:
    """Decide whether numba is installed: whoever only reads releases may be without it."""
    return find_spec("numba") is not None


def compile_loop(*functions: Loop) -> Loop:
    """Compile the last of some functions, with the others, which it or one another call.

    Callees come first, and no two functions have one name. Each is compiled at its first call, and
    once for all processes. The functions themselves stay as they are, for data that are too small
    to be worth it. Only the last can be called from Python: code that unpacks the arguments of the
    others would take longer to compile than they do.

    A function is compiled again when its own module changes, but not when a module that it calls
    does: after such an edit, delete the caches.
    """
    import_spared("numba", _NUMBA)  # imported where it pays: compiling takes seconds
    from numba import njit

    compiled: dict[str, Any] = {}
    for function in functions:
        name = function.__name__
        plain = FunctionType(function.__code__, {**function.__globals__, **compiled}, name)
        called = function is functions[-1]
        if not called:
            plain.__qualname__ = f"{name}-inside"  # in the cache, apart from the same one called
        options: dict[str, Any] = {"no_cpython_wrapper": not called, "no_cfunc_wrapper": True}
        compiled[name] = njit(cache=True, **options)(plain)
    last: Loop = compiled[functions[-1].__name__]
    return last


def choose_loop(large: bool, function: Loop, compiled_function: Callable[[], Loop]) -> Loop:
    """Return a function as it is, or compiled where the data are large enough to pay for it."""
    return compiled_function() if large else function
