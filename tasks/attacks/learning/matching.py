"""What is believed of people whose values are a group's in some order: all orders, weighed.

Scaling (`fitting`) tells who is likelier to have a value, and by too little in small groups: of two
people it takes the square root of the odds. Here every way to give a small group its values counts
as much as the classifier says, exactly: what is believed is as often true, where the classifier is.
The ways are summed up person by person, over how many of each value have been given.
"""

from functools import cache

import numpy as np

from sfumato.tasks.arrays.compiled import Loop, choose_loop, compile_loop

_MOST = 256  # of what a group's people before one may have been given: eight values, once each
_LARGE = 50_000  # pairs, from which on it pays to compile


def match_small_groups(
    fitted: np.ndarray,
    likelihood: np.ndarray,
    people: np.ndarray,
    count: np.ndarray,
    sizes: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Expected people of each pair (float64): exact in small groups, as fitted in others.

    Args:
        fitted: expected people of each pair, by group, class and value (float64).
        likelihood: of each pair, up to a factor of its class (float64).
        people: in each class, by group (int64).
        count: of each value in its group, by group (int64).
        sizes: how many classes and how many values each group has (int64, int64).
    """
    classes, values = sizes
    found = fitted.copy()
    people, count = people.astype(np.int64), count.astype(np.int64)
    loop = choose_loop(len(found) >= _LARGE, _match_groups, _compiled)
    scratch = np.zeros((2, _MOST)), np.zeros((2, _MOST + 1), dtype=np.int64)
    loop(found, likelihood, people, count, classes, values, *scratch)
    return found


def _match_groups(
    found: np.ndarray,
    likelihood: np.ndarray,
    people: np.ndarray,
    count: np.ndarray,
    classes: np.ndarray,
    values: np.ndarray,
    sums: np.ndarray,
    steps: np.ndarray,
) -> None:
    pair = person = value = 0
    for group in range(len(classes)):
        rows, columns = classes[group], values[group]
        states = 1
        for at in range(columns):
            steps[1, at] = states
            states *= count[value + at] + 1
            if states > len(sums[0]):
                break
        if states <= len(sums[0]):
            at = 0
            for row in range(rows):
                for _ in range(people[person + row]):
                    steps[0, at] = row
                    at += 1
            end = pair + rows * columns
            _match(
                found[pair:end],
                likelihood[pair:end],
                count[value : value + columns],
                steps,
                sums[:, :states],
            )
        pair, person, value = pair + rows * columns, person + rows, value + columns


def _match(
    found: np.ndarray,
    likelihood: np.ndarray,
    count: np.ndarray,
    steps: np.ndarray,
    sums: np.ndarray,
) -> None:
    """Sum up over all ways: `sums` before and behind each state, person by person of `steps`."""
    columns, states = len(count), len(sums[0])
    before, behind = sums
    before[:], behind[:] = 0.0, 0.0
    before[0], behind[states - 1] = 1.0, 1.0
    for state in range(states - 1):
        first = steps[0, _given(state, count, steps)] * columns
        for at in range(columns):
            if state // steps[1, at] % (count[at] + 1) < count[at]:
                before[state + steps[1, at]] += before[state] * likelihood[first + at]
    if before[states - 1] <= 0.0:
        return
    found[:] = 0.0
    for state in range(states - 2, -1, -1):
        first = steps[0, _given(state, count, steps)] * columns
        for at in range(columns):
            if state // steps[1, at] % (count[at] + 1) < count[at]:
                way = likelihood[first + at] * behind[state + steps[1, at]]
                behind[state] += way
                found[first + at] += before[state] * way / before[states - 1]


def _given(state: int, count: np.ndarray, steps: np.ndarray) -> int:
    """How many values were given in a state."""
    total = 0
    for at in range(len(count)):
        total += state // steps[1, at] % (count[at] + 1)
    return total


@cache
def _compiled() -> Loop:
    return compile_loop(_given, _match, _match_groups)
