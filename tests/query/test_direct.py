"""Answers from codes and group ids are those of SQL over the help tables."""

import itertools
import os
import random
from collections import Counter
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.shared.arrow import as_indices
from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.ask import ask, engine
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.engines import (
    cells,
    counted,
    group_values,
    published_columns,
    release_tables,
)
from sfumato.tasks.query.engines.cells import SelectedRows, hits_of
from sfumato.tasks.query.engines.group_values import (
    RowsOfValues,
    matching_values,
    product,
    sums_by,
    units_of,
)
from sfumato.tasks.query.engines.published_columns import (
    CodedValues,
    GroupsByValue,
    NotDirectError,
    PublishedColumns,
)
from sfumato.tasks.query.engines.release_tables import DeferredLoop, count_groups
from sfumato.tasks.query.engines.rows import RowsEngine
from sfumato.tasks.query.sql.single import read_question
from sfumato.tasks.sql.session import session
from tests.query.asked import FORMS, Queries, declare, in_form, microdata
from tests.query.composed import as_composed, publish_composed
from tests.query.worlds import column, with_help
from tests.query.worlds import declare as plain

EACH = {"quick": 3, "dev": 5, "ci": 25, "deep": 500}[os.environ.get("HYPOTHESIS_PROFILE", "dev")]


@contextmanager
def counted_sql():
    """Count how often SQL answers."""
    ways = RowsEngine._bounds_by_help, RowsEngine._bounds_by_values
    with ExitStack() as stack:
        watched = [
            stack.enter_context(
                patch.object(RowsEngine, way.__name__, autospec=True, side_effect=way)
            )
            for way in ways
        ]
        yield lambda: sum(way.call_count for way in watched)


def typed_value(value):
    """A value of an answer with its type; of bounds all but the estimate."""
    if not isinstance(value, Bounds):
        return type(value), repr(value)
    return *typed_value(value.lower), *typed_value(value.upper), value.may_be_empty


def assert_same_answers(answer, expected, sql):
    assert answer.certain == expected.certain, sql
    assert len(answer.rows) == len(expected.rows), sql
    for row, other in zip(answer.rows, expected.rows, strict=True):
        assert {n: typed_value(v) for n, v in row.items()} == {
            n: typed_value(v) for n, v in other.items()
        }, sql
        for name, value in row.items():
            first, second = (getattr(cell, "estimate", None) for cell in (value, other[name]))
            if isinstance(second, int | Fraction | Decimal):
                first, second = float(first), pytest.approx(float(second), rel=1e-9, abs=1e-9)
            assert first == second, sql


def release(form, sensitive, with_leavers):
    """A release with every type and hard values, in which some people have left or nobody has."""
    rng = random.Random(f"{form} {sensitive} {with_leavers}")
    table, declared = microdata(rng), declare(form, sensitive)
    if not with_leavers:
        return declared, in_form(table, declared)
    group = table["group_id"].to_pylist()
    first = {number: group.index(number) for number in group}
    kind = [
        int(place != first[number] and rng.random() < 0.3) for place, number in enumerate(group)
    ]
    columns = {name: table[name].to_pylist() for name in declared.columns}
    return as_composed(declared), publish_composed(as_composed(declared), columns, group, kind)


@pytest.mark.parametrize("with_leavers", [False, True], ids=["nobody left", "some left"])
@pytest.mark.parametrize(("form", "sensitive"), FORMS)
def test_random_questions_are_answered_as_sql_answers_them(form, sensitive, with_leavers):
    declared, tables = release(form, sensitive, with_leavers)
    rng = random.Random(f"direct {form} {sensitive} {with_leavers}")
    answered = 0
    with session(tables) as connection, engine(tables, declared) as asking:
        by_sql = RowsEngine(connection, declared)
        with (
            patch.object(counted, "_AT_ONCE", 7),
            patch.object(counted, "_FEW_BINS", rng.choice([0, 1 << 16])),
            patch.object(cells, "_FEW", 5),
            patch.object(cells, "_BLOCK", rng.choice([0, 1, 8])),
            patch.object(cells, "_NEAR", rng.choice([0, 1 << 21])),
            patch.object(cells, "_LOOKED_AT", rng.choice([0, 16])),
            patch.object(release_tables, "_WORTH_LOADING", rng.choice([0, 10**9])),
            patch.object(release_tables, "_compile", lambda: count_groups),
            patch.object(group_values, "_LONGEST", 1 if form == "split" else 1 << 40),
            counted_sql() as sql_asked,
        ):
            for _ in range(EACH):
                sql, _ = Queries(rng, sensitive == "together").query()
                question = read_question(sql, declared)
                try:
                    answer = ask(asking, declared, question)
                except QueryError:  # a remainder of a division by zero
                    with pytest.raises(QueryError):
                        ask(by_sql, declared, question)
                    continue
                assert_same_answers(answer, ask(by_sql, declared, question), sql)
                answered += 1
    assert sql_asked() < 2 * answered  # codes answer some


