"""Bounds on labels: the extremes over every world in which each label hides one of its values."""

import itertools
from collections import Counter
from datetime import date, datetime
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import InputError, QueryError
from sfumato.tasks.forms.labels import interval, value_set
from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.inquiries.answer import document
from tests.query.worlds import (
    COUNTS,
    HAVINGS,
    aggregate,
    answers_on,
    column,
    in_every_world,
    partial_declaration,
    shape,
)

FUNCTIONS = ("count", "sum", "avg", "min", "max")
ALL = ", ".join(f"{function}(loss)" for function in FUNCTIONS)
KINDS = (("cat", "pet", "*"), ("dog", "pet", "*"), ("wolf", "wild", "*"))
UNDER = {"cat": ["cat"], "pet": ["cat", "dog"], "wild": ["wolf"], "*": ["cat", "dog", "wolf"]}


def declare(form="generalized", **columns):
    return partial_declaration(
        columns=columns, form=shape(form), rows=COUNTS, strata=(), versions="disjoint"
    )


PETS = declare(
    age=column("quasi-identifier", "integer"),
    sex=column("quasi-identifier", "string", nulls=True),
    kind=column("quasi-identifier", "string", hierarchy=KINDS),
    vip=column("insensitive", "boolean", nulls=True),
    loss=column("sensitive", "integer"),
)
# each with what it comes to on a row (age, sex, kind, vip, loss), None where it is null
TIGHT = [
    ("age <= 1", lambda r: r[0] <= 1),
    ("age BETWEEN 1 AND 2", lambda r: 1 <= r[0] <= 2),
    ("age % 2 = 1", lambda r: r[0] % 2 == 1),
    ("age = 0 OR age > 2", lambda r: r[0] == 0 or r[0] > 2),
    ("NOT (age >= 1 AND age < 3)", lambda r: not 1 <= r[0] < 3),
    ("sex = 'f'", lambda r: r[1] and r[1] == "f"),
    ("NOT sex = 'f'", lambda r: r[1] and r[1] != "f"),
    ("sex IS NULL", lambda r: r[1] is None),
    ("sex IN ('f', 'x') AND age < 2", lambda r: r[1] == "f" and r[0] < 2),
    ("kind = 'dog' OR vip", lambda r: r[2] == "dog" or r[3]),
    ("kind LIKE '%o%' AND NOT vip", lambda r: "o" in r[2] and r[3] is False),
    ("loss < 0", lambda r: r[4] < 0),
    ("loss > 0 AND age > 1", lambda r: r[4] > 0 and r[0] > 1),
    ("(age > 0 AND sex = 'f') AND age < 3", lambda r: 0 < r[0] < 3 and r[1] == "f"),
    ("NOT (kind = 'cat' AND age = 0)", lambda r: not (r[2] == "cat" and r[0] == 0)),
]
LOOSE = [
    ("(age < 2 AND sex = 'f') OR (age >= 2 AND sex = 'm')",
     lambda r: (r[0] < 2 and r[1] == "f") or (r[0] >= 2 and r[1] == "m")),
    ("age > loss", lambda r: r[0] > r[4]),
]  # fmt: skip


def random_table(generator, rows):
    """Labels, and what each row's may hide."""
    table, hidden = [], []
    for _ in range(rows):
        low, high = sorted(generator.integers(0, 4, 2).tolist())
        sexes = [s for s in ("f", "m") if generator.random() < 0.6]
        null = bool(generator.random() < 0.3) or not sexes
        kind = str(generator.choice(list(UNDER)))
        vip = [True, False, None][generator.integers(3)]
        loss = int(generator.integers(-3, 4))
        label = value_set(sexes, null) if sexes else None
        table.append([interval(str(low), str(high)), label, kind, vip, loss])
        sexes += [None] * null
        hidden.append(
            list(itertools.product(range(low, high + 1), sexes, UNDER[kind], [vip], [loss]))
        )
    columns = dict(zip(PETS.columns, map(list, zip(*table, strict=True)), strict=True))
    types = {"vip": pa.bool_(), "loss": pa.int64()}
    return (
        pa.table({n: pa.array(v, types.get(n, pa.string())) for n, v in columns.items()}),
        hidden,
    )


