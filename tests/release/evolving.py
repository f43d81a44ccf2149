"""Small composed lines that people join and leave, and versions of them that were forged."""

import csv
import json
import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.publication.files import write_release
from sfumato.tasks.terms.assessment import assess
from sfumato.tasks.terms.opened import MANIFEST, open_release
from sfumato.tasks.terms.tables import form_of, read_tables
from tests.lines import prepare, publish_prepared

DIVERSE = [{"model": "l-diversity", "variant": "distinct", "l": 3}]
KINDS: dict[str, tuple[str, dict[str, Any], list[dict[str, Any]]]] = {
    "permuted": ("permuted", {"method": "anatomy"}, DIVERSE),
    "split": ("split", {"method": "anatomy"}, DIVERSE),
    "ranges": (
        "permuted",
        {"method": "ke", "objective": "sum"},
        [{"model": "ke-anonymity", "k": 3, "e": 5}],
    ),
    "generalized": (
        "generalized",
        {"method": "mondrian"},
        [{"model": "k-anonymity", "k": 3}, *DIVERSE],
    ),
    "ambiguous": (
        "ambiguous",
        {"method": "disjoint-cover"},
        [{"model": "alpha-beta", "alpha": "0.9", "beta": "0.5"}],
    ),
    "redistributed": (
        "redistributed",
        {"method": "stratum"},
        [{"model": "p-privacy", "target": "source", "tolerance": "0"}],
    ),
}
JOBS = [f"job {number}" for number in range(6)]


def spec(kind, name, folder, **changes):
    """Return the spec of a line of some kind."""
    method, partition, promises = KINDS[kind]
    sensitive_name = "hours" if kind in ("ranges", "redistributed") else "job"
    about = {
        "id": {"role": "identifier", "type": "integer", "unit": True},
        "age": {"role": "quasi-identifier", "type": "integer"},
        "zip": {"role": "quasi-identifier", "type": "integer"},
        "edu": {"role": "quasi-identifier", "type": "integer"},
        "job": {"role": "sensitive" if sensitive_name == "job" else "drop", "type": "string"},
        "hours": {"role": "sensitive" if sensitive_name == "hours" else "drop", "type": "integer"},
    }
    form_keys = {"tree": "balanced", "denominator": 4} if method == "redistributed" else {}
    return {
        "version": 1,
        "name": name,
        "title": "People who come and go",
        "source": {"uri": "people.csv", "format": "csv"},
        "columns": about,
        "promises": promises,
        "partition": partition,
        "form": {"method": method, **form_keys},
        "publish": {"uri": str(folder / "public")},
        "people": name,
        "versions": {"rule": "composed"},
        **changes,
    }


@dataclass
class Evolving:
    """A line, the people in it, and its versions so far."""

    folder: Path
    kind: str
    name: str = "coming-and-going"
    versions: list[Path] = field(default_factory=list)
    seed: int = 7

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self.draw = random.Random(self.seed)
        self.people = {number: self._person(number) for number in range(72)}

    def _person(self, number):
        draw = self.draw
        return {
            "id": number,
            "age": draw.randint(18, 60),
            "zip": draw.randint(0, 9),
            "edu": draw.randint(0, 15),
            "job": JOBS[number % len(JOBS)],
            "hours": 5 * draw.randint(4, 12),
        }

    def move(self, join=24, leave=6):
        """Let some people leave, and others join."""
        for number in self.draw.sample(sorted(self.people), leave):
            del self.people[number]
        first = len(self.versions) * 1_000
        self.people |= {number: self._person(number) for number in range(first, first + join)}

    def publish(self, **changes):
        """The next version."""
        path = self.write(**changes)
        run = self.folder / f"run-{len(self.versions)}"
        published = publish_prepared(prepare(path, run, seeded_keys(len(self.versions))), run)
        self.versions.append(published.directory)
        return published.directory

    def write(self, **changes):
        """Write the spec and the people as they are."""
        path = self.folder / "spec.yaml"
        path.write_text(yaml.safe_dump(spec(self.kind, self.name, self.folder, **changes)))
        with (self.folder / "people.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(next(iter(self.people.values()))))
            writer.writeheader()
            writer.writerows(self.people.values())
        return path


def evolve(folder, kind, versions=3):
    """A line with so many versions."""
    line = Evolving(folder, kind)
    for number in range(versions):
        if number:
            line.move()
        line.publish()
    return line


def forge(directory, place, change, **rows):
    """A release with other tables, consistent in itself: every file follows from them.

    Args:
        directory: the release.
        place: of the copy.
        change: makes other tables of the published ones.
        rows: changes to the declared counts of rows.
    """
    declared = open_release(directory).declared
    tables = {n: t.to_pylist() for n, t in read_tables(declared, directory / "data").items()}
    change(tables)
    counts = {name: getattr(declared.rows, name) + number for name, number in rows.items()}
    declared = declared.model_copy(update={"rows": declared.rows.model_copy(update=counts)})
    form = form_of(declared)
    schemas = form.schemas(declared.columns, declared.form)
    made = {n: pa.Table.from_pylist(rows, schema=schemas[n]) for n, rows in tables.items()}
    made = form.canonical(made)
    made = {name: made[name].cast(schema) for name, schema in schemas.items()}
    shutil.rmtree(place, ignore_errors=True)
    write_release(place, assess(declared, made))
    return place


def digest_of(directory):
    """The digest that a release states."""
    return json.loads((directory / MANIFEST).read_bytes())["sfumato"]["digest"]
