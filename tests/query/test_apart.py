"""Counts where every quasi-identifier stands by itself: in the paper, in every world, in SQL."""

import itertools
import random
from collections import Counter
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.groups.counting import cover
from sfumato.expectations.measures.occurrences import occurrences
from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.forms import ambiguous
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.query.ask import answer_on, engine
from sfumato.tasks.query.engines.columns import open_columns
from sfumato.tasks.query.engines.direct_counts import open_direct_counts
from sfumato.tasks.query.help_tables.registry import build_help_tables
from sfumato.tasks.query.load import load
from sfumato.tasks.query.rewrite import rewrite
from sfumato.tasks.query.sql.single import read_question
from sfumato.tasks.sql.session import fetch, session
from sfumato.tasks.sql.target import target
from tests.query import asked
from tests.query.dialect_laws import LOCAL, SERVERS, address, assert_same_rows, rewritten_texts
from tests.query.test_dialects import agree_on_groups
from tests.query.worlds import HAVINGS, answers_on, column, declare, in_every_world

PATIENTS = declare(
    "ambiguous",
    age=column("quasi-identifier", "integer"),
    sex=column("quasi-identifier", "string"),
    zip=column("quasi-identifier", "integer"),
    disease=column("sensitive", "string"),
)
PEOPLE = {
    "age": [45, 20, 50, 60, 20, 50, 60, 60],
    "sex": list("MMMMFFFF"),
    "zip": [11000, 12000, 23000, 12000, 54000, 23000, 23000, 21000],
    "disease": [
        *("diabetes", "flu", "diarrhea", "stroke"),
        *("leukemia", "diabetes", "leukemia", "dyspepsia"),
    ],
}
GROUPS = [0] * 4 + [1] * 4


def publish_apart(declared, columns, group):
    """The tables of a release and its help tables."""
    encoded = tuple(
        encode(name, column.role, pa.array(columns[name], column.arrow_type))
        for name, column in declared.columns.items()
    )
    partition = Partition(np.array(group, dtype=np.int64))
    rows = Microdata(encoded, len(group))
    tables = ambiguous.publish(rows, partition, declared.form, seeded_keys(1))
    arrow = ambiguous.schemas(declared.columns, declared.form)
    tables = {name: tables[name].cast(schema) for name, schema in arrow.items()}
    return tables | build_help_tables(tables, declared)


def count_rows(tables, declared, query, estimator="weighted"):
    """The bounds and estimate of each row of an answer."""
    rows = answer_on(tables, declared, query, estimator).rows
    return [(row["n"].lower, row["n"].upper, float(row["n"].estimate)) for row in rows]


@pytest.mark.parametrize(
    ("where", "bounds", "uniform"),
    [
        ("disease = 'stroke' AND age >= 45", (0, 1), Fraction(3, 4)),
        ("disease = 'diabetes' AND age >= 50 AND zip = 23000", (0, 2), Fraction(7, 18)),
        ("disease = 'leukemia' AND age >= 45", (0, 2), Fraction(4, 3)),
        ("disease = 'leukemia'", (2, 2), Fraction(2)),
        ("sex = 'M'", (4, 4), Fraction(4)),
        ("sex = 'M' AND disease LIKE 'di%'", (2, 2), Fraction(2)),
        ("age > 99", (0, 0), Fraction(0)),
        ("1 = 1", (8, 8), Fraction(8)),
        ("1 = 2", (0, 0), Fraction(0)),
    ],
)
def test_the_numbers_of_the_paper(where, bounds, uniform):
    tables = publish_apart(PATIENTS, PEOPLE, GROUPS)
    query = f"SELECT COUNT(*) AS n FROM microdata WHERE {where}"
    ((*bounds_found, estimate),) = count_rows(tables, PATIENTS, query, "uniform")
    assert tuple(bounds_found) == bounds
    assert estimate == pytest.approx(float(uniform))


def test_cells_are_the_values_that_groups_admit():
    tables = publish_apart(PATIENTS, PEOPLE, GROUPS)
    query = "SELECT sex, zip, COUNT(*) AS n FROM microdata WHERE disease = 'leukemia' GROUP BY 1"
    with pytest.raises(QueryError):
        answer_on(tables, PATIENTS, query)
    rows = answer_on(tables, PATIENTS, query.replace("BY 1", "BY sex, zip"), "uniform").rows
    assert [(row["sex"], row["zip"]) for row in rows] == [("F", z) for z in (21000, 23000, 54000)]
    assert [row["n"].estimate for row in rows] == [pytest.approx(2 / 3)] * 3
    assert [(row["n"].lower, row["n"].upper) for row in rows] == [(0, 2)] * 3