def extremes(hidden, holds):
    """Per function the least and the greatest answer, and whether there may be none."""
    statuses = [sorted({bool(holds(row)) for row in rows}) for rows in hidden]
    losses = [rows[0][4] for rows in hidden]
    extremes_found = {}
    for function in FUNCTIONS:
        seen = [
            aggregate(function, [v for v, is_meant in zip(losses, world, strict=True) if is_meant])
            for world in itertools.product(*statuses)
        ]
        some = [value for value in seen if value is not None]
        extremes_found[function] = (min(some), max(some)) if some else (None, None)
        extremes_found[function] += (bool(some) and None in seen,)
    return extremes_found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("where", "holds"), TIGHT)
def test_bounds_are_the_extremes_over_all_worlds(where, holds, seed):
    generator = np.random.default_rng(seed)
    for _ in range(3):
        table, hidden = random_table(generator, int(generator.integers(1, 6)))
        query = f"SELECT {ALL} FROM microdata WHERE {where}"
        (row,) = answer_on({"microdata": table}, PETS, query).rows
        for function, (low, high, empty) in extremes(hidden, holds).items():
            bounds = row[f"{function}(loss)"]
            assert (bounds.lower, bounds.upper) == (low, high), function
            assert bounds.may_be_empty == empty, function


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("where", "holds"), LOOSE)
def test_no_world_is_left_out_where_parts_depend_on_each_other(where, holds, seed):
    generator = np.random.default_rng(seed)
    table, hidden = random_table(generator, 4)
    query = f"SELECT {ALL} FROM microdata WHERE {where}"
    (row,) = answer_on({"microdata": table}, PETS, query).rows
    for function, (low, high, _) in extremes(hidden, holds).items():
        bounds = row[f"{function}(loss)"]
        if low is not None:
            assert bounds.lower <= low <= high <= bounds.upper


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("names", [["age"], ["sex"], ["vip"], ["kind", "vip"], ["age", "sex"]])
def test_cells_of_a_group_by(names, seed):
    generator = np.random.default_rng(seed)
    table, hidden = random_table(generator, 4)
    places = [list(PETS.columns).index(name) for name in names]
    query = (
        f"SELECT {', '.join(names)}, {ALL} FROM microdata WHERE age < 3 GROUP BY {', '.join(names)}"
    )
    answer = answer_on({"microdata": table}, PETS, query)
    possible = {tuple(row[i] for i in places) for rows in hidden for row in rows if row[0] < 3}
    assert {tuple(row[name] for name in names) for row in answer.rows} == possible
    for row in answer.rows:
        cell = tuple(row[name] for name in names)
        expected = extremes(
            hidden,
            lambda r, cell=cell: r[0] < 3 and tuple(r[i] for i in places) == cell,
        )
        for function, (low, high, _) in expected.items():
            bounds = row[f"{function}(loss)"]
            assert (bounds.lower, bounds.upper) == (low, high)


@pytest.mark.parametrize("names", [[], ["sex"], ["age", "vip"]])
def test_a_certain_row_is_in_the_answer_of_every_world(names):
    places = [list(PETS.columns).index(name) for name in names]
    counts_by_having = {having: Counter() for having in HAVINGS}
    query = f"SELECT {', '.join([*names, 'MIN(loss) AS least'])} FROM microdata WHERE age < 3"
    query += f" GROUP BY {', '.join(names)}" if names else ""
    for seed in range(6):
        table, hidden = random_table(np.random.default_rng(seed), 4)
        cells = {tuple(row[place] for place in places) for row in itertools.chain(*hidden)}
        outcomes = {cell: set() for cell in cells}
        for cell, worlds in outcomes.items():
            selected_rows = [
                {
                    row[4:] if row[0] < 3 and tuple(row[p] for p in places) == cell else ()
                    for row in rows
                }
                for rows in hidden
            ]
            worlds.update(
                tuple(itertools.chain(*world)) for world in itertools.product(*selected_rows)
            )
        queries = (f"{query} HAVING {having}" for having in counts_by_having)
        answers = answers_on({"microdata": table}, PETS, queries)
        for (having, counts), answer in zip(counts_by_having.items(), answers, strict=True):
            counts += in_every_world(answer, names, having, outcomes)
    assert counts_by_having["COUNT(*) >= 0"]["certain"]
    for having in ("COUNT(*) < 3", "COUNT(loss) < 9"):
        assert bool(counts_by_having[having]["empty"]) == bool(names)


