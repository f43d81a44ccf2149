"""Running experiments: each seed of each is a unit of work, done in one of two processes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import replace
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
from sfumato.tasks.private.failure import stage
from sfumato.tasks.private.workdir import private_directory

_PROCESSES = 2
_Unit = Callable[[], tuple[Point, ...]]


def run_experiments(
    chosen: Sequence[Experiment],
    size: Size,
    seeds: int,
    inputs: Inputs,
) -> Mapping[str, Results]:
    """Run experiments in parallel, except those that measure time: they run last, one by one.

    Args:
        chosen: the experiments.
        size: `full`, or `quick` for a second each.
        seeds: the number of seeds: 0, 1, ….
        inputs: the places of files.

    Returns:
        The results by the names of the experiments, in their order; a seed that fails ends only
        itself.
    """
    results = dict[str, Results]()
    with closing(_Workers()) as pool:
        work = [_units(pool, experiment, size, seeds, inputs) for experiment in chosen]
        for experiment, units in sorted(zip(chosen, work, strict=True), key=lambda w: w[0].apart):
            with stage(experiment.name):
                results[experiment.name] = _results(units)
    return {experiment.name: results[experiment.name] for experiment in chosen}


def _results(units: Iterable[_Unit]) -> Results:
    """Return the points of each seed, and the reasons of those that failed."""
    points, failed = dict[int, tuple[Point, ...]](), dict[int, str]()
    for seed, unit in enumerate(units):
        try:
            points[seed] = unit()
        except SfumatoError as error:
            failed[seed] = str(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, other seeds may do
            failed[seed] = type(error).__name__
    return Results(points, failed)


class _Workers:
    """Worker processes, started anew because this process may have threads, and again if killed."""

    def __init__(self) -> None:
        self._pool = self._new()

    def unit(self, *arguments: Any) -> _Unit:
        """Start a seed, and return a function that waits for its result.

        The function runs the seed once more in new processes if a process was killed.
        """
        pool, future = self._pool, self._pool.submit(measure_seed, *arguments)

        def result() -> tuple[Point, ...]:
            try:
                return future.result()
            except BrokenProcessPool:  # one of them was killed, perhaps for what another needed
                if self._pool is pool:
                    self._pool = self._new()
                return self._pool.submit(measure_seed, *arguments).result()

        return result

    def close(self) -> None:
        """Cancel waiting work, and end the processes."""
        self._pool.shutdown(cancel_futures=True)

    @staticmethod
    def _new() -> ProcessPoolExecutor:
        return worker_processes(min(_PROCESSES, cpu_count() or 1))


def _units(
    pool: _Workers, experiment: Experiment, size: Size, seeds: int, inputs: Inputs
) -> Iterable[_Unit]:
    """Return the units of an experiment: already at work, or each started after the one before."""
    units = (pool.unit(experiment.name, size, inputs, seed) for seed in range(seeds))
    return units if experiment.apart else list(units)


def measure_seed(name: str, size: Size, inputs: Inputs, seed: int) -> tuple[Point, ...]:
    """Return the points of one seed of an experiment; its trials are deleted afterwards."""
    experiment = EXPERIMENTS[name]
    scratch = private_directory(inputs.scratch / f"{name}-{seed}")
    try:
        measured = experiment.measure(
            parameters_of(experiment, size), replace(inputs, scratch=scratch), seed
        )
        return tuple(Point(*point) for point in measured)
    finally:
        rmtree(scratch, ignore_errors=True)
