"""The census stand-in: its cardinalities, its skew, what depends on what, densities."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.experiments.shared.census import CARDINALITIES, SENSITIVE, census

ROWS = 100_000


@pytest.fixture(scope="module")
def table():
    return census(ROWS, 1)


def codes(table, name):
    """The column's values numbered in ascending order."""
    return np.unique(table[name].to_numpy(zero_copy_only=False), return_inverse=True)[1]


def shares(table, name):
    """The shares of the values, the most frequent first."""
    counts = pc.struct_field(pc.value_counts(table[name]), "counts").to_numpy(zero_copy_only=False)
    return np.sort(counts)[::-1] / table.num_rows


def information(first, other):
    """The mutual information of two columns of codes, in nats."""
    joint = np.bincount(
        first * (other.max() + 1) + other, minlength=(first.max() + 1) * (other.max() + 1)
    )
    joint = joint.reshape(first.max() + 1, -1) / len(first)
    alone = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    there = joint > 0
    return float((joint[there] * np.log(joint[there] / alone[there])).sum())


@pytest.mark.parametrize("seed", range(3))
def test_every_value_occurs(seed):
    table = census(ROWS, seed)
    assert table.num_rows == ROWS
    assert {name: len(pc.unique(table[name])) for name in table.column_names} == CARDINALITIES


def test_columns_and_their_types(table):
    assert table.column_names == list(CARDINALITIES)
    assert table.schema.types == [pa.int64(), *[pa.string()] * 8]
    assert pc.min_max(table["age"]).as_py() == {"min": 17, "max": 94}
    assert not any(column.null_count for column in table.columns)


def test_seeds_decide():
    assert census(2000, 5).equals(census(2000, 5))
    assert not census(2000, 5).equals(census(2000, 6))


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_few_rows(rows):
    table = census(rows, 1)
    assert (table.num_rows, table.column_names) == (rows, list(CARDINALITIES))


def test_skew(table):
    assert 0.89 < shares(table, "country")[0] < 0.91
    assert 0.77 < shares(table, "race")[0] < 0.83
    occupations = shares(table, "occupation")
    assert occupations[0] > 4 * occupations[9] > 16 * occupations[-1]
    ages = shares(table, "age")
    assert ages[0] < 0.03
    young, old = (pc.sum(pc.equal(table["age"], age)).as_py() for age in (35, 90))
    assert young > 5 * old


DEPEND = [
    ("marital", "age"),
    ("education", "age"),
    ("work-class", "age"),
    ("salary-class", "age"),
    ("occupation", "education"),
    ("occupation", "gender"),
    ("salary-class", "education"),
    ("salary-class", "occupation"),
    ("race", "country"),
]


@pytest.mark.parametrize(("name", "other_name"), DEPEND)
def test_dependence(table, name, other_name):
    first, other = codes(table, name), codes(table, other_name)
    shuffled = np.random.default_rng(0).permutation(other)
    assert information(first, other) > 0.01
    assert information(first, other) > 3 * information(first, shuffled)


def test_no_conditional_independence_of_salary_and_age(table):
    """Neither the education nor the occupation explains all of it."""
    salary, age = codes(table, "salary-class"), codes(table, "age") // 10
    for name in ("education", "occupation"):
        cells = codes(table, name)
        some = cells == np.argmax(np.bincount(cells))
        shuffled = np.random.default_rng(0).permutation(age[some])
        shared = information(salary[some], age[some])
        assert shared > 3 * information(salary[some], shuffled)


@pytest.mark.parametrize(("density", "values"), [(1, 50), (2, 25), (3, 17), (4, 13), (5, 10)])
def test_denser_tables_show_fewer_sensitive_values_of_the_same_people(table, density, values):
    dense = census(ROWS, 1, density)
    assert [len(pc.unique(dense[name])) for name in SENSITIVE] == [values] * 2
    assert dense.drop_columns(list(SENSITIVE)).equals(table.drop_columns(list(SENSITIVE)))


@pytest.mark.parametrize("density", [0, 6, -1])
def test_other_densities_are_refused(density):
    with pytest.raises(InputError, match="density"):
        census(10, 1, density)
