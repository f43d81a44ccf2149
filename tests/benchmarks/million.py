"""A composed line of a million people: what continuing its groups costs, and what is kept of them.

Each version is made in a process of its own; CPU is told as multiples of np.sort of as many int64.
"""

import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from sfumato.tasks.candidates import continued
from sfumato.tasks.lines import composed, composition
from tests.benchmarks.comers import Pace, versions_of
from tests.benchmarks.ke import cpu
from tests.benchmarks.processes import peak_megabytes
from tests.benchmarks.rereleased import Rereleased, spec_of

STEPS = {
    "continuation": (continued, "evolve"),
    "gate": (composed, "gate"),
    "gate with its files": (composition, "require_composed"),
}
FORMS: dict[str, tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]] = {
    "permuted": (
        {"method": "permuted"},
        {"method": "anatomy"},
        [{"model": "l-diversity", "variant": "distinct", "l": 4}],
    ),
}


def main(people: int = 10**6, versions: int = 3) -> None:
    """Print a line for each version: CPU by sorts, the peak of memory, and the files kept."""
    rng = np.random.default_rng(7)
    keys = rng.integers(0, 2**63, people)
    sort = cpu(lambda: np.sort(keys))
    for name, method in FORMS.items():
        with tempfile.TemporaryDirectory() as folder:
            line = Rereleased(
                Path(folder) / "line", spec_of("many", COLUMNS, method, "composed"), "job"
            )
            evolving = versions_of(_make_people(rng, people), people, "job", Pace(), rng)
            for number in range(versions):
                taken = _apart(partial(_publish_version, line, next(evolving)))
                line.versions.append(taken.pop("release"))
                summary = ", ".join(
                    f"{what} {seconds:.2f} s, {seconds / sort:.0f} x"
                    for what, seconds in taken["cpu"].items()
                )
                print(
                    f"{people:,} people, {name}, version {number + 1}: {summary}; "
                    f"whole {taken['seconds']:.1f} s, peak {taken['peak']:,.0f} MB, "
                    f"map {taken['kept'] / 2**20:.1f} MB",
                    flush=True,
                )


COLUMNS = {
    "age": {"role": "quasi-identifier", "type": "integer"},
    "zip": {"role": "quasi-identifier", "type": "integer"},
    "sex": {"role": "quasi-identifier", "type": "string"},
    "job": {"role": "sensitive", "type": "string"},
}


def _make_people(rng: np.random.Generator, people: int, jobs: int = 50) -> pa.Table:
    """People for a first version, and a third more who may join."""
    everybody = people + people // 3
    job_numbers = np.minimum(rng.geometric(0.1, everybody), jobs)
    return pa.table(
        {
            "age": rng.integers(0, 100, everybody),
            "zip": rng.integers(1000, 10_000, everybody),
            "sex": pa.array(np.array(["f", "m"])[rng.integers(0, 2, everybody)]),
            "job": pa.array([f"job {n}" for n in range(jobs + 1)]).take(pa.array(job_numbers)),
        }
    )


def _publish_version(line: Rereleased, people: pa.Table) -> dict[str, Any]:
    """The next version, made here: its release, and what it took."""
    with time_steps() as taken:
        line.publish(people)
    release = line.versions[-1]
    size_of_map = (line.folder / "work" / "many" / "map" / release.directory.name).stat().st_size
    return {
        "release": release,
        "cpu": dict(taken),
        "seconds": line.seconds[-1],
        "peak": peak_megabytes(),
        "kept": size_of_map,
    }


@contextmanager
def time_steps() -> Iterator[dict[str, float]]:
    """CPU seconds of the steps, by their names, of whatever is published meanwhile."""
    taken: dict[str, float] = {}
    with ExitStack() as stack:
        for name, (module, function) in STEPS.items():
            watched = _watch_step(name, getattr(module, function), taken)
            stack.enter_context(patch.object(module, function, watched))
        yield taken


def _watch_step(
    name: str, function: Callable[..., Any], taken: dict[str, float]
) -> Callable[..., Any]:
    def watch(*arguments: Any) -> Any:
        begin = time.process_time()
        result = function(*arguments)
        taken[name] = taken.get(name, 0) + time.process_time() - begin
        return result

    return watch


def _apart(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(work)


if __name__ == "__main__":
    main()
