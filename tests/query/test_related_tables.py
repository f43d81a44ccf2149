"""People and rows that questions hit: counted from codes as by SQL, whatever columns have."""

import datetime as dt
import random
from decimal import Decimal
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import parse_one

from sfumato.expectations.shared.errors import InputError, QueryError
from sfumato.tasks.query.engines.published_columns import NotDirectError
from sfumato.tasks.query.engines.related_tables import RelatedTables
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.sql.session import session

GROUPS = 9
PEOPLE_WHERE = [
    None,
    "age BETWEEN 20 AND 40",
    "sex = 'f' AND age > 30",
    "sex IS NULL OR NOT (age < 50)",
    "born >= DATE '1980-01-01'",
    "height > 1.75 OR height IS NULL",
    "age > number",  # compares columns: by SQL
    "sex = 'nobody'",
]
ROWS_WHERE = [None, "ward = 'icu'", "cost > 10.5", "ward IS NULL", "cost > extra", "ward = 'none'"]


def draw_tables(seed):
    """Tables of people and rows, some groups without either, with nulls and repeated values."""
    draw = random.Random(seed)
    groups = sorted(draw.choices(range(GROUPS), k=draw.randint(1, 60)))
    rows = sorted(draw.choices(range(GROUPS), k=draw.randint(0, 80)))
    people = pa.table(
        {
            GROUP_ID: pa.array(groups, pa.int32()),
            "age": pa.array([draw.choice([None, *range(18, 60)]) for _ in groups], pa.int64()),
            "sex": pa.array([draw.choice(["f", "m", None]) for _ in groups], pa.string()),
            "born": pa.array([dt.date(1960 + draw.randint(0, 40), 1, 1) for _ in groups]),
            "height": pa.array([draw.choice([None, 1.5, 1.75, 2.0]) for _ in groups], pa.float64()),
            "number": pa.array([draw.randint(0, 4) for _ in groups], pa.int64()),
        }
    )
    costs = [Decimal(draw.randint(-500, 5000)).scaleb(-2) for _ in range(9)]
    related = pa.table(
        {
            GROUP_ID: pa.array(rows, pa.int32()),
            "ward": pa.array([draw.choice(["icu", "north", None]) for _ in rows], pa.string()),
            "cost": pa.array([draw.choice([None, *costs]) for _ in rows], pa.decimal128(9, 2)),
            "extra": pa.array([draw.choice([None, 1.5, 20.0]) for _ in rows], pa.float64()),
            "broken": pa.array([draw.choice([1.0, float("nan")]) for _ in rows], pa.float64()),
        }
    )
    return {"people": people, "related": related}


@pytest.fixture(params=range(12))
def both(request):
    """The tables as codes answer, and as SQL does."""
    tables = draw_tables(request.param)
    with session(tables) as connection:
        yield [RelatedTables(connection, tables, "people", "related", GROUPS) for _ in range(2)]


def condition_of(text):
    return None if text is None else parse_one(text, dialect="duckdb")


def as_lists(cells):
    return {key: hits.tolist() for key, hits in cells.items()}


def test_people_by_cell(both):
    tables, _ = both
    cells = [(), ("sex",), ("sex", "born"), ("height",)]
    for where, number, group_by in product(PEOPLE_WHERE, [None, "number"], cells):
        arguments = group_by, condition_of(where), number
        by_sql = as_lists(tables._people_by_sql(*arguments))
        assert as_lists(tables.people_by_cell(*arguments)) == by_sql, arguments
        if where == "age > number":
            with pytest.raises(NotDirectError):
                tables._people_from_codes(*arguments)
        else:
            assert as_lists(tables._people_from_codes(*arguments)) == by_sql, arguments


def test_rows_in_groups(both, monkeypatch):
    by_codes, by_sql = both
    monkeypatch.setattr(by_sql._conditions, "rows", refuse)
    for where in filter(None, ROWS_WHERE):
        condition = condition_of(where)
        counted = by_sql.count_in_groups(condition, "related")
        assert counted.dtype == np.int64
        assert len(counted) == GROUPS
        for _ in range(2):  # it is kept
            assert np.array_equal(by_codes.count_in_groups(condition, "related"), counted)


def refuse(*_):
    raise NotDirectError


def test_values_are_in_order_of_group_and_size(both):
    tables, _ = both
    for where, name in product(ROWS_WHERE, ["cost", "extra"]):
        group, units, digits = tables.values(name, condition_of(where))
        others = tables._values_by_sql(name, condition_of(where))
        assert group.tolist() == others[0].tolist(), where
        scale, other_scale = 10 ** (6 - digits), 10 ** (6 - others[2])
        assert (units * scale).tolist() == (others[1] * other_scale).tolist(), where
        pairs = list(zip(group.tolist(), units.tolist(), strict=True))
        assert pairs == sorted(pairs)


def test_values_that_are_no_numbers_stop_only_questions_about_them():
    tables = draw_tables(3)
    tables["related"] = tables["related"].set_column(
        4,
        "broken",
        pa.array([1.0, float("nan")] * (len(tables["related"]) // 2 + 1))[: len(tables["related"])],
    )
    with session(tables) as connection:
        both = RelatedTables(connection, tables, "people", "related", GROUPS)
        _, units, _ = both.values("broken", condition_of("NOT isnan(broken)"))
        assert set(units.tolist()) == {1}
        with pytest.raises(InputError, match="not every value is a finite number"):
            both.values("broken", None)


def test_a_condition_that_cannot_be_evaluated_is_refused(both):
    tables, _ = both
    with pytest.raises(QueryError):
        tables.people_by_cell((), condition_of("CAST(sex AS INTEGER) > 1 OR age > number"), None)
