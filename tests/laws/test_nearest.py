"""The nearest others of each row: by grouping and by comparing all pairs, the same distances."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.partitions.shared import nearest as module
from sfumato.tasks.partitions.shared.nearest import nearest, nearest_by_groups, nearest_directly


def table(rng, rows, columns):
    values = rng.integers(1, 9, columns)
    return rng.integers(0, values, (rows, columns)).astype(np.int32)


def all_distances(codes):
    apart = (codes[:, None] != codes[None]).sum(axis=2)
    np.fill_diagonal(apart, codes.shape[1] + 1)
    return apart


def check(codes, many, neighbours, distance):
    rows = len(codes)
    apart = all_distances(codes)
    assert neighbours.shape == distance.shape == (rows, min(many, rows - 1))
    assert np.array_equal(distance, np.sort(apart, axis=1)[:, : neighbours.shape[1]])
    assert np.array_equal(np.take_along_axis(apart, neighbours, axis=1), distance)
    assert all(len(set(row)) == len(row) for row in neighbours.tolist())


def following(row, rows):
    """All other rows: those after it, then those before."""
    return [(row + step) % rows for step in range(1, rows)]


def in_groups(codes, many):
    """The rows that share all but so many columns, those that follow first, for any choice."""
    rows, columns = codes.shape
    neighbours = [[] for _ in range(rows)]
    for differ in range(columns + 1):
        for names_kept in combinations(range(columns), columns - differ):
            for row, others in enumerate(neighbours):
                alike = codes[:, list(names_kept)] == codes[row, list(names_kept)]
                met = [o for o in following(row, rows) if alike[o].all() and o not in others]
                others.extend(met[: many - len(others)])
    return neighbours


@given(st.integers(0, 2**32), st.integers(2, 60), st.integers(1, 7), st.integers(1, 20))
def test_by_comparing(seed, rows, columns, many):
    codes = table(np.random.default_rng(seed), rows, columns)
    neighbours, distance = nearest(codes, many)
    check(codes, many, neighbours, distance)
    apart = all_distances(codes)
    for row, others in enumerate(neighbours.tolist()):
        ranked = sorted(following(row, rows), key=apart[row].__getitem__)
        assert others == ranked[:many]


@pytest.mark.parametrize("columns", [1, 2, 4])
def test_equals_are_taken_in_the_order_of_rows(monkeypatch, columns):
    """So that it does not depend on the machine, whose sorts exchange equals as they like."""
    monkeypatch.setattr(module, "_ROWS_PER_CHOICE", 0)
    codes = table(np.random.default_rng(columns), 70, columns)
    assert nearest_by_groups(codes, 6)[0].tolist() == in_groups(codes, 6)


@pytest.mark.parametrize("until_compared", [0, 10])
def test_by_grouping(monkeypatch, until_compared):
    """With 0 no row is ever compared directly, unless all are done."""
    monkeypatch.setattr(module, "_ROWS_PER_CHOICE", until_compared)
    rng = np.random.default_rng(until_compared)
    far = 0
    for _ in range(150):
        rows, many = int(rng.integers(2, 150)), int(rng.integers(1, 20))
        codes = table(rng, rows, int(rng.integers(1, 7)))
        neighbours, distance = nearest_by_groups(codes, min(many, rows - 1))
        check(codes, many, neighbours, distance)
        far += distance.max() > 2
    assert far > 30


def test_keys_that_do_not_fit_in_an_integer():
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 2**31 - 1, (40, 5)).astype(np.int32)
    codes[20:, :3] = codes[:20, :3]
    neighbours, distance = nearest_by_groups(codes, 3)
    check(codes, 3, neighbours, distance)
    assert (distance[:, 0] == 2).all()


def test_some_rows_of_a_large_table():
    rng = np.random.default_rng(4)
    codes = table(rng, 5000, 6)
    neighbours, distance = nearest(codes, 6)
    some = rng.choice(5000, 200, replace=False)
    assert np.array_equal(distance[some], nearest_directly(codes, some, 6)[1])
    assert np.array_equal((codes[neighbours] != codes[:, None]).sum(axis=2), distance)
    assert (neighbours != np.arange(5000)[:, None]).all()
    again = nearest(codes, 6)
    assert np.array_equal(neighbours, again[0])


def test_a_row_alone_has_no_neighbour():
    neighbours, distance = nearest(np.zeros((1, 3), dtype=np.int32), 4)
    assert neighbours.shape == distance.shape == (1, 0)
