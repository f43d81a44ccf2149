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
def test_numbers_are_drawn_once_each(number, wanted, seed):
    found = some_in_random_order(number, wanted, seeded_keys(seed)).tolist()
    assert len(found) == len(set(found)) >= min(number, wanted)
    assert set(found) <= set(range(number))


@pytest.mark.parametrize(("number", "wanted"), [(9, 2), (5, 2)])
def test_every_beginning_of_an_order_is_as_likely(number, wanted):
    draw = seeded_keys(7)
    met = Counter(
        tuple(some_in_random_order(number, wanted, draw)[:wanted].tolist()) for _ in range(20_000)
    )
    times = [met[one] for one in permutations(range(number), wanted)]
    assert sum(times) == 20_000
    assert chisquare(times).pvalue > 1e-6


def test_keys_that_would_favour_some_are_passed_over():
    drawn = iter([np.array([2**64 - 1, 5, 5, 3], dtype=np.uint64)])
    assert some_in_random_order(9, 2, lambda _: next(drawn)).tolist() == [5, 3]
    assert 2**64 % 9 == 7
