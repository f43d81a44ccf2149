"""Labels that hide any value: the answers of all worlds are in the rows of values and of the rest.

A world gives every row a value behind each of its labels, a star any at all: values that other
labels name and some that none does. Worlds are evaluated here, in plain Python.
"""

import itertools
import math
import random
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato
from sfumato.expectations.shared.errors import QueryError
from sfumato.flows.api.answer import BoundedAnswer
from sfumato.flows.cli.answers import answer_as
from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.inquiries.answer import document
from sfumato.tasks.query.intervals.shapes import OUTSIDE
from sfumato.tasks.query.question.rest import REST
from sfumato.tasks.query.rewrite import rewrite
from sfumato.tasks.schema.stated import CalibratedIntervals
from sfumato.tasks.sql.parted import TableInParts
from tests.query.test_recoded import declare
from tests.query.worlds import column

DECLARED = {
    form: declare(
        form,
        age=column("quasi-identifier", "integer"),
        sex=column("quasi-identifier", "string", nulls=True),
        vip=column("insensitive", "boolean"),
        loss=column("sensitive", "integer"),
    )
    for form in ("generalized", "suppressed")
}
AGES = {"generalized": ["0", "3", "[1, 3]", "[2, 5]", "*"], "suppressed": ["0", "3", "4", "*"]}
SEXES = {
    "generalized": ["f", "m", "{f, m}", "m or null", None, "*"],
    "suppressed": ["f", None, "*"],
}
HIDDEN_AGES = {"[1, 3]": [1, 2, 3], "[2, 5]": [2, 3, 4, 5], "*": [-8, 0, 2, 3, 14]}
HIDDEN_SEXES = {
    "{f, m}": ["f", "m"],
    "m or null": ["m", None],
    "*": ["f", "m", "(any other value)", None],
}
STARS = 0.3
WORLDS = 60


class Part(NamedTuple):
    """A text in SQL, and what it comes to on a row (age, sex, vip, loss), or on several."""

    sql: str
    of: Callable[[Any], Any]


def call_on_values(test, *values):
    """Return what a function comes to, null if one of its values is."""
    return None if None in values else test(*values)


KEYS = [
    Part("age", lambda r: r[0]),
    Part("sex", lambda r: r[1]),
    Part("vip", lambda r: r[2]),
    Part("age // 2", lambda r: int(r[0] / 2)),
    Part("FLOOR(age / 10)", lambda r: math.floor(r[0] / 10)),
    Part("CASE WHEN age < 3 THEN 'low' ELSE 'high' END", lambda r: "low" if r[0] < 3 else "high"),
    Part("UPPER(sex)", lambda r: call_on_values(str.upper, r[1])),
    Part("age + loss", lambda r: r[0] + r[3]),
    Part("age > loss", lambda r: r[0] > r[3]),
    Part("NULLIF(age, 3)", lambda r: None if r[0] == 3 else r[0]),
]
WHERES = [
    Part("TRUE", lambda _: True),
    Part("age BETWEEN 0 AND 4", lambda r: 0 <= r[0] <= 4),
    Part("sex = 'f'", lambda r: call_on_values(lambda s: s == "f", r[1])),
    Part("age % 2 = 1", lambda r: math.fmod(r[0], 2) == 1),
    Part("age + loss > 3", lambda r: r[0] + r[3] > 3),
    Part("age > loss OR vip", lambda r: r[0] > r[3] or r[2]),
    Part("CASE WHEN age < 3 THEN vip ELSE NOT vip END", lambda r: r[2] == (r[0] < 3)),
    Part("loss > 0 AND age <= 14 AND age >= -8", lambda r: r[3] > 0 and -8 <= r[0] <= 14),
]

LIMITED = [WHERES[1], WHERES[-1]]
"""Conditions that leave ends to every age."""


def of_some(function, *places):
    """An aggregate of values that are no nulls; null of none."""

    def value_of_rows(rows):
        values = [v for row in rows if (v := places[0](row)) is not None]
        return function(values) if values else None

    return value_of_rows


def age(row):
    return row[0]


def mean(values):
    return Fraction(sum(values), len(values))