@pytest.mark.parametrize("estimator", ["weighted", "uniform"])
def test_an_engine_that_is_asked_again_answers_as_a_new_one(estimator):
    tables = publish_apart(PATIENTS, PEOPLE, GROUPS)
    asked_again = [
        read_question(f"SELECT COUNT(*) FROM microdata {rest}", PATIENTS)
        for rest in (
            "WHERE age >= 45",
            "WHERE age >= 60 AND sex = 'M'",
            "WHERE zip = 23000 AND disease = 'diabetes' GROUP BY sex",
            "WHERE age >= 45",
            "",
        )
    ]
    for opening in (open_columns, open_direct_counts):
        with opening(tables, PATIENTS, estimator) as asking:
            answers = [asking.ask(question) for question in asked_again]
            tables_kept = len(asking._tables)
        alone = []
        for question in asked_again:
            with opening(tables, PATIENTS, estimator) as another:
                alone.append(another.ask(question))
        assert answers == alone
        assert answers[0] != answers[1]
        # of SQL: sizes, and what groups admit of three columns
        assert tables_kept == (4 if opening is open_columns else 0)


def surjections(values, size):
    """Every way in which so many rows have the values, each of them at least once."""
    return [rows for rows in itertools.product(values, repeat=size) if set(rows) == set(values)]


@pytest.mark.parametrize("seed", range(10))
def test_bounds_are_attained_by_some_world(seed):
    """Of every world that the tables leave, and by none beyond; groups are independent."""
    rng = random.Random(seed)
    group = sorted(rng.randrange(2) for _ in range(rng.randint(2, 6)))
    group = [sorted(set(group)).index(g) for g in group]
    columns = {
        "age": [rng.randrange(3) for _ in group],
        "sex": [rng.choice("MF") for _ in group],
        "zip": [0] * len(group),
        "disease": [rng.choice("ab") for _ in group],
    }
    tables = publish_apart(PATIENTS, columns, group)
    parts = {"age": lambda a: a >= 1, "sex": lambda s: s == "M", "disease": lambda d: d == "a"}
    texts = {"age": "age >= 1", "sex": "sex = 'M'", "disease": "disease = 'a'"}
    for used in itertools.chain(*(itertools.combinations(parts, n) for n in (1, 2, 3))):
        least = most = 0
        for g in sorted(set(group)):
            members = [i for i, number in enumerate(group) if number == g]
            ways = [
                surjections(sorted({columns[name][i] for i in members}), len(members))
                if name != "disease"
                else [[columns["disease"][i] for i in members]]
                for name in used
            ]
            counts_found = {
                sum(
                    all(parts[n](v) for n, v in zip(used, row, strict=True))
                    for row in zip(*world, strict=True)
                )
                for world in itertools.product(*ways)
            }
            least, most = least + min(counts_found), most + max(counts_found)
        where = " AND ".join(texts[name] for name in used)
        query = f"SELECT COUNT(*) AS n FROM microdata WHERE {where}"
        ((lower, upper, _),) = count_rows(tables, PATIENTS, query)
        assert (lower, upper) == (least, most), (used, columns, group)


def counts_of(columns, group, names, holds):
    """Count the rows of each cell in every world that the tables leave; groups add up."""
    counts_found, order = {frozenset()}, list(columns)
    places = [order.index(name) for name in names]
    for g in sorted(set(group)):
        members = [i for i, number in enumerate(group) if number == g]
        ways = [
            [[column_values[i] for i in members]]
            if name == "disease"
            else surjections(sorted({column_values[i] for i in members}), len(members))
            for name, column_values in columns.items()
        ]
        here = {
            frozenset(
                Counter(
                    tuple(row[place] for place in places)
                    for row in zip(*world, strict=True)
                    if holds(*row)
                ).items()
            )
            for world in itertools.product(*ways)
        }
        counts_found = {
            frozenset((Counter(dict(a)) + Counter(dict(b))).items())
            for a, b in itertools.product(counts_found, here)
        }
    return [Counter(dict(counts)) for counts in counts_found]


