"""Facts about a published table: what its groups tell somebody who knows a person's columns.

Whoever knows a person's quasi-identifiers finds the person's group. The group's values then limit
the person's own value, and the most frequent of them is the best guess from the group alone.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

TABLES_OF_VALUES = ("st", "microdata")
GROUP, COUNT = "group_id", "count"


@dataclass(frozen=True)
class Disclosure:
    """Facts about the groups of a release.

    Attributes:
        groups: number of groups.
        span: difference of the largest and the least value in the group of the median person.
        guessed: share of people whose own value is the most frequent one of their group, from 0
            to 1; of several equally frequent values one is guessed.
    """

    groups: int
    span: float
    guessed: float


def read_values(directory: Path) -> pa.Table:
    """Read the published table that has the sensitive values."""
    paths = (directory / "data" / f"{name}.parquet" for name in TABLES_OF_VALUES)
    return pq.read_table(next(path for path in paths if path.exists()))


def disclosure(table: pa.Table, sensitive: str, labels: tuple[str, ...]) -> Disclosure:
    """Measure the groups of a published table.

    Args:
        table: rows of values with a group number, perhaps with counts; or of labels and values.
        sensitive: name of the column with values, which are numbers.
        labels: names of the quasi-identifiers: rows that are equal in them are a group.
    """
    keys = [GROUP] if GROUP in table.column_names else list(labels)
    if COUNT not in table.column_names:
        table = table.append_column(COUNT, pa.array(np.ones(table.num_rows, dtype=np.int64)))
    counted = table.group_by([*keys, sensitive]).aggregate([(COUNT, "sum")])
    groups = counted.group_by(keys).aggregate(
        [(sensitive, "min"), (sensitive, "max"), ("count_sum", "sum"), ("count_sum", "max")]
    )
    people = groups["count_sum_sum"].to_numpy()
    span = pc.subtract(groups[f"{sensitive}_max"], groups[f"{sensitive}_min"]).to_numpy()
    guessed = float(groups["count_sum_max"].to_numpy().sum() / people.sum())
    return Disclosure(len(people), _weighted_median(span, people), guessed)


def _weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    order = np.argsort(values, kind="stable")
    passed = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(passed, passed[-1] / 2)])
