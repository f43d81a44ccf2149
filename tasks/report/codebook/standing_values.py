"""The values of a column in published tables, wherever they stand, and how often each counts."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.expectations.arrow import as_integers
from sfumato.expectations.groups.ranks import rank
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.schema.names import COUNT

_ENDS = ("lower", "upper")


@dataclass(frozen=True, eq=False)
class StandingValues:
    """The different values of a column in the files.

    Attributes:
        tables: the tables in which they stand, by name.
        counted: a table says how often each occurs, rather than repeat it.
        ranged: they are ranges, lowest to highest, in the place of single values.
        values: each once, in ascending order; of ranges the lower ends.
        upper: of ranges the upper ends, beside `values`.
        times: how often each occurs (int64, one per value).
        missing: how often none is there.
    """

    tables: tuple[str, ...]
    counted: bool
    ranged: bool
    values: pa.Array
    upper: pa.Array | None
    times: np.ndarray
    missing: int


def standing_values(name: str, tables: Tables) -> StandingValues:
    """The values of the column `name`, or the ranges in their place where no table has it."""
    having = {table: of for table, of in sorted(tables.items()) if name in of.column_names}
    if not having:
        return _ranges(tables)
    pieces = [chunk for of in having.values() for chunk in of[name].chunks]
    kind = next(iter(having.values())).schema.field(name).type
    values, codes = rank(pa.chunked_array(pieces, kind))
    times = _times(codes, np.concatenate([_weights(of) for of in having.values()]), len(values))
    counted = any(COUNT in of.column_names for of in having.values())
    return StandingValues(tuple(having), counted, False, values, None, times[1:], int(times[0]))


def _ranges(tables: Tables) -> StandingValues:
    """The ranges of the tables that count some, in ascending order."""
    having = {
        table: of for table, of in sorted(tables.items()) if {*_ENDS, COUNT} <= {*of.column_names}
    }
    if not having:
        none = np.empty(0, dtype=np.int64)
        return StandingValues((), False, False, pa.array([], pa.string()), None, none, 0)
    (lower, low), (upper, high) = (
        rank(pa.chunked_array([chunk for of in having.values() for chunk in of[end].chunks]))
        for end in _ENDS
    )
    pairs = low.astype(np.int64) * max(len(upper), 1) + high
    found, codes = np.unique(pairs, return_inverse=True)
    times = _times(codes, np.concatenate([_weights(of) for of in having.values()]), len(found))
    ends = [pa.array(found // max(len(upper), 1)), pa.array(found % max(len(upper), 1))]
    shown = lower.take(ends[0]), upper.take(ends[1])
    return StandingValues(tuple(having), True, True, *shown, times[1:], int(times[0]))


def _weights(table: pa.Table) -> np.ndarray:
    if COUNT in table.column_names:
        return np.asarray(as_integers(table[COUNT]), dtype=np.int64)
    return np.ones(table.num_rows, dtype=np.int64)


def _times(codes: np.ndarray, weights: np.ndarray, values: int) -> np.ndarray:
    """How often each code occurs, that of a missing value (-1) first."""
    times = np.zeros(values + 1, dtype=np.int64)
    np.add.at(times, codes.astype(np.int64) + 1, weights)
    return times
