"""A small line whose columns are coded in every way, made by the stages themselves."""

import csv
import random
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from sfumato.flows.inputs.resolved import ResolvedRun, resolve_run
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.publication.publish import Published
from tests.lines import prepare, publish_prepared

COLUMNS: dict[str, Any] = {
    "person": {"role": "identifier", "unit": True, "pseudonym": {"purpose": "study-17"}},
    "age": {"role": "quasi-identifier", "type": "integer", "bottom": 18, "top": 90}
    | {"round": {"to": 2}},
    "came": {"role": "quasi-identifier", "type": "date", "shift": {"days": 30}},
    "left": {"role": "insensitive", "type": "date", "shift": {"days": 30}, "nulls": "category"},
    "code": {"role": "insensitive", "prefix": 4},
    "job": {"role": "insensitive", "fold": {"below": 20, "into": "other"}},
    "cost": {"role": "sensitive", "type": "decimal", "top": {"share": "0.02"}}
    | {"round": {"to": 100}},
}
SPEC: dict[str, Any] = {
    "version": 1,
    "name": "stays",
    "title": "Stays in a hospital",
    "source": {"uri": "stays.csv"},
    "columns": COLUMNS,
    "promises": [
        {"model": "k-anonymity", "k": 4},
        {"model": "l-diversity", "variant": "distinct", "l": 2},
    ],
    "partition": {"method": "mondrian"},
    "form": {"method": "generalized"},
    "publish": {"uri": "public"},
    "evaluate": {
        "workloads": [
            {"kind": "range", "aggregate": "avg", "over": "age", "spans": [20], "queries": 5}
        ]
    },
}
EXACT: dict[str, Any] = {  # the same in a form that shows quasi-identifiers as they are
    "columns": {
        name: {key: keys for key, keys in column.items() if key != "shift"}
        for name, column in COLUMNS.items()
    },
    "promises": [{"model": "ke-anonymity", "k": 3, "e": 100}],
    "partition": {"method": "ke"},
    "form": {"method": "permuted"},
}


def stays(rows: int = 240, first: int = 0, seed: int | None = None) -> list[dict[str, Any]]:
    """Rows of people, of whom few have some of the jobs, and some have not left.

    Those of another first number are others in what they tell, too.
    """
    rng = random.Random(1 + first if seed is None else seed)
    stay_rows = []
    for number in range(first, first + rows):
        came = date(2020, 1, 1) + timedelta(days=rng.randrange(400))
        departure = came + timedelta(days=rng.randrange(1, 30))
        stay_rows.append(
            {
                "person": f"IDENT-{number}",
                "age": rng.randrange(104),
                "came": came.isoformat(),
                "left": "" if rng.random() < 0.1 else departure.isoformat(),
                "code": f"{rng.randrange(1000, 1005)}XY{number}",
                "job": rng.choices(["nurse", "clerk", "smith", "farrier"], [40, 40, 10, 2])[0],
                "cost": f"{rng.lognormvariate(9, 1):.2f}",
            }
        )
    return stay_rows


@dataclass
class Stays:
    """A folder with a spec and a source."""

    folder: Path

    @property
    def spec(self) -> Path:
        return self.folder / "stays.yaml"

    def write(self, rows: list[dict[str, Any]], **changes: Any) -> "Stays":
        self.folder.mkdir(exist_ok=True)
        self.spec.write_text(yaml.safe_dump({**SPEC, **changes}), encoding="utf-8")
        with (self.folder / "stays.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return self

    def plan(self) -> ResolvedRun:
        return resolve_run(self.spec)

    def prepare_run(self, name: str) -> tuple[ResolvedRun, Path]:
        run = self.folder / name
        return prepare(self.spec, run, seeded_keys(sum(name.encode()))), run

    def publish(self, name: str) -> Published:
        return publish_prepared(*self.prepare_run(name))


def table_of(release: Path) -> pa.Table:
    return pq.read_table(release / "data" / "microdata.parquet")


def jobs_of(rows: list[dict[str, Any]], below: int = 20) -> set[str]:
    """The jobs that are frequent."""
    jobs = [row["job"] for row in rows]
    return {job for job in jobs if jobs.count(job) >= below}
