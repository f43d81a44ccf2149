"""Running experiments: each seed of each is a unit of work, done in processes of their own."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass, field, replace
from os import cpu_count
from shutil import rmtree
from typing import Any

from sfumato.expectations.shared.errors import SfumatoError
from sfumato.tasks.choose.trial import worker_processes
from sfumato.tasks.experiments.registry import EXPERIMENTS
from sfumato.tasks.experiments.shared.experiment import (
    Experiment,
    Inputs,
    Point,
    Results,
    Size,
    parameters_of,
)
from sfumato.tasks.experiments.shared.kept import Kept
from sfumato.tasks.private.failure import stage
from sfumato.tasks.private.workdir import private_directory

_PROCESSES = 2
_Points = tuple[Point, ...]
_Unit = Callable[[], _Points]
Report = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """The work of a run.

    Attributes:
        chosen: the experiments.
        size: `full`, or `quick` for a smoke test of a second each.
        seeds: the number of seeds: 0, 1, ….
        inputs: the places of files.
        kept: the finished seeds of earlier runs; those of this run are added.
        processes: the number of processes.
        report: is told of each seed that is finished.
    """

    chosen: Sequence[Experiment]
    size: Size
    seeds: int
    inputs: Inputs
    kept: Kept
    processes: int = _PROCESSES
    report: Report = lambda _: None

    def kept_points(self, experiment: Experiment, seed: int) -> _Points | None:
        """Return the points of a seed that is finished already."""
        seed_kept = self.kept.read(experiment, self.size, seed)
        return None if seed_kept is None else seed_kept.points


def run_experiments(plan: Plan) -> Mapping[str, Results]:
    """Run experiments in parallel, except those that measure time: they run last, one by one.

    Seeds that are finished already are read, the others are kept as soon as they are finished.

    Returns:
        The results by the names of the experiments, in their order; a seed that fails ends only
        itself, and is not kept.
    """
    results = dict[str, Results]()
    with closing(_Workers(plan.processes)) as pool:
        work = [_Work(pool, plan, experiment) for experiment in plan.chosen]
        progress = _Progress(plan, sum(len(units.missing) for units in work))
        for units in sorted(work, key=lambda units: units.experiment.apart):
            with stage(units.experiment.name):
                results[units.experiment.name] = _results(units, progress)
    return {experiment.name: results[experiment.name] for experiment in plan.chosen}


def read_results(plan: Plan) -> Mapping[str, Results]:
    """Return what is kept of each experiment, without measuring anything."""
    results = {}
    for experiment in plan.chosen:
        seeds = ((seed, plan.kept_points(experiment, seed)) for seed in range(plan.seeds))
        results[experiment.name] = Results(
            {seed: points for seed, points in seeds if points is not None}
        )
    return results


class _Work:
    """The units of an experiment: already at work, or each started after the one before."""

    def __init__(self, pool: "_Workers", plan: Plan, experiment: Experiment) -> None:
        self.experiment, self._pool, self._plan = experiment, pool, plan
        finished = {seed: plan.kept_points(experiment, seed) for seed in range(plan.seeds)}
        self._finished = {seed: points for seed, points in finished.items() if points is not None}
        self.missing = [seed for seed in finished if seed not in self._finished]
        self._started = {} if experiment.apart else {s: self._start(s) for s in self.missing}

    def points(self, seed: int) -> _Points:
        """Return the points of a seed, which may be kept, at work or not started."""
        if seed in self._finished:
            return self._finished[seed]
        return (self._started.get(seed) or self._start(seed))()

    def _start(self, seed: int) -> _Unit:
        plan = self._plan
        return self._pool.unit(self.experiment.name, plan.size, plan.inputs, seed, plan.kept)


@dataclass
class _Progress:
    """Reports of finished seeds, with how many are left."""

    plan: Plan
    left: int
    _started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        whole = len(self.plan.chosen) * self.plan.seeds
        if self.left < whole:
            self.plan.report(f"{whole - self.left} of {whole} seeds are kept from an earlier run")

    def finish(self, experiment: Experiment, seed: int) -> None:
        """Report a seed that was measured now."""
        self.left -= 1
        minutes = (time.monotonic() - self._started) / 60
        self.plan.report(
            f"{experiment.name}: seed {seed + 1} of {self.plan.seeds} is finished after "
            f"{minutes:.1f} minutes; {self.left} seeds are left"
        )


def _results(units: _Work, progress: _Progress) -> Results:
    """Return the points of each seed, and the reasons of those that failed."""
    points, failed = dict[int, _Points](), dict[int, str]()
    for seed in range(progress.plan.seeds):
        try:
            points[seed] = units.points(seed)
        except SfumatoError as error:
            failed[seed] = str(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, other seeds may do
            failed[seed] = type(error).__name__
        if seed in units.missing:
            progress.finish(units.experiment, seed)
    return Results(points, failed)


class _Workers:
    """Worker processes, started anew because this process may have threads, and again if killed."""

    def __init__(self, processes: int) -> None:
        self._number = min(processes, cpu_count() or 1)
        self._pool = self._new()

    def unit(self, *arguments: Any) -> _Unit:
        """Start a seed, and return a function that waits for its result.

        The function runs the seed once more in new processes if a process was killed.
        """
        pool, future = self._pool, self._pool.submit(measure_and_keep, *arguments)

        def result() -> _Points:
            try:
                return future.result()
            except BrokenProcessPool:  # one of them was killed, perhaps for what another needed
                if self._pool is pool:
                    self._pool = self._new()
                return self._pool.submit(measure_and_keep, *arguments).result()

        return result

    def close(self) -> None:
        """Cancel waiting work, and end the processes."""
        self._pool.shutdown(cancel_futures=True)

    def _new(self) -> ProcessPoolExecutor:
        return worker_processes(self._number)


def measure_and_keep(name: str, size: Size, inputs: Inputs, seed: int, finished: Kept) -> _Points:
    """Return the points of one seed of an experiment, and keep them."""
    started = time.process_time()
    points = measure_seed(name, size, inputs, seed)
    finished.write(EXPERIMENTS[name], size, seed, points, time.process_time() - started)
    return points


def measure_seed(name: str, size: Size, inputs: Inputs, seed: int) -> _Points:
    """Return the points of one seed of an experiment; its trials are deleted afterwards."""
    experiment = EXPERIMENTS[name]
    scratch = private_directory(inputs.scratch / f"{name}-{seed}")
    try:
        measured: Iterator[Any] = iter(
            experiment.measure(
                parameters_of(experiment, size), replace(inputs, scratch=scratch), seed
            )
        )
        return tuple(Point(*point) for point in measured)
    finally:
        rmtree(scratch, ignore_errors=True)
