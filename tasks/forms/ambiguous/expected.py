"""Expected occurrences of admitted values, compiled where there are many.

What is found is that of `expectations.measures.occurrences`, to the last bit: sums are added up in
the same order. Arrays of a million entries do not stay near the processor, one group's do.
"""

from functools import cache
from typing import Any

import numpy as np

from sfumato.expectations.groups.groups import Cover
from sfumato.expectations.measures.occurrences import ROUNDS, occurrences
from sfumato.tasks.arrays.compiled import Loop, compile_loop

_LARGE = 1 << 16  # entries


def expected_occurrences(sizes: np.ndarray, cover: Cover) -> np.ndarray:
    """The expected number of rows of each group that have each value it admits.

    Args:
        sizes: the rows of each group (int64), at least as many as values that it admits.
        cover: the values that each group admits, one at least.

    Returns:
        float64, parallel to the entries of the cover; those of a group add up to its rows.
    """
    if len(cover.value) < _LARGE:
        return occurrences(sizes, cover)
    return fit_occurrences(sizes, cover, _compiled())


def fit_occurrences(sizes: np.ndarray, cover: Cover, fit: Loop) -> np.ndarray:
    """The same by `fit`: `fit_by_loop`, as it is or compiled."""
    admitted = cover.sizes(len(sizes))
    ends, spare = np.append(0, np.cumsum(admitted)), (sizes - admitted).astype(np.float64)
    weights = np.bincount(cover.value, minlength=cover.values).astype(np.float64)
    expected = np.ones(len(cover.value))
    fit(ends, spare, cover.value, weights, expected, ROUNDS)
    return expected


def fit_by_loop(
    ends: Any, spare: Any, value: Any, weights: Any, expected: Any, rounds: int
) -> None:
    """Fit the `weights` of values (float64) to the rows that are `expected` of each entry.

    Group j's entries are from `ends[j]` to `ends[j + 1]`, and each has a `value`; `spare` are the
    rows of each group beyond one of each value (float64).
    """
    following = np.zeros(len(weights))
    for _ in range(rounds):
        following[:] = 0.0
        for j in range(len(spare)):
            if spare[j] == 0:  # whatever the weights are
                for at in range(ends[j], ends[j + 1]):
                    following[value[at]] += 1.0
                continue
            mass = 0.0
            for at in range(ends[j], ends[j + 1]):
                mass += weights[value[at]]
            for at in range(ends[j], ends[j + 1]):
                share = weights[value[at]] / mass
                expected[at] = 1.0 + spare[j] * share
                following[value[at]] += expected[at]
        weights[:] = following


@cache
def _compiled() -> Loop:
    return compile_loop(fit_by_loop)