AGGREGATES = [
    Part("COUNT(*)", len),
    Part("SUM(loss)", of_some(sum, lambda r: r[3])),
    Part("COUNT(*) FILTER (WHERE age > 2)", lambda rows: sum(r[0] > 2 for r in rows)),
    Part("COUNT(sex)", lambda rows: sum(r[1] is not None for r in rows)),
    Part("COUNT(DISTINCT age)", lambda rows: len({r[0] for r in rows})),
    Part("COUNT(DISTINCT sex)", lambda rows: len({r[1] for r in rows} - {None})),
]
OF_NUMBERS = [
    Part("AVG(age)", of_some(mean, age)),
    Part("SUM(age)", of_some(sum, age)),
    Part("MIN(age)", of_some(min, age)),
    Part("MAX(age)", of_some(max, age)),
    Part("SUM(2 * age - 1)", of_some(sum, lambda r: 2 * r[0] - 1)),
    Part("MIN(age * loss)", of_some(min, lambda r: r[0] * r[3])),
    Part("AVG(5 - age)", of_some(mean, lambda r: 5 - r[0])),
    Part("MEDIAN(age)", of_some(statistics.median, age)),
    Part("VAR_POP(age)", of_some(lambda v: statistics.pvariance(list(map(Fraction, v))), age)),
    Part(
        "AVG(age) FILTER (WHERE age > 2)",
        lambda rows: of_some(mean, age)([r for r in rows if r[0] > 2]),
    ),
]


def release(chance, form, rows):
    """Labels, and what each row may be."""
    table, hidden = [], []
    for _ in range(rows):
        label = "*" if chance.random() < STARS else chance.choice(AGES[form])
        sex = chance.choice(SEXES[form])
        vip, loss = chance.random() < 0.5, chance.randint(-2, 4)
        table.append((label, sex, vip, loss))
        ages = HIDDEN_AGES.get(label) or [int(label)]
        sexes = HIDDEN_SEXES.get(sex, [sex])
        hidden.append(list(itertools.product(ages, sexes, [vip], [loss])))
    columns = dict(zip(DECLARED[form].columns, map(list, zip(*table, strict=True)), strict=True))
    types = {"vip": pa.bool_(), "loss": pa.int64()}
    arrays = {n: pa.array(v, types.get(n, pa.string())) for n, v in columns.items()}
    return pa.table(arrays), table, hidden


def worlds_of(chance, hidden):
    """All worlds where they are few, else some that are drawn."""
    if math.prod(map(len, hidden)) <= WORLDS:
        yield from itertools.product(*hidden)
        return
    for _ in range(WORLDS):
        yield [chance.choice(row_choices) for row_choices in hidden]


def named_keys(key, table, hidden):
    """Return what a key comes to on rows whose labels hide no value of its columns."""
    names_found = set()
    for labels, rows in zip(table, hidden, strict=True):
        starred = ("age" in key.sql and labels[0] == "*") or ("sex" in key.sql and labels[1] == "*")
        if not starred:
            names_found |= {key.of(row) for row in rows}
    return names_found


def group_rows(rows, keys, names, keys_told):
    """The rows of a world by the row of the answer that they are in."""
    rows_by_key = defaultdict(list)
    for row in rows:
        place = tuple(key.of(row) for key in keys)
        rest = tuple(
            value if value is None or value in names_known else REST
            for value, names_known in zip(place, names, strict=True)
        )
        rows_by_key[place if place in keys_told else rest].append(row)
    return rows_by_key


def is_within(bounds, true):
    if true is None:
        return bounds.may_be_empty or bounds.lower is None or bounds.unbounded
    if bounds.unbounded:
        return True
    return bounds.lower is not None and Fraction(bounds.lower) <= true <= Fraction(bounds.upper)


