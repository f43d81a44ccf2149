"""Random releases of people and their related rows, and random questions about them."""

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

from sfumato.tasks.forms.form import Tables

PEOPLE: Mapping[str, Mapping[str, Any]] = {
    "patient": {"role": "identifier", "unit": True},
    "age": {"role": "quasi-identifier", "type": "integer"},
    "town": {"role": "quasi-identifier", "nulls": "category"},
    "since": {"role": "quasi-identifier", "type": "date"},
    "vip": {"role": "quasi-identifier", "type": "boolean"},
}
_OTHERS = {"role": "sensitive", "unprotected": "known anyway"}
ROWS: Mapping[str, Mapping[str, Any]] = {
    "patient": {"role": "key"},
    "diagnosis": {"role": "sensitive", "nulls": "category"},
    "cost": {**_OTHERS, "type": "integer"},
    "dose": {**_OTHERS, "type": "decimal", "nulls": "category"},
    "urgent": {**_OTHERS, "type": "boolean"},
}
_FIRST = date(2001, 1, 1)
_TOWNS = ["Aa", "Bee", "it's", None]
_DIAGNOSES = ["asthma", "flu", "gout", "or", None]
_AGGREGATES = ["COUNT(*)", "COUNT(*)", "SUM({})", "AVG({})", "COUNT({})", "COUNT(DISTINCT patient)"]
_AGGREGATES += ["SUM({}) / COUNT(DISTINCT patient)", "COUNT(*) / COUNT(DISTINCT patient)"]
_OF_PEOPLE = ["SUM(age)", "AVG(age)", "MIN(since)", "MAX(age)", "MEDIAN(age)", "COUNT(town)"]
_SHAPES = ["people", "people", "has", "has", "rows", "joined", "joined", "joined", "share"]
_JOINED = "patients JOIN stays USING (patient)"


def draw_person(random: Random) -> dict[str, Any]:
    """Draw a person without rows."""
    return {
        "age": random.randint(20, 40),
        "town": random.choice(_TOWNS),
        "since": _FIRST + timedelta(days=random.randint(0, 30)),
        "vip": random.random() < 0.5,
    }


def draw_row(random: Random) -> dict[str, Any]:
    """Draw a row of a person."""
    return {
        "diagnosis": random.choice(_DIAGNOSES),
        "cost": random.randint(-9, 30),
        "dose": random.choice([None, *(Decimal(random.randint(-99, 500)) / 100 for _ in range(4))]),
        "urgent": random.random() < 0.3,
    }


def small_tables(seed: int, schemas: Mapping[str, pa.Schema]) -> Tables:
    """Draw small groups of people with their rows, as they are published."""
    random = Random(seed)
    people, rows, groups = [], [], []
    for group in range(random.randint(1, 6)):
        numbers = [
            random.randint(0, 3) * (random.random() < 0.7) for _ in range(random.randint(1, 6))
        ]
        people += [{**draw_person(random), "group_id": group} for _ in numbers]
        rows += [{**draw_row(random), "group_id": group} for _ in range(sum(numbers))]
        counted = {"people": len(numbers), "related_rows": sum(numbers), "most_rows": max(numbers)}
        groups.append({"group_id": group, **counted})
    random.shuffle(people)
    rows_by_table = {"patients": people, "stays": rows, "group_counts": groups}
    return {
        name: pa.Table.from_pylist(rows_by_table[name], schemas[name]) for name in rows_by_table
    }


class TableQuestions:
    """Random queries about two tables of the shapes that a page reads."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def queries(self, number: int) -> list[str]:
        """Return so many queries."""
        return [self._query() for _ in range(number)]

    def _query(self) -> str:
        rng = self._random
        shape = rng.choice(
            ["people", "people", "has", "has", "rows", "rows", "rows", "joined", "share"]
        )
        if shape == "share":
            return self._share()
        if shape in ("people", "has"):
            plain = shape == "people" and rng.random() < 0.4
            called = rng.choice(_OF_PEOPLE) if plain else "COUNT(*)"
            parts = [self._of_people()] if rng.random() < 0.7 else []
            parts += [self._has() for _ in range(0 if plain else rng.choice([1, 1, 2]))]
            return self._select(called, "patients", parts, ["town", "vip"])
        column = rng.choice(["cost", "dose"])
        called = rng.choice(_AGGREGATES).format(column)
        parts = [self._of_rows()] if rng.random() < 0.7 else []
        if shape == "rows":
            return self._select(called, "stays", parts, ["diagnosis", "urgent"])
        parts += [self._of_people()] if rng.random() < 0.8 else []
        return self._select(called, _JOINED, parts, ["town", "vip", "diagnosis", "urgent"])

    def _share(self) -> str:
        """Return a share: of people with rows, or of rows of people."""
        rng = self._random
        if rng.random() < 0.5:
            share, source = self._has(), "patients"
        else:
            share, source = rng.choice([self._of_rows, self._of_people])(), _JOINED
        called = f"AVG(CASE WHEN {share} THEN 1 ELSE 0 END)"
        return self._select(called, source, [self._of_people()], ["vip"])

    def _select(self, called: str, source: str, parts: list[str], keys: list[str]) -> str:
        rng = self._random
        rng.shuffle(parts)
        joined = rng.choice([" AND ", " AND ", " AND ", " OR "])
        where = f" WHERE {joined.join(f'({p})' for p in parts)}" if parts else ""
        chosen = rng.sample(keys, min(rng.choice([0, 0, 1, 2]), len(keys)))
        grouped = f" GROUP BY {', '.join(chosen)}" if chosen else ""
        return f"SELECT {', '.join([*chosen, called])} FROM {source}{where}{grouped}"

    def _has(self) -> str:
        """Return the condition that a person has some rows, or has not."""
        rng = self._random
        condition = f" AND {self._of_rows()}" if rng.random() < 0.8 else ""
        has = f"EXISTS (SELECT 1 FROM stays WHERE stays.patient = patients.patient{condition})"
        if rng.random() < 0.5:
            where = condition.replace(" AND ", " WHERE ", 1)
            least = f"COUNT(*) >= {rng.randint(1, 3)}"
            has = f"patient IN (SELECT patient FROM stays{where} GROUP BY patient HAVING {least})"
        return rng.choice(["", "", "NOT "]) + has

    def _of_people(self) -> str:
        rng = self._random
        low = rng.randint(18, 40)
        return rng.choice(
            [
                f"age >= {low}",
                f"NOT age BETWEEN {low} AND {low + 9}",
                "vip",
                f"town IN ('Aa', 'Bee') OR age = {low}",
                "town IS NULL",
                f"since < DATE '{_FIRST + timedelta(days=rng.randint(0, 31))}'",
            ]
        )

    def _of_rows(self) -> str:
        rng = self._random
        return rng.choice(
            [
                f"diagnosis = '{rng.choice(['flu', 'gout', 'or', 'cold'])}'",
                "diagnosis IN ('flu', 'asthma')",
                "diagnosis IS NOT NULL",
                f"cost > {rng.randint(-10, 31)}",
                f"NOT (dose < {rng.randint(-1, 5)}.5)",
                f"(urgent OR cost <= {rng.randint(-10, 31)})",
            ]
        )


def files_of_rows(seed: int, people: int) -> Iterator[list[dict[str, Any]]]:
    """Yield patients and their stays, as a source has them."""
    random = Random(seed)
    names = [f"p{number}" for number in range(people)]
    yield [{"patient": name, **draw_person(random)} for name in names]
    yield [
        {"patient": name, **draw_row(random)}
        for name in names
        for _ in range(random.choice([0, 0, 1, 1, 2, 3]))
    ]
