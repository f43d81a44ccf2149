"""Sets of rows are drawn evenly, however many there are."""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.query.accuracy.arbitrary import some_in_random_order


@given(st.integers(1, 60), st.integers(1, 70), st.integers(0, 2**32))
def test_numbers_are_drawn_once_each(number, number_wanted, seed):
    rows_found = some_in_random_order(number, number_wanted, seeded_keys(seed)).tolist()
    assert len(rows_found) == len(set(rows_found)) >= min(number, number_wanted)
    assert set(rows_found) <= set(range(number))


@pytest.mark.parametrize(("number", "number_wanted"), [(9, 2), (5, 2)])
def test_every_beginning_of_an_order_is_as_likely(number, number_wanted):
    draw = seeded_keys(7)
    met = Counter(
        tuple(some_in_random_order(number, number_wanted, draw)[:number_wanted].tolist())
        for _ in range(20_000)
    )
    times = [met[order] for order in permutations(range(number), number_wanted)]
    assert sum(times) == 20_000
    assert chisquare(times).pvalue > 1e-6


def test_keys_that_would_favour_some_are_passed_over():
    keys = iter([np.array([2**64 - 1, 5, 5, 3], dtype=np.uint64)])
    assert some_in_random_order(9, 2, lambda _: next(keys)).tolist() == [5, 3]
    assert 2**64 % 9 == 7
