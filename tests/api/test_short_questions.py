"""Questions without SQL: they are what the query says that they stand for."""

from datetime import date

import pytest

import sfumato
from sfumato.flows.api.asking import short_query, sql_condition
from tests.corpus.lines import CORPUS

PERMUTED = CORPUS / "format-2" / "public" / "corpus-permuted" / "0002"


@pytest.fixture(scope="module")
def release():
    return sfumato.open(PERMUTED)


@pytest.mark.parametrize(
    ("values", "condition"),
    [
        ({}, ""),
        ({"sex": "it's"}, "\"sex\" = 'it''s'"),
        ({'a"b': 3}, '"a""b" = 3'),
        ({"sex": None, "vip": True}, '"sex" IS NULL AND "vip" = TRUE'),
        ({"age": (30, 40)}, '"age" BETWEEN 30 AND 40'),
        ({"age": (None, 40)}, '"age" <= 40'),
        ({"age": [3]}, '"age" IN (3)'),
        ({"age": {None}}, '"age" IS NULL'),
        ({"day": (date(2020, 1, 2), None)}, "\"day\" >= CAST('2020-01-02' AS DATE)"),
    ],
)
def test_conditions_are_sql(values, condition):
    assert sql_condition(values) == condition


@pytest.mark.parametrize("range_", [(1,), (1, 2, 3), (None, None)])
def test_a_range_has_two_ends(range_):
    with pytest.raises(sfumato.QueryError, match="a range needs two ends"):
        sql_condition({"age": range_})


def test_an_empty_list_is_refused():
    with pytest.raises(sfumato.QueryError, match='"age": the list of values is empty'):
        sql_condition({"age": []})


def test_numbers_of_numpy_are_numbers():
    import numpy as np

    assert sql_condition({"age": np.int64(3)}) == '"age" = 3'


@pytest.mark.parametrize(
    ("ask", "sql"),
    [
        (lambda r: r.count(), "SELECT COUNT(*) AS count FROM microdata"),
        (
            lambda r: r.count({"sex": "Male"}),
            "SELECT COUNT(*) AS count FROM microdata WHERE sex = 'Male'",
        ),
        (
            lambda r: r.mean("fnlwgt", {"age": (30, 40)}, group_by="sex"),
            "SELECT sex, AVG(fnlwgt) AS mean FROM microdata WHERE age BETWEEN 30 AND 40 "
            "GROUP BY sex",
        ),
        (
            lambda r: r.sum("fnlwgt", group_by=["sex", "education"]),
            "SELECT sex, education, SUM(fnlwgt) AS sum FROM microdata GROUP BY sex, education",
        ),
        (
            lambda r: r.median("fnlwgt", "age > 30"),
            "SELECT MEDIAN(fnlwgt) AS median FROM microdata WHERE age > 30",
        ),
        (lambda r: r.min("age"), "SELECT MIN(age) AS min FROM microdata"),
        (
            lambda r: r.max("hours-per-week", group_by=("sex",)),
            'SELECT sex, MAX("hours-per-week") AS max FROM microdata GROUP BY sex',
        ),
    ],
)
def test_a_short_question_is_its_query(release, ask, sql):
    short, long = ask(release), release.query(sql)
    assert short.columns == long.columns
    assert [dict(row) for row in short] == [dict(row) for row in long]


def test_a_wrong_column_is_refused(release):
    with pytest.raises(sfumato.QueryError, match="agee"):
        release.mean("agee")
    assert short_query("COUNT(*)", "n", None, ()) == 'SELECT COUNT(*) AS "n" FROM microdata'


class TestSeveral:
    """Several queries at once: answers in the order, or under the names, that they were asked."""

    COUNT = "SELECT COUNT(*) AS n FROM microdata"
    MEAN = "SELECT AVG(fnlwgt) AS m FROM microdata"

    def test_a_list_gives_a_list(self, release):
        count, mean = release.query([self.COUNT, self.MEAN])
        assert (count.columns, mean.columns) == (("n",), ("m",))
        assert release.query(()) == []

    def test_names_give_names(self, release):
        answers = release.query({"rows": self.COUNT, "weights": self.MEAN})
        assert list(answers) == ["rows", "weights"]
        assert float(answers["rows"]) == 200

    @pytest.mark.parametrize(
        ("queries", "name"),
        [([COUNT, "SELECT sex FROM microdata"], "query 2"), ({"bad": "SELECT"}, "bad")],
    )
    def test_a_refusal_names_its_query(self, release, queries, name):
        with pytest.raises(sfumato.QueryError, match=f"^{name}: "):
            release.query(queries)
