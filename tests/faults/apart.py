"""Trials through the command and on a worker, with a Prefect server: slow, so there are fewer."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

from tests.faults import whole
from tests.faults.trials import CHANGES, POINTS, Trial
from tests.fork_server import fork_server
from tests.prefect_server import Deployed, run_on_worker, server, start
from tests.release.small import Small, people

_ENTRYPOINT = "tests.faults.dying.release"
_AT_ONCE = 5  # runs of one worker: to start one takes as long as a run
_ENDED = {"COMPLETED": 0, "FAILED": 1, "CRASHED": -9}
Asked = tuple[Small, str | None]
Runs = Callable[[Sequence[Asked]], list[tuple[int, str]]]


def commands(number: int, seed: int) -> Iterator[Trial]:
    """Kill so many runs of the command, each in a line of its own."""
    with tempfile.TemporaryDirectory() as name, server() as address:
        folder = Path(name)
        (folder / "forks").mkdir()
        with fork_server(folder / "forks") as forks:

            def run(requests: Sequence[Asked]) -> list[tuple[int, str]]:
                return [one(small, stop) for small, stop in requests]

            def one(small: Small, stop: str | None) -> tuple[int, str]:
                place = small.folder.parent
                started = start(forks, address, place, "release", str(small.spec), stop=stop)
                _, error = started.communicate(timeout=300)
                return int(started.returncode or 0), error

            yield from _try_fault(folder, number, seed, run, at_once=1)


def workers(number: int, seed: int) -> Iterator[Trial]:
    """Kill so many runs on workers; the next ones are a worker's, too."""
    with tempfile.TemporaryDirectory() as name, server() as address:
        folder = Path(name)

        def run(requests: Sequence[Asked]) -> list[tuple[int, str]]:
            deployed = {}
            for small, stop in requests:
                work = small.folder.parent / "work"
                if stop is not None:
                    work.with_name("stop").write_text(stop, encoding="utf-8")
                deployed[str(work)] = Deployed(_ENTRYPOINT, {"spec": str(small.spec)}, work)
            states, output = run_on_worker(address, folder / "worker", deployed)
            return [(_ENDED.get(states[work], -1), output) for work in deployed]

        yield from _try_fault(folder, number, seed, run, at_once=_AT_ONCE)


def _try_fault(folder: Path, number: int, seed: int, run: Runs, at_once: int) -> Iterator[Trial]:
    rng = Random(seed)
    points = [
        rng.choice(POINTS) if n % 2 else f"change:{rng.randint(1, CHANGES)}" for n in range(number)
    ]
    for first in range(0, number, at_once):
        requests: list[Asked] = []
        for n in range(first, min(first + at_once, number)):
            (folder / str(n)).mkdir()
            requests.append((Small(folder / str(n) / "line").write(people()), points[n]))
        killed = run(requests)
        broken = [list(whole.broken(_public(small), {})) for small, _ in requests]
        followed = run([(small, None) for small, _ in requests])
        for (small, point), (code, _), problems, (next_code, output) in zip(
            requests, killed, broken, followed, strict=True
        ):
            public, place = _public(small), small.folder.parent
            problems += whole.broken(public, {})
            problems += [*whole.find_problems(public), *whole.left_behind(place)]
            if code not in (0, -9):
                problems.append(f"the run that was to be killed ended with {code}")
            if next_code:
                problems.append(f"the next run ended with {next_code}: {output.strip()[-200:]}")
            yield Trial(str(point), code, next_code, problems, whole.temporaries(place))


def _public(small: Small) -> Path:
    return small.folder / "public" / "wages"
