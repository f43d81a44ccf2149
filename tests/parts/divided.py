"""A small line in parts, made by the stages themselves, without Prefect."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from sfumato.expectations.rules.verdicts import examine, judge_rule
from sfumato.flows.inputs.resolved import ResolvedRun, resolve_run
from sfumato.tasks.continued.parameters import rule_of
from sfumato.tasks.microdata.table import Randomness, seeded_keys
from sfumato.tasks.parts.anonymize import write_candidates
from sfumato.tasks.parts.divide import DeclaredRows, write_divided
from sfumato.tasks.parts.validate import seal_candidates
from sfumato.tasks.publication.publish import Published, existing_version, publish
from sfumato.tasks.stages.anonymize import keep_private_diagnostics
from sfumato.tasks.stages.deidentify import identity
from sfumato.tasks.stages.validate import sealed_candidate
from sfumato.tasks.workers.workers import InTurn, Workers
from tests.lines import TIME

SPEC: dict[str, Any] = {
    "version": 1,
    "name": "visits",
    "title": "Visits by year",
    "source": {"uri": "visits", "format": "parquet"},
    "unit": "row",
    "columns": {
        "age": {"role": "quasi-identifier", "type": "integer"},
        "year": {"role": "quasi-identifier", "type": "integer"},
        "town": {"role": "quasi-identifier", "nulls": "category"},
        "cost": {"role": "sensitive", "type": "decimal"},
        "ward": {"role": "sensitive", "unprotected": "known anyway"},
    },
    "strata": ["year"],
    "parts": {"rows": 150},
    "promises": [{"model": "ke-anonymity", "k": 3, "e": 10.5, "sensitive": "cost"}],
    "partition": {"method": "ke"},
    "form": {"method": "permuted"},
    "publish": {"uri": "public"},
}


def visits(rows: int = 600, seed: int = 1, first: int = 0) -> pa.Table:
    """Rows of people, some of which have no town."""
    rng = np.random.default_rng(seed)
    towns = np.array(["Aa", "Bee", "Cé, the long", None], dtype=object)
    cents = rng.integers(0, 100_000, rows)
    return pa.table(
        {
            "person": pa.array([f"IDENT-{first + n}" for n in range(rows)]),
            "age": rng.integers(18, 91, rows),
            "year": rng.choice([2020, 2021, 2022, 2023], rows, p=[0.5, 0.3, 0.1, 0.1]),
            "town": pa.array(towns[rng.integers(0, 4, rows)], pa.string()),
            "cost": pa.array(cents).cast(pa.decimal128(38, 0)).cast(pa.decimal128(38, 2)),
            "ward": pa.array(np.array(["a", "b", "c", "d"])[rng.integers(0, 4, rows)]),
        }
    )


@dataclass
class Divided:
    """A folder with a spec, and a source of several files."""

    folder: Path

    @property
    def spec(self) -> Path:
        return self.folder / "visits.yaml"

    def write(self, rows: pa.Table, files: int = 3, **changes: Any) -> "Divided":
        spec = {**SPEC, **changes}
        source = self.folder / "visits"
        source.mkdir(parents=True, exist_ok=True)
        for old in source.iterdir():
            old.unlink()
        self.spec.write_text(yaml.safe_dump(spec), encoding="utf-8")
        table = rows.select(list(spec["columns"]))
        size = -(-table.num_rows // files)
        for number in range(files):
            pq.write_table(table.slice(number * size, size), source / f"{number}.parquet")
        return self

    def plan(self) -> ResolvedRun:
        return resolve_run(self.spec)

    def divide(self, name: str) -> tuple[ResolvedRun, Path]:
        """The divided source in a run of its own."""
        resolved, run = self.plan(), self.folder / name
        run.mkdir(parents=True, mode=0o700)
        return resolved, divide(resolved, run)

    def publish(self, name: str, workers: Workers | None = None) -> Published:
        run = self.folder / name
        run.mkdir(parents=True, mode=0o700)
        return publish_in_parts(self.plan(), run, seeded_keys(sum(name.encode())), workers)


def divide(resolved: ResolvedRun, run: Path) -> Path:
    """The source of a line, divided."""
    spec = resolved.spec
    rows = DeclaredRows(spec.source, spec.columns, spec.nulls, resolved.base, resolved.unit)
    return write_divided(rows, resolved.terms, resolved.line, run, judge)


def publish_in_parts(
    resolved: ResolvedRun, run: Path, draw: Randomness, workers: Workers | None = None
) -> Published:
    """Publish the source of a line in parts, or find the version that stands."""
    workers, divided = workers or InTurn(), divide(resolved, run)
    version = existing_version(resolved.line, identity(divided), rule_of(resolved.terms.versions))
    if version is not None:
        return Published(version, existed=True)
    candidate = write_candidates(divided, resolved.terms, run, draw, workers, resolved.continuing)
    stated = resolved.terms, resolved.withheld, resolved.line
    seal_candidates(candidate, divided, *stated, workers, examine_in)
    made = publish(resolved.line, sealed_candidate(candidate), identity(divided), TIME)
    keep_private_diagnostics(candidate, resolved.line.reports(made.directory.name))
    return made


def examine_in(_place):
    return examine


def judge(table, rules):
    return tuple(judge_rule("source", rule, table) for rule in rules)