def assert_all_worlds(chance, form, keys, where, aggregates, met):
    """Ask a random release, and hold the answer against its worlds."""
    table, labels, hidden = release(chance, form, chance.randint(1, 5))
    terms = [f"{key.sql} AS k{n}" for n, key in enumerate(keys)]
    terms += [f"{aggregate.sql} AS a{n}" for n, aggregate in enumerate(aggregates)]
    group_by = f" GROUP BY {', '.join(f'k{n}' for n in range(len(keys)))}" if keys else ""
    sql = f"SELECT {', '.join(terms)} FROM microdata WHERE {where.sql}{group_by}"
    try:
        answer = answer_on({"microdata": table}, DECLARED[form], sql)
    except QueryError as error:
        assert "has no bounds" in str(error), (sql, labels, error)
        assert any(row[0] == "*" for row in labels)
        met["refused"] += 1
        return
    met["answered"] += 1
    rows_by_key = {tuple(row[f"k{n}"] for n in range(len(keys))): row for row in answer.rows}
    assert len(rows_by_key) == len(answer.rows)
    met["rest"] += sum(answer.rest)
    assert list(answer.rest) == [REST in key for key in rows_by_key]
    names = [
        named_keys(key, labels, hidden) | {place[n] for place in rows_by_key}
        for n, key in enumerate(keys)
    ]
    for world in worlds_of(chance, hidden):
        rows = group_rows([row for row in world if where.of(row)], keys, names, rows_by_key)
        rows = rows if keys else {(): rows.get((), [])}
        assert rows.keys() <= rows_by_key.keys(), (sql, labels, world)
        for key, sure in zip(rows_by_key, answer.certain, strict=True):
            assert key in rows or not sure, (sql, labels, world, key)
        for key, members in rows.items():
            for n, aggregate in enumerate(aggregates):
                bounds = rows_by_key[key][f"a{n}"]
                assert is_within(bounds, aggregate.of(members)), (
                    sql,
                    labels,
                    world,
                    key,
                    aggregate.sql,
                    bounds,
                )


@pytest.mark.parametrize("form", ["generalized", "suppressed"])
@pytest.mark.parametrize("seed", range(4))
def test_the_answers_of_all_worlds_are_in_the_bounds(form, seed):
    met = defaultdict(int)
    for number in range(10):
        chance = random.Random(f"{form} {seed} {number}")
        keys = chance.sample(KEYS, chance.choice([0, 1, 1, 2]))
        where = chance.choice(WHERES if chance.random() < 0.5 else LIMITED)
        numbers = OF_NUMBERS if where in LIMITED or chance.random() < 0.3 else []
        aggregates = [AGGREGATES[0], *chance.sample(AGGREGATES[1:] + numbers, 2)]
        assert_all_worlds(chance, form, keys, where, aggregates, met)
    assert met["answered"] > met["refused"]
    assert met["rest"]


HAVINGS = [
    Part("COUNT(*) = 1", lambda rows: len(rows) == 1),
    Part("COUNT(*) >= 2", lambda rows: len(rows) >= 2),
    Part("MIN(loss) > 1", lambda rows: min(r[3] for r in rows) > 1),
    Part("COUNT(*) < 2 AND MAX(loss) < 0", lambda rows: len(rows) < 2 and rows[0][3] < 0),
]


@pytest.mark.parametrize("having", HAVINGS, ids=lambda row: row.sql)
def test_having_keeps_the_rest_where_some_value_behind_it_may_be_wanted(having):
    count_kept = dropped = 0
    for seed in range(8):
        chance = random.Random(f"having {seed}")
        form, key = chance.choice(list(DECLARED)), chance.choice(KEYS[:2])
        table, labels, hidden = release(chance, form, 4)
        sql = f"SELECT {key.sql} AS k, COUNT(*) FROM microdata GROUP BY k HAVING {having.sql}"
        answer = answer_on({"microdata": table}, DECLARED[form], sql)
        keys_shown = [row["k"] for row in answer.rows]
        count_kept += REST in keys_shown
        dropped += REST not in keys_shown
        certain = [k for k, sure in zip(keys_shown, answer.certain, strict=True) if sure]
        for world in worlds_of(chance, hidden):
            groups = defaultdict(list)
            for row in world:
                groups[key.of(row)].append(row)
            passing = {k for k, rows in groups.items() if having.of(rows)}
            assert REST not in certain
            assert set(certain) <= passing
            assert all(k in keys_shown or REST in keys_shown for k in passing), (sql, labels, world)
    assert count_kept
    assert dropped or having is not HAVINGS[0]


