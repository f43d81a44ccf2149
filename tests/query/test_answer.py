import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import InputError, QueryError
from sfumato.tasks.query.ask import answer, answer_on
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.inquiries.answer import document
from sfumato.tasks.query.inquiries.ordering import AnsweredRow, order_rows
from sfumato.tasks.query.question.formulas import Constant
from sfumato.tasks.query.question.inquiry import Inquiry
from tests.query.releases import write
from tests.query.worlds import CENSUS, aggregate, column, declare, with_help

PEOPLE = pa.table(
    {
        "age": [1, 2, 3, 4, 5, 6],
        "sex": ["m", "f", "m", None, "f", "m"],
        "loss": [54, 55, 56, 65, 70, 75],
        "group_id": [0, 0, 0, 1, 1, 1],
    }
)
TABLES = with_help(PEOPLE, "loss")


def ask(query, tables=TABLES, declared=CENSUS):
    return answer_on(tables, declared, query).rows


def test_averages_are_bounded_as_in_the_paper():
    (row,) = ask("SELECT AVG(loss) FROM microdata WHERE age BETWEEN 2 AND 4")
    assert row == {"avg(loss)": Bounds(Fraction(174, 3), Fraction(186, 3), Fraction(180, 3))}


def test_labels_are_aliases_or_the_text_in_lower_case():
    aggregates = "SUM(LOSS), Count(*), COUNT(Age), MAX(loss) AS Most"
    (row, *_) = ask(f'SELECT sex AS "S", {aggregates} FROM microdata GROUP BY SEX')
    assert list(row) == ["S", "sum(loss)", "count(*)", "count(age)", "Most"]


def test_rows_come_in_ascending_order_and_nulls_are_a_group():
    rows = ask("SELECT COUNT(*), sex FROM microdata GROUP BY sex")
    assert [(row["sex"], row["count(*)"].lower) for row in rows] == [("f", 2), ("m", 3), (None, 1)]
    assert list(rows[0]) == ["count(*)", "sex"]


def test_group_columns_need_not_be_shown():
    rows = ask("SELECT SUM(loss) FROM microdata GROUP BY sex, age")
    assert len(rows) == 6
    assert all(list(row) == ["sum(loss)"] for row in rows)


def test_no_rows_give_one_row_without_groups_and_none_with_them():
    query = (
        "SELECT COUNT(*), COUNT(loss), SUM(loss), AVG(loss), MIN(loss), MAX(loss) FROM microdata"
    )
    (row,) = ask(f"{query} WHERE age > 10")
    none, zero = Bounds(None, None, None), Bounds(0, 0, 0)
    assert list(row.values()) == [zero, zero, none, none, none, none]
    assert ask(f"{query} WHERE age > 10 GROUP BY sex") == ()


def test_an_empty_table_is_answered():
    tables = with_help(PEOPLE.slice(0, 0), "loss")
    (row,) = ask("SELECT COUNT(*), AVG(loss) FROM microdata", tables)
    assert list(row.values()) == [Bounds(0, 0, 0), Bounds(None, None, None)]


def test_estimates_are_expected_values():
    (row,) = ask(
        "SELECT SUM(loss), AVG(loss), MIN(loss), COUNT(*) FROM microdata WHERE age IN (1, 5, 6)"
    )
    expected = Fraction(54 + 55 + 56, 3) + 2 * Fraction(65 + 70 + 75, 3)
    assert [bounds.estimate for bounds in row.values()] == [expected, expected / 3, 55, 3]


def test_sums_beyond_64_bits_are_exact_integers():
    big = PEOPLE.set_column(2, "loss", pa.array([2**63 - 1] * 6))
    (row,) = ask("SELECT SUM(loss), AVG(loss), MAX(loss) FROM microdata", with_help(big, "loss"))
    total = 6 * (2**63 - 1)
    assert row["sum(loss)"] == Bounds(total, total, total)
    assert isinstance(row["sum(loss)"].lower, int)
    assert row["avg(loss)"].upper == 2**63 - 1
    assert row["max(loss)"].upper == 2**63 - 1
    (row,) = ask("SELECT SUM(loss) FROM microdata WHERE age = 1", with_help(big, "loss"))
    assert row["sum(loss)"].lower == 2**63 - 1


