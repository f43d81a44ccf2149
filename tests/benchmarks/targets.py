"""Redistribution: without fakes against np.sort of the rows, with fakes in seconds and memory."""

import multiprocessing
import time
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np

from sfumato.tasks.partitions.targets.distribution import uniform, weights_of_counts
from sfumato.tasks.partitions.targets.fakes import with_fakes
from sfumato.tasks.partitions.targets.minimum import minimum
from sfumato.tasks.partitions.targets.tree import balanced_tree
from sfumato.tasks.partitions.targets.trees_with_weights import annotate
from tests.benchmarks.processes import peak_megabytes

DENOMINATOR = 16


def main() -> None:
    """Print the ratios of the first algorithm, and what the second takes at several sizes."""
    rng = np.random.default_rng(7)
    for rows in (10**5, 10**6, 10**7):
        for values in (89, 10**4, 10**5):
            time_without_fakes(rng.integers(0, values, rows), values)
    apart(rng)
    apart_with_fakes(rng)
    spawn = multiprocessing.get_context("spawn")
    for size in ((1427, 89, 70), (10**4, 512, 500), (10**6, 1024, 1000)):
        for spread in ("even", "skewed"):
            for aim in ("uniform", "source"):
                work = spawn.Process(target=fakes, args=(*size, spread, aim))
                work.start()
                work.join()


def time_without_fakes(codes: np.ndarray, values: int) -> None:
    """One group with the target of its own distribution, its rows counted and generalized."""
    sort = cpu(partial(np.sort, codes))
    tree = balanced_tree(values, 2)
    start = time.process_time()
    target = annotate(
        tree, weights_of_counts(np.bincount(codes, minlength=values)), DENOMINATOR
    ).target
    annotating = time.process_time() - start

    def work() -> object:
        return minimum(target, tree.at_leaves(np.bincount(codes, minlength=values)))

    taken = cpu(work, times=3)
    print(
        f"least ranges, {len(codes):,} rows, {values:,} values: {taken / sort:.2f} x np.sort "
        f"({taken:.3f} s; annotating the tree once {annotating:.2f} s)"
    )


def apart(rng: np.random.Generator, groups: int = 30_000, values: int = 89) -> None:
    """Many small groups with one target."""
    tree = balanced_tree(values, 2)
    target = annotate(tree, uniform(values)).target
    counts = np.zeros((groups, len(tree.parent)), dtype=np.int64)
    counts[:, tree.leaf] = rng.poisson(0.5, (groups, values))
    taken = cpu(lambda: minimum(target, counts), times=3)
    print(f"least ranges, {groups:,} groups of {values} values: {taken:.2f} s")


def apart_with_fakes(rng: np.random.Generator, groups: int = 1000, values: int = 45_000) -> None:
    """Small groups with one target of many values, each with a few fakes."""
    tree = balanced_tree(values, 2)
    target = annotate(tree, uniform(values)).target
    weights = [
        tree.at_leaves(np.bincount(rng.integers(0, values, 51), minlength=values))
        for _ in range(groups)
    ]

    def work() -> None:
        for counts in weights:
            with_fakes(target, counts, tree.steps, 2)

    print(f"fakes, {groups:,} groups of 51 among {values:,} values: {cpu(work, times=3):.2f} s")


def fakes(rows: int, values: int, most: int, spread: str, aim: str) -> None:
    """Print seconds and the peak memory of this process."""
    rng = np.random.default_rng(7)
    codes = rng.integers(0, values, rows)
    if spread == "skewed":
        codes = np.minimum((rng.pareto(1, rows) * 5).astype(np.int64), values - 1)
    tree, counts = balanced_tree(values, 2), np.bincount(codes, minlength=values)
    weights = weights_of_counts(counts) if aim == "source" else uniform(values)
    target, leaves = annotate(tree, weights, DENOMINATOR).target, tree.at_leaves(counts)
    before = peak_megabytes()
    taken = cpu(lambda: with_fakes(target, leaves, tree.steps, most), times=1)
    peak = peak_megabytes()
    result = with_fakes(target, leaves, tree.steps, most)
    print(
        f"fakes, {rows:,} {spread} rows, {values} values, t = {most}, {aim} target: {taken:.2f} s, "
        f"peak {peak:.0f} MB (before: {before:.0f}); {result.fakes.sum()} fakes, "
        f"sum of ranges {result.cost:,}, {(minimum(target, leaves) * tree.steps).sum():,} without"
    )


def cpu(work: Callable[[], object], times: int = 5) -> float:
    """The median CPU seconds of some work, warm."""
    work()
    taken = []
    for _ in range(times):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return median(taken)


if __name__ == "__main__":
    main()