def answer_labels(labels, sql, type_="integer", form="suppressed", **more):
    """An answer about a column of labels, x, beside which y counts 1, 2, … from above."""
    declared = declare(
        form, x=column("quasi-identifier", type_, **more), y=column("sensitive", "integer")
    )
    places = pa.array(range(1, len(labels) + 1), pa.int64())
    table = pa.table({"x": pa.array(labels, pa.string()), "y": places})
    return answer_on({"microdata": table}, declared, sql)


def rows(answer):
    return [tuple(map(plain_bounds, row.values())) for row in answer.rows]


def plain_bounds(value):
    return (value.lower, value.upper) if isinstance(value, Bounds) else value


BY_X = "SELECT x, COUNT(*) AS n FROM microdata GROUP BY x"
LABELS = ["b", "a", "a", "*", None, "*"]
A, B, OTHERS, NULL = ("a", (2, 4)), ("b", (1, 3)), (REST, (0, 2)), (None, (1, 3))


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("", ["a", "b", REST, None]),
        (" ORDER BY x", ["a", "b", REST, None]),
        (" ORDER BY x DESC", ["b", "a", REST, None]),
        (" ORDER BY x NULLS FIRST", [None, "a", "b", REST]),
        (" ORDER BY x DESC NULLS FIRST", [None, "b", "a", REST]),
        (" ORDER BY COUNT(*) DESC, x", ["a", "b", None, REST]),
    ],
)
def test_the_rest_is_behind_all_values_and_beside_nulls(order, expected):
    answer = answer_labels(LABELS, BY_X + order, "string", nulls=True)
    assert [row["x"] for row in answer.rows] == expected
    assert list(answer.rest) == [value is REST for value in expected]


def test_rows_have_the_bounds_of_filter_and_the_rest_those_of_no_named_value():
    answer = answer_labels(LABELS, BY_X, "string", nulls=True)
    assert rows(answer) == [("a", (2, 4)), ("b", (1, 3)), (REST, (0, 2)), (None, (1, 3))]
    assert answer.certain == (True, True, False, True)
    conditions = {"a": "x = 'a'", "b": "x = 'b'", None: "x IS NULL", REST: "x NOT IN ('a', 'b')"}
    for row in answer_labels(LABELS, BY_X.replace("COUNT(*)", "SUM(y)"), "string", nulls=True).rows:
        sql = f"SELECT SUM(y) FILTER (WHERE {conditions[row['x']]}) AS n FROM microdata"
        (other,) = answer_labels(LABELS, sql, "string", nulls=True).rows
        assert (row["n"].lower, row["n"].upper) == (other["n"].lower, other["n"].upper)


def test_a_value_called_as_the_rest_is_a_value():
    answer = answer_labels(["(any other value)", "*"], BY_X, "string")
    assert rows(answer) == [("(any other value)", (1, 2)), (REST, (0, 1))]
    document_ = document(answer)
    assert [row["x"] for row in document_["rows"]] == ["(any other value)", {"rest": True}]
    assert document_["rest"] == [False, True]
    assert "rest" not in document(answer_labels(["a"], BY_X, "string"))


def test_labels_that_keep_characters_are_of_the_rest():
    """Nobody below 13* has a code that another label names."""
    answer = answer_labels(
        ["1205", "13**"], BY_X, "string", "generalized", hierarchy={"prefixes": [2]}
    )
    assert rows(answer) == [("1205", (1, 1)), (REST, (1, 1))]
    assert answer.certain == (True, True)


@pytest.mark.parametrize(
    ("having", "keeps_rest"),
    [("COUNT(*) = 1", True), ("COUNT(*) > 2", False), ("MIN(y) > 1", True), ("MAX(y) < 2", True)],
)
def test_having_is_about_each_value_behind_the_rest(having, keeps_rest):
    """Two people are surely of the rest, by one code or by two: each has a row in the answer."""
    answer = answer_labels(
        ["12**", "13**"],
        f"{BY_X} HAVING {having}",
        "string",
        "generalized",
        hierarchy={"prefixes": [2]},
    )
    assert rows(answer) == ([(REST, (2, 2))] if keeps_rest else [])
    assert not any(answer.certain)


def test_where_leaves_no_rest_if_all_that_it_admits_is_named():
    answer = answer_labels(["3", "4", "*"], f"{BY_X.replace('GROUP', 'WHERE x IN (3, 4) GROUP')}")
    assert rows(answer) == [(3, (1, 2)), (4, (1, 2))]
    answer = answer_labels(["3", "4", "*"], f"{BY_X.replace('GROUP', 'WHERE x > 4 GROUP')}")
    assert rows(answer) == [(REST, (0, 1))]


