"""What is chosen once for all parts: from the distinct rows of each, and how many there are."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sfumato.expectations.errors import PromiseError
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.microdata.hierarchies import with_hierarchies
from sfumato.tasks.microdata.table import Column, Microdata, encode
from sfumato.tasks.partitions.partition import Partitioner
from sfumato.tasks.partitions.registry import CHOICES
from sfumato.tasks.partitions.strata import with_strata
from sfumato.tasks.parts.divided import PartOnDisk
from sfumato.tasks.parts.strata import read_columns

_PART = "/part"  # no column has this name
_MOST = 20_000_000  # distinct rows


def choose_for_all(parts: Sequence[PartOnDisk], terms: Terms) -> Partitioner | None:
    """The partition of each part where something is chosen for all rows; None where nothing is.

    Raises:
        PromiseError: where the promises cannot be kept, or there are too many distinct rows.
    """
    if not terms.partition.chosen_once:
        return None
    table, number = _distinct(parts, terms)
    columns = [encode(n, terms.columns[n].role, table[n]) for n in _named(terms)]
    part = Column(_PART, "drop", pa.array(range(len(parts))), number)
    microdata = with_hierarchies(Microdata((*columns, part), table.num_rows), terms.hierarchies)
    marked, strata = with_strata(microdata, terms.strata)
    times = table["count_all"].to_numpy()
    choose = CHOICES[terms.partition.method]
    return choose(marked, times, (*strata, _PART), terms.promises, terms.partition)


def _distinct(parts: Sequence[PartOnDisk], terms: Terms) -> tuple[pa.Table, np.ndarray]:
    """The distinct rows of every part with their counts, and the part of each (int32)."""
    names, found = _named(terms), []
    for part in parts:
        rows = pa.concat_tables(map(_decoded, read_columns(part.strata, names)))
        found.append(rows.group_by(names).aggregate([([], "count_all")]))
        if sum(table.num_rows for table in found) > _MOST:
            raise PromiseError(
                f"{terms.partition.method}: there are more than {_MOST} distinct rows, too many "
                "to choose for all of them: mondrian groups each part by itself"
            )
    number = np.repeat(np.arange(len(found)), [table.num_rows for table in found])
    return pa.concat_tables(found), number.astype(np.int32)


def _named(terms: Terms) -> list[str]:
    """The columns that tell groups apart, and those that promises and costs are about."""
    return terms.named("quasi-identifier", "sensitive") + [
        name
        for name in terms.named("insensitive")
        if name in {getattr(stratum, "column", stratum) for stratum in terms.strata}
    ]


def _decoded(table: pa.Table) -> pa.Table:
    plain = {
        name: column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return pa.table(plain)
