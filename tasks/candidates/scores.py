"""The expected width of answers from a partition, on queries that all candidates are asked.

A score is the mean over levels of queries of the expected width of a sum per selected row, in the
units of the sensitive column; of counts of its values, where it has no order.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.expectations.exact import exact, is_ordered
from sfumato.tasks.forms import counts_table as st
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.targets import LOWER, QIT, UPPER
from sfumato.tasks.microdata.table import Column, Microdata, Randomness, encode
from sfumato.tasks.partitions.aimed.queries import AimedQueries
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.schema.names import COUNT, GROUP_ID

_WINDOWS, _SETS = 64, 4  # of a column; of a level


@dataclass(frozen=True, eq=False)
class Query:
    """A query that all candidates are asked.

    Attributes:
        selected: the positions of its rows (int64).
        weight: what the width of its sum adds to the score.
        over: the column that it is a window of, None where rows are drawn.
        first: the first value in the window, from 1.
        end: the first value behind it.
        conditions: by which its rows are counted, the codes of the least and the greatest sensitive
            value of each (int64, n x 2); None where values are summed.
    """

    selected: np.ndarray
    weight: float
    over: str | None = None
    first: int = 0
    end: int = 0
    conditions: np.ndarray | None = None


def drawn_queries(queries: AimedQueries, randomness: Randomness) -> list[Query]:
    """Some queries of the declared families, drawn at random."""
    windows = (q for name in queries.windows for q in _some(queries, name, randomness))
    return [*windows, *_sets(queries, randomness)]


def _some(queries: AimedQueries, name: str, randomness: Randomness) -> Iterator[Query]:
    windows = queries.windows[name]
    order = np.argsort(randomness(len(windows.first)), kind="stable")[:_WINDOWS]
    scale = len(windows.first) / max(len(order), 1)
    for at in order.tolist():
        first, end = int(windows.first[at]), int(windows.end[at])
        rows = np.flatnonzero((windows.place >= first) & (windows.place < end))
        conditions = queries.conditions.get(str(windows.condition[at]))
        yield Query(rows, float(windows.weight[at]) * scale, name, first, end, conditions)


def _sets(queries: AimedQueries, randomness: Randomness) -> Iterator[Query]:
    of = queries.selections
    for selected, weight in zip(of.selected.tolist(), of.weight.tolist(), strict=True):
        for _ in range(_SETS):
            rows = np.argsort(randomness(of.rows), kind="stable")[:selected]
            yield Query(rows, weight / _SETS)


Score = Callable[[Microdata, Partition, Tables, str, list[Query]], float]


def score_rows(
    microdata: Microdata, partition: Partition, _tables: Tables, sensitive: str, asked: list[Query]
) -> float:
    """The score of exact rows beside grouped values; a suppressed row is in no answer."""
    column, kept = microdata[sensitive], partition.group >= 0
    group, codes = partition.group[kept], column.codes[kept]
    score = _score_conditions(group, codes, partition.group, asked)
    asked = [one for one in asked if one.conditions is None]
    if not is_ordered(column.values.type) or column.has_null:
        return score + _score_counts(group, codes, partition.group, asked)
    units = exact(column.values, column.name).units.astype(np.float64)[codes]
    ends = _Ends.of(group, units, units)
    widths = (ends.width(_hits(partition.group, one, ends.groups)) for one in asked)
    return score + sum(one.weight * width for one, width in zip(asked, widths, strict=True))


def score_subdomains(
    microdata: Microdata, _partition: Partition, tables: Tables, sensitive: str, asked: list[Query]
) -> float:
    """The score of exact rows beside subdomains of values."""
    shown, column = tables[st.ST], microdata[sensitive]
    count = shown[COUNT].to_numpy()
    ends = _Ends.of(
        np.repeat(shown[GROUP_ID].to_numpy(), count),
        np.repeat(_units(shown[LOWER], column), count),
        np.repeat(_units(shown[UPPER], column), count),
    )
    rows, score = tables[QIT], 0.0
    group = rows[GROUP_ID].to_numpy()
    places = {
        name: encode_like(microdata[name], rows[name]) for name in {o.over for o in asked if o.over}
    }
    for one in asked:
        if one.over is None:  # rows of tables have another order: those at any places do as well
            selected = group[one.selected]
        else:
            place = places[one.over]
            selected = group[(place >= one.first) & (place < one.end)]
        score += one.weight * ends.width(np.bincount(selected, minlength=ends.groups))
    return score


def score_labels(
    microdata: Microdata, partition: Partition, _tables: Tables, sensitive: str, asked: list[Query]
) -> float:
    """The score of sums where a group is in a window wholly, in part, or not at all.

    Where it is there in part, any of its rows may be meant, and none.
    """
    groups, kept = int(partition.group.max(initial=-1)) + 1, partition.group >= 0
    meant = _sizes_of(microdata[sensitive])[kept]
    sums = np.bincount(partition.group[kept], meant, minlength=groups)
    over = {one.over for one in asked if one.over}
    labels = {name: _labels(microdata[name], partition, groups) for name in over}
    score = 0.0
    for one in asked:
        if one.over is not None:
            low, high = labels[one.over]
            meets = (low < one.end) & (high >= one.first)
            inside = (low >= one.first) & (high < one.end)
            score += one.weight * float(sums[meets & ~inside].sum())
    return score


SCORES: Mapping[str, Score] = {
    "rows": score_rows,
    "subdomains": score_subdomains,
    "labels": score_labels,
}
"""By the way in which a form shows people; what it lacks cannot be chosen by width."""


@dataclass(frozen=True, eq=False)
class _Ends:
    """The ends of the values shown for groups, each sorted and summed up within its group."""

    starts: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def of(cls, group: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> "_Ends":
        """Those of some values (float64), each of a group (int64)."""
        starts = np.append(0, np.cumsum(np.bincount(group)))
        sums = (
            np.append(0.0, np.cumsum(ends[np.lexsort((ends, group))])) for ends in (lower, upper)
        )
        return cls(starts, *sums)

    @property
    def groups(self) -> int:
        """How many there are."""
        return len(self.starts) - 1

    def width(self, hits: np.ndarray) -> float:
        """The width of the sum of so many rows of each group (int64)."""
        first, end = self.starts[:-1], self.starts[1:]
        highest = self.upper[end] - self.upper[end - hits]
        return float((highest - (self.lower[first + hits] - self.lower[first])).sum())


def _score_counts(
    group: np.ndarray, codes: np.ndarray, of_rows: np.ndarray, asked: list[Query]
) -> float:
    """The score of counts of one value, that of a row drawn at random."""
    values = int(codes.max(initial=-1)) + 2
    pairs, times = np.unique(group * values + codes + 1, return_counts=True)
    of, sizes = pairs // values, np.bincount(group)
    score = 0.0
    for one in asked:
        hits = _hits(of_rows, one, len(sizes))[of]
        least = np.minimum(np.minimum(hits, times), np.minimum(sizes[of] - hits, sizes[of] - times))
        score += one.weight * float(least.sum())
    return score


def _score_conditions(
    group: np.ndarray, codes: np.ndarray, of_rows: np.ndarray, asked: list[Query]
) -> float:
    """The score of counts of rows on whose values there are conditions.

    Of h rows of a group of N, c of whose values are meant, min(h, c, N - h, N - c) are open.
    """
    sizes, score = np.bincount(group), 0.0
    known: dict[int, np.ndarray] = {}
    for one in asked:
        if one.conditions is None:
            continue
        if id(one.conditions) not in known:
            meant = [
                np.bincount(group[(codes >= low) & (codes <= high)], minlength=len(sizes))
                for low, high in one.conditions
            ]
            known[id(one.conditions)] = np.array([np.minimum(c, sizes - c) for c in meant])
        hits = _hits(of_rows, one, len(sizes))
        least = np.minimum(known[id(one.conditions)], np.minimum(hits, sizes - hits))
        score += one.weight * float(least.sum()) / max(len(one.conditions), 1)
    return score


def _sizes_of(column: Column) -> np.ndarray:
    """What leaving a row out changes: by its number, or by one (float64, one per row)."""
    if not is_ordered(column.values.type) or column.has_null:
        return np.ones(len(column.codes))
    units = exact(column.values, column.name).units.astype(np.float64)
    sizes: np.ndarray = np.abs(units)[column.codes]
    return sizes


def _hits(group: np.ndarray, query: Query, groups: int) -> np.ndarray:
    selected = group[query.selected]
    return np.bincount(selected[selected >= 0], minlength=groups)


def _labels(column: Column, partition: Partition, groups: int) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest value that each group's label has (int64), from 1."""
    codes = column.codes.astype(np.int64)
    kept = partition.group >= 0
    low, high = np.full(groups, len(column.values) + 1), np.zeros(groups, dtype=np.int64)
    if column.name not in partition.recoding:
        np.minimum.at(low, partition.group[kept], codes[kept] + 1)
        np.maximum.at(high, partition.group[kept], codes[kept] + 1)
        return low, high
    levels = column.levels()[:, -len(column.values) :]
    first_row = np.unique(partition.group[kept], return_index=True)[1]
    for level in np.unique(partition.recoding[column.name]).tolist():
        of = np.flatnonzero(partition.recoding[column.name] == level)
        node = levels[level][codes[kept][first_row[of]]]
        least = np.full(int(levels[level].max()) + 1, len(column.values))
        np.minimum.at(least, levels[level], np.arange(len(column.values)))
        most = np.zeros_like(least)
        np.maximum.at(most, levels[level], np.arange(len(column.values)))
        low[of], high[of] = least[node] + 1, most[node] + 1
    return low, high


def encode_like(column: Column, shown: pa.ChunkedArray) -> np.ndarray:
    """The number of each value in a column, from 1; 0 for none (int64)."""
    encoded = encode(column.name, column.role, pa.chunked_array([column.values, *shown.chunks]))
    places: np.ndarray = encoded.codes[len(column.values) :].astype(np.int64) + 1
    return places


def _units(shown: pa.ChunkedArray, column: Column) -> np.ndarray:
    """The bounds of subdomains as numbers; of values without order, as their positions."""
    place = encode_like(column, shown) - 1
    if not is_ordered(column.values.type):
        return place.astype(np.float64)
    units: np.ndarray = exact(column.values, column.name).units.astype(np.float64)[place]
    return units
