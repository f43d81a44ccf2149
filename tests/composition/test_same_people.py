"""The chance that unrelated tables have so many rows in common, against enumeration."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb, factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.composition.same_people import LEVEL, RowsOfTwo, rows_of_two

ROWS = st.lists(st.integers(0, 12), max_size=25)
SHARES = st.fractions(min_value=Fraction(1, 20), max_value=Fraction(19, 20), max_denominator=20)


def hash_rows(rows):
    """Hashes whose last bit says nothing."""
    return np.array([2 * row + row % 2 for row in rows], dtype=np.uint64)


@given(ROWS, ROWS)
def test_combinations_are_counted(first_rows, other):
    first, second = Counter(first_rows), Counter(other)
    times = Counter((first[row], second[row]) for row in first | second)
    counts = rows_of_two(hash_rows(first_rows), hash_rows(other))
    assert (counts.both, counts.first, counts.second) == (times[1, 1], times[2, 0], times[0, 2])
    assert counts.alone == (times[1, 0], times[0, 1])
    assert counts.equal == (len(first_rows) if first == second and len(first) > 1 else 0)


def by_equal_shares(pairs, of_one):
    """Hardy-Weinberg's distribution of pairs with one in each, as fractions."""
    weights = {}
    for both in range(of_one % 2, min(of_one, 2 * pairs - of_one) + 1, 2):
        first = (of_one - both) // 2
        ways = factorial(pairs) // factorial(both) // factorial(first)
        weights[both] = 2**both * Fraction(ways, factorial(pairs - both - first))
    return {both: weight / sum(weights.values()) for both, weight in weights.items()}


def tail(chances, both):
    return sum((chance for count, chance in chances.items() if count >= both), Fraction(0))


@pytest.mark.parametrize("pairs", range(1, 8))
def test_chances_are_those_of_enumeration(pairs):
    for both, first in product(range(pairs + 1), repeat=2):
        if both + first <= pairs:
            coins = Fraction(sum(comb(pairs, k) for k in range(both, pairs + 1)), 2**pairs)
            equal = tail(by_equal_shares(pairs, 2 * first + both), both)
            chance = RowsOfTwo(both, first, pairs - both - first).chance
            assert chance == pytest.approx(float(min(coins, equal)), rel=1e-9)


@given(st.lists(SHARES, min_size=1, max_size=5))
def test_unequal_shares_have_fewer_pairs_in_both(shares):
    """The law by which Hardy-Weinberg's distribution is a limit for any two populations."""
    outcomes = {}
    for pairs in product((0, 1, 2), repeat=len(shares)):  # rows of the first table, by pair
        chance = Fraction(1)
        for rows, p in zip(pairs, shares, strict=True):
            chance *= ((1 - p) ** 2, 2 * p * (1 - p), p**2)[rows]
        outcomes.setdefault(sum(pairs), Counter())[pairs.count(1)] += chance
    for of_one, weights in outcomes.items():
        whole, limit = sum(weights.values()), by_equal_shares(len(shares), of_one)
        for both in limit:
            assert tail(weights, both) / whole <= tail(limit, both)


def test_twenty_pairs_in_both_are_what_one_in_a_million_has():
    assert RowsOfTwo(20, 0, 0).are_related
    assert not RowsOfTwo(19, 0, 0).are_related
    assert RowsOfTwo(0, 0, 0).chance == 1
    assert RowsOfTwo(0, 50, 50).chance == 1


def test_tables_of_very_different_sizes_are_told_by_their_shares():
    """Of coins there would be too few: a tenth of the rows of so small a table meets nobody's."""
    assert RowsOfTwo(400, 0, 1_200).are_related
    assert not RowsOfTwo(350, 25, 1_225).are_related


def test_few_rows_in_common_are_found_where_columns_can_tell():
    draw = np.random.default_rng(5)
    common, new = (draw.integers(0, 2**62, 1_000, dtype=np.uint64) << np.uint64(1) for _ in (0, 1))
    other = np.concatenate([common[:25], new[25:]])
    counts = rows_of_two(common, other)
    assert counts.both == 25
    assert counts.are_related
    assert counts.can_tell


def test_columns_with_few_values_cannot_tell():
    draw = np.random.default_rng(6)
    first_rows, other = (2 * draw.integers(0, 30, 500).astype(np.uint64) for _ in (0, 1))
    counts = rows_of_two(first_rows, other)
    assert not counts.are_related
    assert not counts.can_tell


def test_equal_tables_are_one_however_few_the_columns():
    rows = hash_rows([1, 2] * 10)
    assert rows_of_two(rows, rows[::-1]).are_related
    assert not rows_of_two(rows[1:], rows[1:]).are_related


def test_unrelated_samples_are_taken_for_others():
    draw = np.random.default_rng(7)
    for size in (50, 300, 2_000):
        for _ in range(100):
            many = 2 * draw.zipf(1.3, 3 * size).clip(0, 10**6).astype(np.uint64)
            counts = rows_of_two(many[:size], many[size:])
            assert not counts.are_related
            assert counts.chance > LEVEL