def test_rows_count_where_their_values_are_null():
    table = pa.table(
        {
            "age": ["0", "1", "[1, 2]"],
            "sex": ["f", "f", "m"],
            "kind": ["cat"] * 3,
            "vip": pa.array([None, True, None], pa.bool_()),
            "loss": [1, 2, 3],
        }
    )
    query = "SELECT age FROM microdata GROUP BY age HAVING COUNT(vip) <= 0"
    answer = answer_on({"microdata": table}, PETS, query)
    assert answer.rows == ({"age": 0}, {"age": 2})
    assert answer.certain == (True, False)
    assert document(answer)["certain"] == [True, False]
    everything = "SELECT age, COUNT(*) FROM microdata GROUP BY age"
    assert document(answer_on({"microdata": table}, PETS, everything))["certain"] == [
        True,
        True,
        False,
    ]


def one(where, labels, type_="integer", form="generalized", **more):
    """Bounds and estimate of COUNT(*) on one column of labels."""
    declared = declare(
        form,
        x=column("quasi-identifier", type_, **more),
        loss=column("sensitive", "integer"),
    )
    table = pa.table({"x": pa.array(labels, pa.string()), "loss": [1] * len(labels)})
    (row,) = answer_on(
        {"microdata": table}, declared, f"SELECT COUNT(*) FROM microdata {where}"
    ).rows
    bounds = row["count(*)"]
    estimate = None if bounds.estimate is None else round(float(bounds.estimate), 9)
    return bounds.lower, bounds.upper, estimate


@pytest.mark.parametrize(
    ("where", "labels", "more", "expected"),
    [
        ("", ["[1, 4]"], {}, (1, 1, 1)),
        ("WHERE x > 2", ["[1, 4]", "[5, 9]", "1"], {}, (1, 2, 1.5)),
        ("WHERE x > 2.5", ["[1, 4]"], {}, (0, 1, 0.5)),
        ("WHERE x > -(2)", ["*", "-5"], {"form": "suppressed"}, (0, 1, 0)),
        ("WHERE x > 2 * 3 AND x < 8", ["[0.5, 10.5]"], {"type_": "float"}, (0, 1, 0.2)),
        ("WHERE x < 1e400", ["*"], {}, (1, 1, None)),
        ("WHERE x < 9223372036854775807", ["*"], {}, (0, 1, None)),
        ("WHERE x <= 9223372036854775807", ["*"], {}, (1, 1, None)),
        ("WHERE x > 1e18 AND x < 1.000000000000000256e18", ["*"], {}, (0, 1, None)),
        ("WHERE x <= DATE '9999-12-31'", ["*"], {"type_": "date"}, (1, 1, None)),
        ("WHERE x < DATE '0001-01-01'", ["*"], {"type_": "date"}, (0, 0, 0)),
        ("WHERE x <> 0 AND 6 / x > 2", ["[0, 3]", "3", "4"], {}, (0, 1, 0.5)),
        ("WHERE x % 2 = 0", ["*", "2", "3"], {"form": "suppressed"}, (1, 2, None)),
        (
            "WHERE x = '1*ab'",
            ["1***"],
            {"type_": "string", "hierarchy": {"prefixes": [2]}},
            (0, 1, 0),
        ),
        (
            "WHERE x < '13'",
            ["130**", "12***", "1****"],
            {"type_": "string", "hierarchy": {"prefixes": [3, 2, 1]}},
            (1, 2, None),
        ),
        (
            "WHERE x LIKE '130%'",
            ["130**", "13***", "12***"],
            {"type_": "string", "hierarchy": {"prefixes": [3, 2]}},
            (1, 2, None),
        ),
        ("WHERE (FALSE OR x >= 3) AND x <> 4", ["*"], {}, (0, 1, None)),
        ("WHERE x >= 1000001", ["[1, 2000000]"], {}, (0, 1, 0.5)),
        ("WHERE x % 2 = 0", ["[1, 20000000]"], {}, (0, 1, None)),
        ("WHERE x = -3", ["[-5, -1]"], {}, (0, 1, 0.2)),
        ("WHERE x <= 2", ["*", "[1, 4]"], {}, (0, 2, 1)),
        ("WHERE x < 0", ["*", "[1, 4]"], {}, (0, 1, 0)),
        ("WHERE x > 2", ["*"], {}, (0, 1, None)),
        ("WHERE x <= 2", ["*", "4", "1"], {"form": "suppressed"}, (1, 2, 1.5)),
        ("WHERE x < 2.5", ["[2, 4]"], {"type_": "float"}, (0, 1, 0.25)),
        ("WHERE x <= 2.0", ["[2, 4]"], {"type_": "float"}, (0, 1, 0)),
        ("WHERE x < 2.5", ["[2.0, 4.0]"], {"type_": "decimal", "scale": 1}, (0, 1, 0.238095238)),
        (
            "WHERE x < DATE '2020-01-11'",
            ["[2020-01-01, 2020-01-20]"],
            {"type_": "date"},
            (0, 1, 0.5),
        ),
        (
            "WHERE x >= TIMESTAMP '2020-01-01 12:00:00'",
            ["[2020-01-01 00:00:00.000000, 2020-01-01 23:59:59.999999]"],
            {"type_": "timestamp"},
            (0, 1, 0.5),
        ),
        ("WHERE x = 'a'", ["*", "a", "b"], {"type_": "string", "form": "suppressed"}, (1, 2, 1.5)),
        ("WHERE x = 'z'", ["*", "a", "b"], {"type_": "string", "form": "suppressed"}, (0, 1, 0)),
        (
            "WHERE x LIKE 'a%'",
            ["*", "ab"],
            {"type_": "string", "form": "suppressed"},
            (1, 2, None),
        ),
        ("WHERE x", ["*", "true"], {"type_": "boolean", "form": "suppressed"}, (1, 2, 1.5)),
        ("WHERE NOT x", ["*", "true"], {"type_": "boolean", "form": "suppressed"}, (0, 1, 0.5)),
        (
            "WHERE x = '13053'",
            ["130**", "13053", "131**", "1305*"],
            {"type_": "string", "hierarchy": {"prefixes": [4, 3]}},
            (1, 3, 1),
        ),
        (
            "WHERE x BETWEEN 17 AND 21",
            ["15-19", "20-24", "20", "10-19", "*"],
            {"hierarchy": {"intervals": [5, 10]}},
            (1, 5, 1 + 0.6 + 0.4 + 0.3 + 5 / 15),
        ),
        (
            "WHERE x > DATE '1987-06-30'",
            ["1987-Q3", "1987", "1980s"],
            {"type_": "date", "hierarchy": {"dates": ["quarter", "year", "decade"]}},
            (1, 3, 1 + round(184 / 365, 9) + round(915 / 3653, 9)),
        ),
    ],
)
def test_types_of_labels(where, labels, more, expected):
    lower, upper, estimate = one(where, labels, **more)
    assert (lower, upper) == expected[:2]
    middle = (lower + upper) / 2  # where nothing tells how likely it is
    assert estimate == pytest.approx(middle if expected[2] is None else expected[2], abs=1e-8)


