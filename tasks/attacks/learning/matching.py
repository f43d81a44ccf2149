"""Beliefs about people who have a group's values in an unknown order, weighed over all orders.

Scaling (`fitting`) ranks people rightly, but its beliefs are too weak in small groups: between two
people it takes the square root of the odds. Here every way to give a small group its values weighs
exactly what the classifier says. So beliefs are true as often as they say, if the classifier is
right. The ways are summed up person by person, over the number of each value given so far.
"""

from functools import cache

import numpy as np

from sfumato.tasks.arrays.compiled import Loop, choose_loop, compile_loop

_MOST = 256  # states, numbers of each value given so far: eight values of one person each
_LARGE = 50_000  # pairs from which on compiling pays


def match_small_groups(
    fitted: np.ndarray,
    likelihood: np.ndarray,
    people: np.ndarray,
    count: np.ndarray,
    sizes: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Return the expected people of each pair (float64): exact in small groups, fitted in others.

    Args:
        fitted: the expected people of each pair, by group, class and value (float64).
        likelihood: the likelihood of each pair, up to a factor of its class (float64).
        people: the number of people in each class, by group (int64).
        count: the count of each value in its group, by group (int64).
        sizes: the numbers of classes and of values of each group (int64, int64).
    """
    classes, values = sizes
    matched = fitted.copy()
    people, count = people.astype(np.int64), count.astype(np.int64)
    loop = choose_loop(len(matched) >= _LARGE, _match_groups, _loop)
    scratch = np.zeros((2, _MOST)), np.zeros((2, _MOST + 1), dtype=np.int64)
    loop(matched, likelihood, people, count, classes, values, *scratch)
    return matched


def _match_groups(
    matched: np.ndarray,
    likelihood: np.ndarray,
    people: np.ndarray,
    count: np.ndarray,
    classes: np.ndarray,
    values: np.ndarray,
    sums: np.ndarray,
    steps: np.ndarray,
) -> None:
    """Replace the expected people of each pair in small groups, in place.

    Arguments are those of `match_small_groups`; `sums` and `steps` are scratch space.
    """
    pair = person = value = 0  # the first of the group
    for group in range(len(classes)):
        rows, columns = classes[group], values[group]
        # a state is a number with one digit per value: how many of that value were given so far;
        # `steps[1]` holds the weights of the digits, `steps[0]` the class of each person
        states = 1
        for position in range(columns):
            steps[1, position] = states
            states *= count[value + position] + 1
            if states > len(sums[0]):
                break
        if states <= len(sums[0]):
            position = 0
            for row in range(rows):
                for _ in range(people[person + row]):
                    steps[0, position] = row
                    position += 1
            end = pair + rows * columns
            _match(
                matched[pair:end],
                likelihood[pair:end],
                count[value : value + columns],
                steps,
                sums[:, :states],
            )
        pair, person, value = pair + rows * columns, person + rows, value + columns


def _match(
    matched: np.ndarray,
    likelihood: np.ndarray,
    count: np.ndarray,
    steps: np.ndarray,
    sums: np.ndarray,
) -> None:
    """Sum up all ways to give a group its values, person by person.

    A state is how many of each value were given so far. `before` is the weight of all ways from the
    start to a state, `behind` the weight of all ways from the state to the end.

    Args:
        matched: the expected people of each pair, which are replaced if some way is possible.
        likelihood: the likelihood of each pair.
        count: the count of each value.
        steps: the class of each person, and the weight of each value's digit in a state's number.
        sums: scratch space for `before` and `behind` (2 x states).
    """
    columns, states = len(count), len(sums[0])
    before, behind = sums
    before[:], behind[:] = 0.0, 0.0
    before[0], behind[states - 1] = 1.0, 1.0
    for state in range(states - 1):
        first = steps[0, _count_given(state, count, steps)] * columns
        for column in range(columns):
            if state // steps[1, column] % (count[column] + 1) < count[column]:
                before[state + steps[1, column]] += before[state] * likelihood[first + column]
    if before[states - 1] <= 0.0:
        return
    matched[:] = 0.0
    for state in range(states - 2, -1, -1):
        first = steps[0, _count_given(state, count, steps)] * columns
        for column in range(columns):
            if state // steps[1, column] % (count[column] + 1) < count[column]:
                way = likelihood[first + column] * behind[state + steps[1, column]]
                behind[state] += way
                matched[first + column] += before[state] * way / before[states - 1]


def _count_given(state: int, count: np.ndarray, steps: np.ndarray) -> int:
    """Return the number of values that were given in a state."""
    total = 0
    for column in range(len(count)):
        total += state // steps[1, column] % (count[column] + 1)
    return total


@cache
def _loop() -> Loop:
    return compile_loop(_count_given, _match, _match_groups)
