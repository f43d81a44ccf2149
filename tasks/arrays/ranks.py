"""Ranks of integer keys."""

import numpy as np

from sfumato.expectations.shared.sorting import is_ascending, number, stable_order


def dense_ranks(keys: np.ndarray) -> np.ndarray:
    """Return the dense ranks 0, 1, … (int64, one per key) of one-dimensional integer keys.

    >>> dense_ranks(np.array([7, -1, 7, 9]))
    array([1, 0, 1, 2])
    """
    if is_ascending(keys):
        return number(keys)
    order = stable_order(keys)
    ranks = np.empty(len(keys), dtype=np.int64)
    ranks[order] = number(keys[order])
    return ranks


def places_in(order: np.ndarray) -> np.ndarray:
    """Return the place (int64) that each of 0, 1, … has in a permutation of them.

    >>> places_in(np.array([2, 0, 1]))
    array([1, 2, 0])
    """
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return places


def rank_equals(values: np.ndarray, keys: np.ndarray, bound: int) -> tuple[np.ndarray, np.ndarray]:
    """Places by value and key, and a number for the value and the place among equals (int64).

    Args:
        values: a number of each place's value (int64).
        keys: by which equals are ordered.
        bound: above the number of equals.
    """
    order = np.lexsort((keys, values))
    ordered = values[order]
    rank = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    return order, ordered * bound + rank