def test_several_columns_have_a_rest_each():
    sql = "SELECT x, x > 3 AS more, COUNT(*) AS n FROM microdata GROUP BY x, more"
    assert rows(answer_labels(["3", "*"], sql)) == [
        (3, False, (1, 2)),
        (REST, False, (0, 1)),
        (REST, True, (0, 1)),
    ]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (f"WITH g AS ({BY_X}) SELECT x, n FROM g WHERE n > 1", [A, B, OTHERS, NULL]),
        (
            f"{BY_X} UNION ALL SELECT 'all', COUNT(*) FROM microdata ORDER BY 1 DESC",
            [B, ("all", (6, 6)), A, OTHERS, NULL],
        ),
        ("SELECT DISTINCT x FROM microdata", [("a",), ("b",), (REST,), (None,)]),
        (
            "SELECT x, COUNT(*) AS n FROM microdata GROUP BY ROLLUP (x) ORDER BY n DESC, 1",
            [(None, (6, 6)), A, B, NULL, OTHERS],
        ),
        ("SELECT COUNT(DISTINCT x) AS n FROM microdata", [((2, 4),)]),
    ],
)
def test_the_rest_goes_wherever_rows_go(sql, expected):
    assert rows(answer_labels(LABELS, sql, "string", nulls=True)) == expected


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("ORDER BY COUNT(*) DESC LIMIT 1", [("c", (4, 5))]),
        ("ORDER BY COUNT(*) DESC LIMIT 2", [("c", (4, 5)), ("a", (2, 3))]),
        ("ORDER BY COUNT(*) LIMIT 1", None),
        ("ORDER BY x LIMIT 1", None),
        ("ORDER BY COUNT(*) DESC LIMIT 3", None),
        ("ORDER BY SUM(y) DESC LIMIT 1", None),
        ("ORDER BY x LIMIT 5 OFFSET 1", None),
    ],
)
def test_limit_is_answered_where_no_hidden_value_comes_first(limit, expected):
    labels = ["c"] * 4 + ["a"] * 2 + ["*"]
    if expected is None:
        with pytest.raises(QueryError, match="LIMIT"):
            answer_labels(labels, f"{BY_X} {limit}", "string")
        return
    assert rows(answer_labels(labels, f"{BY_X} {limit}", "string")) == expected


@pytest.mark.parametrize(
    ("labels", "sql", "reason"),
    [
        (
            ["3", "*", "*"],
            "AVG(x)",
            "AVG(x) has no bounds: 2 rows hide x (*). Add x BETWEEN 3 AND 3 to WHERE, or ask about "
            "another column",
        ),
        (["3", "9", "*"], "MAX(x + 1)", "MAX(x + 1) has no bounds: 1 row hides x (*). Add x "),
        (["*"], "MAX(x)", "MAX(x) has no bounds: 1 row hides x (*). Ask about another column"),
        (["3", "*"], "SUM(x) FILTER (WHERE x > 3)", "1 row hides x"),
        (
            ["3", "*"],
            "SUM(x % 2)",
            "1 row hides x behind a label. Ask about each column separately",
        ),
    ],
)
def test_numbers_without_ends_are_refused_with_how_many_rows_hide_them(labels, sql, reason):
    with pytest.raises(QueryError, match=re.escape(reason)):
        answer_labels(labels, f"SELECT {sql} FROM microdata")


@pytest.mark.parametrize(
    ("more", "where", "expected"),
    [
        ({}, "WHERE x BETWEEN 2 AND 6", (3, 6)),
        ({"bottom": "1", "top": "12"}, "", (3, Fraction(15, 2))),
        ({"bottom": "1", "top": "12"}, "WHERE x <> 12", (3, Fraction(14, 2))),
        ({"top": "12"}, "WHERE x > 2", (3, Fraction(15, 2))),
        ({"bottom": "1", "top": "12"}, "WHERE x > 12", (3, 3)),
    ],
)
def test_numbers_are_between_the_ends_that_a_condition_or_the_release_gives(more, where, expected):
    """One row has 3 in its label, another a star: the least mean is with the star at its end."""
    answer = answer_labels(["3", "*"], f"SELECT AVG(x) AS a FROM microdata {where}", **more)
    (row,) = answer.rows
    bounds = row["a"]
    assert bounds.lower is None or (
        bounds.lower >= Fraction(3 + 1, 2) and bounds.upper <= expected[1]
    )


