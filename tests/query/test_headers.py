"""Headers of an answer: aliases, names of columns, and texts as a reader typed them."""

import pytest

from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.inquiries.answer import with_headers
from sfumato.tasks.query.language.several import headers
from tests.query.test_answer import PEOPLE, TABLES
from tests.query.worlds import CENSUS, with_help


def ask(query):
    return with_headers(answer_on(TABLES, CENSUS, query))


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT Count( * ), SUM(LOSS) FROM microdata", ("Count( * )", "SUM(LOSS)")),
        ("SELECT SEX, COUNT(*) n FROM microdata GROUP BY sex", ("sex", "n")),
        ('SELECT AVG("loss")*2 AS "Twice" FROM microdata', ("Twice",)),
        ("SELECT avg(loss)*2, age/10 FROM microdata GROUP BY age/10", ("avg(loss)*2", "age/10")),
        (
            "SELECT sum(loss) /* costs, in all */ -- FROM a\n  + 1, MAX( loss )\nFROM microdata",
            ("sum(loss) + 1", "MAX( loss )"),
        ),
        ("SELECT 'a, b' , COUNT(*)FROM microdata", ("'a, b'", "COUNT(*)")),
        (
            "SELECT COUNT(*) FILTER (WHERE age > 2 and sex='m') FROM microdata",
            ("COUNT(*) FILTER (WHERE age > 2 and sex='m')",),
        ),
        (
            "WITH old AS (SELECT loss, age FROM microdata WHERE age > 2) SELECT MIN(loss) FROM old",
            ("MIN(loss)",),
        ),
        (
            "SELECT sex, COUNT(*) FROM microdata GROUP BY sex UNION ALL "
            "SELECT sex, SUM(loss) FROM microdata GROUP BY sex",
            ("sex", "COUNT(*)"),
        ),
        ("FROM microdata SELECT COUNT(*)", ("COUNT(*)",)),
        ("SELECT * FROM (SELECT sex, COUNT(*) FROM microdata GROUP BY sex)", ("sex", "count(*)")),
        ("SELECT DISTINCT sex FROM microdata", ("sex",)),
        (
            "SELECT age, rank() over (order by COUNT(*) desc) FROM microdata GROUP BY age",
            ("age", "rank() over (order by COUNT(*) desc)"),
        ),
        (
            "SELECT Avg(n), MAX( n ) FROM (SELECT age, COUNT(*) AS n FROM microdata GROUP BY age)",
            ("Avg(n)", "MAX( n )"),
        ),
    ],
)
def test_columns_are_called_by_alias_or_by_what_was_typed(query, columns):
    answer = ask(query)
    assert answer.columns == columns
    assert all(tuple(row) == columns for row in answer.rows)


def test_the_names_for_programs_stay_beside_the_headers():
    answer = answer_on(TABLES, CENSUS, "SELECT COUNT( * ) FROM microdata")
    assert (answer.columns, answer.headers) == (("count(*)",), ("COUNT( * )",))
    assert list(answer.rows[0]) == ["count(*)"]


def test_texts_that_would_be_one_header_leave_the_labels():
    labels = ("avg(age)", 'AVG("age")')
    assert headers(['AVG("age")', None], labels) == labels
    assert headers([], labels) == labels


class TestOrder:
    """Rows of GROUP BY come in ascending order, nulls last, unless ORDER BY says otherwise."""

    @pytest.mark.parametrize("columns", ["sex, age", "age, sex"])
    def test_groups_ascend_by_the_columns_of_group_by(self, columns):
        rows = ask(f"SELECT sex, age, COUNT(*) FROM microdata GROUP BY {columns}").rows
        names = columns.split(", ")
        keys = [tuple((row[n] is None, row[n] or 0) for n in names) for row in rows]
        assert keys == sorted(keys)
        assert {row["sex"] for row in rows} == {"f", "m", None}

    def test_the_order_of_the_published_rows_changes_nothing(self):
        query = "SELECT sex, SUM(loss) FROM microdata GROUP BY sex"
        turned = with_help(PEOPLE.take(list(range(5, -1, -1))), "loss")
        assert answer_on(turned, CENSUS, query).rows == answer_on(TABLES, CENSUS, query).rows

    def test_equal_keys_of_order_by_stay_in_ascending_order(self):
        rows = ask("SELECT age, COUNT(*) AS n FROM microdata GROUP BY age ORDER BY n DESC").rows
        assert [row["age"] for row in rows] == [1, 2, 3, 4, 5, 6]
        down = ask("SELECT sex, COUNT(*) FROM microdata GROUP BY sex ORDER BY sex DESC").rows
        assert [row["sex"] for row in down] == ["m", "f", None]
