"""Bounds by shown numbers of rows in databases: the same as the engine's."""

from functools import cache
from random import Random

import pyarrow as pa
import pytest

from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.load import load
from sfumato.tasks.query.rewrite import rewrite
from sfumato.tasks.sql.target import target
from tests.numbers.clinic import NUMBER
from tests.query.asked import on_disk
from tests.query.dialect_laws import LOCAL, SERVERS, address, assert_same_rows
from tests.query.test_exact_in_databases import sides
from tests.query.test_two_tables import ASKED, EXACT_SUM, hospital, require_outward
from tests.query.worlds import column
from tests.related.drawn import HAS, JOIN, drawn_query

ROLES = {"shuffled": "sensitive", "published": "insensitive"}
OF_NUMBERS = (
    f"SELECT {NUMBER}, COUNT(*) FROM patients WHERE age > 30 GROUP BY {NUMBER}",
    f"SELECT {NUMBER}, COUNT(*), SUM(cost) {JOIN} WHERE diagnosis = 'flu' GROUP BY {NUMBER}",
    f"SELECT COUNT(*), COUNT(DISTINCT patient) {JOIN} WHERE {NUMBER} >= 2 AND cost > 3",
    f"SELECT sex, COUNT(*) FROM patients WHERE {NUMBER} > 1 AND {HAS.format('cost > 3')} "
    "GROUP BY sex",
)


def numbers_of(counts: pa.Table, random: Random) -> list[int]:
    """Numbers of rows of each person, of whom one has the most, in the order of groups."""
    numbers = []
    for group in counts.to_pylist():
        each = [0] * group["people"]
        each[random.randrange(len(each))] = group["most_rows"]
        for _ in range(group["related_rows"] - group["most_rows"]):
            fewer = [p for p, number in enumerate(each) if number < group["most_rows"]]
            each[random.choice(fewer)] += 1
        numbers += each
    return numbers


@cache
def with_numbers(kind: str, cost: str):
    """The declaration and tables of a hospital that shows numbers of stays."""
    declared, tables = hospital(cost)
    nulls = kind == "shuffled"  # so that no help table is needed
    number = column(ROLES[kind], "integer", derive="COUNT(*)", nulls=nulls)
    columns = {**declared.columns, NUMBER: number}
    numbers = numbers_of(tables["group_counts"], Random(3))
    patients = tables["patients"].add_column(0, NUMBER, pa.array(numbers, pa.int64()))
    return (
        declared.model_copy(update={"columns": columns, "promises": ()}),
        {**tables, "patients": patients},
    )


@cache
def questions_of(kind: str, cost: str, many: int):
    """Queries as they are rewritten, and the engine's answers."""
    declared, tables = with_numbers(kind, cost)
    random = Random(f"numbers of {cost}")
    own = OF_NUMBERS if kind == "published" else ()
    exact = [EXACT_SUM] if cost != "float" else []
    queries = dict.fromkeys([*own, *exact, *ASKED, *(drawn_query(random) for _ in range(many))])
    return [
        (query, rewrite(query, declared), answer_on(tables, declared, query)) for query in queries
    ]


@pytest.mark.parametrize("cost", ["integer", "decimal"])
@pytest.mark.parametrize("kind", ROLES)
@pytest.mark.parametrize("database", [*LOCAL, *SERVERS])
def test_databases_give_the_bounds_of_the_engine(database, kind, cost, tmp_path):
    declared, tables = with_numbers(kind, cost)
    url = address(database, tmp_path)
    load(on_disk(tmp_path / "release", tables, declared), url, replace=True)
    compared = 0
    with target(url) as opened:
        for query, rewritten, answer in questions_of(kind, cost, 70)[:55]:
            rows = opened.execute(rewritten.sql(database))
            assert_same_rows(rows, sides(answer), query)
            compared += require_outward(rows, answer, query)
    assert compared > 60


@pytest.mark.parametrize("kind", ROLES)
def test_shown_numbers_narrow_bounds(kind):
    """No bound is wider than without numbers, and many are narrower."""
    without, fewer = hospital("integer")
    narrower = 0
    for query, _, answer in questions_of(kind, "integer", 70):
        if query in OF_NUMBERS:
            continue
        before = answer_on(fewer, without, query)
        if len(before.rows) != len(answer.rows):
            continue  # a row that has no people any more
        for row, wider in zip(sides(answer), sides(before), strict=True):
            (low, high), (least, most) = row[-2:], wider[-2:]
            if isinstance(low, int) and isinstance(least, int):
                assert least <= low <= high <= most, query
                narrower += (least, most) != (low, high)
    assert narrower > 15
