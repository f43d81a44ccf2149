"""Weights of pairs of a person and a value, fitted to what each group shows: Sinkhorn's scaling.

Source: Sinkhorn, A relationship between arbitrary positive matrices and doubly stochastic matrices
(1964). A group is a matrix of its own, small enough to stay near the processor.
"""

from functools import cache

import numpy as np

from sfumato.tasks.arrays.compiled import Loop, compile_loop


def fit_weights(
    weight: np.ndarray,
    of: np.ndarray,
    entry: np.ndarray,
    people: np.ndarray,
    count: np.ndarray,
    rounds: int,
) -> np.ndarray:
    """Expected people of each pair: values of groups and people of classes add up (float64).

    Args:
        weight: of each pair, positive (float64).
        of: the class of people of each pair, those of a group one after the other (int64).
        entry: the value of each pair in its group, one number for each of both (int64).
        people: in each class (int64).
        count: of each value in its group (int64).
        rounds: of scaling values and then people; people are scaled before, too.
    """
    last = np.maximum.accumulate(entry)
    begins = np.flatnonzero(np.append(True, entry[1:] > last[:-1]) & _first_of_class(of))
    ends = np.append(begins[1:], len(of))
    fitted: np.ndarray = weight.astype(np.float64)
    _loop()(fitted, of, entry, people, count, begins, ends, rounds)
    return fitted


def _first_of_class(of: np.ndarray) -> np.ndarray:
    return np.append(True, of[1:] != of[:-1])


def _fit_groups(
    weight: np.ndarray,
    of: np.ndarray,
    entry: np.ndarray,
    people: np.ndarray,
    count: np.ndarray,
    begins: np.ndarray,
    ends: np.ndarray,
    rounds: int,
) -> None:
    shown, held = np.zeros(len(count)), np.zeros(len(people))
    for group in range(len(begins)):
        begin, end = begins[group], ends[group]
        for turn in range(rounds + 1):
            if turn:
                _scale(weight, entry, count, shown, begin, end)
            _scale(weight, of, people, held, begin, end)


def _scale(
    weight: np.ndarray,
    at: np.ndarray,
    wanted: np.ndarray,
    total: np.ndarray,
    begin: int,
    end: int,
) -> None:
    for pair in range(begin, end):
        total[at[pair]] = 0.0
    for pair in range(begin, end):
        total[at[pair]] += weight[pair]
    for pair in range(begin, end):
        weight[pair] *= wanted[at[pair]] / max(total[at[pair]], 1e-300)


@cache
def _loop() -> Loop:
    return compile_loop(_scale, _fit_groups)
