"""A table as distinct vectors of values with their counts, and the rules for cutting it."""

from collections.abc import Sequence
from math import log
from typing import Any, NamedTuple

import numpy as np

from sfumato.expectations.groups.counting import pack
from sfumato.expectations.shared.sorting import stable_order
from sfumato.tasks.microdata.table import Column

_TABLED = 1024  # numbers n from 0, whose n ln n are looked up
_FEW = 8  # values of the table for each cell of some vectors: beyond, sorting those that occur pays


class Table(NamedTuple):
    """Distinct vectors of quasi-identifiers and sensitive value, and the number of `rows` of each.

    `codes` (int32, vectors x attributes) has the sensitive attribute last; attribute a's values are
    numbered from `begins[a]` up to `begins[a + 1]` (int64). `rows` is int64.
    """

    codes: np.ndarray
    rows: np.ndarray
    begins: np.ndarray


def distinct(columns: Sequence[Column], stratum: np.ndarray) -> tuple[Table, np.ndarray]:
    """Return the distinct vectors of each stratum, and the vector of each row (int64).

    Vectors are in the order of strata.

    Args:
        columns: the quasi-identifiers that may be cut, and the sensitive attribute.
        stratum: the stratum of each row (int64), from 0.
    """
    codes, sizes = zip(*(column.category() for column in columns), strict=True)
    keys, _ = pack([stratum, *codes], [int(stratum.max()) + 1, *sizes])
    order = stable_order(keys)
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    counts = np.diff(np.append(starts, len(keys)))
    vector = np.empty(len(keys), dtype=np.int64)
    vector[order] = np.repeat(np.arange(len(starts)), counts)
    begins = np.concatenate([[0], np.cumsum(sizes)])
    rows = order[starts]
    values = [column[rows] + begin for column, begin in zip(codes, begins[:-1], strict=True)]
    return Table(np.stack(values, axis=1).astype(np.int32), counts, begins), vector


def by_part(part: np.ndarray, vector: np.ndarray) -> list[np.ndarray]:
    """Return the vectors of each part (int64), in the order of parts.

    `part` and `vector` have the part and the vector of each row.
    """
    of_vector = np.empty(int(vector.max()) + 1, dtype=np.int64)
    of_vector[vector] = part
    return np.split(np.arange(len(of_vector)), np.flatnonzero(np.diff(of_vector)) + 1)


class CoverRule(NamedTuple):
    """The largest presence α and share β as fractions; a denominator of 0 means no limit.

    No number of rows times a denominator exceeds 2^62. `counted` has the rows of the
    most frequent value of each attribute whose marginal will be published, 0 for others (int64).
    """

    alpha: int
    per_alpha: int
    beta: int
    per_beta: int
    counted: np.ndarray


class CutPreference(NamedTuple):
    """A preference among cuts.

    `mass` is the weight of every value (float64), `sensitive` the weight of the sensitive
    attribute. `scored` is the share of tries with orders by scores, `single` the share with single
    values against the rest. `noise` is the influence of chance. Parts with more than `sample`
    vectors are scanned in a sample of that size.
    """

    mass: np.ndarray
    sensitive: float
    scored: float
    single: float
    noise: float
    sample: int


class Room(NamedTuple):
    """Room to work in: float64 for masses, logarithms, scores, gains and draws, else integers.

    `total` and `left`: rows with each value, in the part and on the left side. `admitted` and
    `mass`: values of each attribute that each side has, and their weight. `starts` and `ends`:
    where the vectors with each value are among the `sorted` ones. `values`: those that occur,
    attribute a's from `firsts[a]` on, in ascending order; of all others `total` is 0. `side`: of
    each value, 1 for the right. `draws` are uniform numbers, used in turn; `drawn` counts them.
    `n_log_n` has n ln n of small numbers; `logged` are masses whose logarithms are `logs`.
    """

    total: np.ndarray
    left: np.ndarray
    admitted: np.ndarray
    mass: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    sorted: np.ndarray
    side: np.ndarray
    scores: np.ndarray
    gains: np.ndarray
    values: np.ndarray
    firsts: np.ndarray
    draws: np.ndarray
    drawn: np.ndarray
    n_log_n: np.ndarray
    logged: np.ndarray
    logs: np.ndarray


def room_for(table: Table, draws: np.ndarray) -> Room:
    """Return room for parts of a table, and uniform numbers to draw from (float64)."""
    values, (vectors, width) = int(table.begins[-1]), table.codes.shape
    return Room(
        np.zeros(values, dtype=np.int64),
        np.zeros(values, dtype=np.int64),
        np.zeros((2, width), dtype=np.int64),
        np.zeros((2, width)),
        np.zeros(values, dtype=np.int64),
        np.zeros(values, dtype=np.int64),
        np.zeros(vectors, dtype=np.int64),
        np.zeros(values, dtype=np.int8),
        np.zeros(values),
        np.zeros(width - 1),
        np.zeros(values, dtype=np.int64),
        np.zeros(width + 1, dtype=np.int64),
        draws,
        np.zeros(1, dtype=np.int64),
        np.array([0.0, *(n * log(n) for n in range(1, _TABLED))]),
        np.ones((2, width)),
        np.zeros((2, width)),
    )


def tally(table: Any, vectors: Any, room: Any) -> Any:
    """Count the values of some vectors, and list those that occur; return the number of rows.

    Its running time depends on the vectors, not on the values elsewhere.
    """
    for value in room.values[: room.firsts[-1]]:
        room.total[value] = 0
    if len(room.total) > _FEW * len(vectors) * table.codes.shape[1]:
        _list_met(table, vectors, room)
    else:
        _list_all(table, vectors, room)
    rows = 0
    for vector in vectors:
        rows += table.rows[vector]
    return rows


def _list_met(table: Any, vectors: Any, room: Any) -> None:
    """Count each attribute's values and list them as they occur, then sort the list."""
    filled = 0
    for a in range(len(table.begins) - 1):
        first = filled
        room.firsts[a] = first
        for vector in vectors:
            value = table.codes[vector, a]
            if room.total[value] == 0:
                room.values[filled] = value
                filled += 1
            room.total[value] += table.rows[vector]
        room.values[first:filled].sort()
    room.firsts[len(table.begins) - 1] = filled


def _list_all(table: Any, vectors: Any, room: Any) -> None:
    """Count all values, then list those that occur among all values of the table."""
    for vector in vectors:
        for value in table.codes[vector]:
            room.total[value] += table.rows[vector]
    filled = 0
    for a in range(len(table.begins) - 1):
        room.firsts[a] = filled
        for value in range(table.begins[a], table.begins[a + 1]):
            if room.total[value] > 0:
                room.values[filled] = value
                filled += 1
    room.firsts[len(table.begins) - 1] = filled


TALLY = (_list_met, _list_all, tally)