AGAIN = (
    "SELECT COUNT(*), AVG(loss) FROM microdata WHERE loss > {at}",
    "SELECT COUNT(*), SUM(loss) FROM microdata WHERE loss IN ({at}, 3) AND age > 1",
    "SELECT MIN(loss), MAX(loss) FROM microdata WHERE loss < {at} AND age = 3",
    "SELECT SUM(gain), COUNT(*) FROM microdata WHERE loss > {at}",
    "SELECT SUM(gain), MIN(loss) FROM microdata WHERE loss > {at} AND age < 6",
    "SELECT Sex, COUNT(*), AVG(loss) FROM microdata WHERE loss > {at} AND flag GROUP BY Sex",
    "SELECT COUNT(*), MAX(gain) FROM microdata WHERE loss > {at} AND gain > 0 AND age > 0",
    "SELECT COUNT(*), MAX(loss) FROM microdata WHERE loss > {at} AND gain > 0 AND age > 0",
    "SELECT COUNT(*), MAX(seen) FROM microdata WHERE loss > 100 AND age > 0",
)
OF_NULLS = (
    "SELECT COUNT(*) FROM microdata WHERE loss IS NULL AND age > 1",
    "SELECT SUM(loss) FROM microdata WHERE (loss IS NULL OR loss > 0) AND age > -2",
    "SELECT COUNT(*) FROM microdata WHERE loss > 0 OR loss IS NULL",
)


def is_bounds(value):
    return isinstance(value, Bounds)


@pytest.mark.parametrize("worth", [0, 10**9], ids=["compiled", "as it is"])
@pytest.mark.parametrize("with_leavers", [False, True], ids=["nobody left", "some left"])
@pytest.mark.parametrize(("form", "sensitive"), FORMS)
def test_columns_that_are_asked_about_again_are_answered_as_sql_answers(
    form, sensitive, with_leavers, worth
):
    declared, tables = release(form, sensitive, with_leavers)
    with (
        session(tables) as connection,
        engine(tables, declared) as asking,
        patch.object(release_tables, "_WORTH_LOADING", worth),
    ):
        by_sql = RowsEngine(connection, declared)
        for sql in (text.format(at=number) for number in (-2, 1) for text in AGAIN):
            question = read_question(sql, declared)
            with counted_sql() as sql_calls:
                answer = ask(asking, declared, question)
            assert not sql_calls(), sql
            assert_same_answers(answer, ask(by_sql, declared, question), sql)
            bare = ask(asking, declared, question, estimates=False).rows
            assert all(
                bounds.estimate is None
                for row in bare
                for bounds in row.values()
                if is_bounds(bounds)
            )


@pytest.mark.parametrize("worth", [0, 10**9], ids=["compiled", "as it is"])
@pytest.mark.parametrize(("form", "sensitive"), FORMS)
def test_nulls_that_are_asked_about_again_are_answered_as_sql_answers(form, sensitive, worth):
    declared = declare(form, sensitive, missing=True)
    tables = in_form(microdata(random.Random(form), missing=True), declared)
    with (
        session(tables) as connection,
        engine(tables, declared) as asking,
        patch.object(release_tables, "_WORTH_LOADING", worth),
    ):
        by_sql = RowsEngine(connection, declared)
        for sql in OF_NULLS * 2:
            question = read_question(sql, declared)
            answer = ask(asking, declared, question)
            assert_same_answers(answer, ask(by_sql, declared, question), sql)


@pytest.mark.parametrize(("form", "sensitive"), FORMS)
def test_nothing_is_answered_as_sql_answers_it(form, sensitive):
    declared = declare(form, sensitive)
    tables = in_form(microdata(random.Random(0)).slice(0, 0), declared)
    with session(tables) as connection, engine(tables, declared) as asking:
        for where, group_by in itertools.product(("TRUE", "age > 0 AND loss > 0"), ("", "Sex, f")):
            sql = f"SELECT COUNT(*), SUM(loss), MIN(gain) FROM microdata WHERE {where}"
            question = read_question(f"{sql} {group_by and 'GROUP BY '}{group_by}", declared)
            with counted_sql() as sql_calls:
                answer = ask(asking, declared, question)
            assert not sql_calls(), sql
            assert_same_answers(
                answer, ask(RowsEngine(connection, declared), declared, question), sql
            )