def test_chances_of_columns_multiply():
    table = pa.table(
        {
            "age": ["[0, 3]"],
            "sex": ["{f, m}"],
            "kind": ["*"],
            "vip": [True],
            "loss": pa.array([12], pa.int64()),
        }
    )
    query = "SELECT COUNT(*), SUM(loss), AVG(loss), MIN(loss) FROM microdata WHERE {}"
    both = answer_on({"microdata": table}, PETS, query.format("age < 1 AND sex = 'f'")).rows[0]
    assert both["count(*)"] == Bounds(0, 1, Fraction(1, 8))
    assert both["sum(loss)"] == Bounds(12, 12, 12, may_be_empty=True)
    assert both["avg(loss)"] == Bounds(12, 12, 12, may_be_empty=True)
    assert both["min(loss)"] == Bounds(12, 12, 12, may_be_empty=True)
    either = answer_on({"microdata": table}, PETS, query.format("age < 1 OR sex = 'f'")).rows[0]
    assert either["count(*)"].estimate == Fraction(5, 8)
    neither = answer_on(
        {"microdata": table}, PETS, query.format("NOT (age < 1 OR sex = 'f')")
    ).rows[0]
    assert neither["count(*)"].estimate == Fraction(3, 8)


def test_a_document_says_where_an_answer_may_be_null():
    table = pa.table(
        {"age": ["[0, 3]"], "sex": ["f"], "kind": ["cat"], "vip": [None], "loss": [5]},
        schema=pa.schema(
            [(n, pa.string()) for n in ("age", "sex", "kind")]
            + [("vip", pa.bool_()), ("loss", pa.int64())]
        ),
    )
    document_ = document(
        answer_on({"microdata": table}, PETS, "SELECT AVG(loss) FROM microdata WHERE age = 1")
    )
    assert document_["form"] == "generalized"
    assert document_["guaranteed"] is True
    assert document_["not_represented"] == {"nulls": 2, "suppressed": 1}
    assert document_["rows"] == [
        {"avg(loss)": {"lower": 5.0, "upper": 5.0, "estimate": 5.0, "may_be_empty": True}}
    ]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT AVG(sex) FROM microdata", "AVG needs numbers"),
        ("SELECT COUNT(*) FROM microdata WHERE nothing = 1", "unknown column"),
        ("SELECT COUNT(*) FROM elsewhere", "write FROM microdata"),
    ],
)
def test_refusals(query, reason):
    table, _ = random_table(np.random.default_rng(1), 2)
    with pytest.raises(QueryError, match=reason):
        answer_on({"microdata": table}, PETS, query)


