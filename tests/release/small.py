"""A small line with an identifier, made by the stages themselves, without Prefect."""

import csv
import random
from dataclasses import dataclass
from pathlib import Path

import yaml

from sfumato.flows.inputs.resolved import ResolvedRun, resolve_run
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.publication.publish import Published
from tests.lines import prepare, publish_prepared

SPEC = {
    "version": 1,
    "name": "wages",
    "title": "Wages <in> a town",
    "source": {"uri": "people.csv", "where": "age > 18"},
    "columns": {
        "person": {"role": "identifier", "unit": True},
        "age": {"role": "quasi-identifier", "type": "integer"},
        "town": {"role": "quasi-identifier", "nulls": "category"},
        "note": {"role": "drop"},
        "wage": {"role": "sensitive", "type": "decimal", "nulls": "drop-row"},
    },
    "promises": [{"model": "ke-anonymity", "k": 3, "e": 10.5}],
    "partition": {"method": "ke"},
    "form": {"method": "permuted"},
    "publish": {"uri": "public"},
    "evaluate": {
        "workloads": [
            {"kind": "range", "aggregate": "avg", "over": "age", "spans": [5], "queries": 5},
            {"kind": "arbitrary", "aggregate": "sum", "selected": [10], "queries": 5},
        ]
    },
}


def people(first=0, rows=60, seed=None):
    """People from a number on: those of another number are others, in what they tell, too."""
    rng = random.Random(1 + first if seed is None else seed)
    return [
        {
            "person": f"IDENT-{first + i}",
            "age": rng.randint(19, 60),
            "town": rng.choice(["Aa", "Bee", "", "Cé, the long"]),
            "note": f"NOTE-{first + i}",
            "wage": f"{rng.randint(100, 999)}.{rng.randint(0, 9)}5",
        }
        for i in range(rows)
    ] + [
        {"person": f"IDENT-young-{first}", "age": 3, "town": "Aa", "note": "n", "wage": "1.5"},
        {"person": f"IDENT-null-{first}", "age": 30, "town": "Aa", "note": "n", "wage": ""},
    ]


@dataclass
class Small:
    """A folder with a spec and a source."""

    folder: Path

    @property
    def spec(self) -> Path:
        return self.folder / "wages.yaml"

    def write(self, rows, **changes):
        self.folder.mkdir(exist_ok=True)
        self.spec.write_text(yaml.safe_dump({**SPEC, **changes}), encoding="utf-8")
        with (self.folder / "people.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return self

    def plan(self) -> ResolvedRun:
        """Resolve the spec."""
        return resolve_run(self.spec)

    def prepare_run(self, name: str) -> tuple[ResolvedRun, Path]:
        """A judged candidate, ready to be published."""
        run = self.folder / name
        return prepare(self.spec, run, seeded_keys(sum(name.encode()))), run

    def publish(self, name: str) -> Published:
        return publish_prepared(*self.prepare_run(name))