WHERE = {
    "": lambda *_: True,
    "disease = 'a'": lambda age, sex, zip_, disease: disease == "a",
    "age >= 1": lambda age, *_: age >= 1,
    "sex = 'M' AND disease = 'a'": lambda age, sex, zip_, disease: (sex, disease) == ("M", "a"),
}


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("names", [[], ["sex"], ["age", "sex"]])
def test_a_certain_row_is_in_the_answer_of_every_world(names, where):
    counts_by_having = {having: Counter() for having in HAVINGS if "loss" not in having}
    keys = ", ".join(names)
    query = f"SELECT {keys + ', ' if keys else ''}COUNT(*) AS n FROM microdata"
    query += f" WHERE {where}" if where else ""
    query += f" GROUP BY {keys}" if keys else ""
    texts = rewritten_texts(query, PATIENTS, counts_by_having)
    for seed in range(3):
        rng = random.Random(f"certain {seed}")
        group = [0] * rng.randint(2, 4) + [1] * rng.randint(1, 3)
        columns: dict[str, list[Any]] = {
            "age": [rng.randrange(3) for _ in group],
            "sex": [rng.choice("MF") for _ in group],
            "zip": [0] * len(group),
            "disease": [rng.choice("ab") for _ in group],
        }
        worlds = counts_of(columns, group, names, WHERE[where])
        cells = itertools.product(*(sorted(set(columns[name])) for name in names))
        outcomes = {cell: {(None,) * world[cell] for world in worlds} for cell in cells}
        tables = publish_apart(PATIENTS, columns, group)
        queries = [f"{query} HAVING {having}" for having in counts_by_having]
        answers = answers_on(tables, PATIENTS, queries)
        with session(tables) as connection:
            for having, answer in zip(counts_by_having, answers, strict=True):
                counts_by_having[having] += in_every_world(answer, names, having, outcomes)
                for reading, text in texts[having].items():
                    returned = connection.execute(text).fetchall()
                    assert {row[: len(names)] for row in returned} == {
                        tuple(row[name] for name in names)
                        for row, sure in zip(answer.rows, answer.certain, strict=True)
                        if sure or reading == "possible"
                    }
    assert counts_by_having["COUNT(*) >= 0"]["certain"] or len(names) == 2
    unsure = len(names) == 2 or (names and where)
    assert bool(counts_by_having["COUNT(*) >= 0"]["empty"]) == bool(unsure)


@pytest.mark.parametrize(
    ("query", "conditions"),
    [
        ("SELECT sex, COUNT(*) FROM microdata GROUP BY sex", "u0 < 5"),
        ("SELECT sex, COUNT(*) FROM microdata WHERE sex > 'a' GROUP BY sex", "u0 < 5"),
        ("SELECT COUNT(*) FROM microdata WHERE age > 1 AND sex > 'a'", "u0 < 5"),
        ("SELECT sex FROM microdata WHERE age > 1 GROUP BY sex", "u0 < 5 AND l0 > 0"),
        ("SELECT COUNT(*) AS n FROM microdata GROUP BY sex, zip", "u1 < 5 AND l0 > 0"),
    ],
)
def test_rewritten_queries_ask_for_rows_where_there_may_be_none(query, conditions):
    text = rewrite(f"{query} HAVING COUNT(*) < 5", PATIENTS, "certain").sql()
    assert " ".join(text.rpartition("WHERE")[2].split()) == conditions


ROLES = {**dict.fromkeys(asked.EXACT, "quasi-identifier")}
ROLES |= dict.fromkeys(asked.SENSITIVE, "sensitive")


@cache
def hard(sensitive):
    """A release with every type and hard values."""
    scales = {"price": 2, "gain": 1}
    types = {**asked.EXACT, **asked.SENSITIVE}
    exact = asked.EXACT
    declared = declare(
        "ambiguous",
        **{
            name.replace("-", "_"): column(
                ROLES[name], type_, scale=scales.get(name), nulls=name in exact and name != "age"
            )
            for name, type_ in types.items()
        },
    )
    form = declared.form.model_copy(update={"sensitive": sensitive})
    declared = declared.model_copy(update={"form": form})
    table = asked.microdata(random.Random(5), 60)
    columns = {name: table[name].to_pylist() for name in declared.columns}
    return declared, table, publish_apart(declared, columns, table["group_id"].to_pylist())


def counts_answered(declared, tables, rng, number):
    """Of so many random queries of counts those that are answered: rewritten, with their rows."""
    answers_found = []
    for _ in range(number):
        query, keys, _ = random_query(rng, together=False)
        try:
            rows = answer_on(tables, declared, query).rows
            rewritten = rewrite(query, declared)
        except QueryError:
            continue
        expected = [
            [*(row[key] for key in keys), row["n"].lower, row["n"].upper, row["n"].estimate]
            for row in rows
        ]
        answers_found.append((query, rewritten, expected))
    return answers_found


