"""Trials through the command and on a worker, with a Prefect server: slow, so there are fewer."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from tests.faults import whole
from tests.faults.trials import CHANGES, POINTS, Trial
from tests.fork_server import fork_server
from tests.prefect_server import Deployed, run_on_worker, server, start
from tests.release.small import Small, people

_ENTRYPOINT = "tests.faults.dying.release"


def commands(number: int, seed: int) -> Iterator[Trial]:
    """Kill so many runs of the command, each in a line of its own."""
    with tempfile.TemporaryDirectory() as name, server() as address:
        folder = Path(name)
        (folder / "forks").mkdir()
        with fork_server(folder / "forks") as forks:

            def run(work: Path, spec: Path, stop: str | None) -> tuple[int, str]:
                started = start(forks, address, work, "release", str(spec), stop=stop)
                _, said = started.communicate(timeout=300)
                return int(started.returncode or 0), said

            yield from _tried(folder, number, seed, run)


def workers(number: int, seed: int) -> Iterator[Trial]:
    """Kill so many runs on a worker; the next one is a worker's, too."""
    with tempfile.TemporaryDirectory() as name, server() as address:

        def run(work: Path, spec: Path, stop: str | None) -> tuple[int, str]:
            if stop is not None:
                (spec.parent / "stop").write_text(stop, encoding="utf-8")
            one = Deployed(_ENTRYPOINT, {"spec": str(spec)}, spec.parent / "work")
            states, said = run_on_worker(address, work, {"one": one})
            return {"COMPLETED": 0, "FAILED": 1}.get(states["one"], -9), said

        yield from _tried(Path(name), number, seed, run)


def _tried(
    folder: Path,
    number: int,
    seed: int,
    run: Callable[[Path, Path, str | None], tuple[int, str]],
) -> Iterator[Trial]:
    rng = Random(seed)
    for n in range(number):
        place = folder / str(n)
        place.mkdir()
        small = Small(place / "line").write(people())
        point = rng.choice(POINTS) if n % 2 else f"change:{rng.randint(1, CHANGES)}"
        code, _ = run(place, small.spec, point)
        public = small.folder / "public" / "wages"
        problems = list(whole.broken(public, {}))
        next_code, said = run(place, small.spec, None)
        problems += [*whole.broken(public, {}), *whole.settled(public), *whole.left_behind(place)]
        if next_code:
            problems.append(f"the next run ended with {next_code}: {said.strip()[-200:]}")
        yield Trial(point, code, next_code, problems, whole.temporaries(place))
