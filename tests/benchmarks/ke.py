"""The (k,e) partitions and anatomy, against np.sort of the same values."""

import time
from collections.abc import Callable
from decimal import Decimal
from statistics import median

import numpy as np
import pyarrow as pa

from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.tasks.microdata.table import Column, Microdata, seeded_keys
from sfumato.tasks.partitions.anatomy import anatomy
from sfumato.tasks.partitions.ke import ke
from sfumato.tasks.partitions.ke.ke import minimum_sum
from sfumato.tasks.partitions.ke.largest import minimum_max
from sfumato.tasks.partitions.ke.overlapping import minimum_max_overlapping
from sfumato.tasks.partitions.ke.parameters import KEParameters
from sfumato.tasks.partitions.ke.weighted import minimum_weighted

CUTS = {"sum": minimum_sum, "weighted": minimum_weighted, "max": minimum_max}
K = 5


def main() -> None:
    """Print the ratio at a million and at ten million different values, and with many ties."""
    rng = np.random.default_rng(7)
    for rows in (10**6, 10**7):
        for what, values in (
            ("different", rng.integers(0, 2**60, rows)),
            ("dense below", (rng.pareto(1, rows) * 10**6).astype(np.int64)),
            ("3,000 different", rng.integers(0, 3000, rows)),
        ):
            distinct, counts = np.unique(values, return_counts=True)
            e = int(np.quantile(distinct, 0.99)) // 1000
            sort = cpu(lambda v=values: np.sort(v))
            for name, cut in CUTS.items():
                taken = cpu(lambda cut=cut, d=distinct, c=counts, e=e: cut(d, c, K, e), times=3)
                print(f"ke {name}, {rows:,} values, {what}: {taken / sort:.2f} x np.sort")
    overlapping(rng)
    whole(rng)


def overlapping(rng: np.random.Generator) -> None:
    """Print seconds of the exact search, for few values and for as many as it accepts."""
    for d, e in ((89, 100), (3000, 3000), (3000, 60_000), (20_000, 1000)):
        distinct = np.sort(rng.choice(40 * d, d, replace=False))
        counts = rng.geometric(0.5, d)
        taken = cpu(lambda d=distinct, c=counts, e=e: minimum_max_overlapping(d, c, K, e), times=1)
        overlap = minimum_max_overlapping(distinct, counts, K, e)
        print(
            f"ke max-overlapping, {d:,} different values, e = {e}: {taken:.3f} s, largest range "
            f"{overlap.largest}, {overlap.apart} without overlap, at least {overlap.bound}"
        )


def whole(rng: np.random.Generator, rows: int = 10**6) -> None:
    """Print seconds of whole partitions of a million rows, merging and verdict included."""
    loss = Column("s", "sensitive", pa.array(range(3000)), rng.integers(0, 3000, rows).astype("i4"))
    for objective in ("sum", "weighted", "max", "random"):
        parameters = KEParameters.model_construct(method="ke", objective=objective)
        promise = KEAnonymity(k=K, e=Decimal(20), sensitive="s")
        table = Microdata((loss,), rows)
        taken = cpu(lambda t=table, q=promise, p=parameters: make_partition(t, q, p), times=1)
        print(f"ke {objective}, partition of {rows:,} rows: {taken:.2f} s")
    for values in (50, 3000):
        codes = np.minimum(rng.geometric(10 / values, rows), values) - 1
        taken = cpu(lambda c=codes: anatomy.draw_groups(c, 4, seeded_keys(1)), times=1)
        print(f"anatomy, {rows:,} rows, {values:,} values, l = 4: {taken:.2f} s")


def make_partition(table: Microdata, promise: KEAnonymity, parameters: KEParameters) -> object:
    """One partition of a whole table."""
    return ke.partition(table, [], [promise], parameters, seeded_keys(1))


def cpu(work: Callable[[], object], times: int = 5) -> float:
    """The median CPU seconds of some work, warm."""
    work()
    taken = []
    for _ in range(times):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return median(taken)
