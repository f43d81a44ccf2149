"""Weights of pairs of a person and a value, fitted to the counts of each group (Sinkhorn).

Source: Sinkhorn, A relationship between arbitrary positive matrices and doubly stochastic matrices
(1964). Each group is a matrix of its own, small enough for the processor's cache.
"""

from functools import cache

import numpy as np

from sfumato.tasks.arrays.compiled import Loop, compile_loop

_LARGE = 50_000  # pairs from which on compiling pays
_LEAST = 1e-300  # stands for 0 where it would be divided by


def fit_weights(
    weight: np.ndarray,
    people: np.ndarray,
    count: np.ndarray,
    sizes: tuple[np.ndarray, np.ndarray],
    rounds: int,
) -> np.ndarray:
    """Return the expected people of each pair (float64), so that values and classes add up.

    Args:
        weight: the weight of each pair, positive, by group, class and value (float64).
        people: the number of people in each class, by group (int64).
        count: the count of each value in its group, by group (int64).
        sizes: the numbers of classes and of values of each group (int64, int64).
        rounds: the number of rounds, each scaling values and then people; people are also scaled
            before the first.
    """
    classes, values = sizes
    fitted: np.ndarray = weight.astype(np.float64)
    if len(fitted) < _LARGE:
        return _fit_at_once(fitted, people, count, (classes, values), rounds)
    scratch = np.zeros((2, int(values.max(initial=0))))
    _loop()(fitted, people, count, classes, values, scratch, rounds)
    return fitted


def _fit_at_once(
    weight: np.ndarray,
    people: np.ndarray,
    count: np.ndarray,
    sizes: tuple[np.ndarray, np.ndarray],
    rounds: int,
) -> np.ndarray:
    """Fit as `_fit_groups` does, in steps over all pairs: nothing is compiled for a few pairs."""
    classes, values = sizes
    of_class = np.repeat(values, classes)  # the number of pairs of each class
    pair_class = np.repeat(np.arange(len(of_class)), of_class)
    before = np.cumsum(of_class) - of_class
    entry = (
        np.arange(len(pair_class))
        + (np.repeat(np.cumsum(values) - values, classes) - before)[pair_class]
    )
    weight = weight * (people / np.maximum(np.bincount(pair_class, weight), _LEAST))[pair_class]
    for _ in range(rounds):
        sums = np.bincount(entry, weight, len(count))
        weight *= (count / np.maximum(sums, _LEAST))[entry]
        weight *= (people / np.maximum(np.bincount(pair_class, weight), _LEAST))[pair_class]
    return weight


def _fit_groups(
    weight: np.ndarray,
    people: np.ndarray,
    count: np.ndarray,
    classes: np.ndarray,
    values: np.ndarray,
    scratch: np.ndarray,
    rounds: int,
) -> None:
    """Scale the weights of each group in place until its values and its people add up.

    Arguments are those of `fit_weights`; `scratch` has two rows for one number per value.
    """
    pair = person = value = 0  # the first of the group
    factor, sums = scratch
    for group in range(len(classes)):
        rows, columns = classes[group], values[group]
        factor[:columns] = 1.0
        _scale(weight, people, (pair, person, rows, columns), factor, sums)
        for _ in range(rounds):
            apart = 0.0
            for column in range(columns):
                factor[column] = count[value + column] / max(sums[column], 1e-300)
                apart = max(apart, abs(factor[column] - 1.0))
            if apart < 1e-9:  # the values add up: hardly anything would change
                break
            _scale(weight, people, (pair, person, rows, columns), factor, sums)
        pair, person, value = pair + rows * columns, person + rows, value + columns


def _scale(
    weight: np.ndarray,
    people: np.ndarray,
    group: tuple[int, int, int, int],
    factor: np.ndarray,
    sums: np.ndarray,
) -> None:
    """Scale a group's values by factors, then its people; sum up the values in `sums`."""
    pair, person, rows, columns = group
    for column in range(columns):
        sums[column] = 0.0
    for row in range(rows):
        total, first = 0.0, pair + row * columns
        for column in range(columns):
            weight[first + column] *= factor[column]
            total += weight[first + column]
        times = people[person + row] / max(total, 1e-300)
        for column in range(columns):
            weight[first + column] *= times
            sums[column] += weight[first + column]


@cache
def _loop() -> Loop:
    return compile_loop(_scale, _fit_groups)
