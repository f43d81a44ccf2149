"""Random microdata, published with labels and asked random queries: the truth is in the bounds.

The truth is what DuckDB answers to the same text on the original rows. Each seed is a release with
columns of every type and hierarchies of every kind, and several queries on it.
"""

import random
from collections import Counter
from contextlib import ExitStack
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.forms.labels import admits
from sfumato.tasks.forms.optional import reader_for
from sfumato.tasks.forms.registry import FORMS
from sfumato.tasks.microdata.hierarchies import hierarchy_of
from sfumato.tasks.microdata.hierarchies import with_ancestors as climbing
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.query.ask import ask, engine
from sfumato.tasks.query.behind_labels.values_behind_labels import MOST
from sfumato.tasks.query.question.rest import REST
from sfumato.tasks.query.sql.single import read_question
from sfumato.tasks.schema.hierarchy_rules import Dates, Intervals, Prefixes
from tests.query.worlds import COUNTS, column, partial_declaration, shape

EDGES = 0.03  # of the values
EPOCH = datetime(2000, 1, 1)  # noqa: DTZ001 - naive, as the values are
WORDS = ["a", "b", "ab", "B", "Ab", "a, b", "it's", "[x", "é", "", "a*", "1*ab", "1***", "ba"]
CODES = ["1305", "1306", "1315", "13*5", "1***", "1*05", "2", "13", "é305"]
KINDS = (
    ("cat", "pet", "*"),
    ("dog", "pet", "*"),
    ("wolf", "wild", "*"),
    ("pet", "thing", "*"),
    ("emu", "wild", "*"),
)
SIZES = (
    *((str(n), "low" if n < 0 else "high", "*") for n in range(-4, 8)),
    ("9" * 30, "high", "*"),
    ("many", "high", "*"),
)
SHARES = tuple((f"{n}.{d}", str(n), "*") for n in range(3) for d in (0, 5))


def value(type_, chance, edges=EDGES):
    """A value of a small domain, now and then one at the edge of what the type holds."""
    edge = chance.random() < edges
    whole = chance.randint(-4, 7)
    match type_:
        case "integer":
            return chance.choice([2**63 - 1, -(2**63), 2**53 + 1, 2**53]) if edge else whole
        case "decimal":
            return Decimal(chance.randint(-40, 70)).scaleb(-1) if not edge else Decimal("9" * 36)
        case "float":
            return chance.choice([1e300, -1e300, 5e-324, 0.1 + 0.2]) if edge else whole / 4
        case "date":
            day = (EPOCH + timedelta(days=chance.randint(-40, 70))).date()
            return chance.choice([date.min, date.max]) if edge else day
        case "timestamp":
            moment = EPOCH + timedelta(hours=6 * chance.randint(-8, 12), microseconds=whole)
            return chance.choice([datetime.min, datetime.max]) if edge else moment  # noqa: DTZ901
        case "boolean":
            return chance.random() < 0.5
    return chance.choice(WORDS)


QUASI = {
    "age": ("integer", [None]),
    "old": ("integer", [Intervals(intervals=(2, 6)), Intervals(intervals=(1, 5, 10))]),
    "size": ("integer", [SIZES]),
    "share": ("decimal", [None]),
    "part": ("decimal", [SHARES]),
    "rate": ("float", [None]),
    "day": ("date", [None]),
    "born": (
        "date",
        [Dates(dates=("month", "year")), Dates(dates=("quarter", "decade", "century"))],
    ),
    "seen": ("timestamp", [None]),
    "word": ("string", [None]),
    "zip": ("string", [Prefixes(prefixes=(3, 2)), Prefixes(prefixes=(4, 1))]),
    "kind": ("string", [KINDS]),
    "vip": ("boolean", [None]),
}
NUMBERS = ("integer", "decimal", "float")
OTHERS = {
    "gain": ("insensitive", "integer", True),
    "note": ("insensitive", "string", True),
    "met": ("insensitive", "date", True),
    "mark": ("insensitive", "boolean", True),
    "ratio": ("insensitive", "float", False),
    "loss": ("sensitive", "integer", False),
    "cost": ("sensitive", "decimal", True),
}
LEAVES = {"size": list(range(-4, 8)), "kind": [row[0] for row in KINDS], "zip": CODES}
LEAVES["part"] = [Decimal(row[0]) for row in SHARES]


def draw_value(name, type_, chance, edges):
    if name == "ratio":  # is summed up, exactly
        return chance.randint(-4, 7) / 4
    if name in LEAVES:
        return chance.choice(LEAVES[name])
    return value(type_, chance, edges)


