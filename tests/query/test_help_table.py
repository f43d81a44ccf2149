import datetime
import itertools
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.query.help_tables.rows import help_name, help_table

BOUNDS = ("l_sum", "u_sum", "l_min", "u_min", "l_max", "u_max")


def table(group: list[int], values: pa.Array | list) -> pa.Table:
    return pa.table({"group_id": pa.array(group, pa.int64()), "s": values})


def test_vector_of_the_specification():
    rows = help_table(table([0, 0, 0], [70, 65, 75]), "s").to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        (0, 1, 65, 75, 65, 75, 65, 75),
        (0, 2, 135, 145, 65, 70, 70, 75),
        (0, 3, 210, 210, 65, 65, 75, 75),
    ]
    assert tuple(rows[0]) == ("group_id", "hits", *BOUNDS)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-9, 9)), min_size=1, max_size=12))
def test_bounds_are_those_of_all_subsets(rows):
    ids = sorted({group for group, _ in rows})
    group = [ids.index(group) for group, _ in rows]
    made = help_table(table(group, [value for _, value in rows]), "s").to_pylist()
    assert [(row["group_id"], row["hits"]) for row in made] == sorted(
        (g, h + 1) for g in set(group) for h in range(group.count(g))
    )
    for row in made:
        values = [v for g, (_, v) in zip(group, rows, strict=True) if g == row["group_id"]]
        chosen = list(itertools.combinations(values, row["hits"]))
        for name, function in (("sum", sum), ("min", min), ("max", max)):
            results = [function(each) for each in chosen]
            assert (row[f"l_{name}"], row[f"u_{name}"]) == (min(results), max(results))


def test_sums_beyond_64_bits_are_decimals_and_nothing_wraps():
    largest = 2**63 - 1
    made = help_table(table([0, 0, 1], [largest, largest, -5]), "s")
    assert made.schema.field("u_sum").type == pa.decimal128(38, 0)
    assert made.schema.field("u_max").type == pa.int64()
    assert made["u_sum"].to_pylist() == [largest, 2 * largest, -5]
    one_row_groups = help_table(table([0, 1], [largest, -(2**63)]), "s")
    assert one_row_groups["l_sum"].to_pylist() == [largest, -(2**63)]


def test_integers_stay_integers_where_every_partial_sum_fits():
    values = [2**62, -(2**62), 2**62, -(2**62)]
    made = help_table(table([0] * 4, values), "s")
    assert made["u_sum"].to_pylist() == [2**62, 2**63, 2**62, 0]
    assert made.schema.field("u_sum").type == pa.decimal128(38, 0)
    half = help_table(table([0] * 4, [v // 2 for v in values]), "s")
    assert half.schema.field("u_sum").type == pa.int64()
    assert half["u_sum"].to_pylist() == [2**61, 2**62, 2**61, 0]


def test_floats_are_summed_as_the_decimals_that_are_printed():
    made = help_table(table([0, 0, 0], [0.1, 0.2, -3.0]), "s")
    assert made.schema.field("l_sum").type == pa.decimal128(38, 1)
    assert made["u_sum"].to_pylist() == [Decimal("0.2"), Decimal("0.3"), Decimal("-2.7")]
    assert made["u_max"].to_pylist() == [0.2, 0.2, 0.2]
    assert made.schema.field("l_min").type == pa.float64()


def test_decimals_are_exact_to_their_last_digit():
    values = [Decimal("-9999999999999999999999999999999.25"), Decimal("0.01"), Decimal("1.00")]
    made = help_table(table([0, 0, 0], pa.array(values, pa.decimal128(38, 2))), "s")
    assert made["l_sum"].to_pylist()[-1] == Decimal("-9999999999999999999999999999998.24")


def test_dates_have_extremes_and_no_sums():
    days = [datetime.date(2020, 1, day) for day in (3, 1, 2)]
    made = help_table(table([0, 0, 0], pa.array(days)), "s")
    assert made.column_names == ["group_id", "hits", "l_min", "u_min", "l_max", "u_max"]
    assert made["u_min"].to_pylist() == sorted(days, reverse=True)


def test_an_empty_table_has_an_empty_help_table():
    assert help_table(table([], pa.array([], pa.int64())), "s").num_rows == 0


@pytest.mark.parametrize(
    ("group", "values", "message"),
    [
        ([0, 0], [1, None], "a sensitive value is missing"),
        ([0, 7], [1, 2], "its numbers do not begin at 0"),
        ([0, 0], [1e300, 1.0], "38 digits"),
        ([0, 0], [float("nan"), 1.0], "finite"),
    ],
)
def test_what_cannot_be_summed_is_refused(group, values, message):
    with pytest.raises(InputError, match=message):
        help_table(table(group, values), "s")


def test_a_sum_of_more_than_38_digits_is_refused():
    values = pa.array([Decimal(9 * 10**37)] * 2, pa.decimal128(38, 0))
    with pytest.raises(InputError, match="the sum of a group has more than 38 digits"):
        help_table(table([0, 0], values), "s")


def test_the_order_of_rows_makes_no_difference():
    generator = np.random.default_rng(5)
    rows = table(generator.integers(0, 9, 200).tolist(), generator.integers(0, 50, 200).tolist())
    shuffled = rows.take(pa.array(generator.permutation(200)))
    assert help_table(rows, "s").equals(help_table(shuffled, "s"))


def test_names_are_safe():
    assert help_name('A "b"; é') == "help_a__b____"
