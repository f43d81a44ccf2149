"""The share of people whom shuffled values are expected to show: exact, rounded once, and fast."""

from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.attacks.records import shuffled
from sfumato.tasks.attacks.records.shuffled import ShuffledValues, expected_number

PUBLISHED = st.lists(
    st.tuples(st.integers(-1, 2), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=6
)
PEOPLE = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=5)


def arrays(rows):
    return tuple(np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))


def enumerate_orders(published, groups, cells, own, value):
    """The expected number of people who are shown, over all orders of all groups' values."""
    places = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    orders = [list(permutations(cells[place])) for place in places]
    number = Fraction(0)
    for chosen in product(*orders):
        in_rows = np.empty_like(cells)
        for place, values in zip(places, chosen, strict=True):
            in_rows[place] = values
        rows = set(zip(published.tolist(), in_rows.tolist(), strict=True))
        number += sum(pair in rows for pair in zip(own.tolist(), value.tolist(), strict=True))
    return number / np.prod([len(each) for each in orders], dtype=object)


@pytest.mark.parametrize("bits", [192, 3], ids=["whole numbers", "fractions"])
@given(rows=PUBLISHED, people=PEOPLE)
def test_it_is_that_of_all_orders(bits, rows, people):
    (published, groups, cells), (own, value) = arrays(rows), arrays(people)
    values = ShuffledValues(np.unique(groups, return_inverse=True)[1], cells)
    expected = enumerate_orders(published, groups, cells, own, value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shuffled, "_BITS", bits)
        share = values.expected_share(published, own, value, everyone=7)
    assert share == float(expected / 7)


TERMS = st.lists(
    st.integers(1, 3000).flatmap(
        lambda size: st.integers(1, min(size, 40)).flatmap(
            lambda few: st.tuples(st.just(size), st.just(few), st.integers(few, size))
        )
    ),
    max_size=6,
).map(lambda terms: tuple(sorted(terms)))


@given(st.dictionaries(TERMS, st.integers(1, 10**6), min_size=1, max_size=5))
def test_it_is_the_exact_share_rounded_once(counts):
    people = Counter(counts)
    everyone = people.total() + 3
    exact = expected_number(people) / everyone
    assert shuffled._share_shown(people, everyone) == float(exact)


@pytest.mark.parametrize("share", ["none", "all"])
def test_nobody_and_everybody(share):
    groups, cells = np.zeros(4, dtype=np.int64), np.full(4, 2)
    own = np.array([0, 1]) if share == "all" else np.array([7, 8])
    values = ShuffledValues(groups, cells)
    published = np.array([0, 1, 0, 1])
    assert values.expected_share(published, own, np.array([2, 2]), everyone=2) == (share == "all")


def test_large_groups_take_no_fractions(monkeypatch):
    """Groups of 40,000 rows: fractions over them have thousands of bits."""

    def refuse(_):
        raise AssertionError

    monkeypatch.setattr(shuffled, "expected_number", refuse)
    randomness = np.random.default_rng(1)
    rows = 120_000
    groups, cells = np.arange(rows) % 3, randomness.integers(0, 5_000, rows)
    own = randomness.integers(0, 20_000, rows)
    share = ShuffledValues(groups, cells).expected_share(own, own, cells, everyone=rows)
    assert 0 < share < 1
