"""A small line with an identifier, made by the stages themselves, without Prefect."""

import csv
import random
from dataclasses import dataclass
from pathlib import Path

import yaml

from flows.plan import Plan, plan_run
from tasks.microdata.randomness import seeded
from tasks.release.publication import Published, publish
from tasks.stages.anonymize import declaration, left_out, write_candidate
from tasks.stages.deidentify import identity, write_deidentified
from tasks.stages.ingest import write_ingested, write_source
from tasks.stages.verify import stakes

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


def people(first=0, rows=60, seed=1):
    rng = random.Random(seed)
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

    def plan(self) -> Plan:
        """What the spec asks for."""
        return plan_run(self.spec)

    def prepared(self, name: str) -> tuple[Plan, Path]:
        """A judged candidate, ready to be published."""
        plan, run = plan_run(self.spec), self.folder / name
        run.mkdir()
        spec, line = plan.spec, plan.line.private
        whole = write_source(spec.source, spec.columns, plan.base, run)
        ingested = write_ingested(whole, spec.source, spec.columns, spec.nulls, plan.base, run)
        deidentified = write_deidentified(ingested, plan.terms, plan.unit, line, run)
        stakes(deidentified, plan.terms, plan.base)
        write_candidate(deidentified, plan.terms, run, seeded(sum(name.encode())))
        return plan, run

    def publish(self, name: str) -> Published:
        plan, run = self.prepared(name)
        candidate, known = run / "candidate", identity(run / "deidentified")
        declared = declaration(candidate)
        time, without = "2026-01-01T00:00:00+00:00", left_out(candidate)
        return publish(plan.line, candidate / "data", declared, known, time, without)
