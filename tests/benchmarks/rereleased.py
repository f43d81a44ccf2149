"""A line of several versions through the whole pipeline, and what its versions tell together."""

import os
import time
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from sfumato.expectations.composition.exposure import CombinedExposure, exposure
from sfumato.expectations.composition.state import Shown
from sfumato.expectations.groups.counting import Coded, count
from sfumato.tasks.continued.survivors import stack
from sfumato.tasks.microdata.grouping import groups_of
from sfumato.tasks.microdata.table import Microdata, encode, operating_system, seeded_keys
from sfumato.tasks.private.people.slots import LIVE, WITNESS, SlotMap
from sfumato.tasks.private.people.store import read_map
from sfumato.tasks.private.state import read_state
from sfumato.tasks.query.accuracy.evaluate import Measured, evaluate
from sfumato.tasks.query.accuracy.parameters import CountsWorkload
from sfumato.tasks.terms.opened import Release, open_release
from tests.benchmarks.comers import ID
from tests.lines import prepare, publish_prepared

_GROUP = "/group"


@dataclass
class Rereleased:
    """A line in a folder with a work directory of its own.

    Attributes:
        folder: of the spec, its source and what is published.
        spec: what the spec says, but the source and the place.
        told: the sensitive column.
        versions: published so far.
        maps: the private map of each.
        seconds: that each took.
    """

    folder: Path
    spec: dict[str, Any]
    told: str
    work: Path | None = None
    versions: list[Release] = field(default_factory=list)
    maps: list[SlotMap] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def publish(self, people: pa.Table) -> None:
        """Make the next version."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path, run = self.folder / "spec.yaml", self.folder / f"run-{len(self.versions)}"
        pq.write_table(people, self.folder / "people.parquet")
        path.write_text(yaml.safe_dump({**self.spec, **PLACES}), encoding="utf-8")
        with work_directory(self.work or self.folder / "work"):
            begin = time.perf_counter()
            plan = prepare(path, run, operating_system)
            published = publish_prepared(plan, run)
            self.seconds.append(time.perf_counter() - begin)
        self.versions.append(open_release(published.directory))
        version = read_state(plan.line.private).versions[published.directory.name]
        self.maps.append(read_map(plan.line.private, published.directory.name, str(version.map)))

    def exposure(self, most: int) -> CombinedExposure:
        """Return what all versions tell whoever knows everybody's group in each."""
        return exposure(shown_by(self.maps, self.told), self.told, most)

    def presence(self) -> float | None:
        """The largest presence of anybody by the groups of all versions, where one is promised."""
        (promise, *_) = self.versions[-1].declared.promises
        if promise.most_present is None:
            return None
        rows, groups = _all_groups(self.maps)
        numbers = encode(_GROUP, "insensitive", pa.array(groups))
        table = Microdata((*rows.columns, numbers), rows.rows)
        seen = groups_of(table, [_GROUP], [self.told], promise.quasi_identifiers or ())
        return float(promise.worst(seen)[0]["alpha"] or 0)

    def accuracy(self, queries: int) -> "Accuracy":
        """Return how well the last version answers random counts, against the people shown."""
        last = self.maps[-1]
        rows = last.rows.take(np.flatnonzero(_slots_in_version(last) & (last.kind == LIVE)))
        workload = CountsWorkload(kind="counts", queries=queries)
        evaluation = evaluate(self.versions[-1], rows, [workload], seeded_keys(7), lambda *_: None)
        return Accuracy(
            _median(query.estimate_error for query in evaluation),
            _median(query.relative_error for query in evaluation),
            sum(not query.inside for query in evaluation),
        )


@dataclass(frozen=True)
class Accuracy:
    """Medians over queries, by their truths: of the estimate's distance, and the bounds' width."""

    error: float
    width: float
    outside: int


PLACES = {
    "source": {"uri": "people.parquet", "format": "parquet"},
    "publish": {"uri": "public"},
}


@contextmanager
def work_directory(place: Path):
    """Make it the work directory meanwhile."""
    before = os.environ.get("SFUMATO_WORK")
    os.environ["SFUMATO_WORK"] = str(place)
    try:
        yield
    finally:
        if before is None:
            del os.environ["SFUMATO_WORK"]
        else:
            os.environ["SFUMATO_WORK"] = before


def spec_of(
    name: str,
    columns: dict[str, Any],
    method: tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]],
    versions: str | dict[str, str],
) -> dict[str, Any]:
    """Return a spec with a form, a partition and promises, and the rule by which versions go on."""
    form, partition, promises = method
    return {
        "version": 1,
        "name": name,
        "title": "People who come and go",
        "columns": {**columns, ID: {"role": "identifier", "type": "integer", "unit": True}},
        "promises": promises,
        "partition": partition,
        "form": form,
        "people": "all",
        "versions": versions,
    }


def shown_by(maps: Sequence[SlotMap], sensitive: str) -> list[Shown]:
    """Return what versions show of people, by their private maps."""
    positions = [np.flatnonzero(_slots_in_version(map_of_version)) for map_of_version in maps]
    pairs = list(zip(maps, positions, strict=True))
    _, person = np.unique(
        np.concatenate([m.key[position] for m, position in pairs]), return_inverse=True
    )
    values = pa.concat_arrays([m.rows[sensitive].take(position).array() for m, position in pairs])
    column = encode(sensitive, "sensitive", values)
    ends = np.cumsum([len(position) for position in positions])[:-1]
    versions = zip(pairs, np.split(person, ends), np.split(column.codes, ends), strict=True)
    versions_shown = []
    for (map_, position), who, codes in versions:
        _, group = np.unique(map_.group[position], return_inverse=True)
        coded = {sensitive: Coded(codes.astype(np.int64), len(column.values))}
        groups = count(group, int(group.max()) + 1, coded)
        versions_shown.append(Shown(who, group, groups, map_.kind[position] == LIVE))
    return versions_shown


def _slots_in_version(slots: SlotMap) -> np.ndarray:
    """Return which slots a version shows (bool): all, where it continues none."""
    ids = slots.published >= 0
    return (slots.kind != WITNESS) & (ids if slots.composed else ~slots.retired)


def _all_groups(maps: Sequence[SlotMap]) -> tuple[Microdata, np.ndarray]:
    """The rows of every group ever published, and their groups (int64)."""
    last = maps[-1]
    if last.composed:
        people = np.flatnonzero(last.kind != WITNESS)
        return last.rows.take(people), last.group[people]
    shift = np.cumsum([0, *(int(map_of_version.group.max()) + 1 for map_of_version in maps)])
    group = [
        map_of_version.group + offset for map_of_version, offset in zip(maps, shift, strict=False)
    ]
    return reduce(stack, [map_of_version.rows for map_of_version in maps]), np.concatenate(group)


def _median(scores: Iterable[float | None]) -> float:
    return median(score for score in scores if score is not None)


__all__ = ["Accuracy", "Measured", "Rereleased", "shown_by", "spec_of", "work_directory"]
