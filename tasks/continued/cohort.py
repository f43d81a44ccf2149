"""Newcomers as a cohort: grouped among themselves by the spec's own method, or waiting together.

Subtraction could identify newcomers who were grouped with people of earlier versions. If newcomers
of a stratum cannot be grouped, all of them wait: to leave out some because of their values would
reveal these values.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.partitions.partition import Partition, by_stratum

Grouping = Callable[[Microdata], Partition]
"""Groups the rows of a table; raises PromiseError if it cannot."""


@dataclass(frozen=True, eq=False)
class Cohort:
    """Newcomers who are grouped, and the others who wait.

    Attributes:
        rows: the positions in the table of people in the partition (int64).
        partition: the partition of these rows; None if everyone waits.
        waiting: the positions in the table of people who wait (int64).
    """

    rows: np.ndarray
    partition: Partition | None
    waiting: np.ndarray

    @property
    def grouped_rows(self) -> np.ndarray:
        """The positions of people who have a group (int64)."""
        if self.partition is None:
            return self.rows[:0]
        return np.asarray(self.rows[self.partition.group >= 0])


def nobody(waiting: np.ndarray) -> Cohort:
    """Return the cohort in which everyone waits."""
    return Cohort(np.array([], dtype=np.int64), None, waiting)


def form_cohort(
    microdata: Microdata, new: np.ndarray, strata: Sequence[str], fewest: int, group: Grouping
) -> Cohort:
    """Group newcomers; a stratum that has too few people or cannot be grouped waits as a whole.

    Args:
        microdata: the table, with the columns of strata.
        new: the positions of newcomers (int64).
        strata: the columns that define strata.
        fewest: a stratum with fewer newcomers waits.
        group: the spec's partition.
    """
    within = [new[rows] for rows in by_stratum(microdata.take(new), strata)] if len(new) else []
    enough = [rows for rows in within if len(rows) >= fewest]
    chosen = _group_strata(microdata, enough, group)
    if chosen is None and len(enough) > 1:
        groupable = [rows for rows in enough if _group_strata(microdata, [rows], group) is not None]
        chosen = _group_strata(microdata, groupable, group)
    if chosen is None:
        return nobody(new)
    rows, partition = chosen
    return Cohort(rows, partition, np.setdiff1d(new, rows))


def _group_strata(
    microdata: Microdata, strata: Sequence[np.ndarray], group: Grouping
) -> tuple[np.ndarray, Partition] | None:
    """Return the rows of some strata in ascending order, and their partition.

    Returns None if they cannot be grouped, or if the partition leaves somebody out: that would
    reveal values of people who are left out.
    """
    if not strata:
        return None
    rows = np.sort(np.concatenate(strata))
    try:
        partition = group(microdata.take(rows))
    except PromiseError:
        return None
    return None if (partition.group < 0).any() else (rows, partition)