def random_query(rng, together):
    queries = asked.Queries(rng, together)
    keys = rng.sample(list(asked.EXACT), rng.choice([0, 0, 1, 2]))
    parts = [
        queries.condition({name: asked.EXACT[name]}, 1)
        for name in rng.sample(list(asked.EXACT), rng.choice([0, 1, 2, 3]))
    ]
    parts += [
        queries.condition({name: asked.SENSITIVE[name]}, 1)
        for name in rng.sample(list(asked.SENSITIVE), rng.choice([0, 1, 2]))
    ]
    named = ", ".join(f'"{key}"' for key in keys)
    query = f"SELECT {named + ', ' if keys else ''}COUNT(*) AS n FROM microdata"
    query += f" WHERE {' AND '.join(f'({part})' for part in parts)}" if parts else ""
    query += f" GROUP BY {named}" if keys else ""
    having = rng.choice(["", "", f" HAVING COUNT(*) >= {rng.randint(1, 9)}"])
    return query + having, keys, parts


@pytest.mark.parametrize("sensitive", ["independent", "together"])
def test_the_truth_is_within_the_bounds(sensitive):
    declared, table, tables = hard(sensitive)
    rng, outcomes = random.Random(1), Counter()
    for _ in range(40):
        query, keys, _ = random_query(rng, sensitive == "together")
        try:
            answer = answer_on(tables, declared, query)
        except QueryError as error:
            assert "could not be evaluated" in str(error), query
            outcomes["refused"] += 1
            continue
        numbers = {tuple(row[key] for key in keys): row["n"] for row in answer.rows}
        with session({"microdata": table}) as connection:
            truth = fetch(connection, asked_of_rows(query))
        for *key, count in truth:
            bounds = numbers[tuple(key)]
            assert bounds.lower <= count <= bounds.upper, (query, key)
            assert bounds.lower <= bounds.estimate <= bounds.upper
            outcomes["cells"] += 1
        outcomes["exact"] += sum(bounds.lower == bounds.upper for bounds in numbers.values())
    assert outcomes["refused"] < 10
    assert outcomes["cells"] > 30
    assert outcomes["exact"] > 5


def asked_of_rows(query):
    import sqlglot

    return sqlglot.parse_one(query, read="duckdb")


@pytest.mark.parametrize("estimator", ["weighted", "uniform"])
def test_estimates_multiply_shares(estimator):
    declared, table, tables = hard("independent")
    rng = random.Random(3)
    group = table["group_id"].to_numpy()
    sizes = np.bincount(group)
    shares = {}
    for name in ("Sex", "day"):
        column = encode(name, "quasi-identifier", table[name].combine_chunks())
        codes, values = column.category()
        admitted = cover(group, codes, values)
        expected = occurrences(sizes, admitted)
        if estimator == "uniform":
            expected = (sizes / admitted.sizes(len(sizes)))[admitted.group]
        value = [None, *column.values.to_pylist()] if column.has_null else column.values.to_pylist()
        shares[name] = {
            (g, value[v]): n / sizes[g]
            for g, v, n in zip(admitted.group, admitted.value, expected, strict=True)
        }
    words = table["capital-word"].to_pylist()
    for _ in range(10):
        sex, word = (rng.choice(asked.TEXTS).replace("'", "") for _ in range(2))
        query = (
            f"SELECT day, COUNT(*) AS n FROM microdata WHERE \"Sex\" <= '{sex}' "
            f"AND \"capital-word\" <> '{word}' GROUP BY day"
        )
        rows_found = answer_on(tables, declared, query, estimator).rows
        for row in rows_found:
            expected_estimate = 0.0
            for g in range(len(sizes)):
                shares_of_group = (pair for pair in shares["Sex"].items() if pair[0][0] == g)
                of_sex = sum(n for (_, v), n in shares_of_group if v is not None and v <= sex)
                c = sum(w != word for w, word_ in zip(words, group, strict=True) if word_ == g)
                expected_estimate += c * of_sex * shares["day"].get((g, row["day"]), 0.0)
            expected_estimate = min(max(expected_estimate, row["n"].lower), row["n"].upper)
            assert float(row["n"].estimate) == pytest.approx(expected_estimate, abs=1e-9)


