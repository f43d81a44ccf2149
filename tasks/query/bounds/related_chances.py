"""Chances that a person of a group has related rows of some kind, if all worlds are alike.

Of a group everybody knows its m people, its s related rows and the most rows M of one person. A
world gives each row to a person, so that somebody has M rows and nobody has more. Worlds are closed
under exchanging people, and under exchanging rows. So the chances are the same of every person, and
given how many rows a person has, these are any of the group's alike.

How many rows a person has follows from counts of worlds. Their numbers are coefficients of a
product of one power series for each person, here with weights λⁿ/n!, whose λ drops out and keeps
all numbers near 1. A pair of series tells worlds in which somebody has M rows from those in which
nobody has; everything that is added up is positive, so no digits are lost.
"""

from functools import lru_cache
from math import exp, log

import numpy as np

from sfumato.tasks.query.bounds.related import HitGroups

_MOST_ROWS = 2_000
"""Rows of a group, beyond which M is passed over: each row is anybody's alike."""
_SMALL = 1e-250
"""A sum of weights with which they may have lost digits."""
_STEPS = 80  # of the search for λ
_Series = tuple[np.ndarray, np.ndarray]
"""Weights of people who have so many rows together: nobody has M, and somebody has."""


def chances_of(times: int, hits: HitGroups) -> np.ndarray:
    """Return the chance of a person of each group to have at least so many of the hit rows.

    It is the share of worlds, to about twelve digits. In groups with more than 2,000 rows it is
    that of rows each of which is anybody's alike, whatever M is.

    Args:
        times: the number of rows, at least 1.
        hits: the groups, of which the people that are hit do not matter.
    """
    if not len(hits.people):
        return np.zeros(0)
    columns = (hits.people, hits.rows, hits.most, hits.hit_rows)
    groups, place = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    large = groups[:, 1] > _MOST_ROWS
    fewer = np.zeros(len(groups))
    fewer[~large] = _fewer(times, groups[~large])
    fewer[large] = _fewer_of_anybody(times, groups[large])
    return np.asarray(np.clip(1 - fewer, 0.0, 1.0)[place.reshape(-1)])


def _fewer(times: int, groups: np.ndarray) -> np.ndarray:
    """Return the chance that a person of each group has fewer hit rows.

    A person's rows are drawn one by one, without putting any back.

    Args:
        times: the number of rows.
        groups: people, rows, most rows, and hit rows of each group (int64).
    """
    numbers = [numbers_of_rows(int(m), int(s), int(most)) for m, s, most, _ in groups]
    if not numbers:
        return np.zeros(0)
    lengths = np.array([len(each) for each in numbers])
    starts, chances = np.cumsum(lengths) - lengths, np.concatenate(numbers)
    fewer = np.asarray(chances[starts])
    hits = np.zeros((times, len(groups)))  # the chance of each number of hits among those drawn
    hits[0] = 1.0
    for number in range(1, int(lengths.max())):
        some = np.flatnonzero(lengths > number)
        hits[:, some] = _after_a_draw(hits[:, some], number - 1, groups[some, 1], groups[some, 3])
        fewer[some] += chances[starts[some] + number] * hits[:, some].sum(axis=0)
    return fewer


def _after_a_draw(
    chances: np.ndarray, number: int, rows: np.ndarray, hit_rows: np.ndarray
) -> np.ndarray:
    """Return the chances of each number of hits after one more row, with so many drawn."""
    remaining = rows - number
    number_of_hits = np.arange(len(chances))[:, None]
    after = np.asarray(chances * (rows - hit_rows - number + number_of_hits) / remaining)
    after[1:] += chances[:-1] * (hit_rows - number_of_hits[1:] + 1) / remaining
    return after


def _fewer_of_anybody(times: int, groups: np.ndarray) -> np.ndarray:
    """Return the chance that a person has fewer hit rows, each of which is anybody's alike."""
    people, hit_rows = groups[:, 0].astype(np.float64), groups[:, 3].astype(np.float64)
    fewer, ways = np.zeros(len(groups)), np.ones(len(groups))
    for number in range(times):
        rest = np.maximum(hit_rows - number, 0)
        fewer += ways * (1 / people) ** number * (1 - 1 / people) ** rest
        ways = ways * rest / (number + 1)
    return fewer


@lru_cache(maxsize=65_536)
def numbers_of_rows(people: int, rows: int, most: int) -> tuple[float, ...]:
    """Return the chance of a person to have 0, 1, … M rows, in all worlds alike.

    Args:
        people: the people of a group, m.
        rows: their rows, s.
        most: the rows of whoever has the most, M.

    >>> numbers_of_rows(4, 4, 1)
    (0.0, 1.0)
    >>> numbers_of_rows(4, 3, 3)
    (0.75, 0.0, 0.0, 0.25)
    """
    if rows == people * most:
        return (*(0.0 for _ in range(most)), 1.0)
    mean = (rows - most) / (people - 1)
    weights = _weights(people, rows, most, mean)
    if weights.sum() < _SMALL:
        weights = _weights(people, rows, most, _scale_of(mean, most))
    return tuple((weights / weights.sum()).tolist())


def _weights(people: int, rows: int, most: int, scale: float) -> np.ndarray:
    """Return numbers in proportion to the worlds in which a person has 0, 1, … M rows."""
    each = _shares(scale, most)
    # the weight of M rows is taken off whoever has them first
    top = float(each[most])
    person = each[:most], np.append(np.zeros(most), 1.0)
    nobody, somebody = _power(person, people - 1, top, rows)
    weights = each * somebody[rows - np.arange(most + 1)]
    weights[most] = nobody[rows - most] + top * somebody[rows - most]
    return weights


def _shares(scale: float, most: int) -> np.ndarray:
    """Return λⁿ/n! for n = 0, … M, divided by their sum."""
    numbers = np.arange(most + 1)
    if scale == 0:
        return np.asarray(numbers == 0, dtype=np.float64)
    logs = numbers * log(scale) - np.cumsum(np.log(np.maximum(numbers, 1)))
    shares = np.exp(logs - logs.max())
    return np.asarray(shares / shares.sum())


def _scale_of(mean: float, most: int) -> float:
    """Return λ with which people have so many rows on average, if nobody has more than M."""
    low, high = log(mean), log(mean) + 40
    numbers = np.arange(most + 1)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        more = float((_shares(exp(middle), most) * numbers).sum()) > mean
        low, high = (low, middle) if more else (middle, high)
    return exp(low)


def _power(person: _Series, people: int, top: float, rows: int) -> _Series:
    """Return the series of so many people, up to a number of rows."""
    power: _Series = (_cut(np.ones(1), rows), _cut(np.zeros(1), rows))
    square: _Series = (_cut(person[0], rows), _cut(person[1], rows))
    while people:
        if people & 1:
            power = _product(power, square, top, rows)
        people >>= 1
        if people:
            square = _product(square, square, top, rows)
    return power


def _product(first: _Series, second: _Series, top: float, rows: int) -> _Series:
    """Return the series of the people of two: somebody among them has M rows, or nobody."""
    nobody = np.convolve(first[0], second[0])
    somebody = np.convolve(first[0], second[1]) + np.convolve(first[1], second[0])
    both = top * np.convolve(first[1], second[1])
    return _cut(nobody, rows), _cut(somebody + both, rows)


def _cut(series: np.ndarray, rows: int) -> np.ndarray:
    """Return the coefficients of 0 to a number of rows."""
    whole = np.zeros(rows + 1)
    length = min(len(series), rows + 1)
    whole[:length] = series[:length]
    return whole
