"""A made-up hospital whose patients have facts, and the same facts by SQL of their own."""

from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa

from tests.related.hospital import Hospital, made_up, patients, spec_with, stays

GAPS = (
    "SELECT COALESCE(BOOL_OR(gap <= 30), FALSE) FROM "
    "(SELECT day - LAG(day) OVER (ORDER BY day) AS gap FROM stays)"
)
FACTS: Mapping[str, tuple[str, str]] = {
    "times": ("integer", "COUNT(*)"),
    "admitted": ("boolean", "COUNT(*) > 0"),
    "readmitted": ("boolean", GAPS),
    "flu_and_gout": (
        "boolean",
        "COALESCE(BOOL_OR(diagnosis = 'flu') AND BOOL_OR(diagnosis = 'gout'), FALSE)",
    ),
    "total_cost": ("integer", "COALESCE(SUM(cost), 0)"),
    "days_between": ("integer", "MAX(day) - MIN(day)"),
}
"""Facts by name: their type, and their SQL."""
_BY_HAND = """
    SELECT p.*, COALESCE(n, 0) AS times, COALESCE(n, 0) > 0 AS admitted,
        COALESCE(again, FALSE) AS readmitted, COALESCE(pair, FALSE) AS flu_and_gout,
        COALESCE(cost, 0) AS total_cost, between_days AS days_between
    FROM people p LEFT JOIN (
        SELECT patient, COUNT(*) AS n, SUM(cost) AS cost, MAX(day) - MIN(day) AS between_days,
            COUNT(*) FILTER (diagnosis = 'flu') > 0
                AND COUNT(*) FILTER (diagnosis = 'gout') > 0 AS pair
        FROM rows_of_people GROUP BY patient
    ) USING (patient) LEFT JOIN (
        SELECT DISTINCT a.patient, TRUE AS again FROM rows_of_people a JOIN rows_of_people b
        ON a.patient = b.patient AND a.place < b.place AND ABS(a.day - b.day) <= 30
    ) USING (patient)
"""


def with_days(hospital: Hospital, seed: int = 3, days: int = 200) -> Hospital:
    """Return the hospital with a day of each stay."""
    random = Random(seed)
    first = date(2025, 1, 1)
    days_of_stays = [
        first + timedelta(random.randint(0, days)) for _ in range(hospital.stays.num_rows)
    ]
    return Hospital(hospital.patients, hospital.stays.append_column("day", pa.array(days_of_stays)))


def clinic(seed: int, many: int, most: int = 4) -> Hospital:
    """A hospital whose stays have days."""
    return with_days(made_up(seed, many, most), seed)


def tables(*names: str, together: bool = False, **of_fact: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of a spec with some facts, all of them if none is named.

    `of_fact` has further keys of facts by name.
    """
    people, rows = patients(), stays()
    rows["columns"]["day"] = {"role": "drop", "type": "date"}
    for name in names or FACTS:
        kind, sql = FACTS[name]
        column = {"role": "sensitive", "type": kind, "derive": sql, "unprotected": "for a test"}
        if name == "days_between":
            column["nulls"] = "category"
        people["columns"][name] = {**column, **of_fact.get(name, {})}
    if together:
        people["sensitive"] = "together"
    return {"patients": people, "stays": rows}


def promises(*more: Mapping[str, Any], numbers: str = "hidden") -> list[Mapping[str, Any]]:
    """Promises about people and stays, and further ones."""
    diverse = {"model": "related-l-diversity", "l": 2, "sensitive": "diagnosis", "numbers": numbers}
    return [{"model": "people", "k": 3}, diverse, *more]


def spec_of_clinic(place: Path, hospital: Hospital, **changes: Any) -> Path:
    """Write a spec with all facts; `changes` replace keys."""
    document = {"tables": tables(), "promises": promises(), **changes}
    return spec_with(place, hospital, **document)


def originals(hospital: Hospital) -> duckdb.DuckDBPyConnection:
    """Return a database with the original tables, and facts that no code of the product made."""
    connection = duckdb.connect()
    connection.register("people", hospital.patients)
    numbered = hospital.stays.append_column("place", pa.array(range(hospital.stays.num_rows)))
    connection.register("rows_of_people", numbered)
    connection.execute("CREATE TABLE stays AS SELECT * EXCLUDE (place) FROM rows_of_people")
    connection.execute(f"CREATE TABLE patients AS {_BY_HAND}")
    return connection
