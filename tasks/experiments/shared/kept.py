"""Finished seeds of experiments, kept in files, so that a run that was ended goes on.

Each file names what its points depend on: the code of measurements and its commit, the data, the
seed and the settings. Points are used again only if all of these are still the same.
"""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from sfumato.tasks.experiments.shared.experiment import (
    Experiment,
    Inputs,
    Point,
    Size,
    parameters_of,
)
from sfumato.tasks.schema.files import read_json, sha256_of

FOLDER = "measured"
_ROOT = Path(__file__).resolve().parents[3]
_CODE = ("expectations", "tasks")
_UNKNOWN = "no commit"
_SHORT = 12  # digits of a digest


class Origin(NamedTuple):
    """The code and the data of a run.

    Attributes:
        commit: the last commit that changed the code of measurements.
        code: the digest of that code as it is, so that changes without a commit count.
        data: the digest of the files that experiments read.
    """

    commit: str
    code: str
    data: str


class KeptSeed(NamedTuple):
    """The points of a seed, the CPU seconds that they took, and their origin."""

    points: tuple[Point, ...]
    seconds: float
    origin: Origin


class RunFacts(NamedTuple):
    """Facts of a run.

    Attributes:
        commits: the commits whose code measured.
        seconds: the CPU seconds in all.
        size: the size of its data.
        seeds: the seeds of each experiment.
        missing: the seeds of all experiments that have no points.
    """

    commits: tuple[str, ...]
    seconds: int
    size: Size
    seeds: int
    missing: int


@cache
def origin_of(inputs: Inputs) -> Origin:
    """Return the origin of what is measured now."""
    code = [path for folder in _CODE for path in sorted((_ROOT / folder).rglob("*.py"))]
    data = [inputs.adult, *sorted(inputs.hierarchies.glob("*.csv"))]
    return Origin(_last_commit(), _digest(_ROOT, code), _digest(None, data))


def _last_commit() -> str:
    command = ["git", "-C", str(_ROOT), "log", "-1", "--format=%H", "--", *_CODE]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    except OSError:
        return _UNKNOWN
    return done.stdout.strip()[:_SHORT] or _UNKNOWN


def _digest(root: Path | None, paths: Sequence[Path]) -> str:
    """Return the digest of files and their names, which are relative to a root if there is one."""
    total = sha256()
    for path in paths:
        name = path.relative_to(root).as_posix() if root else path.name
        total.update(f"{name}\0{sha256_of(path)}\0".encode())
    return total.hexdigest()[:_SHORT]


@dataclass(frozen=True)
class Kept:
    """A directory of finished seeds.

    Attributes:
        directory: the directory, which need not exist.
        origin: the origin of what is measured now.
        any_code: whether points that other code measured may be used.
    """

    directory: Path
    origin: Origin
    any_code: bool = False

    def read(self, experiment: Experiment, size: Size, seed: int) -> KeptSeed | None:
        """Return what is kept of a seed; None if there is nothing, or if it has another origin."""
        try:
            document = read_json(self._path(experiment, size, seed))
            origin = Origin(document["commit"], document["code"], document["data"])
            points = tuple(Point(*point) for point in document["points"])
            seconds, settings = float(document["seconds"]), document["settings"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        is_same = origin.data == self.origin.data and settings == _settings(experiment, size)
        if not is_same or not (self.any_code or origin.code == self.origin.code):
            return None
        return KeptSeed(points, seconds, origin)

    def write(
        self,
        experiment: Experiment,
        size: Size,
        seed: int,
        points: Sequence[Point],
        seconds: float,
    ) -> None:
        """Keep the points of a seed: whoever is killed meanwhile leaves the file as it was."""
        path = self._path(experiment, size, seed)
        path.parent.mkdir(parents=True, exist_ok=True)
        document: dict[str, Any] = {
            **self.origin._asdict(),
            "experiment": experiment.name,
            "seed": seed,
            "settings": _settings(experiment, size),
            "seconds": round(seconds, 2),
            "points": points,
        }
        partial = path.with_suffix(".part")
        partial.write_text(json.dumps(document), encoding="utf-8", newline="\n")
        partial.replace(path)

    def facts(self, chosen: Sequence[Experiment], size: Size, seeds: int) -> RunFacts:
        """Return what the seeds that are kept say of their run."""
        read = [self.read(experiment, size, seed) for experiment in chosen for seed in range(seeds)]
        present = [seed_kept for seed_kept in read if seed_kept is not None]
        commits = dict.fromkeys(seed_kept.origin.commit for seed_kept in present)
        seconds = sum(seed_kept.seconds for seed_kept in present)
        missing = len(read) - len(present)
        return RunFacts(tuple(commits), round(seconds), size, seeds, missing)

    def _path(self, experiment: Experiment, size: Size, seed: int) -> Path:
        return self.directory / FOLDER / f"{experiment.name}.{size}.{seed}.json"


def _settings(experiment: Experiment, size: Size) -> str:
    return f"{size}: {parameters_of(experiment, size)!r}"
