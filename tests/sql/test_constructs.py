"""Constructs that are not allowed are named, with why, and with what to write instead."""

import pytest
from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.language.several import read_inquiries
from sfumato.tasks.sql.refusals import REFUSED, refusal
from tests.query.worlds import CENSUS

SAID = (
    ("SELECT SUM(loss) OVER () FROM microdata", "WINDOW", "SUM(x) / SUM(SUM(x)) OVER ()"),
    ("SELECT COUNT(*) FROM microdata QUALIFY TRUE", "QUALIFY", "HAVING"),
    ("SELECT COUNT(*) FROM microdata WHERE age = (SELECT 1)", "SUBQUERY", "as a constant"),
    ("SELECT COUNT(*) FROM microdata WHERE age IN (SELECT 1)", "SUBQUERY", "as a constant"),
    ("SELECT COUNT(*) FROM microdata UNION SELECT 1", "UNION", "UNION ALL"),
    (
        "SELECT COUNT(*) FROM microdata WHERE day > DATE '2020-01-01' + INTERVAL 3 DAY",
        "INTERVAL",
        "the DATE",
    ),
    ("SELECT SIN(AVG(loss)) FROM microdata", "function SIN of aggregates", "both bounds"),
    ("SELECT HISTOGRAM(loss) FROM microdata", "function HISTOGRAM", "GROUP BY"),
    ("SELECT MAD(loss) FROM microdata", "function MAD", "STDDEV"),
    ("SELECT FIRST(sex) FROM microdata", "function FIRST", "MIN, MAX"),
    ("SELECT ANY_VALUE(sex) FROM microdata", "function ANY_VALUE", "MIN, MAX"),
    ("SELECT AVG(loss IGNORE NULLS) FROM microdata", "IGNORE NULLS", "Leave"),
    ("SELECT MAX(loss ORDER BY age) FROM microdata", "ORDER BY", "Leave it out"),
    (
        "SELECT APPROX_COUNT_DISTINCT(age) FROM microdata",
        "function APPROX_COUNT_DISTINCT",
        "COUNT(DISTINCT column)",
    ),
    ("SELECT STRFTIME(day, '%Y'), COUNT(*) FROM microdata GROUP BY 1", "STRFTIME", "YEAR"),
    ("SELECT CORR(age, loss) FROM microdata", "function CORR", "AVG by groups"),
    ("SELECT MY_SUM(loss) FROM microdata", "unknown function, 'MY_SUM'", "The guide"),
    ("SELECT COUNT(*) FROM microdata USING SAMPLE 10", "SAMPLE", "WHERE"),
    ("SELECT COUNT(*) FROM microdata WHERE word ~ 'a'", "REGEXP_MATCHES", "LIKE"),
    ("SELECT COUNT(*) FROM microdata WHERE day < NOW()", "function NOW", "the constant"),
    ("SELECT 1 FROM microdata", "a constant", "aggregates"),
)


@pytest.mark.parametrize(("query", "called", "instead"), SAID)
def test_a_refusal_names_the_construct_and_why_and_what_to_write(query, called, instead):
    with pytest.raises(QueryError, match=r"^not allowed: [^:]+, because [^:;.]+\. .") as refused:
        read_inquiries(query, CENSUS)
    name, _, rest = str(refused.value).removeprefix("not allowed: ").partition(", because ")
    assert called in name
    assert instead in rest.partition(". ")[2]


@pytest.mark.parametrize(
    "construct",
    REFUSED,
    ids=lambda construct: construct if isinstance(construct, str) else construct.__name__,
)
def test_every_construct_has_a_reason_and_something_to_write(construct):
    node = (
        construct
        if isinstance(construct, str)
        else construct(this=exp.column("x"), to=exp.DataType.build("int"))
    )
    message = str(refusal(node, " in a query in FROM"))
    assert REFUSED[construct].why in message
    assert REFUSED[construct].instead in message
    assert len(message) < 200


def test_numbers_and_texts_of_a_query_are_not_repeated():
    query = "SELECT STRING_AGG(sex, 'secret') FROM microdata WHERE REGEXP_MATCHES(sex, 'secret')"
    with pytest.raises(QueryError) as refused:
        read_inquiries(query, CENSUS)
    assert "secret" not in str(refused.value)
