"""Releases with every type and hard values, and random queries on them, as texts."""

import datetime
import random
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.tasks.query.help_tables.rows import help_tables, helped_columns
from sfumato.tasks.terms.opened import Release
from sfumato.tasks.terms.terms import Declared
from tests.query.worlds import column, shape
from tests.query.worlds import declare as plain

FORMS = [
    (form, sensitive) for form in ("permuted", "split") for sensitive in ("independent", "together")
]
EXACT = {
    "age": "integer",
    "price": "decimal",
    "f": "float",
    "Sex": "string",
    "day": "date",
    "at": "timestamp",
    "vip": "boolean",
}
SENSITIVE = {
    "loss": "integer",
    "gain": "decimal",
    "x": "float",
    "capital-word": "string",
    "flag": "boolean",
    "seen": "date",
}
TEXTS = ["a", "A", "b", "Ä", "ä", "a ", "", "a\\b", "50%", "k_", "K", "[*]?", "it's", "ß", "z\nz"]
PATTERNS = ["a%", "A_", "%b", "ä", "_", "%\\%", "50%", "k_", "%*%", "%[%", "it's", "%\n%", "", "%"]


def declare(form: str, sensitive: str, *, missing: bool = False) -> Declared:
    scales = {"price": 2, "gain": 1}
    roles = {**dict.fromkeys(EXACT, "quasi-identifier"), **dict.fromkeys(SENSITIVE, "sensitive")}
    roles["vip"] = "insensitive"
    columns = {
        name: column(
            roles[name],
            type_,
            scale=scales.get(name),
            nulls=missing if name in SENSITIVE else name != "age",
        )
        for name, type_ in {**EXACT, **SENSITIVE}.items()
    }
    declared = plain(form, **{n.replace("-", "_"): c for n, c in columns.items()})
    return declared.model_copy(update={"form": shape(form, sensitive=sensitive)})


