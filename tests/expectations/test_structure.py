"""Rules that a published table must keep besides promises."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.rules.rule import ForbiddenColumns, NoRowNumber
from sfumato.expectations.rules.structure import (
    CanonicalOrder,
    ColumnTypes,
    NotEmpty,
    NotNull,
    OrderedColumns,
    RowCount,
    rules_of_published,
)
from sfumato.expectations.shared.errors import PromiseError


def rows_numbered(values, name="n") -> bool:
    return not NoRowNumber().holds(pa.table({name: values}))


@given(st.permutations(range(30)), st.integers(-(2**62), 2**62), st.booleans())
def test_a_row_number_is_found_in_any_order_from_any_start_and_as_text(order, start, text):
    values = [start + i for i in order]
    assert rows_numbered([str(v) for v in values] if text else values)


@pytest.mark.parametrize(
    "type_", [pa.int8(), pa.uint64(), pa.float64(), pa.decimal128(9, 2), pa.large_string()]
)
def test_a_row_number_is_found_whatever_its_type(type_):
    assert rows_numbered(pa.array([str(i) for i in range(50)]).cast(type_))


@pytest.mark.parametrize(
    "values",
    [
        list(range(20)),  # so few may be consecutive by chance
        [*range(40), 41],  # a gap
        [*range(40), 39],  # a repetition
        [*range(40), None],
        [i * 100 for i in range(40)],
        [f"case {i}" for i in range(40)],
        [i / 2 for i in range(40)],
        [dt.date(2026, 1, 1) + dt.timedelta(i) for i in range(40)],
        [True] * 40,
        [2**64 - 1, *range(40)],
    ],
)
def test_quantities_with_gaps_or_repetitions_number_nothing(values):
    array = pa.array(values, pa.uint64()) if 2**64 - 1 in values else pa.array(values)
    assert not rows_numbered(array)


def test_groups_are_numbered_by_design():
    table = pa.table({"group_id": range(50), "lower": range(50)})
    assert NoRowNumber().count(table) == 1
    assert NoRowNumber(("group_id", "lower")).holds(table)


def test_forbidden_names_are_compared_without_case():
    table = pa.table({"Straße": [1], "SSN": [2], "age": [3]})
    assert ForbiddenColumns(("ssn", "STRASSE", "name")).count(table) == 2
    assert not ForbiddenColumns(("Ssn",)).holds(table)
    assert ForbiddenColumns(("ag", "ages")).holds(table)


TABLE = pa.table(
    {"age": pa.array([30, None], pa.int16()), "fee": pa.array([Decimal("1.50"), Decimal(2)])}
)


@pytest.mark.parametrize(
    ("types", "differing"),
    [
        ({"age": pa.int16(), "fee": pa.decimal128(3, 2)}, 0),
        ({"age": pa.int64(), "fee": pa.decimal128(3, 2)}, 1),
        ({"age": pa.int16(), "fee": pa.float64()}, 1),
        ({"age": pa.int16()}, 1),
        ({"age": pa.int16(), "fee": pa.decimal128(3, 2), "sex": pa.string()}, 1),
    ],
)
def test_types_are_those_declared(types, differing):
    rule = ColumnTypes(tuple(types.items()))
    assert rule.count(TABLE) == differing
    assert rule.holds(TABLE) is (differing == 0)


def test_counts_names_and_nulls():
    assert RowCount(2).holds(TABLE)
    assert not RowCount(3).holds(TABLE)
    assert NotEmpty().holds(TABLE.slice(0, 1))
    assert not NotEmpty().holds(TABLE.slice(0, 0))
    assert OrderedColumns(("age", "fee")).holds(TABLE)
    assert not OrderedColumns(("fee", "age")).holds(TABLE)
    assert NotNull("fee").holds(TABLE)
    assert NotNull("age").count(TABLE) == 1
    with pytest.raises(PromiseError, match="'sex' is missing"):
        NotNull("sex").holds(TABLE)


def test_the_canonical_order_is_asked_of_whoever_knows_it():
    assert CanonicalOrder(lambda table: table.num_rows == 2).holds(TABLE)
    assert not CanonicalOrder(lambda _: None).holds(TABLE)


def test_everything_that_a_published_table_keeps():
    schema = pa.schema([("age", pa.int16()), pa.field("fee", pa.decimal128(3, 2), nullable=False)])
    rules = rules_of_published(schema, 2, lambda _: True, ["ssn"])
    assert all(rule.holds(TABLE) for rule in rules)
    assert [rule.column for rule in rules if isinstance(rule, NotNull)] == ["fee"]
    without = rules_of_published(schema, 2, lambda _: True)
    assert set(rules) - set(without) >= {ForbiddenColumns(("ssn",))}
