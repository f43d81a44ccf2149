"""Subdomains in the place of sensitive values: every bound is attained, in every database."""

import datetime
import itertools
import random
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import cache

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.forms import redistributed
from sfumato.tasks.partitions.targets.tree import balanced_tree
from sfumato.tasks.partitions.targets.trees_with_weights import annotate
from sfumato.tasks.query.ask import answer_on, ask, engine
from sfumato.tasks.query.help_tables.registry import build_help_tables
from sfumato.tasks.query.load import load
from sfumato.tasks.query.ready_sql import duckdb_script
from sfumato.tasks.query.rewrite import rewrite
from sfumato.tasks.query.sql.single import read_question
from sfumato.tasks.query.views import groups_view
from sfumato.tasks.sql.dialects.registry import DIALECTS
from sfumato.tasks.sql.session import fetch, session
from sfumato.tasks.sql.target import target
from tests.query import asked
from tests.query.dialect_laws import (
    LOCAL,
    SERVERS,
    address,
    answered_rows,
    assert_same_rows,
    expected_rows,
    rewritten_texts,
)
from tests.query.test_dialects import agree_on_groups
from tests.query.worlds import (
    HAVINGS,
    aggregate,
    assert_attained,
    column,
    declare,
    in_every_world,
    shape,
)

FUNCTIONS = ("count", "sum", "avg", "min", "max")
ALL = ", ".join(f"{function}(loss)" for function in FUNCTIONS)
FAKES = shape("redistributed", fakes=9)


def declared_of(name, sensitive, **exact):
    columns = {**exact, name: sensitive}
    columns = {key.replace("-", "_"): value for key, value in columns.items()}
    return declare("permuted", **columns).model_copy(update={"form": FAKES})


SMALL = declared_of(
    "loss",
    column("sensitive", "integer"),
    age=column("quasi-identifier", "integer"),
    sex=column("quasi-identifier", "string", nulls=True),
)


def tables_of(rng, declared, rows, values, fakes=3):
    """A release of rows in groups 0, 1, …: random subdomains, some of them fakes, two targets."""
    sizes = Counter(rows["group_id"].to_pylist())
    targets = [_target(rng, values, arity) for arity in (2, 3)[: len(sizes)]]
    copies = Counter()
    for group, size in sizes.items():
        for _ in range(size + rng.randint(0, fakes)):
            copies[group, *rng.choice(targets[group % 2])[:2]] += 1
    arrow = redistributed.schemas(declared.columns, declared.form)
    tables = {
        "qit": rows,
        "st": _filled_table([(*key, times) for key, times in copies.items()], arrow["st"]),
        "aims": _filled_table([(group, group % 2) for group in sizes], arrow["aims"]),
        "targets": _filled_table(
            [(number, *node) for number, nodes in enumerate(targets) for node in nodes],
            arrow["targets"],
        ),
    }
    return tables | build_help_tables(tables, declared)


def _target(rng, values, arity):
    """Every node of a tree over values in their order: first and last value, weight."""
    tree = balanced_tree(len(values), arity)
    likely = np.array([1, *(rng.choice([0, 1, 1, 3]) for _ in values[1:])])
    weights = annotate(tree, likely).target.weight
    ends = zip(tree.first.tolist(), tree.last.tolist(), weights.tolist(), strict=True)
    return [(values[first], values[last], weight) for first, last, weight in ends]


