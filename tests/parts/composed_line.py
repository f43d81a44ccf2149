"""A small composed line in parts, which people join, leave, and change parts of."""

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.tasks.terms.opened import Release, open_release
from sfumato.tasks.workers.workers import Workers
from tests.parts.divided import Divided

DIVERSE = [{"model": "l-diversity", "variant": "distinct", "l": 3}]
KINDS: dict[str, dict[str, Any]] = {
    "permuted": {"partition": {"method": "anatomy"}, "form": {"method": "permuted"}},
    "split": {"partition": {"method": "anatomy"}, "form": {"method": "split"}},
    "generalized": {
        "partition": {"method": "mondrian"},
        "form": {"method": "generalized"},
        "promises": [{"model": "k-anonymity", "k": 3}, *DIVERSE],
    },
    "suppressed": {
        "partition": {"method": "forest"},
        "form": {"method": "suppressed"},
        "promises": [{"model": "k-anonymity", "k": 3}, *DIVERSE],
    },
}
SPEC: dict[str, Any] = {
    "name": "coming-in-parts",
    "title": "People who come and go",
    "unit": "id",
    "columns": {
        "id": {"role": "identifier", "type": "integer", "unit": True},
        "age": {"role": "quasi-identifier", "type": "integer"},
        "year": {"role": "quasi-identifier", "type": "integer"},
        "job": {"role": "sensitive"},
    },
    "people": "visitors",
    "promises": DIVERSE,
    "parts": {"rows": 100, "by": "age", "at": ["40"]},
    "versions": {"rule": "composed"},
}
YEARS = [2020, 2021, 2022]


@dataclass
class ComposedLine:
    """A line, the people in it, and its versions so far.

    Most are of one year, which is cut by age; the others' years are a part each.
    """

    folder: Path
    kind: str = "split"
    versions: list[Path] = field(default_factory=list)
    seed: int = 7

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)
        self.divided = Divided(self.folder)
        self.people = {n: self.person(n, year=2020 if n < 120 else 2021) for n in range(150)}

    @property
    def name(self) -> str:
        return str(SPEC["name"])

    @property
    def private(self) -> Path:
        return self.folder.parent / "work" / self.name

    def person(self, number: int, **changes: Any) -> dict[str, Any]:
        draw = self.draw
        made = {"id": number, "age": draw.randint(20, 59), "year": 2020, "job": f"job {number % 6}"}
        return {**made, **changes}

    def move(self, join: int = 18, leave: int = 8) -> None:
        """Let some people leave, and others join, in all years that there are."""
        for number in self.draw.sample(sorted(self.people), leave):
            del self.people[number]
        first = (1 + len(self.versions)) * 1_000
        years = sorted({person["year"] for person in self.people.values()})
        for n in range(join):
            self.people[first + n] = self.person(first + n, year=years[n % len(years)])

    def write(self, **changes: Any) -> Path:
        """Write the spec and the people as they are."""
        rows = pa.Table.from_pylist(list(self.people.values()))
        spec = {**SPEC, **KINDS[self.kind], **changes}
        self.divided.write(rows, **spec)
        return self.divided.spec

    def publish(self, workers: Workers | None = None, **changes: Any) -> Release:
        """The next version, opened."""
        self.write(**changes)
        made = self.divided.publish(f"run-{len(self.versions)}-{self.draw.random()}", workers)
        if not made.existed:
            self.versions.append(made.directory)
        return open_release(made.directory)


def part_of(release: Release, **shares: str) -> Path:
    """The directory of the part with these values, or starts of ranges, of columns."""
    for part in release.declared.made_of:
        values_of_part = {s.column: (s.values or (s.least,))[0] for s in part.where[0]}
        if all(values_of_part.get(name) == value for name, value in shares.items()):
            return release.directory / "parts" / part.name
    raise LookupError(shares)
