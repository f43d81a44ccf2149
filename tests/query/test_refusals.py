"""Queries that may not be asked: a refusal is one line that tells nothing of the data."""

import pytest

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.language.several import read_inquiries
from sfumato.tasks.query.rewrite import rewrite
from tests.query.worlds import CENSUS

REFUSED = [
    ("SELECT * FROM microdata", "SELECT *"),
    ("FROM microdata", "SELECT *"),
    ("SELECT microdata.* FROM microdata", "SELECT *"),
    ("SELECT COLUMNS('a') FROM microdata", "COLUMNS"),
    ("SELECT age FROM microdata", "not in GROUP BY"),
    ("SELECT age, COUNT(*) FROM microdata", "not in GROUP BY"),
    ("SELECT 1 FROM microdata", "LITERAL"),
    ("SELECT loss FROM microdata", "column 'loss' is sensitive"),
    ("SELECT COUNT(*) FROM microdata WHERE loss > age", "does not show who has which value"),
    (
        'SELECT COUNT(*) FROM microdata WHERE loss > "capital-loss"',
        "does not show which of their values belong together",
    ),
    ("SELECT COUNT(*) FROM microdata HAVING MAX(loss) > 'a'", "cannot be compared"),
    ("SELECT COUNT(*) FROM microdata HAVING MIN(seen) > 3", "cannot be compared"),
    (
        "SELECT COUNT(*) FROM microdata HAVING MIN(seen) > TIMESTAMP '2020-01-01'",
        "cannot be compared",
    ),
    ("SELECT COUNT(*) FROM microdata HAVING COUNT(*) > DATE '2020-01-01'", "cannot be compared"),
    ("SELECT COUNT(*) FROM microdata HAVING age > 3", "must be in GROUP BY or in an aggregate"),
    ("SELECT SUM(seen) FROM microdata", "SUM needs numbers"),
    ("SELECT AVG(word) FROM microdata", "AVG needs numbers"),
    ("SELECT COUNT(income) FROM microdata", "unknown column 'income'"),
    ("SELECT COUNT(*) FROM microdata WHERE income = 1", "unknown column 'income'"),
    ("SELECT COUNT(*) FROM microdata GROUP BY income", "unknown column 'income'"),
    ("SELECT COUNT(*) FROM microdata WHERE group_id = 1", "unknown column 'group_id'"),
    ("SELECT COUNT(DISTINCT loss, age) FROM microdata", "DISTINCT"),
    ("SELECT SUM(DISTINCT loss) FROM microdata", "DISTINCT"),
    ("SELECT DISTINCT COUNT(*) FROM microdata", "DISTINCT"),
    ("SELECT COUNT(*) FROM microdata HAVING COUNT(*) > (SELECT 1)", "FROM is missing"),
    ("SELECT COUNT(*) FROM microdata QUALIFY TRUE", "QUALIFY"),
    ("SELECT COUNT(*) FROM microdata WINDOW w AS ()", "WINDOW"),
    ("SELECT SUM(loss) OVER () FROM microdata", "WINDOW"),
    (
        "SELECT age, n FROM (SELECT age, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*)) AS r FROM "
        "microdata GROUP BY age) WHERE r <= 3",
        "a WINDOW function",
    ),
    ("SELECT MAX(loss ORDER BY age) FROM microdata", "ORDER"),
    ("SELECT MIN(loss, 2) FROM microdata", "MIN"),
    ("SELECT COUNT() FROM microdata", "needs a column"),
    ("SELECT COUNT(* EXCLUDE (age)) FROM microdata", "EXCEPT"),
    ("SELECT SUM(loss)::INT FROM microdata", "a calculation with aggregates"),
    ("SELECT MEDIAN(loss) FROM microdata", "cannot be written in SQL"),
    ("SELECT MY_SUM(loss) FROM microdata", "unknown function"),
    ("SELECT COUNT(*) FROM microdata GROUP BY 1", "GROUP BY needs columns"),
    (
        "SELECT age, COUNT(*) FROM microdata GROUP BY ROLLUP (age) LIMIT 3",
        "LIMIT is not possible with several",
    ),
    (
        "SELECT COALESCE(age, 0), COUNT(*) FROM microdata GROUP BY ROLLUP (age)",
        "column 'age' is in GROUP BY, but not the calculation with it",
    ),
    (
        "SELECT age, COUNT(*) FROM microdata GROUP BY ROLLUP (age) HAVING age > 3",
        "HAVING: column 'age' is null in the rows of groupings that leave it out",
    ),
    ("SELECT age, GROUPING(age), COUNT(*) FROM microdata GROUP BY ROLLUP (age)", "GROUPING"),
    (
        "SELECT age, COUNT(*) / SUM(COUNT(*)) OVER () FROM microdata GROUP BY ROLLUP (age)",
        "with several groupings",
    ),
    (
        "SELECT age FROM microdata GROUP BY CUBE (age, sex) ORDER BY sex",
        "needs columns that SELECT shows",
    ),
    ("SELECT COUNT(*) FROM microdata UNION ALL SELECT 1, COUNT(*) FROM microdata", "as many"),
    (
        "SELECT COUNT(*) AS n FROM microdata UNION ALL SELECT COUNT(*) FROM microdata ORDER BY m",
        "its first SELECT shows",
    ),
    ("SELECT COUNT(*) FROM microdata INTERSECT SELECT COUNT(*) FROM microdata", "INTERSECT"),
    ("SELECT COUNT(*)", "FROM is missing"),
    ("SELECT COUNT(*) FROM help_loss", "write FROM microdata"),
    ("SELECT COUNT(*) FROM main.microdata", "DB"),
    ("SELECT COUNT(*) FROM microdata TABLESAMPLE 10%", "SAMPLE"),
    ("SELECT COUNT(*) FROM microdata, help_loss", "no table of your own"),
    ("SELECT COUNT(*) FROM microdata JOIN help_loss USING (group_id)", "no table of your own"),
    ("SELECT COUNT(*) FROM microdata NATURAL JOIN microdata", "a join"),
    ("SELECT COUNT(*) FROM microdata WHERE age = (SELECT 1)", "SUBQUERY"),
    ("SELECT COUNT(*) FROM microdata WHERE EXISTS (FROM microdata)", "EXISTS"),
    ("SELECT (SELECT COUNT(*) FROM microdata)", "FROM is missing. To compare, use one SELECT"),
    ("WITH microdata AS (SELECT 1) SELECT COUNT(*) FROM microdata", "FROM is missing"),
    ("SELECT COUNT(*) FROM microdata UNION SELECT COUNT(*) FROM microdata", "UNION"),
    ("SELECT COUNT(*) FROM microdata EXCEPT SELECT 1", "EXCEPT"),
    ("SELECT COUNT(*) FROM microdata; SELECT 1", "write one statement only"),
    ("SELECT COUNT(*) FROM microdata; DROP VIEW microdata", "syntax error"),
    ("SELECT COUNT(*) INTO t FROM microdata", "INTO"),
    ("SELECT COUNT(*) FROM microdata FOR UPDATE", "FOR UPDATE"),
    ("SELECT COUNT(*) FROM read_parquet('data/microdata.parquet')", "FROM names another table"),
    ("SELECT COUNT(*) FROM 'data/microdata.parquet'", "FROM names another table"),
    ("SELECT COUNT(*) FROM read_text('/etc/passwd')", "table"),
    ("SELECT read_text('/etc/passwd') FROM microdata", "function"),
    ("COPY microdata TO 'out.csv'", "syntax error"),
    ("ATTACH 'other.db'", "syntax error"),
    ("PRAGMA database_list", "syntax error"),
    ("INSTALL httpfs", "syntax error"),
    ("SET threads = 1", "syntax error"),
    ("DELETE FROM microdata", "syntax error"),
    ("DESCRIBE microdata", "not allowed"),
    ("VALUES (1)", "VALUES"),
    ("SELECT COUNT(*) FROM microdata WHERE", "syntax error|nothing"),
    ("SELEC COUNT(*) FROM microdata", "syntax error"),
    ("", "nothing is written"),
    ("SELECT COUNT(*) AS a, SUM(loss) AS A FROM microdata", "called 'a'"),
    ("SELECT SUM(loss), SUM(loss) FROM microdata", "called 'sum(loss)'"),
    ('SELECT age AS "x_lower", SUM(loss) AS x FROM microdata GROUP BY age', "called 'x_lower'"),
    (f"SELECT COUNT(*) FROM microdata WHERE age IN ({'1,' * 1000}1)", "1,000 constants"),
    (f"SELECT COUNT(*) FROM microdata WHERE {'(' * 9000}vip{')' * 9000}", "nested too deep"),
    (f"SELECT {'(' * 9000}COUNT(*){')' * 9000} FROM microdata", "nested too deep"),
    (f"SELECT COUNT(*) FROM {'(SELECT * FROM ' * 3000}microdata{')' * 3000}", "nested too deep"),
    (f"SELECT {'COUNT(*), ' * 12000} COUNT(*) FROM microdata", "100,000 characters"),
    ('SELECT COUNT(*) FROM microdata WHERE "а\ng\u202ee" = 1', r"\u202e"),
    ("SELECT COUNT(*) FROM microdata WHERE ag\u0435 = 1", "unknown column"),
]

