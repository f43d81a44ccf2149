"""Suppressing cells by a forest: 30,000 rows and eight quasi-identifiers."""

import numpy as np

from sfumato.tasks.microdata.inferred_table import Written, read_inferred
from sfumato.tasks.partitions.cell_suppression.clusters import stars
from sfumato.tasks.partitions.cell_suppression.forest import cluster_by_forest
from sfumato.tasks.partitions.cell_suppression.local_search import improve
from tests.adult import ADULT
from tests.benchmarks.ke import cpu

ROWS = 30_000
QI = [
    *("age", "workclass", "education", "marital-status", "race", "sex"),
    *("native-country", "occupation"),
]


def main() -> None:
    """Print the time, the share of the cells that are suppressed, and the ratio that is proven."""
    table = read_inferred(str(ADULT), QI, Written(None, ()))
    codes = np.stack([table[name].category()[0] for name in QI], axis=1)[:ROWS]
    for k in (2, 5, 10):
        taken = cpu(lambda k=k: clusters(codes, k), times=3)
        cost, bound = (
            stars(codes, clusters(codes, k)),
            cluster_by_forest(codes, k, large=True).bound,
        )
        print(
            f"forest, UCI Adult, {ROWS:,} x {len(QI)}, k = {k}: {taken:.2f} s, "
            f"{cost / codes.size:.3f} stars per cell, at most {cost / bound:.2f} x the fewest"
        )


def clusters(codes: np.ndarray, k: int) -> np.ndarray:
    """The clusters that the partition makes of a table without strata."""
    made = cluster_by_forest(codes, k, large=True)
    return improve(codes, made.cluster, made.near, k, large=True)


if __name__ == "__main__":
    main()
