"""Several groupings at once, and one query after another: rows in one answer, in one order."""

import pytest

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.rewrite import rewrite
from tests.query.test_language_of_worlds import AllWorlds

APART = (
    "SELECT 'grown' AS who, COUNT(*) AS n FROM microdata WHERE age > 0 UNION ALL SELECT 'all', "
    "COUNT(*) FROM microdata{}"
)

MANY = f"SELECT COUNT(*) FROM microdata GROUP BY {', '.join(['CUBE (age, sex)'] * 9)}"


@pytest.fixture(scope="module")
def split_worlds():
    return AllWorlds("split", "independent", 3)


def rows_of(worlds_known, query):
    answer = answer_on(worlds_known.tables, worlds_known.declared, query)
    return answer, [tuple(row.values()) for row in answer.rows]


@pytest.mark.parametrize(
    ("groupings", "alone"),
    [
        ("ROLLUP (age, sex)", ["age, sex", "age", ""]),
        ("CUBE (age, sex)", ["age, sex", "age", "sex", ""]),
        ("GROUPING SETS ((sex, age), (), sex)", ["age, sex", "", "sex"]),
        ("sex, ROLLUP (age)", ["age, sex", "sex"]),
    ],
)
def test_groupings_have_the_rows_of_each_by_itself(split_worlds, groupings, alone):
    query = "SELECT age, sex, SUM(loss) AS s FROM microdata WHERE loss <> 1 GROUP BY "
    answer, rows_found = rows_of(split_worlds, query + groupings)
    expected, certain = [], []
    for names_of_grouping in alone:
        selection = ", ".join(
            name if name in names_of_grouping else f"NULL AS {name}" for name in ("age", "sex")
        )
        by_itself = query.replace("age, sex", selection).removesuffix(
            "" if names_of_grouping else " GROUP BY "
        )
        bounds, rows = rows_of(split_worlds, by_itself + names_of_grouping)
        expected += rows
        certain += bounds.certain
    assert rows_found == expected
    assert list(answer.certain) == certain


@pytest.mark.parametrize(
    ("order", "expected_values"),
    [
        ("", ["grown", "all"]),
        (" ORDER BY who", ["all", "grown"]),
        (" ORDER BY 2 DESC", ["all", "grown"]),
        (" ORDER BY n, who", ["grown", "all"]),
    ],
)
def test_rows_of_all_queries_are_in_one_order(split_worlds, order, expected_values):
    answer, rows_found = rows_of(split_worlds, APART.format(order))
    assert answer.columns == ("who", "n")
    assert [row[0] for row in rows_found] == expected_values
    assert not answer.by_estimate


def test_an_order_by_bounds_says_so(split_worlds):
    query = APART.replace("COUNT(*)", "AVG(loss)").format(" ORDER BY n")
    answer, _ = rows_of(split_worlds, query)
    assert answer.by_estimate


@pytest.mark.parametrize(
    ("query", "why"),
    [
        (APART.replace("'all'", "1").format(""), "column .who. has numbers and texts"),
        (APART.replace("'all'", "COUNT(loss)").format(""), "called|bounds and texts"),
        (APART.format(" LIMIT 1"), "LIMIT of a UNION ALL"),
        (APART.replace("UNION ALL", "ORDER BY 1 UNION ALL").format(""), "ORDER BY"),
        (MANY, "64"),
    ],
)
def test_what_has_no_one_answer_is_refused(split_worlds, query, why):
    with pytest.raises(QueryError, match=why):
        rows_of(split_worlds, query)


@pytest.mark.parametrize("query", [APART.format(""), "SELECT 1, COUNT(*) FROM microdata"])
def test_databases_are_not_given_them(split_worlds, query):
    with pytest.raises(QueryError, match=r"several questions|a constant"):
        rewrite(query, split_worlds.declared)