@cache
def questions():
    """Random queries that are answered: as they are rewritten, and the rows of their answers."""
    declared, _, tables = hard("independent")
    return counts_answered(declared, tables, random.Random(2), 25)


@pytest.mark.parametrize("kind", [*LOCAL, *SERVERS])
def test_databases_give_the_same(kind, tmp_path):
    declared, _, tables = hard("independent")
    url, outcomes = address(kind, tmp_path), Counter()
    release = asked.on_disk(tmp_path / "release", tables, declared)
    loaded = load(release, url, replace=True)
    assert set(loaded) == set(tables)
    with target(url) as database:
        for query, rewritten, expected in questions():
            try:
                text = rewritten.sql(kind)
            except QueryError:
                continue
            assert_same_rows(database.execute(text), expected, query)
            outcomes["compared"] += 1
            outcomes["rows"] += len(expected)
    assert outcomes["compared"] >= 14
    assert outcomes["rows"] > outcomes["compared"]


@pytest.mark.parametrize("kind", [*LOCAL, *SERVERS])
def test_databases_give_the_same_groups(kind, tmp_path):
    declared, _, tables = hard("independent")
    url = address(kind, tmp_path)
    load(asked.on_disk(tmp_path / "release", tables, declared), url, replace=True)
    query = 'SELECT "Sex", COUNT(*) FROM microdata {} GROUP BY "Sex" HAVING COUNT(*) < 99'
    with target(url) as database, engine(tables, declared) as asking:
        few, all_of = (
            agree_on_groups(database, kind, asking, declared, query.format(where))
            for where in ("WHERE loss < 4 AND age > -3", "")
        )
        assert min(few[True], few[False], all_of[True]) > 0
        assert not all_of[False]
        whole = query.replace('"Sex", ', "").replace(' GROUP BY "Sex"', "")
        sole = whole.format("WHERE age > 99")
        assert agree_on_groups(database, kind, asking, declared, sole) == {True: 1}


def test_rewritten_as_reviewed():
    query = (
        "SELECT sex, COUNT(*) FROM microdata WHERE age >= 50 AND disease = 'leukemia' GROUP BY sex "
        "HAVING COUNT(*) > 1"
    )
    golden = asked.Path(__file__).with_name("golden_apart") / "by_sex.sql"
    assert rewrite(query, PATIENTS).sql() + "\n" == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT AVG(age) FROM microdata", "answers COUNT, but not AVG"),
        ("SELECT MIN(disease) FROM microdata", "answers COUNT, but not MIN"),
        (
            "SELECT COUNT(*) FROM microdata WHERE age < zip",
            "does not show which of their values belong together",
        ),
        (
            "SELECT COUNT(*) FROM microdata WHERE age // 10 = 1",
            "nothing can be calculated with them",
        ),
    ],
)
def test_what_the_tables_do_not_tell_is_refused(query, reason):
    with pytest.raises(QueryError, match=reason):
        answer_on(publish_apart(PATIENTS, PEOPLE, GROUPS), PATIENTS, query)


def numbers_of(bounds):
    return bounds.lower, bounds.upper, bounds.estimate


def test_nulls_are_counted_when_asked_for():
    declared, table, tables = hard("independent")
    query = 'SELECT COUNT(age) AS a, COUNT(loss) AS l, COUNT("Sex") AS s FROM microdata'
    (row,) = answer_on(tables, declared, query).rows
    with session(tables) as connection:
        written = fetch(connection, rewrite(query, declared).duckdb_tree)
    assert_same_rows(written, [[number for n in "als" for number in numbers_of(row[n])]], query)
    truth = [
        len(table[column_name]) - table[column_name].null_count
        for column_name in ("age", "loss", "Sex")
    ]
    assert table["Sex"].null_count
    assert all(row[n].lower <= t <= row[n].upper for n, t in zip("als", truth, strict=True))


def test_names_that_help_tables_use():
    declared = declare(
        "ambiguous",
        Occurrences=column("quasi-identifier", "integer"),
        n=column("quasi-identifier", "integer"),
        s=column("sensitive", "integer"),
    )
    columns = {"Occurrences": [1, 2, 2], "n": [3, 3, 4], "s": [5, 6, 7]}
    tables = publish_apart(declared, columns, [0, 0, 0])
    query = "SELECT Occurrences, COUNT(*) AS n FROM microdata WHERE n = 3 GROUP BY Occurrences"
    counts_found = count_rows(tables, declared, query)
    assert [bounds[:2] for bounds in counts_found] == [(0, 2), (0, 2)]