NOT_WRITTEN = [
    ("SELECT loss, COUNT(*) FROM microdata GROUP BY loss", "GROUP BY of a sensitive column"),
    ("SELECT AVG(loss) FROM microdata WHERE loss > 5 OR age > 2", "AVG where OR joins conditions"),
    ("SELECT COUNT(*) FROM microdata HAVING COUNT(*) > SUM(loss)", "a calculation with aggregates"),
    ("SELECT VARIANCE(loss) FROM microdata WHERE age = 1 OR loss = 5", "a calculation with aggre"),
    (
        "SELECT SUM(age) FROM microdata WHERE loss > 1",
        "an exact aggregate together with conditions",
    ),
    ("SELECT MEDIAN(age) FROM microdata", "MEDIAN/PERCENTILE_CONT of a column published as it is"),
    ("SELECT COUNT(*) FROM microdata ORDER BY 1", "ORDER BY of columns that have bounds"),
    ("SELECT COUNT(*) FROM microdata OFFSET 1", "OFFSET without LIMIT"),
    ("SELECT MIN(MIN(age)) OVER () FROM microdata GROUP BY vip", "exact aggregate of all rows"),
    ("SELECT SUM(loss + 1) FROM microdata", "a calculation with sensitive values"),
    ("SELECT COUNT(*) FROM microdata GROUP BY UPPER(sex)", "a calculation with the function UPPER"),
]