class Release:
    """Random rows, their columns as declared, and what is published of them."""

    def __init__(self, chance, form, edges=EDGES):
        names = chance.sample(list(QUASI), chance.randint(2, 4))
        rows = chance.randint(1, 9)
        self._edges = edges
        self.columns = {}
        columns = []
        for name in names:
            type_, hierarchies = QUASI[name]
            nulls = chance.random() < 0.4
            hierarchy = chance.choice(hierarchies)
            scale = 1 if type_ == "decimal" else None
            self.columns[name] = column(
                "quasi-identifier", type_, nulls=nulls, scale=scale, hierarchy=hierarchy
            )
            columns.append(self._column(name, hierarchy, rows, chance))
        for name, (role, type_, nulls) in OTHERS.items():
            scale = 1 if type_ == "decimal" else None
            self.columns[name] = column(role, type_, nulls=nulls, scale=scale)
            columns.append(self._column(name, None, rows, chance))
        microdata = Microdata(tuple(columns), rows)
        _, group = np.unique(
            [chance.randint(0, rows // 2) for _ in range(rows)], return_inverse=True
        )
        group = group - (chance.random() < 0.3)
        recoding = {
            c.name: np.array(
                [chance.randrange(len(c.levels())) for _ in range(group.max() + 1)], dtype=np.int64
            )
            for c in microdata.with_roles("quasi-identifier")
        }
        self.original = microdata.take(np.flatnonzero(group >= 0)).table()
        self.declared = partial_declaration(
            columns=self.columns,
            form=shape(form),
            rows=COUNTS,
            strata=(),
            versions="disjoint",
        )
        linked = [tuple(names[:2])] if chance.random() < 0.3 else []
        self.tables = FORMS[form].publish(
            microdata,
            Partition(group, recoding=coarse(microdata, group, recoding, chance)),
            SimpleNamespace(linked=linked, single_values=chance.choice(["quoted", "plain"])),
            seeded_keys(1),
        )
        self._stack = ExitStack()
        self._engine = self._stack.enter_context(engine(self.tables, self.declared))
        self._duckdb = self._stack.enter_context(duckdb.connect())
        self._duckdb.register("microdata", self.original)

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self._stack.close()

    def answer(self, query):
        return ask(self._engine, self.declared, read_question(query, self.declared))

    def truth(self, query, keys):
        """Return DuckDB's answer on the original: aggregates by the values of group columns."""
        rows_found = self._duckdb.execute(query)
        names = [described[0] for described in rows_found.description][keys:]
        return {
            row[:keys]: dict(zip(names, row[keys:], strict=True)) for row in rows_found.fetchall()
        }

    def _column(self, name, hierarchy, rows, chance):
        declared = self.columns[name]
        values = [
            None
            if declared.nulls and chance.random() < 0.25
            else draw_value(name, declared.type, chance, self._edges)
            for _ in range(rows)
        ]
        encoded = encode(name, declared.role, pa.array(values, declared.arrow_type))
        return encoded if hierarchy is None else climbing(encoded, hierarchy_of(encoded, hierarchy))


def coarse(microdata, group, recoding, chance):
    """Of some columns a level per group at which all of its rows agree."""
    coarse_hierarchies = {}
    for name, wished in recoding.items():
        if chance.random() < 0.6:
            continue
        levels = microdata[name].levels()
        category = microdata[name].category()[0]
        for number in range(len(wished)):
            members = category[group == number]
            while len(set(levels[wished[number]][members].tolist())) > 1:
                wished[number] += 1
        coarse_hierarchies[name] = wished
    return coarse_hierarchies


class Grammar:
    """Random predicates over some columns, as texts."""

    edges = EDGES

    def __init__(self, columns, chance):
        self.columns = columns
        self.chance = chance

    def predicate(self, depth=3):
        kind = self.chance.random()
        if depth == 0 or kind < 0.3:
            return self.comparison_of_any()
        if kind < 0.45:
            return f"NOT ({self.predicate(depth - 1)})"
        if kind < 0.5:
            return f"NOT {self.comparison_of_any()}"
        join = self.chance.choice([" AND ", " OR "])
        parts = [self.predicate(depth - 1) for _ in range(self.chance.randint(2, 3))]
        return join.join(f"({p})" if self.chance.random() < 0.7 else p for p in parts)

    def comparison_of_any(self):
        if self.chance.random() < 0.04:
            return self.chance.choice(
                ["TRUE", "FALSE", "NULL", "1 = 1", "NULL = 2", "2 IN (1, NULL)"]
            )
        name = self.chance.choice(list(self.columns))
        return self.comparison_of(name, self.columns[name].type)

    def comparison_of(self, name, type_):
        expression_text = self.expression(name, type_)
        match self.chance.randrange(12):
            case 0:
                return f"{expression_text} IS{self.maybe_not()} NULL"
            case 1 | 2:
                listed = [self.member(type_) for _ in range(self.chance.randint(1, 3))]
                listed += ["NULL"] * (self.chance.random() < 0.3)
                return f"{expression_text}{self.maybe_not()} IN ({', '.join(listed)})"
            case 3 | 4:
                ends = self.constant(type_), self.constant(type_)
                return f"{expression_text}{self.maybe_not()} BETWEEN {ends[0]} AND {ends[1]}"
            case 5 if type_ == "boolean":
                return expression_text
            case 5 | 6 | 7 if type_ == "string":
                like = self.chance.choice(["LIKE", "ILIKE"])
                return f"{expression_text}{self.maybe_not()} {like} {self.pattern()}"
            case 8:
                return f"{self.constant(type_)} {self.comparison()} {expression_text}"
        return f"{expression_text} {self.comparison()} {self.constant(type_)}"

    def maybe_not(self):
        return self.chance.choice(["", "", " NOT"])

    def comparison(self):
        return self.chance.choice(["=", "<>", "!=", "<", "<=", ">", ">="])

    def pattern(self):
        letters = self.chance.choices("ab%_13*éB0", k=self.chance.randint(0, 4))
        return "'" + "".join(letters) + "'"

    def expression(self, name, type_):
        quoted = f'"{name}"'
        if type_ not in NUMBERS or self.chance.random() < 0.75:
            return quoted
        number = self.constant(type_)
        other = self.chance.choice([n for n, c in self.columns.items() if c.type in NUMBERS])
        return self.chance.choice(
            [
                f"{quoted} + {number}",
                f"{quoted} * 2",
                f"{quoted} % 3",
                f"-{quoted}",
                f"{quoted} / {number}",
                f"({quoted})",
                f'{quoted} - "{other}"',
                f"(1 - {quoted}) * 3",
            ]
        )

    def member(self, type_):
        constant_text = self.constant(type_)
        return "1" if type_ in NUMBERS and set("(*+") & set(constant_text) else constant_text

    def constant(self, type_):
        if self.chance.random() < 0.03:
            return "NULL"
        if type_ in NUMBERS:
            return self.number(
                value(self.chance.choice(["integer", type_]), self.chance, self.edges)
            )
        if type_ in ("date", "timestamp"):
            moment = value(self.chance.choice(["date", "timestamp"]), self.chance, self.edges)
            kind = "TIMESTAMP" if isinstance(moment, datetime) else "DATE"
            return f"{kind} '{moment}'"
        if type_ == "boolean":
            return self.chance.choice(["TRUE", "FALSE"])
        words = CODES + WORDS + [row[0] for row in KINDS]
        return "'" + self.chance.choice(words).replace("'", "''") + "'"

    def number(self, constant):
        text = f"{constant:f}" if isinstance(constant, Decimal) else str(constant)
        match self.chance.randrange(10):
            case 0:
                return f"-({text})"
            case 1:
                return f"2 * {text}"
            case 2:
                return f"{float(constant)}e0" if abs(constant) < 10**6 and "e" not in text else text
            case 3:
                return str(self.chance.choice([2.5, -0.5, ".5", "1.", "1e1", "25e-1"]))
            case 4:
                return f"{text} + 0.05"
        return text


def queries(release, chance):
    """A query, as text."""
    grammar = Grammar(release.columns, chance)
    terms = ["COUNT(*) AS n", "COUNT(gain) AS c", "COUNT(cost) AS k"]
    for name in ("loss", "cost", "ratio", "gain"):
        terms += [f"{f}({name}) AS {f}_{name}" for f in ("sum", "avg", "min", "max")]
    terms += [f"{f}({name}) AS {f}_{name}" for f in ("min", "max") for name in ("note", "met")]
    keys = []
    if chance.random() < 0.3:
        keys = chance.sample(list(release.columns), chance.randint(1, 2))
    keys = [f'"{key}"' for key in keys]
    where = f" WHERE {grammar.predicate()}" if chance.random() < 0.95 else ""
    group_by = f" GROUP BY {', '.join(keys)}" if keys else ""
    return f"SELECT {', '.join(keys + terms)} FROM microdata{where}{group_by}", len(keys)


def is_inside(bounds, true):
    if true is None:
        return bounds.may_be_empty or bounds.lower is bounds.upper is None
    if bounds.lower is None:
        return False
    if not isinstance(true, float):
        return bounds.lower <= true <= bounds.upper
    slack = abs(true) / 10**9 + 1e-9  # DuckDB adds floats up one by one
    low, high = Fraction(bounds.lower), Fraction(bounds.upper)
    return low - Fraction(slack) <= Fraction(true) <= high + Fraction(slack)


def ask_query(release, query, keys, met):
    """Require that the truth is inside everywhere; `met` counts what became of the queries."""
    try:
        true = release.truth(query, keys)
    except duckdb.Error:
        met["fails in DuckDB"] += 1
        return
    try:
        answer = release.answer(query)
    except QueryError as error:
        met[str(error)[:40]] += 1
        return
    met["answered"] += 1
    names = list(answer.columns)
    rows_by_key = {tuple(row[name] for name in names[:keys]): row for row in answer.rows}
    by_rest = Counter()
    for cell, aggregates in true.items():
        if cell not in rows_by_key:
            (covering,) = [other for other in rows_by_key if covers(other, cell, rows_by_key)]
            by_rest[covering] += aggregates["n"]
            continue
        for name, truth in aggregates.items():
            assert is_inside(rows_by_key[cell][name], truth), (
                cell,
                name,
                truth,
                rows_by_key[cell][name],
            )
    for cell in rows_by_key.keys() - true.keys():
        assert is_inside(rows_by_key[cell]["n"], by_rest[cell]), "more or fewer rows than there are"


def covers(other, cell, rows_by_key):
    """Decide whether a row is of a cell: of the rest, of values that no row names."""
    return REST in other and all(
        mine == value or (mine is REST and value not in {key[place] for key in rows_by_key})
        for place, (mine, value) in enumerate(zip(other, cell, strict=True))
    )


@pytest.mark.parametrize("most", [MOST, 0])
@pytest.mark.parametrize("form", ["generalized", "suppressed"])
def test_the_truth_is_within_the_bounds(form, most, monkeypatch):
    monkeypatch.setattr(
        "sfumato.tasks.query.behind_labels.values_behind_labels.MOST", most
    )  # 0: no interval is told by its values
    met = Counter()
    for seed in range(10):
        chance = random.Random(f"{form} {most} {seed}")
        with Release(chance, form) as release:
            for _ in range(3):
                ask_query(release, *queries(release, chance), met=met)
    assert met["answered"] > 20, met


UNIVERSE = {
    "integer": range(-60, 60),
    "decimal": [Decimal(n).scaleb(-1) for n in range(-400, 400)],
    "float": [n / 80 for n in range(-1600, 1600)],
    "date": [(EPOCH + timedelta(days=n)).date() for n in range(-400, 500)],
    "timestamp": [
        EPOCH + timedelta(hours=6 * n, microseconds=u)
        for n in range(-180, 300)
        for u in range(-6, 9)
    ],
    "boolean": [True, False],
    "string": [w + end for w in ["", *WORDS, *CODES] for end in ("", "\0", "~")]
    + [row[0] for row in KINDS],
}


def attainable(release, name, where):
    """Count the rows that surely and possibly meet a condition on one column."""
    declared = release.columns[name]
    read = reader_for(FORMS[release.declared.form.method])(name, declared)
    table = release.tables["microdata"]
    rows, values = [], []
    for row, label in enumerate(table[name].to_pylist()):
        fitting = [v for v in [*UNIVERSE[declared.type], None] if admits(read(label), v)]
        rows += [row] * len(fitting)
        values += fitting
    tried = pa.table({"row": rows, name: pa.array(values, declared.arrow_type)})
    with duckdb.connect() as connection:
        connection.register("tried", tried)
        met = f"coalesce({where}, FALSE)"
        per_row = f"SELECT bool_and({met}) AS must, bool_or({met}) AS may FROM tried GROUP BY row"
        counted = "SELECT count(*) FILTER (must), count(*) FILTER (may)"
        return connection.execute(f"{counted} FROM ({per_row})").fetchone()


class Plain(Grammar):
    """Conditions on one column that have no arithmetic, and no edges."""

    edges = 0.0

    def expression(self, name, type_):
        return f'"{name}"'


@pytest.mark.parametrize("most", [MOST, 0])
@pytest.mark.parametrize("form", ["generalized", "suppressed"])
def test_bounds_on_one_column_are_attained(form, most, monkeypatch):
    monkeypatch.setattr("sfumato.tasks.query.behind_labels.values_behind_labels.MOST", most)
    open_rows = 0
    for seed in range(6):
        chance = random.Random(f"tight {form} {most} {seed}")
        with Release(chance, form, edges=0.0) as release:
            for name in release.declared.names_with_roles("quasi-identifier"):
                where = Plain({name: release.columns[name]}, chance).predicate()
                if "LIKE" in where:
                    continue
                query = f"SELECT COUNT(*) AS n FROM microdata WHERE {where}"
                bounds = release.answer(query).rows[0]["n"]
                must, may = attainable(release, name, where)
                assert (bounds.lower, bounds.upper) == (must, may), where
                open_rows += may - must
    assert open_rows > 10