EXTREMES = ("AVG(age)", "SUM(age)", "MIN(age)", "MAX(age)", "SUM(2 * age - 1)", "AVG(5 - age)")


@pytest.mark.parametrize("where", WHERES[:4], ids=lambda row: row.sql)
def test_numbers_behind_ranges_are_bounded_by_the_extremes_of_all_worlds(where):
    """Each part of a condition is about one column here, and the bounds say that they are met."""
    aggregates = [aggregate for aggregate in OF_NUMBERS if aggregate.sql in EXTREMES]
    selection = ", ".join(f"{aggregate.sql} AS a{n}" for n, aggregate in enumerate(aggregates))
    met = 0
    for seed in range(12):
        chance = random.Random(f"extremes {seed}")
        table, labels, hidden = release(chance, "generalized", 3)
        if any(row[0] == "*" for row in labels):
            continue
        sql = f"SELECT {selection} FROM microdata WHERE {where.sql}"
        (row,) = answer_on({"microdata": table}, DECLARED["generalized"], sql).rows
        worlds = [[r for r in world if where.of(r)] for world in itertools.product(*hidden)]
        for n, aggregate in enumerate(aggregates):
            seen = [aggregate.of(world) for world in worlds if world]
            bounds = row[f"a{n}"]
            assert bounds.attained
            assert bounds.may_be_empty == (bool(seen) and len(seen) < len(worlds))
            if seen:
                assert (bounds.lower, bounds.upper) == (min(seen), max(seen)), (
                    aggregate.sql,
                    labels,
                )
                met += 1
    assert met


def test_parts_of_a_release_name_values_together(tmp_path):
    """Whoever is hidden in one part may have a value that only the other names."""

    declared = declare(
        "suppressed", x=column("quasi-identifier", "string"), y=column("sensitive", "integer")
    )
    files = []
    for number, labels in enumerate((["a", "*"], ["b", "b"])):
        files.append(tmp_path / f"{number}.parquet")
        pq.write_table(pa.table({"x": labels, "y": pa.array([1, 2], pa.int64())}), files[-1])
    answer = answer_on({"microdata": TableInParts(tuple(files), ({}, {}))}, declared, BY_X)
    assert rows(answer) == [("a", (1, 2)), ("b", (2, 3)), (REST, (0, 1))]


def test_a_calculation_is_compared_with_what_ever_a_label_hides():
    sql = "SELECT COUNT(*) AS n FROM microdata WHERE {}"
    for condition, expected in [
        ("x // 10 = 3", (1, 3)),
        ("FLOOR(x / 10) * 10 IN (30, 40)", (2, 3)),
        ("CASE WHEN x < 30 THEN 'a' ELSE 'b' END = 'b'", (2, 3)),
        ("CASE WHEN x < 30 THEN 'a' ELSE 'b' END IN ('a', 'b')", (3, 3)),
        ("x + y > 38", (1, 3)),
        ("x BETWEEN y AND 40", (1, 3)),
    ]:
        answer = answer_labels(["[35, 42]", "39", "*"], sql.format(condition), form="generalized")
        assert rows(answer) == [(expected,)], condition


def test_the_rest_is_told_wherever_an_answer_is_shown(capsys):
    labels = ["(any other value)", "*"]
    answer = BoundedAnswer(answer_labels(labels, BY_X, "string"))
    assert answer.rest == (False, True)
    assert answer[1]["x"] is sfumato.Rest.REST
    table = answer.to_arrow()
    assert table["x"].to_pylist() == ["(any other value)", None]
    assert table["x_rest"].to_pylist() == [False, True]
    for text in (repr(answer), answer._repr_html_()):
        assert "published rows with a label, such as *, that may hide" in text
        named = text.replace("&quot;", '"')
        assert named.index('"(any other value)"') < named.rindex("(any other value)")
    answer_as(answer_labels(labels, BY_X, "string"), "csv")
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.startswith("x,x_rest,n_lower,")
    assert [line.split(",")[:2] for line in lines] == [
        ["(any other value)", "False"],
        ["", "True"],
    ]
    unseen = answer_labels(labels, "SELECT COUNT(*) AS n FROM microdata GROUP BY x", "string")
    answer_as(unseen, "csv")
    assert capsys.readouterr().out.splitlines()[0].endswith(",rest")
    assert BoundedAnswer(unseen).to_arrow()["rest"].to_pylist() == [False, True]


