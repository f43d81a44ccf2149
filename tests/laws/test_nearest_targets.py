"""The nearest targets, against every target of their denominator on small domains."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.tasks.partitions.targets.nearest import (
    as_groups,
    nearest_capped,
    nearest_ranked,
    nearest_within,
    ways_of_writing,
)

SALARIES = [30, 40, 50, 60]  # of the paper's running table, and its three groups
PRINTED = {(1, 1, 1, 1): [1, 1, 1, 1], (1, 1, 1, 0): [1, 1, 1, 1], (0, 1, 0, 3): [1, 1, 1, 1]}


def targets(values, denominator):
    """Every target of a denominator."""
    if values == 1:
        yield (denominator,)
        return
    for first in range(denominator + 1):
        for rest in targets(values - 1, denominator - first):
            yield (first, *rest)


def share(weights):
    total = sum(int(w) for w in weights)
    return [Fraction(int(w), total) for w in weights]


def variation(first, other):
    """The total variation between two distributions that weights are."""
    return sum(abs(a - b) for a, b in zip(share(first), share(other), strict=True)) / 2


def earth_mover_distance(first, other, *, ordered):
    """The earth mover's distance between them, by the definition."""
    if not ordered:
        return variation(first, other)
    off, total = Fraction(0), Fraction(0)
    for a, b in list(zip(share(first), share(other), strict=True))[:-1]:
        off += a - b
        total += abs(off)
    return total / max(len(first) - 1, 1)


def keeps(promise, weights):
    """Tell if a promise holds of a group whose values occur so often."""
    value = np.flatnonzero(weights)
    count = np.array(weights)[value]
    counts_shown = Counts(np.zeros(len(value), dtype=np.int64), value, count, len(weights), None)
    return promise.check(Groups(np.array([sum(weights)]), {"s": counts_shown})).holds


def nearest(counts, denominator, promises, totals):
    judged = as_groups(ways_of_writing(denominator), "s")
    keeps_all = np.ones(len(judged), dtype=bool)
    for promise in promises:
        keeps_all &= ~promise.failing(judged)
    ways = ways_of_writing(denominator)[keeps_all]
    return nearest_ranked(np.array(counts), ways, np.array(totals))


@pytest.mark.parametrize("counts", PRINTED)
def test_the_papers_groups_with_all_four_salaries_promised(counts):
    target = nearest(counts, 4, [DistinctLDiversity(l=4)], [1] * len(SALARIES))
    assert target.tolist() == PRINTED[counts]


@pytest.mark.parametrize(("number", "ways"), [(1, 1), (5, 7), (10, 42), (16, 231), (40, 37338)])
def test_every_way_of_writing_a_number_is_there_once(number, ways):
    rows = ways_of_writing(number)
    assert len(rows) == len({tuple(row) for row in rows.tolist()}) == ways
    assert (rows.sum(axis=1) == number).all()
    assert (np.diff(rows, axis=1) <= 0).all()


PROMISES = st.one_of(
    st.builds(DistinctLDiversity, l=st.integers(1, 4)),
    st.builds(EntropyLDiversity, l=st.sampled_from(["1", "1.5", "2", "3"]).map(Decimal)),
    st.builds(
        RecursiveLDiversity,
        l=st.integers(1, 3),
        c=st.sampled_from(["0.5", "1", "2", "3"]).map(Decimal),
    ),
)
TABLES = st.integers(1, 4).flatmap(
    lambda m: st.tuples(
        st.lists(st.integers(0, 6), min_size=m, max_size=m).filter(any),
        st.lists(st.integers(0, 9), min_size=m, max_size=m),
    )
)


@given(TABLES, st.lists(PROMISES, min_size=1, max_size=2), st.integers(1, 7))
def test_nothing_nearer_keeps_promises_about_frequencies(table, promises, denominator):
    counts, more = table
    totals = [a + b for a, b in zip(counts, more, strict=True)]
    target = nearest(counts, denominator, promises, totals)
    able = [
        t for t in targets(len(counts), denominator) if all(keeps(p, list(t)) for p in promises)
    ]
    assert (target is None) == (not able)
    if target is not None:
        assert int(target.sum()) == denominator
        assert all(keeps(promise, target.tolist()) for promise in promises)
        assert variation(target, counts) == min(variation(t, counts) for t in able)


@given(
    TABLES,
    st.integers(1, 7),
    st.integers(0, 20).map(lambda n: Fraction(n, 20)),
    st.booleans(),
)
def test_nothing_nearer_is_as_close_to_all_rows(table, denominator, limit, ordered):
    counts, more = table
    totals = [a + b + 1 for a, b in zip(counts, more, strict=True)]
    target = nearest_within(np.array(counts), np.array(totals), denominator, limit, ordered=ordered)
    able = [
        t
        for t in targets(len(counts), denominator)
        if earth_mover_distance(t, totals, ordered=ordered) <= limit
    ]
    assert (target is None) == (not able)
    if target is not None:
        assert int(target.sum()) == denominator
        assert earth_mover_distance(target, totals, ordered=ordered) <= limit
        assert variation(target, counts) == min(variation(t, counts) for t in able)


@given(TABLES, st.lists(st.integers(0, 7), min_size=4, max_size=4), st.integers(1, 7))
def test_nothing_nearer_is_below_its_caps(table, limits, denominator):
    counts, _ = table
    caps = np.array(limits[: len(counts)])
    target = nearest_capped(np.array(counts), caps, denominator)
    able = [t for t in targets(len(counts), denominator) if (np.array(t) <= caps).all()]
    assert (target is None) == (not able)
    if target is not None:
        assert int(target.sum()) == denominator
        assert (target <= caps).all()
        assert variation(target, counts) == min(variation(t, counts) for t in able)


@given(TABLES, st.booleans())
def test_a_group_that_is_close_is_its_own_nearest_target(table, ordered):
    counts, _ = table
    totals = [n + 1 for n in counts]
    target = nearest_within(
        np.array(counts), np.array(totals), sum(counts), Fraction(1), ordered=ordered
    )
    assert share(target) == share(counts)


def test_of_values_that_a_group_lacks_the_most_common_come_first():
    target = nearest([4, 0, 0, 0], 4, [DistinctLDiversity(l=2)], [5, 1, 9, 2])
    assert target.tolist() == [3, 0, 1, 0]


def test_no_target_has_more_values_than_there_are():
    assert nearest([3, 1], 4, [DistinctLDiversity(l=3)], [3, 1]) is None
    assert nearest([3, 1], 2, [DistinctLDiversity(l=2)], [3, 1]).tolist() == [1, 1]
