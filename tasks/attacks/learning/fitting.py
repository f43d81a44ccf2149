"""Weights of pairs of a person and a value, fitted to what each group shows: Sinkhorn's scaling.

Source: Sinkhorn, A relationship between arbitrary positive matrices and doubly stochastic matrices
(1964). A group is a matrix of its own, small enough to stay near the processor.
"""

from functools import cache

import numpy as np

from sfumato.tasks.arrays.compiled import Loop, compile_loop

_LARGE = 50_000  # pairs, from which on it pays to compile
_LEAST = 1e-300


def fit_weights(
    weight: np.ndarray,
    people: np.ndarray,
    count: np.ndarray,
    sizes: tuple[np.ndarray, np.ndarray],
    rounds: int,
) -> np.ndarray:
    """Expected people of each pair: values of groups and people of classes add up (float64).

    Args:
        weight: of each pair, positive, by group, class and value (float64).
        people: in each class, by group (int64).
        count: of each value in its group, by group (int64).
        sizes: how many classes and how many values each group has (int64, int64).
        rounds: of scaling values and then people; people are scaled before, too.
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
    """The same in steps over all pairs: nothing is compiled for a few."""
    classes, values = sizes
    of_class = np.repeat(values, classes)  # how many pairs each class has
    of = np.repeat(np.arange(len(of_class)), of_class)
    before = np.cumsum(of_class) - of_class
    entry = np.arange(len(of)) + (np.repeat(np.cumsum(values) - values, classes) - before)[of]
    weight = weight * (people / np.maximum(np.bincount(of, weight), _LEAST))[of]
    for _ in range(rounds):
        shown = np.bincount(entry, weight, len(count))
        weight *= (count / np.maximum(shown, _LEAST))[entry]
        weight *= (people / np.maximum(np.bincount(of, weight), _LEAST))[of]
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
    pair = person = value = 0
    factor, shown = scratch
    for group in range(len(classes)):
        rows, columns = classes[group], values[group]
        factor[:columns] = 1.0
        _scale(weight, people, (pair, person, rows, columns), factor, shown)
        for _ in range(rounds):
            apart = 0.0
            for at in range(columns):
                factor[at] = count[value + at] / max(shown[at], 1e-300)
                apart = max(apart, abs(factor[at] - 1.0))
            if apart < 1e-9:  # the values add up: hardly anything would change
                break
            _scale(weight, people, (pair, person, rows, columns), factor, shown)
        pair, person, value = pair + rows * columns, person + rows, value + columns


def _scale(
    weight: np.ndarray,
    people: np.ndarray,
    group: tuple[int, int, int, int],
    factor: np.ndarray,
    shown: np.ndarray,
) -> None:
    """Scale a group's values by factors, then its people to those there are; add up the values."""
    pair, person, rows, columns = group
    for at in range(columns):
        shown[at] = 0.0
    for row in range(rows):
        total, first = 0.0, pair + row * columns
        for at in range(columns):
            weight[first + at] *= factor[at]
            total += weight[first + at]
        times = people[person + row] / max(total, 1e-300)
        for at in range(columns):
            weight[first + at] *= times
            shown[at] += weight[first + at]


@cache
def _loop() -> Loop:
    return compile_loop(_scale, _fit_groups)