def _filled_table(rows, schema):
    columns = zip(*rows, strict=True)
    arrays = [
        pa.array(column_values, field.type)
        for column_values, field in zip(columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def small(seed):
    """A small release: its tables, and which values each copy of a group's subdomains may be."""
    rng = random.Random(seed)
    groups = [group for group in range(rng.randint(1, 3)) for _ in range(rng.randint(1, 3))]
    rows = pa.table(
        {
            "age": [rng.randrange(3) for _ in groups],
            "sex": pa.array([rng.choice(["f", "m", None]) for _ in groups], pa.string()),
            "group_id": groups,
        }
    )
    values = sorted(rng.sample(range(-4, 6), rng.randint(1, 5)))
    tables = tables_of(rng, SMALL, rows, values, fakes=rng.choice([0, 2]))
    return tables, values, _copies(tables, values)


def _copies(tables, values):
    """For each group the values that each copy of its subdomains may be."""
    copies = {}
    for row in tables["st"].to_pylist():
        within = values[values.index(row["lower"]) : values.index(row["upper"]) + 1]
        copies.setdefault(row["group_id"], []).extend([tuple(within)] * row["count"])
    return copies


def outcomes(copies, hits, is_selected):
    """The wanted values in every world, in order.

    In a world each of the `hits` rows of a group has a copy of its own, and a value of it.
    """
    of_groups = [
        {
            tuple(sorted(value for value in world if is_selected(value)))
            for chosen in itertools.permutations(copies[group], rows)
            for world in itertools.product(*chosen)
        }
        for group, rows in hits.items()
    ]
    return {tuple(sorted(itertools.chain(*world))) for world in itertools.product(*of_groups)}


def extremes(copies, hits, is_selected, functions=FUNCTIONS):
    """Per function the least and greatest answer over all worlds, and whether it may be null."""
    values_by_function = {function: set() for function in functions}
    for values in outcomes(copies, hits, is_selected):
        for function in functions:
            values_by_function[function].add(aggregate(function, values))
    limits = {}
    for function, seen in values_by_function.items():
        some = seen - {None}
        ends = (min(some), max(some)) if some else (None, None)
        limits[function] = (*ends, bool(some) and None in seen)
    return limits


CONDITIONS = {
    "": lambda _: True,
    "loss > 0": lambda v: v > 0,
    "loss <> 0": lambda v: v != 0,
    "loss IN (-2, 1, 3)": lambda v: v in (-2, 1, 3),
    "loss <= -1 OR loss = 4": lambda v: v <= -1 or v == 4,
    "NOT (loss BETWEEN -1 AND 2)": lambda v: not -1 <= v <= 2,
    "loss > 99": lambda v: v > 99,
}


@pytest.mark.parametrize("where", CONDITIONS)
def test_bounds_are_the_extremes_over_all_worlds(where):
    checked = 0
    for seed in range(8):
        tables, _, copies = small(seed)
        with engine(tables, SMALL) as asking:
            for age in (0, 1, 3):
                rows = [r for r in tables["qit"].to_pylist() if r["age"] < age]
                parts = [f"age < {age}", *([f"({where})"] if where else [])]
                query = f"SELECT {ALL} FROM microdata WHERE {' AND '.join(parts)}"
                (row,) = ask(asking, SMALL, read_question(query, SMALL)).rows
                hits = Counter(r["group_id"] for r in rows)
                checked += assert_attained(row, extremes(copies, hits, CONDITIONS[where]))
    assert checked == 120


@pytest.mark.parametrize("where", CONDITIONS)
def test_cells(where):
    for seed in range(8):
        tables, _, copies = small(f"cells {seed}")
        selected = f" WHERE {where}" if where else ""
        query = f"SELECT sex, {ALL} FROM microdata{selected} GROUP BY sex"
        rows_by_sex = {row["sex"]: row for row in answer_on(tables, SMALL, query).rows}
        cells = {}
        for row in tables["qit"].to_pylist():
            cells.setdefault(row["sex"], Counter())[row["group_id"]] += 1
        for sex, hits in cells.items():
            limits = extremes(copies, hits, CONDITIONS[where])
            if limits["count"][1]:
                assert_attained(rows_by_sex.pop(sex), limits)
        assert not rows_by_sex


def test_having_is_read_on_these_bounds():
    outcomes = Counter()
    for number in range(16):
        tables, _, copies = small(f"having {number}")
        query = "SELECT sex, COUNT(*) FROM microdata WHERE loss > 0 GROUP BY sex"
        answer = answer_on(tables, SMALL, f"{query} HAVING SUM(loss) > 2")
        certain = dict(zip((row["sex"] for row in answer.rows), answer.certain, strict=True))
        for sex in {row["sex"] for row in tables["qit"].to_pylist()}:
            rows = [row for row in tables["qit"].to_pylist() if row["sex"] == sex]
            hits = Counter(row["group_id"] for row in rows)
            low, high, empty = extremes(copies, hits, lambda v: v > 0)["sum"]
            assert (sex in certain) == (high is not None and high > 2)
            if sex in certain:
                assert certain[sex] == (low > 2 and not empty)
                outcomes[certain[sex]] += 1
    assert min(outcomes[True], outcomes[False]) > 2


@pytest.mark.parametrize("group_by", ["", "sex"])
def test_a_certain_row_is_in_the_answer_of_every_world(group_by):
    names, counts_by_having = (
        [group_by] if group_by else [],
        {having: Counter() for having in HAVINGS},
    )
    where = "loss IN (-2, 1, 3)"
    query = f"SELECT {', '.join([*names, 'MIN(loss) AS least'])} FROM microdata WHERE {where}"
    query += " GROUP BY sex" if names else ""
    texts = rewritten_texts(query, SMALL, HAVINGS)
    for number in range(6):
        tables, _, copies = small(f"certain {number}")
        hits = {}
        for row in tables["qit"].to_pylist():
            cell = tuple(row[name] for name in names)
            hits.setdefault(cell, Counter())[row["group_id"]] += 1
        worlds = {
            cell: outcomes(copies, hits_of_cell, CONDITIONS[where])
            for cell, hits_of_cell in hits.items()
        }
        with engine(tables, SMALL) as asking, session(tables) as connection:
            for having in HAVINGS:
                asked_for = f"{query} HAVING {having}"
                question = read_question(asked_for, SMALL)
                answer = ask(asking, SMALL, question)
                counts_by_having[having] += in_every_world(answer, names, having, worlds)
                for reading, text in texts[having].items():
                    expected = expected_rows(question, answer, reading)
                    rows_found = connection.execute(text).fetchall()
                    assert_same_rows(rows_found, expected, (asked_for, reading))
    assert counts_by_having["COUNT(*) >= 0"]["certain"]
    for having in ("COUNT(*) >= 0", "COUNT(*) < 3", "COUNT(loss) < 9"):
        assert bool(counts_by_having[having]["empty"]) == bool(names)


KINDS = declared_of(
    "kind",
    column(
        "sensitive",
        "string",
        hierarchy=(("wolf", "wild", "*"), ("ant", "wild", "*"), ("cat", "pet", "*")),
    ),
    age=column("quasi-identifier", "integer"),
)


@pytest.mark.parametrize("seed", range(5))
def test_least_and_greatest_texts_of_runs_in_a_hierarchy(seed):
    rng, values = random.Random(seed), ["cat", "ant", "wolf"]
    rows = pa.table({"age": [rng.randrange(2) for _ in range(5)], "group_id": [0, 0, 0, 1, 1]})
    tables = tables_of(rng, KINDS, rows, values)
    copies = _copies(tables, values)
    for where, is_selected in (("", lambda _: True), (" AND kind <> 'ant'", lambda v: v != "ant")):
        query = f"SELECT COUNT(kind), MIN(kind), MAX(kind) FROM microdata WHERE age = 0{where}"
        (row,) = answer_on(tables, KINDS, query).rows
        hits = Counter(r["group_id"] for r in rows.to_pylist() if r["age"] == 0)
        assert_attained(row, extremes(copies, hits, is_selected, ("count", "min", "max")), "kind")


def test_estimates_are_the_means_that_the_target_tells():
    nodes = [(1, 8, 1), (1, 2, 3), (4, 8, 1), (1, 1, 1), (2, 2, 2), (4, 4, 1), (8, 8, 0)]
    arrow = redistributed.schemas(SMALL.columns, SMALL.form)
    tables = {
        "qit": pa.table({"age": [1, 2, 3], "sex": ["f", "f", "m"], "group_id": [0, 0, 0]}),
        "st": _filled_table([(0, 1, 8, 1), (0, 1, 2, 2), (0, 4, 4, 1)], arrow["st"]),
        "aims": _filled_table([(0, 0)], arrow["aims"]),
        "targets": _filled_table([(0, *node) for node in nodes], arrow["targets"]),
    }
    tables |= build_help_tables(tables, SMALL)
    low = Fraction(5, 3)  # of 1 and 2, the second twice as likely
    root = Fraction(3, 4) * low + Fraction(1, 4) * 4
    query = "SELECT COUNT(*), SUM(loss), AVG(loss) FROM microdata WHERE sex = 'f'"
    (row,) = answer_on(tables, SMALL, query).rows
    mean = (root + 2 * low + 4) / 4
    assert row["sum(loss)"].estimate == pytest.approx(float(2 * mean))
    assert row["avg(loss)"].estimate == pytest.approx(float(mean))
    (row,) = answer_on(tables, SMALL, f"{query} AND loss >= 2").rows
    chances = [Fraction(1, 2) + Fraction(1, 4), Fraction(2, 3), Fraction(2, 3), Fraction(1)]
    rows = 2 * sum(chances) / 4
    sums = 2 * (1 + 1 + 2 * Fraction(4, 3) + 4) / 4
    assert row["count(*)"].estimate == pytest.approx(float(rows))
    assert row["sum(loss)"].estimate == pytest.approx(float(sums))
    assert row["avg(loss)"].estimate == pytest.approx(float(sums / rows))


def test_estimates_of_what_is_known_are_within_its_bounds():
    declared, _ = hard("x")
    rng, rows = random.Random(1), asked.microdata(random.Random(2), 12)
    rows = rows.select([*asked.EXACT, "group_id"])
    tables = tables_of(rng, declared, rows, [0.1])
    for where in ("", " WHERE x > 0"):
        query = f"SELECT COUNT(*), SUM(x), AVG(x) FROM microdata{where}"
        (row,) = answer_on(tables, declared, query).rows
        for label, exactly in (("count(*)", 12), ("sum(x)", Fraction(12, 10)), ("avg(x)", 0.1)):
            bounds = row[label]
            assert bounds.lower == bounds.estimate == bounds.upper == pytest.approx(exactly)


def test_sums_beyond_64_bits_are_exact():
    values = [-(2**62), 5, 2**62 - 1]
    rows = pa.table({"age": [0] * 6, "sex": ["f"] * 6, "group_id": [0, 0, 0, 1, 1, 1]})
    tables = tables_of(random.Random(3), SMALL, rows, values, fakes=1)
    for where, is_selected in (("", lambda _: True), (" WHERE loss > 0", lambda v: v > 0)):
        (row,) = answer_on(tables, SMALL, f"SELECT {ALL} FROM microdata{where}").rows
        assert_attained(row, extremes(_copies(tables, values), Counter({0: 3, 1: 3}), is_selected))


TYPES = {
    "loss": ("integer", range(-4, 5)),
    "gain": ("decimal", [Decimal(g) / 10 for g in range(-9, 12, 3)]),
    "x": ("float", [n / 8 for n in range(-6, 7)]),
    "capital-word": ("string", sorted(asked.TEXTS)),
    "flag": ("boolean", [False, True]),
    "seen": ("date", [datetime.date(2020, 2, 27) + datetime.timedelta(d) for d in range(5)]),
}


@cache
def hard(name):
    """A release with every type and hard values, and one sensitive column."""
    type_, values = TYPES[name]
    exact = {
        other: column(
            "quasi-identifier", type_, scale=2 if other == "price" else None, nulls=other != "age"
        )
        for other, type_ in asked.EXACT.items()
    }
    scale = 1 if name == "gain" else None
    declared = declared_of(name, column("sensitive", type_, scale=scale), **exact)
    rng = random.Random(f"hard {name}")
    rows = asked.microdata(rng, 60).select([*asked.EXACT, "group_id"])
    return declared, tables_of(rng, declared, rows, list(values))


class Queries(asked.Queries):
    """Random queries on one sensitive column."""

    def __init__(self, rng, name):
        super().__init__(rng, together=False)
        self.name = name

    def query(self):
        keys = self.rng.sample(list(asked.EXACT), self.rng.choice([0, 0, 1, 1, 2]))
        named = [f'"{key}"' for key in keys]
        parts = [self.condition(asked.EXACT, 2)] if self.rng.random() < 0.7 else []
        matched = self.rng.random() < 0.6
        if matched:
            parts.append(self.condition({self.name: TYPES[self.name][0]}, 1))
        aggregates = [self.aggregate_of(matched) for _ in range(self.rng.randint(1, 3))]
        terms = [*named, *(f"{text} AS n{i}" for i, text in enumerate(aggregates))]
        query = f"SELECT {', '.join(terms)} FROM microdata"
        query += f" WHERE {' AND '.join(f'({part})' for part in parts)}" if parts else ""
        query += f" GROUP BY {', '.join(named)}" if keys else ""
        having = self.rng.choice(["", "", f" HAVING COUNT(*) >= {self.rng.randint(1, 6)}"])
        return query + having, self.rng.choice(["possible", "certain"])

    def aggregate_of(self, matched):
        numbers = TYPES[self.name][0] in ("integer", "decimal", "float")
        of_numbers = ["SUM", *([] if matched else ["AVG"])] if numbers else []
        function = self.rng.choice(["COUNT", "MIN", "MAX", *of_numbers])
        return f'{function}("{self.name}")'


@cache
def questions(name):
    """Random queries, their readings, as they are rewritten, and the rows of their answers."""
    declared, tables = hard(name)
    queries, questions_found = Queries(random.Random(f"queries {name}"), name), []
    with engine(tables, declared) as asking:
        for _ in range(18):
            query, reading = queries.query()
            try:
                expected = answered_rows(asking, declared, query, reading)
            except QueryError as error:  # a division by zero
                assert "could not be evaluated" in str(error), query
                continue
            questions_found.append((query, reading, rewrite(query, declared, reading), expected))
    return questions_found


@pytest.mark.parametrize("kind", [*LOCAL, *SERVERS])
@pytest.mark.parametrize("name", TYPES)
def test_databases_give_the_same(name, kind, tmp_path):
    declared, tables = hard(name)
    url, outcomes = address(kind, tmp_path), Counter()
    release = asked.on_disk(tmp_path / "release", tables, declared)
    assert set(tables) < set(load(release, url, replace=True))
    with target(url) as database:
        for query, reading, rewritten, expected in questions(name):
            try:
                text = rewritten.sql(kind)
            except QueryError as error:
                assert "cannot be written for" in str(error)
                outcomes["refused"] += 1
                continue
            assert_same_rows(database.execute(text), expected, (query, reading))
            outcomes["compared"] += 1
            outcomes["matched"] += "bounds_nodes" in text
            outcomes["rows"] += len(expected)
    assert outcomes["compared"] > 8
    assert outcomes["matched"] > 2
    assert outcomes["rows"] > outcomes["compared"]


@pytest.mark.parametrize("kind", [*LOCAL, *SERVERS])
def test_databases_give_the_same_groups(kind, tmp_path):
    declared, tables = hard("loss")
    url = address(kind, tmp_path)
    load(asked.on_disk(tmp_path / "release", tables, declared), url, replace=True)
    query = 'SELECT "Sex", MIN(loss) FROM microdata WHERE {} GROUP BY "Sex" HAVING {}'
    with target(url) as database, engine(tables, declared) as asking:
        for having in ("COUNT(*) < 99", "COUNT(loss) >= 0 OR SUM(loss) > 0"):
            queries = (query.format(where, having) for where in ("loss < 4", "age > 0"))
            few, all_of = (
                agree_on_groups(database, kind, asking, declared, question) for question in queries
            )
            assert min(few[True], few[False], all_of[True]) > 0
            assert not all_of[False]


def test_rewritten_queries_give_the_same_where_little_is_sure():
    outcomes = Counter()
    for seed, where in itertools.product(range(5), ["loss > 0", "loss < 0", "loss <> 1"]):
        tables, _, _ = small(seed)
        query = "SELECT sex, COUNT(*) AS n, SUM(loss), MIN(loss), MAX(loss) FROM microdata"
        query += f" WHERE {where} GROUP BY sex"
        with engine(tables, SMALL) as asking, session(tables) as connection:
            expected = answered_rows(asking, SMALL, query)
            assert_same_rows(fetch(connection, rewrite(query, SMALL).duckdb_tree), expected, query)
        outcomes.update(row[1] > 0 for row in expected)
    assert min(outcomes[True], outcomes[False]) > 3


def test_the_truth_is_within_in_thousands_of_groups():
    rng = np.random.default_rng(3)
    rows, groups, values = 6000, 2000, np.arange(0, 400, 4)
    group = np.sort(np.append(np.arange(groups), rng.integers(0, groups, rows - groups)))
    age, truth = rng.integers(0, 50, rows), rng.choice(values, rows)
    tree = balanced_tree(len(values), 2)
    admits = (truth[:, None] >= values[tree.first]) & (truth[:, None] <= values[tree.last])
    node = np.array([rng.choice(np.flatnonzero(admitted_by_node)) for admitted_by_node in admits])
    ends = values[tree.first[node]].tolist(), values[tree.last[node]].tolist()
    copies = Counter(zip(group.tolist(), *ends, strict=True))
    arrow = redistributed.schemas(SMALL.columns, SMALL.form)
    nodes = zip(values[tree.first].tolist(), values[tree.last].tolist(), strict=True)
    tables = {
        "qit": pa.table({"age": age, "sex": ["f"] * rows, "group_id": group}),
        "st": _filled_table([(*key, times) for key, times in copies.items()], arrow["st"]),
        "aims": _filled_table([(g, 0) for g in range(groups)], arrow["aims"]),
        "targets": _filled_table([(0, *pair, 1) for pair in nodes], arrow["targets"]),
    }
    tables |= build_help_tables(tables, SMALL)
    query = f"SELECT age, {ALL} FROM microdata WHERE loss BETWEEN 100 AND 250 GROUP BY age"
    question, checked = read_question(query, SMALL), 0
    with engine(tables, SMALL) as asking:
        answer = ask(asking, SMALL, question)
    for row in answer.rows:
        some = truth[(age == row["age"]) & (truth >= 100) & (truth <= 250)].tolist()
        for function in FUNCTIONS:
            bounds = row[f"{function}(loss)"]
            assert bounds.lower <= aggregate(function, some) <= bounds.upper
            checked += 1
    assert checked == 250


def test_ready_sql_runs(tmp_path, monkeypatch):
    tables, _, _ = small(2)
    asked.on_disk(tmp_path, tables, SMALL)
    monkeypatch.chdir(tmp_path)
    script = duckdb_script(SMALL)
    assert "in the subdomains of the group" in script.replace("\n-- ", " ")
    (row,) = answer_on(tables, SMALL, "SELECT AVG(loss) AS mean FROM microdata").rows
    with duckdb.connect() as connection:
        first = connection.execute(script.rpartition("-- Bounds for")[0]).fetchall()
        assert first[0][-2:] == pytest.approx((float(row["mean"].lower), float(row["mean"].upper)))
        connection.execute(groups_view(SMALL, "loss", DIALECTS["duckdb"]).create)
        description = connection.execute("SELECT * FROM groups_loss LIMIT 0").description
    sides = [
        f"{function}_{side}" for function in ("sum", "min", "max") for side in ("lower", "upper")
    ]
    assert [name for name, *_ in description] == ["group_id", "size", *sides]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT AVG(loss) FROM microdata WHERE loss > 1", "sfumato query"),
        ("SELECT MAX(loss) FROM microdata WHERE loss > 1 HAVING AVG(loss) > 2", "sfumato query"),
        ("SELECT loss, COUNT(*) FROM microdata GROUP BY loss", "GROUP BY of a sensitive column"),
        ("SELECT COUNT(*) FROM microdata WHERE loss > age", "does not show who has which value"),
        ("SELECT COUNT(*) FROM microdata WHERE lower = 1", "unknown column 'lower'"),
    ],
)
def test_what_is_not_written_in_sql_is_refused(query, reason):
    with pytest.raises(QueryError, match=reason):
        rewrite(query, SMALL)


def test_conditions_in_the_order_of_a_hierarchy_are_not_written_in_sql():
    assert rewrite("SELECT MIN(kind) FROM microdata WHERE age = 1", KINDS).sql()
    with pytest.raises(QueryError, match="in the order of its hierarchy"):
        rewrite("SELECT COUNT(*) FROM microdata WHERE kind = 'ant'", KINDS)


@pytest.mark.parametrize("seed", range(6))
def test_a_help_table_has_a_row_for_each_number_of_rows(seed):
    tables, _, copies = small(seed)
    rows = Counter(tables["qit"]["group_id"].to_pylist())
    helped = tables["help_loss"].to_pylist()
    assert [(r["group_id"], r["hits"]) for r in helped] == [
        (group, hits) for group, size in sorted(rows.items()) for hits in range(1, size + 1)
    ]
    for row in helped:
        limits = extremes(copies, {row["group_id"]: row["hits"]}, lambda _: True)
        for function in ("sum", "min", "max"):
            assert (row[f"l_{function}"], row[f"u_{function}"]) == limits[function][:2]