HARD = {
    "floats": pa.array([0.0, -0.0, float("nan"), 1.0], pa.float64()),
    "far": pa.array([-(2**63), 2**63 - 1, 0, None], pa.int64()),
    "near": pa.array([2**62, 2**62 + 1, 2**62 + 9, 2**62 + 1], pa.int64()),
}


@pytest.mark.parametrize("name", HARD)
def test_hard_values_are_answered_as_sql_answers_them(name):
    table = pa.table({name: HARD[name], "loss": [1, 2, 2, 3], "group_id": [0, 0, 1, 1]})
    type_ = "float" if name == "floats" else "integer"
    declared = plain(
        **{name: column("quasi-identifier", type_, nulls=True)}, loss=column("sensitive", "integer")
    )
    tables = with_help(table, "loss")
    with session(tables) as connection, engine(tables, declared) as asking:
        for where in ("TRUE", f"{name} > 0", f"NOT {name} <= 0 OR {name} IS NULL"):
            sql = f"SELECT {name}, SUM(loss) FROM microdata WHERE {where} GROUP BY {name}"
            question = read_question(sql, declared)
            expected = ask(RowsEngine(connection, declared), declared, question)
            with counted_sql() as sql_calls:
                assert_same_answers(ask(asking, declared, question), expected, sql)
            assert sql_calls() == (name == "floats")


@pytest.mark.parametrize("most", [1, 10**15, 10**30])
@pytest.mark.parametrize(("type_", "scale"), [("integer", 0), ("decimal", 0), ("decimal", 3)])
def test_sums_have_the_types_that_sql_gives_them(type_, scale, most):
    if type_ == "integer":
        most = min(most, 2**62)
    values = [Decimal(factor * most) for factor in (1, -1, 1, 0)]
    declared = plain(
        age=column("quasi-identifier", "integer"), loss=column("sensitive", type_, scale=scale)
    )
    losses = pa.array(values, pa.decimal128(38, scale)).cast(declared.columns["loss"].arrow_type)
    table = pa.table({"age": [1, 2, 2, 3], "loss": losses, "group_id": [0, 0, 0, 1]})
    sql = "SELECT SUM(loss), AVG(loss), MIN(loss), MAX(loss) FROM microdata WHERE age < 3"
    question = read_question(sql, declared)
    tables = with_help(table, "loss")
    with session(tables) as connection, engine(tables, declared) as asking:
        expected = ask(RowsEngine(connection, declared), declared, question)
        with counted_sql() as sql_calls:
            assert_same_answers(ask(asking, declared, question), expected, sql)
        assert not sql_calls()


def test_files_in_another_order_are_left_to_sql():
    declared = declare("permuted", "independent")
    tables = in_form(microdata(random.Random(1)), declared)
    tables["help_loss"] = tables["help_loss"].take(pa.array(range(len(tables["help_loss"])))[::-1])
    with engine(tables, declared) as asking, counted_sql() as sql_calls:
        ask(asking, declared, read_question("SELECT COUNT(*) FROM microdata", declared))
        assert not sql_calls()
        ask(asking, declared, read_question("SELECT SUM(loss) FROM microdata", declared))
        assert sql_calls() == 1


SUMS = st.lists(st.tuples(st.integers(0, 3), st.integers(-(2**70), 2**70)), max_size=20)


@given(SUMS, st.sampled_from([1, 2**10, 2**40, 2**62]))
def test_sums_are_exact(terms, most):
    terms = [(key, number % most) for key, number in terms]
    units = np.array([number for _, number in terms], dtype=np.int64)
    key = np.array([cell for cell, _ in terms], dtype=np.int64)
    expected = [sum(number for cell, number in terms if cell == cell_) for cell_ in range(4)]
    assert sums_by(key, 4, units).tolist() == expected
    assert sums_by(key, 4, units.astype(object) * 2**30).tolist() == [n * 2**30 for n in expected]
    assert product(units, key).tolist() == [number * cell for cell, number in terms]
    wide = pa.array([Decimal(number * most) for _, number in terms], pa.decimal128(38, 0))
    assert units_of(wide).units.tolist() == [number * most for _, number in terms]


ROWS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2), st.integers(0, 4)), max_size=30)


def counted_cells(rows):
    """Count the rows of each cell and group."""
    return dict(Counter((cell, group) for group, cell, _ in rows))


