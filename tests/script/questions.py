"""Random questions of the page's subset of SQL, and their answers by the page's script in Node."""

import json
import random
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_ANSWER = Path(__file__).with_name("answer.mjs")
_NUMBERS = ("integer", "decimal", "float")
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


def answer_by_script(
    data: str, queries: Sequence[str], directory: Path | None = None, over: str | None = None
) -> list[Any]:
    """Answer queries as the page's script does; an answer that it refuses has the reason.

    `directory` is that of the release, if the data names its files. With `over`, the answers are
    the accuracy of each query over ranges of this column.
    """
    request = {"queries": list(queries), "directory": str(directory), "over": over}
    question = json.dumps({"data": json.loads(data), **request})
    run = subprocess.run(
        ["node", str(_ANSWER)], input=question, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


class Questions:
    """Random questions about a release, with constants among its values and beside them."""

    def __init__(self, data: str, seed: int) -> None:
        document = json.loads(data)
        self._random = random.Random(seed)
        self._columns = {column["name"]: column for column in document["columns"]}
        self._counts, self._labels = document["counts"], document["shows"] == "labels"
        self._shows = document["shows"]
        self._values = _values(document)
        self._sensitive: str | None = None

    def query(self) -> str:
        """Return a query that uses at most one sensitive column."""
        rng = self._random
        sensitive = [name for name, c in self._columns.items() if c["role"] == "sensitive"]
        self._sensitive = rng.choice(sensitive) if sensitive else None
        where = f" WHERE {self._condition(2)}" if rng.random() < 0.8 else ""
        group_by = rng.sample(
            self._usable(), k=min(rng.choice([0, 0, 1, 1, 2]), len(self._usable()))
        )
        keys = [_identifier(name) for name in group_by]
        selected = ", ".join([*keys, self._aggregate()])
        grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
        return f"SELECT {selected} FROM microdata{where}{grouped}"

    def family_query(self) -> str:
        """Return a query of a family that may have a likely interval, or nearly of one."""
        rng = self._random
        names = [name for name, c in self._columns.items() if c["role"] == "quasi-identifier"]
        self._sensitive = rng.choice(
            [name for name, c in self._columns.items() if c["role"] == "sensitive"]
        )
        chosen = rng.sample(names, k=min(rng.choice([1, 1, 2, 3]), len(names)))
        grouped = [
            name for name in chosen[: rng.choice([0, 0, 0, 1])] if len(self._values[name]) <= 50
        ]
        parts = [self._selection(name) for name in chosen[len(grouped) :]]
        function = rng.choice(["COUNT", "COUNT", "SUM", "AVG"])
        if function == "COUNT" or rng.random() < 0.1:
            chance = rng.random()
            column = _identifier(self._sensitive)
            parts += [self._selection(self._sensitive)] if chance < 0.7 else []
            parts += [f"{column} IS NOT NULL"] if 0.65 < chance < 0.8 else []
        number = self._columns[self._sensitive]["type"] in _NUMBERS
        counts = function == "COUNT" or not number or self._counts
        called = "COUNT(*)" if counts else f"{function}({_identifier(self._sensitive)})"
        if counts and rng.random() < 0.1:
            called = f"COUNT({_identifier(self._sensitive)})"
        keys = [_identifier(name) for name in grouped]
        if not counts and rng.random() < 0.02:
            keys.append(_identifier(self._sensitive))
        where = f" WHERE {' AND '.join(parts)}" if parts else ""
        clause = f" GROUP BY {', '.join(keys)}" if keys else ""
        return f"SELECT {', '.join([*keys, called])} FROM microdata{where}{clause}"

    def _selection(self, name: str) -> str:
        """Return a range of a column with an order, or some values of another one."""
        rng, column = self._random, _identifier(name)
        type_ = self._columns[name]["type"]
        if rng.random() < 0.05:
            return f"({self._condition(1)})"
        if type_ in ("string", "boolean"):
            listed = ", ".join(self._constant(name) for _ in range(rng.choice([1, 2, 3, 8])))
            some = f"{column} {rng.choice(['', '', 'NOT '])}IN ({listed})"
            return rng.choice([some, some, f"{column} = {self._constant(name)}"])
        if rng.random() < 0.6:
            ends = sorted(rng.choices(self._values[name], k=2), key=_place)
            return f"{column} BETWEEN {_literal(ends[0], type_)} AND {_literal(ends[1], type_)}"
        return f"{column} {rng.choice(['<', '<=', '>', '>=', '='])} {self._constant(name)}"

    def _usable(self) -> list[str]:
        return [
            name
            for name, column in self._columns.items()
            if column["role"] != "sensitive" or name == self._sensitive
        ]

    def _aggregate(self) -> str:
        rng = self._random
        if self._counts or rng.random() < 0.25:
            return rng.choice(
                ["COUNT(*)", f"AVG(CASE WHEN {self._condition(1)} THEN 1 ELSE 0 END)"]
            )
        name = self._sensitive
        if name is None or rng.random() < 0.2:
            name = rng.choice(self._usable())
        number = self._columns[name]["type"] in _NUMBERS
        functions = ["SUM", "AVG", "MEDIAN", "MIN", "MAX"] if number else ["MIN", "MAX", "COUNT"]
        return f"{rng.choice([*functions, 'COUNT'])}({_identifier(name)})"

    def _condition(self, depth: int) -> str:
        rng = self._random
        if depth and rng.random() < 0.6:
            parts = [self._condition(depth - 1) for _ in range(rng.choice([2, 2, 3]))]
            joined = rng.choice([" AND ", " AND ", " OR "]).join(f"({part})" for part in parts)
            return f"NOT ({joined})" if rng.random() < 0.15 else joined
        return self._test(rng.choice(self._usable()))

    def _test(self, name: str) -> str:
        rng, column = self._random, _identifier(name)
        kind = rng.random()
        if kind < 0.1:
            return f"{column} IS {rng.choice(['', 'NOT '])}NULL"
        if kind < 0.25:
            ends = f"{self._constant(name)} AND {self._constant(name)}"
            return f"{column} {rng.choice(['', 'NOT '])}BETWEEN {ends}"
        if kind < 0.4:
            listed = ", ".join(self._constant(name) for _ in range(rng.choice([1, 2, 3])))
            return f"{column} {rng.choice(['', 'NOT '])}IN ({listed})"
        return f"{column} {rng.choice(_COMPARISONS)} {self._constant(name)}"

    def _constant(self, name: str) -> str:
        rng, type_ = self._random, self._columns[name]["type"]
        value = rng.choice(self._values.get(name) or [_ANY[type_]])
        if type_ == "boolean":
            return str(value).upper()
        if type_ == "integer":
            return str(int(value) + rng.choice([0, 0, 0, 1, -1]))
        if type_ in _NUMBERS:
            return rng.choice([str(value), f"{value}" if "." in str(value) else f"{value}.5"])
        text = rng.choice([str(value), str(value), _BESIDE.get(type_, f"{value}x")])
        kind = f"{type_.upper()} " if type_ in _BESIDE else ""
        return kind + "'" + text.replace("'", "''") + "'"


def _place(value: Any) -> Any:
    """Return what values of one column are sorted by."""
    try:
        return float(value)
    except ValueError:
        return value


def _literal(value: Any, type_: str) -> str:
    return f"{type_.upper()} '{value}'" if type_ in _BESIDE else str(value)


def _identifier(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


_ANY: Mapping[str, Any] = {
    "integer": 3,
    "decimal": "2.50",
    "float": 0.5,
    "boolean": True,
    "string": "a",
    "date": "2020-02-29",
    "timestamp": "2020-02-29 12:00:00",
}
_BESIDE = {"date": "1999-12-31", "timestamp": "1999-12-31 00:00:00"}


def _values(document: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return values of each column, among them those that labels name."""
    tables = [document.get("rows"), *document.get("values", []), *document.get("admitted", [])]
    values = {
        name: list(column["values"])
        for table in tables
        if table
        for name, column in table["columns"].items()
    }
    for name, labels in document.get("labels", {}).items():
        values[name] = [value for label in labels for value in _values_of_label(label)]
    if "domain" in document:
        (name,) = (c["name"] for c in document["columns"] if c["role"] == "sensitive")
        values[name] = document["domain"]["values"]
    return values


def _values_of_label(label: Mapping[str, Any]) -> list[Any]:
    values = [*label.get("listed", []), *label.get("between", [])]
    values += [label["prefix"][0].ljust(label["prefix"][1], "0")] if "prefix" in label else []
    return [value for value in values if value is not None]
