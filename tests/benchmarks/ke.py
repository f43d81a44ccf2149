"""The (k,e) partition of least sum of ranges, against np.sort of the same values."""

import time
from collections.abc import Callable
from statistics import median

import numpy as np

from tasks.partitions.ke import minimum_sum


def main() -> None:
    """Print the ratio at a million and at ten million different values, and with many ties."""
    rng = np.random.default_rng(7)
    for rows in (10**6, 10**7):
        for what, values in (
            ("different", rng.integers(0, 2**60, rows)),
            ("3,000 different", rng.integers(0, 3000, rows)),
        ):
            distinct, counts = np.unique(values, return_counts=True)
            e = int(distinct[-1]) // 1000
            cut = cpu(lambda d=distinct, c=counts, e=e: minimum_sum(d, c, 5, e))
            sort = cpu(lambda v=values: np.sort(v))
            print(f"ke sum, {rows:,} values, {what}: {cut / sort:.2f} x np.sort")


def cpu(work: Callable[[], object], times: int = 5) -> float:
    """The median CPU seconds of some work, warm."""
    work()
    taken = []
    for _ in range(times):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return median(taken)
