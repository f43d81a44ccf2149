"""What is not allowed is refused in one line that names it and repeats no literal."""

import pytest

from expectations.errors import QueryError
from tasks.query.question import read_question
from tasks.query.rewrite import rewrite
from tests.query.worlds import CENSUS, declare

ASKED = "SELECT SUM(loss) FROM microdata"
REFUSED = {
    # statements and sources
    f"{ASKED}; DROP TABLE microdata": None,
    f"{ASKED}; {ASKED}": None,
    f"{ASKED} -- comment": "comments",
    f"{ASKED} /* comment */": "comments",
    "DROP TABLE microdata": None,
    "COPY microdata TO 'secret'": None,
    "ATTACH 'secret' AS stolen": None,
    "PRAGMA database_list": None,
    "INSTALL httpfs": None,
    "SET threads = 1": None,
    "INSERT INTO microdata VALUES (1)": None,
    "CREATE TABLE t AS SELECT SUM(loss) FROM microdata": None,
    "SELECT SUM(loss) FROM read_parquet('secret')": "microdata",
    "SELECT SUM(loss) FROM 'secret.parquet'": "microdata",
    "SELECT SUM(loss) FROM other": "microdata",
    "SELECT SUM(loss) FROM main.microdata": "DB",
    "SELECT SUM(loss) FROM microdata AS m": "ALIAS",
    "SELECT SUM(loss) FROM (SELECT * FROM microdata)": "SUBQUERY",
    "SELECT SUM(loss)": "microdata",
    "SELECT SUM(loss) FROM microdata, microdata": "join",
    "SELECT SUM(loss) FROM microdata JOIN microdata USING (age)": "join",
    "SELECT SUM(loss) FROM microdata TABLESAMPLE 10%": None,
    "FROM microdata": None,
    "": None,
    ";": None,
    "SELECT": None,
    "gibberish": None,
    # clauses
    "SELECT DISTINCT SUM(loss) FROM microdata": "DISTINCT",
    f"{ASKED} GROUP BY age HAVING SUM(loss) > 1": "HAVING",
    f"{ASKED} ORDER BY 1": "ORDER BY",
    f"{ASKED} LIMIT 1": "LIMIT",
    f"{ASKED} OFFSET 1": "OFFSET",
    f"{ASKED} QUALIFY TRUE": "QUALIFY",
    f"{ASKED} UNION ALL {ASKED}": "UNION",
    f"{ASKED} EXCEPT {ASKED}": "EXCEPT",
    f"WITH t AS ({ASKED}) {ASKED}": "WITH",
    f"({ASKED})": None,
    f"{ASKED} GROUP BY 1": "GROUP BY",
    f"{ASKED} GROUP BY ALL": None,
    f"{ASKED} GROUP BY ROLLUP (age)": None,
    f"{ASKED} GROUP BY age + 1": "GROUP BY",
    # what is selected
    "SELECT * FROM microdata": "STAR",
    "SELECT microdata.* FROM microdata": None,
    "SELECT 1 FROM microdata": "LITERAL",
    "SELECT age FROM microdata": "age",
    "SELECT age FROM microdata GROUP BY age": "aggregate",
    "SELECT age, SUM(loss) FROM microdata": "age",
    "SELECT loss, SUM(loss) FROM microdata": "loss",
    "SELECT SUM(loss), SUM(loss) FROM microdata": "sum",
    "SELECT SUM(loss) AS a, MIN(loss) AS A FROM microdata": "called",
    "SELECT SUM(DISTINCT loss) FROM microdata": "DISTINCT",
    "SELECT COUNT(DISTINCT loss) FROM microdata": "DISTINCT",
    "SELECT SUM(loss + 1) FROM microdata": "ADD",
    "SELECT SUM(loss) + 1 FROM microdata": "ADD",
    "SELECT SUM(loss) OVER () FROM microdata": "WINDOW",
    "SELECT SUM(loss) FILTER (WHERE age > 1) FROM microdata": "FILTER",
    "SELECT MEDIAN(loss) FROM microdata": "MEDIAN",
    "SELECT STDDEV(loss) FROM microdata": "STDDEV",
    "SELECT ARG_MAX(loss, age) FROM microdata": None,
    "SELECT MIN(loss, 2) FROM microdata": None,
    "SELECT getenv('HOME') FROM microdata": "function",
    "SELECT (SELECT SUM(loss) FROM microdata) FROM microdata": "SUBQUERY",
    "SELECT SUM(word) FROM microdata": "word",
    "SELECT AVG(seen) FROM microdata": "seen",
    "SELECT SUM(nothing) FROM microdata": "nothing",
    "SELECT SUM(group_id) FROM microdata": "group_id",
    "SELECT SUM(age) FROM microdata": "plain SQL",
    "SELECT MAX(vip) FROM microdata": "plain SQL",
    # conditions
    f"{ASKED} WHERE loss > 424242": "loss",
    f"{ASKED} WHERE age > 1 AND NOT (LOSS IS NULL)": "loss",
    f"{ASKED} WHERE word LIKE 'secret%'": "word",
    f"{ASKED} GROUP BY loss": "loss",
    f"{ASKED} WHERE group_id = 424242": "group_id",
    f"{ASKED} WHERE age": None,
    f"{ASKED} WHERE age = 'secret'": "comparable",
    f"{ASKED} WHERE day > 'secret'": "comparable",
    f"{ASKED} WHERE age IN (SELECT age FROM microdata)": None,
    f"{ASKED} WHERE EXISTS (SELECT 1)": None,
    f"{ASKED} WHERE age > (SELECT MAX(age) FROM microdata)": "SUBQUERY",
    f"{ASKED} WHERE sex = upper('secret')": "UPPER",
    f"{ASKED} WHERE CASE WHEN TRUE THEN TRUE END": "CASE",
    f"{ASKED} WHERE CAST(age AS VARCHAR) = 'secret'": "CAST",
    f"{ASKED} WHERE age = ?": "PLACEHOLDER",
    f"{ASKED} WHERE age = $1": None,
    f"{ASKED} WHERE age = random()": None,
    f"{ASKED} WHERE sex = current_setting('secret')": "function",
    f"{ASKED} WHERE microdata.age = 1": "table",
    f"{ASKED} WHERE nothing = 424242": "nothing",
    f"{ASKED} WHERE ＡＧＥ = 424242": "ＡＧＥ",
    f"{ASKED} WHERE sex = 'secret": None,
    f"{ASKED} WHERE sex = \u2018typed\u2019": "unknown column",
    f"{ASKED} WHERE sex = '\ud800'": "UTF-8",
    f"{ASKED} WHERE age IN ({', '.join(['424242'] * 1001)})": "1,000",
    f"{ASKED} WHERE {'(' * 3000}TRUE{')' * 3000}": "deep",
    f"{ASKED} WHERE {'NOT ' * 3000}TRUE": "deep",
    f"{ASKED} WHERE age = {'-' * 1}{'(' * 500}1{')' * 500}": "deep",
    f"{ASKED} WHERE sex = '{'x' * 100_000}'": "100,000",
    "SELECT " + "SUM(" * 3000 + "loss" + ")" * 3000 + " FROM microdata": None,
}


