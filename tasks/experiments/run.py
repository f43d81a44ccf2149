"""Running experiments: each seed of each is a unit of work, done in one of two processes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from os import cpu_count
from shutil import rmtree

from sfumato.tasks.experiments.data.inputs import Inputs
from sfumato.tasks.experiments.protocol.experiment import Experiment, Size, parameters_of
from sfumato.tasks.experiments.protocol.points import Point, Results
from sfumato.tasks.experiments.registry import EXPERIMENTS
from sfumato.tasks.private.progress import stage
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.trials.processes import worker_processes

_PROCESSES = 2
_Unit = Future[tuple[Point, ...]]


def run_experiments(
    chosen: Sequence[Experiment],
    size: Size,
    seeds: int,
    inputs: Inputs,
) -> Mapping[str, Results]:
    """Run experiments, in parallel but for those that measure time, which run last, one by one.

    Args:
        chosen: the experiments.
        size: whether they run in full, or for a second each.
        seeds: how many there are: 0, 1, ….
        inputs: where files are.

    Returns:
        What was measured, by the names of the experiments, in their order.
    """
    found = dict[str, Results]()
    with _pool() as pool:
        work = [_units(pool, one, size, seeds, inputs) for one in chosen]
        for experiment, units in sorted(zip(chosen, work, strict=True), key=lambda w: w[0].apart):
            with stage(experiment.name):
                points = {seed: unit.result() for seed, unit in enumerate(units)}
            found[experiment.name] = Results(points)
    return {one.name: found[one.name] for one in chosen}


@contextmanager
def _pool() -> Iterator[ProcessPoolExecutor]:
    """Processes that begin anew, for this one may have threads; what waits is dropped at an end."""
    workers = min(_PROCESSES, cpu_count() or 1)
    pool = worker_processes(workers)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _units(
    pool: ProcessPoolExecutor, experiment: Experiment, size: Size, seeds: int, inputs: Inputs
) -> Iterable[_Unit]:
    """The units of an experiment: at work already, or each once the one before is done."""
    units = (pool.submit(measure_seed, experiment.name, size, inputs, s) for s in range(seeds))
    return units if experiment.apart else list(units)


def measure_seed(name: str, size: Size, inputs: Inputs, seed: int) -> tuple[Point, ...]:
    """The points of one seed of an experiment; its trials are deleted afterwards."""
    experiment = EXPERIMENTS[name]
    scratch = private_directory(inputs.scratch / f"{name}-{seed}")
    try:
        measured = experiment.measure(
            parameters_of(experiment, size), replace(inputs, scratch=scratch), seed
        )
        return tuple(Point(*point) for point in measured)
    finally:
        rmtree(scratch, ignore_errors=True)
