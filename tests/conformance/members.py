"""Valid releases: the specification's examples, frozen ones, and lines made from a seed."""

import csv
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from sfumato.expectations.shared.errors import SfumatoError
from sfumato.flows.inputs.resolved import resolve_run
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.publication.publish import Published
from tests.conformance.people import TOWNS, people_of, row
from tests.conformance.recipes import COMPOSED, RECIPES, Recipe, Spec, spec_of
from tests.corpus.lines import frozen_lines
from tests.guide.format_examples import make_valid
from tests.lines import prepare, publish_prepared
from tests.parts.divided import publish_in_parts

_TRIES = 30


@dataclass(frozen=True)
class Member:
    """A valid release of the corpus.

    Attributes:
        name: of the member: what made it, and a number.
        release: its directory; the directory above is its line.
    """

    name: str
    release: Path


@contextmanager
def _work_directory() -> Iterator[Path]:
    """Give a folder with the private state of lines, for as long as they are made."""
    before = os.environ.get("SFUMATO_WORK")
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["SFUMATO_WORK"] = str(Path(scratch) / "work")
        try:
            yield Path(scratch)
        finally:
            os.environ.pop("SFUMATO_WORK")
            if before is not None:
                os.environ["SFUMATO_WORK"] = before


def make_members(seed: int, number: int, folder: Path, frozen: int | None = None) -> list[Member]:
    """Make so many members below a folder; the same seed and numbers give the same ones.

    The examples of the specification come first, then frozen releases of old formats, then lines
    of each recipe in turn: plain, composed and in parts.

    Args:
        seed: decides of all that is drawn.
        number: of members.
        folder: gets a folder for each line.
        frozen: how many frozen releases there are, which are larger; a fifth of all if None.
    """
    old = number // 5 if frozen is None else frozen
    members = [*_examples(folder), *_frozen_members(Random(seed), old, folder)]
    for turn in count():
        for name, recipe in RECIPES.items():
            if len(members) >= number:
                return members[:number]
            rng = Random(f"{seed} {name} {turn}")
            members += _member_made_here(recipe, rng, f"{name}-{turn}", folder)
    raise AssertionError


def _examples(folder: Path) -> list[Member]:
    """Write the valid examples of the specification, each in a line of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        make_valid(Path(scratch))
        return [_keep(place, folder / f"example-{place.name}") for place in _in_order(scratch)]


def _in_order(folder: str) -> list[Path]:
    return sorted(Path(folder).iterdir())


def _keep(release: Path, line: Path) -> Member:
    """Copy a release into a line without any files beside it."""
    version = release.name if release.name.isdigit() else "0001"
    shutil.copytree(release, line / version, copy_function=shutil.copyfile)
    return Member(line.name, line / version)


def _frozen_members(rng: Random, number: int, folder: Path) -> list[Member]:
    """Copy some frozen releases of old formats with the records beside them."""
    lines = frozen_lines()
    members = []
    for line in rng.sample(lines, min(number, len(lines))):
        version = rng.choice(["0001", "0002"])
        name = f"{line.folder.name}-{line.form}"
        member = _keep(line.public / version, folder / name)
        for beside in ("releases.json", "keys.json"):
            if (line.public / beside).exists():
                shutil.copyfile(line.public / beside, folder / name / beside)
        members.append(member)
    return members


def _member_made_here(recipe: Recipe, rng: Random, name: str, folder: Path) -> list[Member]:
    """Make a line by a recipe, drawing again what cannot be published; return its versions."""
    for _ in range(_TRIES):
        kind = rng.choice(_KINDS if recipe.composed else _KINDS[:1])
        with _work_directory() as scratch:
            try:
                public = kind(recipe, rng, name, scratch)
            except SfumatoError:
                continue
            return list(_versions(public, folder / name))
    raise AssertionError(f"{name}: nothing could be published")


def _versions(public: Path, line: Path) -> Iterator[Member]:
    """Copy a line's versions and its record."""
    shutil.copytree(public, line)
    for version in sorted(path.name for path in line.iterdir() if path.name.isdigit()):
        yield Member(f"{line.name}-{version}", line / version)


def _plain(recipe: Recipe, rng: Random, name: str, scratch: Path) -> Path:
    """Publish one version."""
    spec = spec_of(recipe, rng, name)
    rows = [row(rng, number) for number in range(rng.randint(*recipe.rows))]
    return _publish(spec, [rows], rng, scratch)


def _composed_members(recipe: Recipe, rng: Random, name: str, scratch: Path) -> Path:
    """Publish two versions, between which people come and go."""
    spec = spec_of(recipe, rng, name) | {"versions": COMPOSED, "people": name}
    rows = [row(rng, number) for number in range(rng.randint(*recipe.rows))]
    stay = [person for person in rows if rng.random() < 0.85]
    come = [row(rng, 1000 + number) for number in range(rng.randint(4, 16))]
    return _publish(spec, [rows, [*stay, *come]], rng, scratch)


def _in_parts(recipe: Recipe, rng: Random, name: str, scratch: Path) -> Path:
    """Publish one version in parts, cut by age."""
    spec = spec_of(recipe, rng, name)
    spec["columns"]["age"] = {"role": "quasi-identifier", "type": "integer"}
    spec |= {"parts": {"rows": 20}, "remember": "units"}
    rows = [row(rng, number) for number in range(rng.randint(40, 60))]
    return _publish(spec, [rows], rng, scratch)


Kind = Callable[[Recipe, Random, str, Path], Path]
_KINDS: tuple[Kind, ...] = (_plain, _plain, _plain, _composed_members, _in_parts)


def _publish(spec: Spec, tables: list[list[Mapping[str, Any]]], rng: Random, scratch: Path) -> Path:
    """Publish tables as versions of one line; return the directory of the line."""
    _write_sources(spec, scratch)
    for number, rows in enumerate(tables):
        _write_people(spec, people_of(rows), scratch)
        run = scratch / f"run-{number}"
        published = _run(spec, scratch / "spec.yaml", run, rng)
    return published.directory.parent


def _run(spec: Spec, path: Path, run: Path, rng: Random) -> Published:
    draw = seeded_keys(rng.randrange(2**31))
    if "parts" in spec:
        run.mkdir(mode=0o700)
        return publish_in_parts(resolve_run(path), run, draw)
    return publish_prepared(prepare(path, run, draw), run)


def _write_sources(spec: Spec, folder: Path) -> None:
    text = yaml.safe_dump(spec, sort_keys=False, allow_unicode=True)
    (folder / "spec.yaml").write_text(text, encoding="utf-8")
    with (folder / "town.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(TOWNS)


def _write_people(spec: Spec, table: pa.Table, folder: Path) -> None:
    pq.write_table(table.select(list(spec["columns"])), folder / "people.parquet")


def description_of(member: Member) -> dict[str, Any]:
    """Return the choices that a member stands for: form, partition, promises and format."""
    terms = json.loads((member.release / "datapackage.json").read_bytes())["sfumato"]
    return {
        "form": terms["form"]["method"],
        "partition": terms["partition"]["method"],
        "promises": sorted({promise["model"] for promise in terms["promises"]}),
        "format": terms.get("format", 0),
    }