@given(ROWS, st.sampled_from([0, 1 << 21]), st.integers(0, 5), st.booleans())
def test_hits_are_counted_in_runs_of_cells(rows, near, block, in_cells):
    groups = 1 + max((group for group, _, _ in rows), default=-1)
    rows = [(group, cell if in_cells else 0, code) for group, cell, code in rows]
    group, cell = (np.array([row[place] for row in rows], np.int64) for place in (0, 1))
    keys = [(n,) for n in range(3 if in_cells else 1)]
    selected = SelectedRows(group, cell.astype(np.uint8) if in_cells else None, keys)
    with patch.object(cells, "_NEAR", near), patch.object(cells, "_BLOCK", block):
        hits = hits_of(selected, groups)
    pairs_found = zip(hits.cell.tolist(), hits.group.tolist(), strict=True)
    assert dict(zip(pairs_found, hits.hits.tolist(), strict=True)) == counted_cells(rows)
    some = hits.where(hits.group % 2 == 0)
    of_cells = [
        sum(n for (c, g), n in counted_cells(rows).items() if c == cell and g % 2 == 0)
        for cell in range(some.cells)
    ]
    assert some.reduce_by_cell(np.add, some.hits, 0).tolist() == of_cells
    assert some.sums(some.hits, 2**62).tolist() == of_cells
    assert set(some.cell.tolist()) == {c for c, g in counted_cells(rows) if g % 2 == 0}


@given(ROWS, st.sets(st.integers(0, 4)))
def test_rows_are_found_by_their_values(rows, codes_wanted):
    group, code = (np.array([row[place] for row in rows], np.int64) for place in (0, 2))
    column = CodedValues(code.astype(np.uint8), pa.array(range(5)))
    groups_by_value = GroupsByValue(column, group, 10)
    groups_found = groups_by_value.groups_with(
        np.array([code in codes_wanted for code in range(5)])
    )
    expected = sorted((code, g) for g, _, code in rows if code in codes_wanted)
    assert list(zip(groups_found[1].tolist(), groups_found[0].tolist(), strict=True)) == expected


@given(ROWS)
def test_values_of_groups_stand_in_order(rows):
    group, code = (np.array([row[place] for row in rows], np.int64) for place in (0, 2))
    matching = matching_values(RowsOfValues("loss", group, code), "loss", 5, 10)
    times = np.ones(len(matching.code), int) if matching.times is None else matching.times
    pairs_found = zip(*(array.tolist() for array in (matching.group, matching.code)), strict=True)
    pairs = [
        pair
        for pair, number in zip(pairs_found, times.tolist(), strict=True)
        for _ in range(number)
    ]
    assert pairs == sorted((g, code) for g, _, code in rows)
    assert matching.number.tolist() == [sum(g == n for g, _, _ in rows) for n in range(10)]
    for place, (g, code_found) in enumerate(zip(matching.group, matching.code, strict=True)):
        before = matching.code[matching.start[g] : place]
        assert (before <= code_found).all()
        assert matching.below[place] == times[matching.start[g] : place].sum()


@pytest.mark.parametrize("can_compile", [True, False])
def test_a_loop_is_loaded_after_as_much_was_counted_without_it(can_compile):
    loop = DeferredLoop()
    with (
        patch.object(release_tables, "_WORTH_LOADING", 10),
        patch.object(release_tables, "_compile", lambda: count_groups),
        patch.object(release_tables, "can_compile", lambda: can_compile),
    ):
        later = count_groups if can_compile else None
        assert [loop.loop_after(number) for number in (5, 5, 1, 1)] == [None, None, later, later]


FEW = [10**12 + place % 7 * 10**9 for place in range(300)]
MANY = [10**12 + place * 10**9 for place in range(300)]


def stored_columns(values, type_, path):
    """The columns of a table in memory, and of a file of several parts."""
    table = pa.table({"of": pa.array(values, pa.int64()).cast(type_)})
    pq.write_table(table, path, row_group_size=100)
    return PublishedColumns(table), PublishedColumns(path), PublishedColumns(path, table)


@pytest.mark.parametrize("type_", [pa.int64(), pa.string(), pa.float64()], ids=str)
def test_columns_with_few_values_are_coded(type_, tmp_path):
    with patch.object(published_columns, "_SAMPLE", 16):
        for columns in stored_columns([*FEW, None], type_, tmp_path / "few.parquet"):
            coded, column = (
                columns.coded_column("of"),
                columns.read("of").cast(type_).combine_chunks(),
            )
            assert coded.codes.dtype == np.uint8
            assert coded.values.take(as_indices(coded.codes.astype(np.int32))).equals(column)
            *values_coded, null = coded.values.to_pylist()
            assert (values_coded, null) == (sorted(set(column.drop_null().to_pylist())), None)
        for columns in stored_columns(MANY, type_, tmp_path / "many.parquet")[:2]:
            with pytest.raises(NotDirectError):
                columns.coded_column("of")
