"""A toy partition: runs of l rows in the order of the first quasi-identifier."""

from collections.abc import Sequence

import numpy as np

from sfumato.expectations.models.l_diversity import DistinctLDiversity
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.partitions.partition import Partition, by_stratum
from sfumato.tasks.partitions.shared.merging import merge_in_order
from sfumato.tasks.partitions.shared.thresholds import largest_l, needed_promises
from tests.house.runs_of_rows.parameters import RunsOfRowsParameters


def partition(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    parameters: RunsOfRowsParameters,
    randomness: Randomness,
) -> Partition:
    """Group so many neighbours of each stratum, and merge groups that break a promise."""
    l = largest_l(needed_promises(DistinctLDiversity, promises, parameters))
    first = microdata.with_roles("quasi-identifier")[0].codes
    group = np.empty(microdata.rows, dtype=np.int64)
    stratum: list[int] = []
    for number, rows in enumerate(by_stratum(microdata, strata)):
        if len(rows) < l:
            raise PromiseError(f"{l}-diversity cannot be kept: a stratum has {len(rows)} rows")
        rows_ordered = rows[np.lexsort((randomness(len(rows)), first[rows]))]
        runs = np.minimum(np.arange(len(rows)) // l, len(rows) // l - 1)
        group[rows_ordered] = len(stratum) + runs
        stratum += [number] * (int(runs.max()) + 1)
    return Partition(merge_in_order(microdata, group, np.array(stratum, dtype=np.int64), promises))