MIXED = declare(
    weight=column("quasi-identifier", "float"),
    price=column("quasi-identifier", "decimal"),
    f=column("sensitive", "float"),
    d=column("sensitive", "decimal"),
    day=column("sensitive", "date"),
    at=column("sensitive", "timestamp"),
    word=column("sensitive", "string"),
    flag=column("sensitive", "boolean"),
)
MIXED_TABLE = pa.table(
    {
        "weight": [0.1, 0.2, 0.3],
        "price": pa.array(
            [Decimal("1.50"), Decimal("2.00"), Decimal("-0.25")], pa.decimal128(38, 2)
        ),
        "f": [0.1, 0.2, 0.7],
        "d": pa.array([Decimal("0.10"), Decimal("0.20"), Decimal("1e20")], pa.decimal128(38, 2)),
        "day": [date(2020, 2, 28), date(2020, 2, 29), date(2020, 3, 1)],
        "at": pa.array(
            [datetime(2020, 1, 1, hour, 30, 0, 1, UTC).replace(tzinfo=None) for hour in (1, 2, 3)],
            pa.timestamp("us"),
        ),
        "word": ["b", "a", "ä"],
        "flag": [True, False, True],
        "group_id": [0, 0, 0],
    }
)
MIXED_TABLES = with_help(MIXED_TABLE, *MIXED.names_with_roles("sensitive"))


def test_floats_count_as_the_decimals_that_are_printed():
    query = "SELECT SUM(f), AVG(f), MIN(f), MAX(d), SUM(d) FROM microdata WHERE weight < 0.25"
    (row,) = ask(query, MIXED_TABLES, MIXED)
    assert row["sum(f)"] == Bounds(Decimal("0.3"), Decimal("0.9"), Fraction(2, 3))
    assert row["avg(f)"] == Bounds(Fraction(3, 20), Fraction(9, 20), Fraction(1, 3))
    assert row["min(f)"] == Bounds(Decimal("0.1"), Decimal("0.2"), Fraction(3, 20))
    assert row["max(d)"] == Bounds(Decimal("0.20"), Decimal("1e20"), Fraction(10**20 * 10 + 2, 20))
    assert row["sum(d)"].upper == Decimal("1e20") + Decimal("0.20")
    row_shown = document(answer_on(MIXED_TABLES, MIXED, query))["rows"][0]
    assert Fraction(row_shown["sum(f)"]["lower"]) <= Fraction(3, 10) <= Fraction(9, 10)
    assert Fraction(row_shown["sum(f)"]["upper"]) >= Fraction(9, 10)
    assert row_shown["avg(f)"] == {"lower": 0.15, "upper": 0.45, "estimate": 1 / 3}


def test_extremes_of_other_types_are_values_of_their_type():
    query = "SELECT MIN(day), MAX(at), MIN(word), MAX(flag) FROM microdata WHERE price > 0"
    (row,) = document(answer_on(MIXED_TABLES, MIXED, query))["rows"]
    assert row == {
        "min(day)": {"lower": "2020-02-28", "upper": "2020-02-29", "estimate": "2020-02-28"},
        "max(at)": {
            "lower": "2020-01-01T02:30:00.000001",
            "upper": "2020-01-01T03:30:00.000001",
            "estimate": "2020-01-01T03:00:00.000001",
        },
        "min(word)": {"lower": "a", "upper": "b", "estimate": None},
        "max(flag)": {"lower": True, "upper": True, "estimate": True},
    }


def test_group_columns_in_json_are_exact():
    rows = document(
        answer_on(
            MIXED_TABLES,
            MIXED,
            "SELECT price, weight, COUNT(*) FROM microdata GROUP BY price, weight",
        )
    )["rows"]
    assert [(row["price"], row["weight"]) for row in rows] == [
        ("-0.25", 0.3),
        ("1.50", 0.1),
        ("2.00", 0.2),
    ]


def test_document_is_the_contract():
    query = "SELECT sex, AVG(loss) FROM microdata WHERE sex = 'f' GROUP BY sex"
    assert json.loads(json.dumps(document(answer_on(TABLES, CENSUS, query)))) == {
        "form": "permuted",
        "guaranteed": True,
        "verified": True,
        "not_represented": {"nulls": 2, "suppressed": 1},
        "columns": ["sex", "avg(loss)"],
        "rows": [{"sex": "f", "avg(loss)": {"lower": 59.5, "upper": 65.5, "estimate": 62.5}}],
    }


def test_columns_may_be_called_as_the_rewriting_calls_its_own():
    columns = {name: [1, 2] for name in ("hits", "hits_", "selected", "size", "total", "whole")}
    columns |= {name: ["a", "b"] for name in ("l_sum", "microdata")}
    loss = 'lo"ss; --'
    declared = CENSUS.model_copy(
        update={
            "columns": {name: column("quasi-identifier", "string") for name in columns}
            | {"hits": column("quasi-identifier", "integer"), loss: column("sensitive", "integer")}
        }
    )
    tables = with_help(pa.table({**columns, loss: [10, 30], "group_id": [0, 0]}), loss)
    keys = ", ".join(columns)
    rows = ask(
        f'SELECT {keys}, AVG("lo""ss; --") AS mean FROM microdata WHERE hits > 0 GROUP BY {keys}',
        tables,
        declared,
    )
    assert [tuple(row.values())[:-1] for row in rows] == list(zip(*columns.values(), strict=True))
    assert rows[0]["mean"] == Bounds(Fraction(10), Fraction(30), Fraction(20))