def test_databases_are_given_no_query_for_what_labels_hide():
    declared = declare("suppressed", x=column("quasi-identifier", "integer"))
    for sql in (
        "SELECT AVG(x) FROM microdata",
        "SELECT x // 2, COUNT(*) FROM microdata GROUP BY 1",
    ):
        with pytest.raises(QueryError, match="cannot be written in SQL for databases"):
            rewrite(sql, declared)


def test_bands_of_many_wide_ranges():
    """All values of all ranges together are few; of each range by itself they are not."""
    labels = [f"[{n}, {n + 15_000}]" for n in range(0, 60_000, 2_000)] + ["[20000, 20009]", "*"]
    sql = "SELECT x // 25000 AS band, COUNT(*) AS n FROM microdata GROUP BY band"
    rows_found = rows(answer_labels(labels, sql, form="generalized"))
    low, high = Counter(), Counter()
    for label in labels[:-1]:
        ends = [int(end) // 25_000 for end in label.strip("[]").split(", ")]
        low[ends[0]] += ends[0] == ends[1]
        for band in range(ends[0], ends[1] + 1):
            high[band] += 1
    assert rows_found == [
        *((band, (low[band], high[band] + 1)) for band in range(3)),
        (REST, (0, 1)),
    ]
    with pytest.raises(QueryError, match="Ask about your own ranges"):
        answer_labels(["[1, 20000000]"], sql, form="generalized")


def test_no_interval_is_told_of_the_rest_or_of_numbers_behind_labels():
    declared = declare(
        "suppressed", x=column("quasi-identifier", "integer"), y=column("sensitive", "integer")
    ).model_copy(update={"intervals": CalibratedIntervals(families=())})
    table = pa.table({"x": ["3", "4", "*"] * 20, "y": pa.array(range(60), pa.int64())})
    sql = f"{BY_X} UNION ALL SELECT 0, AVG(x) FROM microdata WHERE x BETWEEN 3 AND 4"
    answer = answer_on({"microdata": table}, declared, sql)
    assert [row["x"] for row in answer.rows] == [3, 4, REST, 0]
    assert all(row["n"].likely.interval is None for row in answer.rows)
    assert answer.rows[2]["n"].likely.reason == answer.rows[3]["n"].likely.reason == OUTSIDE


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        (f"SELECT COUNT(*), SUM(n) FROM ({BY_X})", "may be several groups"),
        ("SELECT x, RANK() OVER (ORDER BY SUM(y)) FROM microdata GROUP BY x", "several rows"),
        ("SELECT x, SUM(COUNT(*)) OVER (ORDER BY x) FROM microdata GROUP BY x", "several rows"),
        ("SELECT x, SUM(SUM(y)) OVER (PARTITION BY x) FROM microdata GROUP BY x", "partitions"),
    ],
)
def test_what_is_about_the_number_of_groups_is_refused_with_a_rest(sql, reason):
    with pytest.raises(QueryError, match=reason):
        answer_labels(LABELS, sql, "string", nulls=True)
    assert answer_labels(["b", "a", "a"], sql, "string").rows


def test_shares_within_a_partition_are_answered_beside_a_rest():
    sql = "SELECT x, y > 2 AS high, COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY y > 2) AS part "
    sql += "FROM microdata GROUP BY 1, 2"
    answer = answer_labels(LABELS, sql, "string", nulls=True)
    parts = {(row["x"], row["high"]): row["part"] for row in answer.rows}
    assert plain_bounds(parts[REST, True]) == (0, Fraction(1, 2))
    assert plain_bounds(parts["b", False]) == (Fraction(1, 2), Fraction(1, 2))
