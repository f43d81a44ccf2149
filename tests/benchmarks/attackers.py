"""Two attacks that need little arithmetic: histograms apart, and lines side by side."""

import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.composition.exposure import values_by_intersection
from sfumato.tasks.microdata.table import Microdata, key
from sfumato.tasks.terms.opened import Release
from sfumato.tasks.terms.tables import read_tables
from tests.benchmarks.comers import ID, adult
from tests.benchmarks.rereleased import Rereleased, shown_by, spec_of
from tests.benchmarks.rereleases import KINDS, OCCUPATION, columns_of_adult

PAIRS, PEOPLE = 12, 2_000
SIDE_BY_SIDE = ("permuted", "split", "boxes", "levels")


def main() -> None:
    """Print how many people are named by differences, and by lines about the same people."""
    for rule in ("accepted-risk", "composed"):
        named = sum(_names_person(rule, number) for number in range(PAIRS))
        print(f"{PAIRS} pairs of histograms, {rule}: {named} name a person's value", flush=True)
    _side_by_side()


def _names_person(rule: str, number: int) -> bool:
    """Tell if two versions' histograms name the one who came, left or changed between them."""
    rng = np.random.default_rng(number)
    people = adult(rng).slice(0, PEOPLE + 1)
    people = people.append_column(ID, pa.array(range(PEOPLE + 1)))
    kind = KINDS["permuted"]
    spec = spec_of("one", columns_of_adult(kind), (kind.form, kind.partition, kind.promises), rule)
    with tempfile.TemporaryDirectory() as folder:
        line = Rereleased(Path(folder) / "line", spec, OCCUPATION)
        before, now, value = _move_person(people, rng, number % 3)
        line.publish(before)
        line.publish(now)
        was, is_ = (_histogram(version) for version in line.versions)
    return value in (was - is_) + (is_ - was)


def _move_person(
    people: pa.Table, rng: np.random.Generator, how: int
) -> tuple[pa.Table, pa.Table, str]:
    """The people before and after, and the value of the one who came, left or changed."""
    stayers = people.slice(0, PEOPLE)
    if how == 0:
        return stayers, people, people[OCCUPATION][PEOPLE].as_py()
    if how == 1:
        return people, stayers, people[OCCUPATION][PEOPLE].as_py()
    values = people[OCCUPATION].to_pylist()
    who = int(rng.integers(PEOPLE))
    values[who] = rng.choice(sorted(set(values) - {values[who]})).item()
    where = people.column_names.index(OCCUPATION)
    return people, people.set_column(where, OCCUPATION, pa.array(values)), values[who]


def _histogram(version: Release) -> Counter[Any]:
    """Count how often each value stands in a version, whoever had it."""
    tables = read_tables(version.declared, version.directory / "data").values()
    values = [t[OCCUPATION].to_pylist() for t in tables if OCCUPATION in t.column_names]
    return Counter(chain.from_iterable(values))


def _side_by_side() -> None:
    """Four lines about the same people, of whom a combination may stand only once."""
    rng = np.random.default_rng(7)
    people = adult(rng)
    people = people.append_column(ID, pa.array(range(len(people))))
    with tempfile.TemporaryDirectory() as folder:
        maps = [line.maps[0] for line in _lines(Path(folder), people)]
        shown_values = shown_by(maps, OCCUPATION)
    alone = shown_values[0].person[_unique(maps[0].rows)]
    for number in range(1, len(maps) + 1):
        faced = values_by_intersection(shown_values[:number], OCCUPATION)[alone]
        exposed = int((faced == 1).sum())
        print(f"{number} lines: {exposed:,} of {len(alone):,} unique people have one value alone")


def _lines(folder: Path, people: pa.Table) -> Iterator[Rereleased]:
    for number, name in enumerate(SIDE_BY_SIDE):
        kind = KINDS[name]
        method = (kind.form, kind.partition, kind.promises)
        spec = spec_of(f"line-{number}", columns_of_adult(kind), method, "accepted-risk")
        line = Rereleased(
            folder / name,
            {**spec, "across-lines": "accepted-risk"},
            OCCUPATION,
            folder / "work",
        )
        line.publish(people)
        yield line


def _unique(rows: Microdata) -> np.ndarray:
    """The rows whose quasi-identifiers nobody else has (bool)."""
    keys, _ = key(rows.with_roles("quasi-identifier"), rows.rows)
    _, place, times = np.unique(keys, return_inverse=True, return_counts=True)
    return np.asarray(times[place] == 1)


if __name__ == "__main__":
    main()