@pytest.mark.parametrize("sql", REFUSED, ids=lambda sql: ascii(sql[:70]))
def test_refused(sql):
    with pytest.raises(QueryError) as refused:
        rewrite(sql, CENSUS)
    said = str(refused.value)
    assert refused.value.exit_code == 2
    assert said
    assert len(said.splitlines()) == 1
    assert len(said) < 200
    assert "secret" not in said
    assert "424242" not in said
    assert (REFUSED[sql] or "") in said


def test_names_that_break_lines_are_escaped():
    with pytest.raises(QueryError) as refused:
        rewrite('SELECT SUM("a\nb\u2028c") FROM microdata', CENSUS)
    assert len(str(refused.value).splitlines()) == 1


def test_other_forms_have_no_bounds():
    with pytest.raises(QueryError, match="split"):
        rewrite(ASKED, declare("split", **CENSUS.columns))


@pytest.mark.parametrize(
    "sql",
    [
        "select sum(LOSS) from MICRODATA where AGE between 1 and 2",
        'SELECT "sum"(loss) FROM "microdata"',
        'SELECT SUM(loss) AS "it\'s; --" FROM microdata',
        "SELECT COUNT(*), COUNT(loss), AVG(loss), MIN(word), MAX(seen) FROM microdata GROUP BY day",
        f"{ASKED} WHERE vip AND NOT sex = 'm' OR age * 2 - 1 >= -3 AND day < DATE '2020-02-03'",
        f"{ASKED} WHERE {' OR '.join(['age = 1'] * 300)}",
        f"{ASKED};",
    ],
)
def test_allowed(sql):
    assert read_question(sql, CENSUS).aggregates