LOSSES = declare(
    age=column("quasi-identifier", "integer"),
    sex=column("quasi-identifier", "string", nulls=True),
    loss=column("sensitive", "integer"),
)


def test_a_release_is_answered_from_its_files(tmp_path):
    directory = tmp_path / "year=2024" / "a [b]*"
    release = write(directory, PEOPLE.select(["age", "sex", "loss", "group_id"]), LOSSES)
    query = "SELECT sex, AVG(loss), COUNT(*) FROM microdata GROUP BY sex"
    assert answer(replace(release, verified=True), query) == answer_on(TABLES, LOSSES, query)
    assert not answer(release, query).guaranteed
    (directory / "sql" / "help_loss.parquet").unlink()
    assert len(answer(release, "SELECT COUNT(*) FROM microdata").rows) == 1
    with pytest.raises(InputError, match="no such file"):
        answer(release, query)


def test_what_the_database_cannot_evaluate_is_refused_without_its_message():
    with pytest.raises(QueryError, match=r"^the query could not be evaluated: [A-Za-z]+$"):
        ask("SELECT COUNT(*) FROM microdata WHERE age * 9223372036854775807 * 9 > 1")


@pytest.mark.parametrize("seed", range(5))
def test_bounds_contain_the_truth_on_larger_tables(seed):
    generator = np.random.default_rng(seed)
    rows = 3000
    group = np.sort(generator.integers(0, 400, rows))
    group = np.unique(group, return_inverse=True)[1]
    truth = generator.normal(0, 1000, rows).round(2)
    shuffled = truth[np.lexsort((generator.random(rows), group))]
    age, vip = generator.integers(17, 90, rows), generator.random(rows) < 0.3
    columns = {"age": age, "vip": vip, "loss": shuffled, "group_id": group}
    declared = declare(
        age=column("quasi-identifier", "integer"),
        vip=column("insensitive", "boolean"),
        loss=column("sensitive", "float"),
    )
    tables = with_help(pa.table(columns), "loss")
    exact = [Fraction(str(value)) for value in truth.tolist()]
    for _ in range(8):
        low, step = int(generator.integers(17, 90)), int(generator.integers(2, 5))
        where = f"age >= {low} AND (age % {step} = 1 OR NOT vip)"
        chosen = (age >= low) & ((age % step == 1) | ~vip)
        query = (
            f"SELECT vip, SUM(loss), AVG(loss), MIN(loss), MAX(loss) FROM microdata WHERE {where}"
        )
        for row in ask(f"{query} GROUP BY vip", tables, declared):
            values = [exact[i] for i in np.flatnonzero(chosen & (vip == row["vip"]))]
            for function in ("sum", "avg", "min", "max"):
                bounds = row[f"{function}(loss)"]
                total = sum(values)
                expected = {"sum": total, "avg": total / len(values)}.get(function)
                expected = aggregate(function, values) if expected is None else expected
                assert bounds.lower <= expected <= bounds.upper
                if bounds.estimate is not None:
                    assert bounds.lower <= bounds.estimate <= bounds.upper


SCRIPT = """
import sys
from pathlib import Path
from sfumato.tasks.query.inquiries.answer import document
from sfumato.tasks.query.ask import answer
from sfumato.tasks.query.rewrite import rewrite
from sfumato.tasks.terms.opened import Release
from tests.query.worlds import CENSUS

release = Release(Path(sys.argv[1]), CENSUS, {})
print(document(answer(release, "SELECT AVG(loss) FROM microdata"))["rows"])
grouped = "SELECT sex, MIN(loss), COUNT(*) FROM microdata WHERE age > 1"
for where in ("", " AND loss > 60"):
    answer(release, f"{grouped}{where} GROUP BY sex")
heavy = {"prefect", "great_expectations", "pandas", "numba", "matplotlib"}
sys.exit(", ".join(sorted(heavy & set(sys.modules))) or 0)
"""


def test_asking_starts_neither_prefect_nor_great_expectations_nor_pandas(tmp_path):
    write(tmp_path / "r", PEOPLE.select(["age", "sex", "loss", "group_id"]), LOSSES)
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "r")],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert ran.returncode == 0, ran.stderr
    assert "62.5" in ran.stdout


def test_what_is_no_number_comes_after_all_numbers():
    rows = [AnsweredRow((key,), {}, True) for key in (float("nan"), None, 1.0, -1.0)]
    ordered = order_rows(Inquiry((), (), (), Constant(Fraction(0)), (), None, ()), rows)
    assert [str(row.key[0]) for row in ordered.rows] == ["-1.0", "1.0", "nan", "None"]
