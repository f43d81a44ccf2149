"""Newcomers as a cohort: grouped among themselves by the spec's own method, or waiting together.

Newcomers who were grouped with people of earlier versions could be told by subtraction. Where they
cannot be grouped, all of them wait: whoever is known to have come and were left out by their values
alone would give these away.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.partitions.partition import Partition, by_stratum

Grouping = Callable[[Microdata], Partition]


@dataclass(frozen=True, eq=False)
class Cohort:
    """Newcomers who are grouped, and the others who wait.

    Attributes:
        rows: the positions of those who were given to the partition (int64).
        partition: of these rows; None where everybody waits.
        waiting: the positions of those who wait (int64).
    """

    rows: np.ndarray
    partition: Partition | None
    waiting: np.ndarray

    @property
    def shown(self) -> np.ndarray:
        """The positions of those who have a group (int64)."""
        if self.partition is None:
            return self.rows[:0]
        return np.asarray(self.rows[self.partition.group >= 0])


def nobody(waiting: np.ndarray) -> Cohort:
    """The cohort where everybody waits."""
    return Cohort(np.array([], dtype=np.int64), None, waiting)


def form_cohort(
    microdata: Microdata, new: np.ndarray, strata: Sequence[str], fewest: int, group: Grouping
) -> Cohort:
    """Group newcomers; a stratum of too few, or that cannot be grouped, waits as a whole.

    Args:
        microdata: the table, with the columns of strata.
        new: the positions of newcomers (int64).
        strata: the columns that tell strata apart.
        fewest: rows of a stratum below which it waits.
        group: the spec's partition.
    """
    within = [new[rows] for rows in by_stratum(microdata.take(new), strata)] if len(new) else []
    enough = [rows for rows in within if len(rows) >= fewest]
    chosen = _grouped(microdata, enough, group)
    if chosen is None and len(enough) > 1:
        kept = [rows for rows in enough if _grouped(microdata, [rows], group) is not None]
        chosen = _grouped(microdata, kept, group)
    if chosen is None:
        return nobody(new)
    rows, partition = chosen
    return Cohort(rows, partition, np.setdiff1d(new, rows))


def _grouped(
    microdata: Microdata, strata: Sequence[np.ndarray], group: Grouping
) -> tuple[np.ndarray, Partition] | None:
    """The rows of some strata in ascending order, and their partition.

    None where there is none, or it leaves somebody out: what was left out would be told by it.
    """
    if not strata:
        return None
    rows = np.sort(np.concatenate(strata))
    try:
        found = group(microdata.take(rows))
    except PromiseError:
        return None
    return None if (found.group < 0).any() else (rows, found)
