"""The width of means over a twentieth of each group's rows, by the range of all values."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.shared.exact import INT64_MAX, exact_numbers
from sfumato.tasks.query.accuracy.usefulness import PART, mean_by_range


def counts_of(groups):
    """The counts of groups of whole numbers."""
    values = sorted({value for group in groups for value in group})
    entries = [
        (number, values.index(value), group.count(value))
        for number, group in enumerate(groups)
        for value in sorted(set(group))
    ]
    group, value, count = (
        np.array(column_values, dtype=np.int64) for column_values in zip(*entries, strict=True)
    )
    return Counts(group, value, count, len(values), exact_numbers(values, "x"))


def width_of(group):
    """Of one group: between n / 20 rows whole, the width is linear in how many are selected."""
    ordered, hits = sorted(group), Fraction(len(group), PART)
    whole = int(hits)
    most = [sum(ordered[len(ordered) - n :]) - sum(ordered[:n]) for n in range(whole + 2)]
    before, after = list(pairwise(most))[whole]
    return before + (hits - whole) * (after - before)


GROUPS = st.lists(st.lists(st.integers(-9, 9), min_size=1, max_size=50), min_size=1, max_size=5)


@given(GROUPS, st.sampled_from([1, 10**16]))
def test_widths_are_those_of_the_least_and_the_greatest(groups, unit):
    groups = [[unit * value for value in group] for group in groups]
    rows = [value for group in groups for value in group]
    spread = max(rows) - min(rows)
    widths = mean_by_range(counts_of(groups))
    if not spread:
        assert widths is None
        return
    assert widths == sum(map(width_of, groups)) / Fraction(len(rows), PART) / spread
    assert 0 <= widths <= 1


def test_numbers_too_large_for_a_processor_are_exact():
    most = INT64_MAX // 2
    assert mean_by_range(counts_of([[0, most], [0, most]])) == 1
    assert mean_by_range(counts_of([[0, 0], [most, most]])) == 0