def microdata(rng: random.Random, rows: int = 70, *, missing: bool = False) -> pa.Table:
    def some(values, type_, nulls=True):
        chosen = [None if nulls and rng.random() < 0.1 else rng.choice(values) for _ in range(rows)]
        return pa.array(chosen, type_)

    days = [datetime.date(2020, 2, 27) + datetime.timedelta(d) for d in range(5)]
    times = [datetime.time(), datetime.time(9, 0, 0, 9)]
    moments = [datetime.datetime.combine(day, time) for day in days for time in times]
    group = sorted(rng.randrange(1 + rows // 5) for _ in range(rows))
    dense = {g: n for n, g in enumerate(dict.fromkeys(group))}
    return pa.table(
        {
            "age": some(range(-3, 8), pa.int64(), nulls=False),
            "price": some([Decimal(p) / 100 for p in range(-100, 301, 50)], pa.decimal128(38, 2)),
            "f": some([-1.5, 0.0, 0.1, 0.3, 2.0, 3.0, 1e10], pa.float64()),
            "Sex": some(TEXTS, pa.string()),
            "day": some(days, pa.date32()),
            "at": some(moments, pa.timestamp("us")),
            "vip": some([True, False], pa.bool_()),
            "loss": some(range(-4, 5), pa.int64(), missing),
            "gain": some(
                [Decimal(g) / 10 for g in range(-9, 12, 3)], pa.decimal128(38, 1), missing
            ),
            "x": some([n / 8 for n in range(-6, 7)], pa.float64(), missing),
            "capital-word": some(TEXTS, pa.string(), missing),
            "flag": some([True, False, False], pa.bool_(), missing),
            "seen": some(days, pa.date32(), missing),
            "group_id": pa.array([dense[g] for g in group], pa.int64()),
        }
    )


def in_form(table: pa.Table, declared: Declared) -> dict[str, pa.Table]:
    """The published tables of a release, and its help tables."""
    tables = {"microdata": table}
    if declared.form.method == "split":
        exact = [name for name in table.column_names if name not in SENSITIVE]
        tables = {"qit": table.select(exact)}
        for name, columns in _bundles(declared).items():
            counted = table.group_by(["group_id", *columns]).aggregate([([], "count_all")])
            tables[name] = counted.rename_columns(["group_id", *columns, "count"])
    return tables | help_tables(tables, helped_columns(declared))


def _bundles(declared: Declared) -> dict[str, list[str]]:
    if declared.form.sensitive == "together":
        return {"st": list(SENSITIVE)}
    return {f"st_{name.replace('-', '_')}": [name] for name in SENSITIVE}


def on_disk(directory: Path, tables: dict[str, pa.Table], declared: Declared) -> Release:
    """As much of a release as queries read."""
    for name, table in tables.items():
        path = directory / ("sql" if name.startswith("help_") else "data") / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path)
    return Release(directory, declared, {})


class Queries:
    """Random queries on a release; each has all its group columns among those it shows."""

    def __init__(self, rng: random.Random, together: bool):
        self.rng, self.together = rng, together

    def query(self) -> tuple[str, str]:
        """A query, and in which reading its HAVING clause is meant."""
        keys = self.rng.sample(list(EXACT), self.rng.choice([0, 0, 1, 1, 2]))
        named = [f'"{key}"' for key in keys]
        aggregates = [self.aggregate() for _ in range(self.rng.randint(1, 3))]
        terms = [*named, *(f"{text} AS n{i}" for i, text in enumerate(aggregates))]
        query = f"SELECT {', '.join(terms)} FROM microdata"
        parts = [self.condition(EXACT, 2)] if self.rng.random() < 0.8 else []
        for _ in range(self.rng.choice([0, 0, 1, 1, 2])):
            names = self.rng.sample(list(SENSITIVE), 2 if self.together else 1)
            parts.append(self.condition({name: SENSITIVE[name] for name in names}, 1))
        query += f" WHERE {' AND '.join(f'({part})' for part in parts)}" if parts else ""
        query += f" GROUP BY {', '.join(named)}" if keys else ""
        query += f" HAVING {self.having()}" if self.rng.random() < 0.4 else ""
        return query, self.rng.choice(["possible", "certain"])

    def aggregate(self) -> str:
        name = self.rng.choice(list(SENSITIVE))
        numbers = SENSITIVE[name] in ("integer", "decimal", "float")
        function = self.rng.choice(["COUNT", "MIN", "MAX", *(["SUM", "AVG", "AVG"] * numbers)])
        return self.rng.choice(["COUNT(*)", *[f'{function}("{name}")'] * 4])

    def having(self) -> str:
        def one() -> str:
            sign = self.rng.choice(["<", "<=", ">", ">=", "=", "<>"])
            compared = [
                f"COUNT(*) {sign} {self.rng.randint(0, 6)}",
                f"SUM(loss) {sign} {self.rng.randint(-9, 9)}",
                f"AVG(loss) {sign} {self.rng.randint(-30, 30) / 7:.3f}",
                f"MIN(gain) {sign} {self.rng.randint(-9, 9) / 10}",
                f"SUM(gain) {sign} {self.rng.randint(-9, 19) / 10}",
                f"MAX(\"capital-word\") {sign} 'b'",
                f"MIN(seen) {sign} DATE '2020-02-29'",
                f"SUM(loss) NOT BETWEEN -3 AND {self.rng.randint(0, 9)}",
            ]
            return self.rng.choice(compared)

        return self.rng.choice([one(), f"{one()} AND {one()}", f"NOT ({one()} OR {one()})"])

    def condition(self, columns: dict[str, str], depth: int) -> str:
        pick = self.rng.random()
        if depth and pick < 0.5:
            joint = self.rng.choice(["AND", "OR"])
            sides = (self.condition(columns, depth - 1) for _ in range(2))
            text = f" {joint} ".join(sides)
            return f"NOT ({text})" if self.rng.random() < 0.3 else f"({text})"
        name = self.rng.choice(list(columns))
        return self.test(name, columns)

    def test(self, name: str, columns: dict[str, str]) -> str:
        type_, column_ = columns[name], f'"{name}"'
        sign = self.rng.choice(["=", "<>", "<", "<=", ">", ">="])
        negated = self.rng.choice(["", "NOT "])
        tests = [
            f"{column_} IS {negated}NULL",
            f"{column_} {sign} {self.literal(type_)}",
            f"{self.literal(type_)} {sign} {column_}",
            f"{column_} {negated}BETWEEN {self.literal(type_)} AND {self.literal(type_)}",
            f"{column_} {negated}IN ({', '.join(self.literal(type_) for _ in range(3))})",
        ]
        if type_ == "string":
            pattern = self.rng.choice(PATTERNS).replace("'", "''")
            tests += [f"{column_} {negated}{kind} '{pattern}'" for kind in ("LIKE", "ILIKE")] * 3
        if type_ == "boolean":
            tests += [f"{negated}{column_}"] * 3
        if type_ in ("integer", "decimal", "float"):
            numbers = [n for n, t in columns.items() if t in ("integer", "decimal", "float")]
            tests += [f"{self.number(numbers, 2)} {sign} {self.number(numbers, 1)}"] * 6
        return self.rng.choice(tests)

    def literal(self, type_: str) -> str:
        if self.rng.random() < 0.05:
            return "NULL"
        if type_ in ("integer", "decimal", "float"):
            return self.rng.choice(["-2", "0", "1", "2", "0.1", "1.5", "3e-1", "2e0", "-0.30"])
        if type_ == "string":
            return "'" + self.rng.choice(TEXTS).replace("'", "''") + "'"
        if type_ == "boolean":
            return self.rng.choice(["TRUE", "FALSE"])
        moments = ["TIMESTAMP '2020-02-28'", "TIMESTAMP '2020-02-28 09:00:00.000009'"]
        moments += [f"DATE '2020-02-{day}'" for day in (27, 28, 29)]
        return self.rng.choice(moments)

    def number(self, names: list[str], depth: int) -> str:
        pick = self.rng.random()
        if not depth or pick < 0.3:
            return f'"{self.rng.choice(names)}"' if pick < 0.7 else self.literal("integer")
        first, right = self.number(names, depth - 1), self.number(names, depth - 1)
        sign = self.rng.choice(["+", "-", "*", "/", "%"])
        if sign in "/%" and self.rng.random() < 0.6:
            right = self.rng.choice(["2", "3", "-3", "0.5"])
        return self.rng.choice([f"({first} {sign} {right})", f"(- {first})"])