@pytest.mark.parametrize(("query", "why"), NOT_WRITTEN, ids=range(len(NOT_WRITTEN)))
def test_what_is_more_than_one_question_is_not_rewritten(query, why):
    assert read_inquiries(query, CENSUS).inquiries[0].formulas
    with pytest.raises(
        QueryError, match=f"^the query cannot be written in SQL for databases, .*{why}"
    ):
        rewrite(query, CENSUS)


@pytest.mark.parametrize(("query", "named"), REFUSED, ids=range(len(REFUSED)))
def test_everything_else_is_refused_in_one_line(query, named):
    with pytest.raises(QueryError) as refused:
        rewrite(query, CENSUS)
    message = str(refused.value)
    assert any(part in message for part in named.split("|")), message
    assert refused.value.exit_code == 2
    assert refused.value.__cause__ is None
    assert message.isprintable()
    assert len(message) < 200


def test_literals_are_not_repeated():
    for query in (
        "SELECT COUNT(*) FROM microdata WHERE age = 'secret'",
        "SELECT COUNT(*) FROM microdata WHERE sex = 'secret",
        "SELECT COUNT(*) FROM microdata WHERE sex = 'secret' 'x' OR",
        "SELECT 'secret' FROM microdata",
    ):
        with pytest.raises(QueryError) as refused:
            rewrite(query, CENSUS)
        assert "secret" not in str(refused.value)


def test_many_bounds_of_one_query_are_allowed():
    many = ", ".join(f"SUM(loss) AS a{i}" for i in range(2000))
    assert len(rewrite(f"SELECT {many} FROM microdata", CENSUS).tree.expressions) == 4000