def test_cells_that_cannot_be_told_are_refused():
    declared = declare(x=column("quasi-identifier", "integer"), loss=column("sensitive", "integer"))
    table = pa.table({"x": ["[1, 20000000]"], "loss": [1]})
    with pytest.raises(QueryError, match="GROUP BY 'x': a label is a range of too many values"):
        answer_on({"microdata": table}, declared, "SELECT x, COUNT(*) FROM microdata GROUP BY x")


def test_a_missing_file(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        answer_on({"microdata": tmp_path / "none.parquet"}, PETS, "SELECT COUNT(*) FROM microdata")


PAY = declare(x=column("quasi-identifier", "integer"), pay=column("sensitive", "integer"))


@pytest.mark.parametrize(
    ("aggregate", "where", "expected"),
    [
        ("MIN(pay)", "x <= 2", (10, 50, 20)),  # half a row each: log 2 is passed at the second
        ("MIN(pay)", "x = 1", (10, 50, 30)),  # a quarter each: at the third
        ("MAX(pay)", "x = 1", (10, 50, 30)),
        ("MIN(pay)", "x <= 4", (10, 10, 10)),
        ("STDDEV_POP(pay)", "x <= 4", (200**0.5, 200**0.5, 200**0.5)),
        ("VAR_POP(pay)", "x = 1", (0, 640, 200)),
        ("VAR_SAMP(pay)", "x <= 2", (49925 / 1024, 800, 500 / 1.5)),
        ("STDDEV(pay)", "x <= 2", ((49925 / 1024) ** 0.5, 800**0.5, (500 / 1.5) ** 0.5)),
        ("STDDEV(pay)", "x = 9", None),
    ],
)
def test_what_is_expected_of_extremes_and_spreads(aggregate, where, expected):
    """Each value counts as often as its row is expected to be meant."""
    table = pa.table({"x": ["[1, 4]"] * 5, "pay": [10, 20, 30, 40, 50]})
    query = f"SELECT {aggregate} AS a FROM microdata WHERE {where}"
    (row,) = answer_on({"microdata": table}, PAY, query).rows
    bounds = row["a"]
    if expected is None:
        assert bounds == Bounds(None, None, None)
        return
    assert (bounds.lower, bounds.upper) == pytest.approx(expected[:2])
    assert float(bounds.estimate) == pytest.approx(expected[2])


def test_dates_and_words_are_aggregated():
    declared = declare(
        x=column("quasi-identifier", "integer"),
        seen=column("insensitive", "date", nulls=True),
        when=column("insensitive", "timestamp"),
        word=column("sensitive", "string"),
        share=column("sensitive", "float"),
    )
    table = pa.table(
        {
            "x": ["[1, 2]", "1", "2"],
            "seen": [date(2020, 1, 1), None, date(2019, 1, 1)],
            "when": [datetime(2020, 1, day) for day in (1, 2, 3)],  # noqa: DTZ001
            "word": ["b", "a", "c"],
            "share": [0.1, 0.2, -0.3],
        }
    )
    query = (
        'SELECT COUNT(seen) AS n, MIN(seen) AS s, MAX("when") AS w, MIN(word) AS a, SUM(share) AS t'
        " FROM microdata WHERE x = 1"
    )
    (row,) = answer_on({"microdata": table}, declared, query).rows
    assert row["n"] == Bounds(0, 1, Fraction(1, 2))
    assert row["s"] == Bounds(*[date(2020, 1, 1)] * 3, may_be_empty=True)
    assert (row["w"].lower, row["w"].upper) == (datetime(2020, 1, 2), datetime(2020, 1, 2))  # noqa: DTZ001
    assert row["a"] == Bounds("a", "a", "a")
    assert (row["t"].lower, row["t"].upper) == (Fraction(1, 5), Fraction(3, 10))
