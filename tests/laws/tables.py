"""Tables of people on which the laws of partitions and forms are tried."""

import numpy as np
import pyarrow as pa

from sfumato.tasks.microdata.hierarchies import hierarchy_of, with_ancestors
from sfumato.tasks.microdata.table import Microdata, encode
from sfumato.tasks.schema.hierarchy_rules import Intervals
from sfumato.tasks.schema.published import DeclaredColumn

QUASI = ("age", "town", "born")
_TOWNS = (("a", "ab", "*"), ("b", "ab", "*"), ("c", "cd", "*"), ("d", "cd", "*"))
SCHEMA = {
    "age": DeclaredColumn(
        role="quasi-identifier", type="integer", hierarchy=Intervals(intervals=(2, 4))
    ),
    "town": DeclaredColumn(role="quasi-identifier", type="string", nulls=True, hierarchy=_TOWNS),
    "born": DeclaredColumn(role="quasi-identifier", type="integer"),
    "note": DeclaredColumn(role="insensitive", type="string"),
    "wage": DeclaredColumn(role="sensitive", type="integer"),
}


def table_of_people(rng: np.random.Generator, rows: int) -> Microdata:
    """People of a few towns, some of which are missing, born in two years, with eight wages."""
    towns = [None if rng.random() < 0.15 else "abcd"[rng.integers(4)] for _ in range(rows)]
    arrays = {
        "age": pa.array(rng.integers(-3, 6, rows)),
        "town": pa.array(towns, pa.string()),
        "born": pa.array(np.arange(rows) % 2),
        "note": pa.array([f"note {n}" for n in range(rows)]),
        "wage": pa.array(np.arange(rows) // 2 % 8),
    }
    columns = []
    for name, declared in SCHEMA.items():
        column = encode(name, declared.role, arrays[name])
        if declared.hierarchy is not None:
            column = with_ancestors(column, hierarchy_of(column, declared.hierarchy))
        columns.append(column)
    return Microdata(tuple(columns), rows)
