"""The common part of aimed partitions: `ke` within the parts that a stratum is cut into."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.partitions.ke import ke
from sfumato.tasks.partitions.ke.parameters import KEParameters
from sfumato.tasks.partitions.partition import Partition, by_stratum

_PART = "part of an aimed partition"


class Cutter(Protocol):
    """Cuts strata, looking at nothing that exchanging values within the groups would change."""

    def parts(self, rows: np.ndarray) -> Iterable[np.ndarray]:
        """The parts of a stratum's rows (positions, int64)."""
        ...


def group_within(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    cutter: Cutter,
    randomness: Randomness,
) -> Partition:
    """Cut each stratum, and group the rows of each part with the least ranges weighted by rows.

    Raises:
        PromiseError: where a part cannot keep a promise.
    """
    part = parts_of(microdata, strata, cutter)
    parts = int(part.max(initial=-1)) + 1
    column = Column(_PART, "drop", pa.array(range(parts)), part.astype(np.int32))
    cut = replace(microdata, columns=(*microdata.columns, column))
    weighted = KEParameters(method="ke", objective="weighted")
    try:
        found = ke.partition(cut, [_PART], promises, weighted, randomness)
    except PromiseError as error:
        raise PromiseError(
            f"a part of the table that narrows answers cannot keep the promise, and cutting it "
            f"otherwise would tell that: name a partition that does not cut ({error})"
        ) from None
    return replace(found, facts={"parts": parts, **found.facts})


def parts_of(microdata: Microdata, strata: Sequence[str], cutter: Cutter) -> np.ndarray:
    """The part of each row (int64), 0, 1, ….

    Parts are numbered by their first row, so that it does not matter how they were found.
    """
    part = np.full(microdata.rows, -1, dtype=np.int64)
    found = [rows for of in by_stratum(microdata, strata) for rows in cutter.parts(of)]
    for number, rows in enumerate(sorted(found, key=lambda rows: int(rows.min()))):
        part[rows] = number
    return part
