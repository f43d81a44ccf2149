"""The expected width of answers from a partition, on queries that all candidates answer.

A score is the mean over levels of queries of the expected width of a sum per selected row, in the
units of the sensitive column, or of counts of its values if it has no order.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.expectations.shared.exact import exact, is_ordered
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
    """A query that all candidates answer.

    Attributes:
        selected: the positions of its rows (int64).
        weight: what the width of its sum adds to the score.
        over: the column that it is a window of, None if rows are drawn.
        first: the first value in the window, from 1.
        end: the first value behind it.
        conditions: by which its rows are counted, the codes of the least and the greatest sensitive
            value of each (int64, n x 2); None if values are summed.
    """

    selected: np.ndarray
    weight: float
    over: str | None = None
    first: int = 0
    end: int = 0
    conditions: np.ndarray | None = None


def draw_queries(queries: AimedQueries, randomness: Randomness) -> list[Query]:
    """Return some queries of the declared families, drawn at random."""
    windows = (q for name in queries.windows for q in _some(queries, name, randomness))
    return [*windows, *_sets(queries, randomness)]


def _some(queries: AimedQueries, name: str, randomness: Randomness) -> Iterator[Query]:
    windows = queries.windows[name]
    order = np.argsort(randomness(len(windows.first)), kind="stable")[:_WINDOWS]
    scale = len(windows.first) / max(len(order), 1)
    for index in order.tolist():
        first, end = int(windows.first[index]), int(windows.end[index])
        rows = np.flatnonzero((windows.place >= first) & (windows.place < end))
        conditions = queries.conditions.get(str(windows.condition[index]))
        yield Query(rows, float(windows.weight[index]) * scale, name, first, end, conditions)


def _sets(queries: AimedQueries, randomness: Randomness) -> Iterator[Query]:
    selections = queries.selections
    for selected, weight in zip(
        selections.selected.tolist(), selections.weight.tolist(), strict=True
    ):
        for _ in range(_SETS):
            rows = np.argsort(randomness(selections.rows), kind="stable")[:selected]
            yield Query(rows, weight / _SETS)


Score = Callable[[Microdata, Partition, Tables, str, list[Query]], float]


def score_rows(
    microdata: Microdata,
    partition: Partition,
    _tables: Tables,
    sensitive: str,
    queries: list[Query],
) -> float:
    """Return the score of exact rows beside grouped values; a suppressed row is in no answer."""
    column, grouped = microdata[sensitive], partition.group >= 0
    group, codes = partition.group[grouped], column.codes[grouped]
    score = _score_conditions(group, codes, partition.group, queries)
    queries = [query for query in queries if query.conditions is None]
    if not is_ordered(column.values.type) or column.has_null:
        return score + _score_counts(group, codes, partition.group, queries)
    units = exact(column.values, column.name).units.astype(np.float64)[codes]
    ends = _Ends.from_values(group, units, units)
    widths = (ends.width(_hits(partition.group, query, ends.groups)) for query in queries)
    return score + sum(query.weight * width for query, width in zip(queries, widths, strict=True))


def score_subdomains(
    microdata: Microdata,
    _partition: Partition,
    tables: Tables,
    sensitive: str,
    queries: list[Query],
) -> float:
    """Return the score of exact rows beside subdomains of values."""
    subdomains, column = tables[st.ST], microdata[sensitive]
    count = subdomains[COUNT].to_numpy()
    ends = _Ends.from_values(
        np.repeat(subdomains[GROUP_ID].to_numpy(), count),
        np.repeat(_units(subdomains[LOWER], column), count),
        np.repeat(_units(subdomains[UPPER], column), count),
    )
    rows, score = tables[QIT], 0.0
    group = rows[GROUP_ID].to_numpy()
    places = {
        name: encode_like(microdata[name], rows[name])
        for name in {o.over for o in queries if o.over}
    }
    for query in queries:
        if query.over is None:  # rows of tables have another order: those at any places do as well
            selected = group[query.selected]
        else:
            place = places[query.over]
            selected = group[(place >= query.first) & (place < query.end)]
        score += query.weight * ends.width(np.bincount(selected, minlength=ends.groups))
    return score


def score_labels(
    microdata: Microdata,
    partition: Partition,
    _tables: Tables,
    sensitive: str,
    queries: list[Query],
) -> float:
    """Return the score of sums if a group is in a window wholly, in part, or not at all.

    If a group is in a window in part, any number of its rows may be selected.
    """
    groups, grouped = int(partition.group.max(initial=-1)) + 1, partition.group >= 0
    sizes = _sizes_of(microdata[sensitive])[grouped]
    sums = np.bincount(partition.group[grouped], sizes, minlength=groups)
    over = {query.over for query in queries if query.over}
    labels = {name: _labels(microdata[name], partition, groups) for name in over}
    score = 0.0
    for query in queries:
        if query.over is not None:
            low, high = labels[query.over]
            meets = (low < query.end) & (high >= query.first)
            inside = (low >= query.first) & (high < query.end)
            score += query.weight * float(sums[meets & ~inside].sum())
    return score


SCORES: Mapping[str, Score] = {
    "rows": score_rows,
    "subdomains": score_subdomains,
    "labels": score_labels,
}
"""Scores by the way in which a form shows people; other forms cannot be chosen by width."""


@dataclass(frozen=True, eq=False)
class _Ends:
    """The ends of the values shown for groups, each sorted and added up within its group."""

    starts: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def from_values(cls, group: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> "_Ends":
        """Return the ends of some values (float64), each of a group (int64)."""
        starts = np.append(0, np.cumsum(np.bincount(group)))
        sums = (
            np.append(0.0, np.cumsum(ends[np.lexsort((ends, group))])) for ends in (lower, upper)
        )
        return cls(starts, *sums)

    @property
    def groups(self) -> int:
        """The number of groups."""
        return len(self.starts) - 1

    def width(self, hits: np.ndarray) -> float:
        """Return the width of the sum of so many rows of each group (int64)."""
        first, end = self.starts[:-1], self.starts[1:]
        highest = self.upper[end] - self.upper[end - hits]
        return float((highest - (self.lower[first + hits] - self.lower[first])).sum())


def _score_counts(
    group: np.ndarray, codes: np.ndarray, of_rows: np.ndarray, queries: list[Query]
) -> float:
    """Return the score of counts of one value, that of a row drawn at random."""
    values = int(codes.max(initial=-1)) + 2
    pairs, times = np.unique(group * values + codes + 1, return_counts=True)
    pair_group, sizes = pairs // values, np.bincount(group)
    score = 0.0
    for query in queries:
        hits = _hits(of_rows, query, len(sizes))[pair_group]
        least = np.minimum(
            np.minimum(hits, times), np.minimum(sizes[pair_group] - hits, sizes[pair_group] - times)
        )
        score += query.weight * float(least.sum())
    return score


def _score_conditions(
    group: np.ndarray, codes: np.ndarray, of_rows: np.ndarray, queries: list[Query]
) -> float:
    """Return the score of counts of rows with conditions on sensitive values.

    If h of a group's N rows are selected, and c of its values satisfy the condition, min(h, c, N -
    h, N - c) rows are uncertain.
    """
    sizes, score = np.bincount(group), 0.0
    counts_by_id: dict[int, np.ndarray] = {}
    for query in queries:
        if query.conditions is None:
            continue
        if id(query.conditions) not in counts_by_id:
            matches = [
                np.bincount(group[(codes >= low) & (codes <= high)], minlength=len(sizes))
                for low, high in query.conditions
            ]
            counts_by_id[id(query.conditions)] = np.array(
                [np.minimum(c, sizes - c) for c in matches]
            )
        hits = _hits(of_rows, query, len(sizes))
        least = np.minimum(counts_by_id[id(query.conditions)], np.minimum(hits, sizes - hits))
        score += query.weight * float(least.sum()) / max(len(query.conditions), 1)
    return score


def _sizes_of(column: Column) -> np.ndarray:
    """Return how much a sum changes if a row is left out (float64, one per row).

    It is the size of its number, or 1 for counts.
    """
    if not is_ordered(column.values.type) or column.has_null:
        return np.ones(len(column.codes))
    units = exact(column.values, column.name).units.astype(np.float64)
    sizes: np.ndarray = np.abs(units)[column.codes]
    return sizes


def _hits(group: np.ndarray, query: Query, groups: int) -> np.ndarray:
    selected = group[query.selected]
    return np.bincount(selected[selected >= 0], minlength=groups)


def _labels(column: Column, partition: Partition, groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the greatest value that each group's label has (int64), from 1."""
    codes = column.codes.astype(np.int64)
    grouped = partition.group >= 0
    low, high = np.full(groups, len(column.values) + 1), np.zeros(groups, dtype=np.int64)
    if column.name not in partition.recoding:
        np.minimum.at(low, partition.group[grouped], codes[grouped] + 1)
        np.maximum.at(high, partition.group[grouped], codes[grouped] + 1)
        return low, high
    levels = column.levels()[:, -len(column.values) :]
    first_row = np.unique(partition.group[grouped], return_index=True)[1]
    for level in np.unique(partition.recoding[column.name]).tolist():
        at_level = np.flatnonzero(partition.recoding[column.name] == level)
        node = levels[level][codes[grouped][first_row[at_level]]]
        least = np.full(int(levels[level].max()) + 1, len(column.values))
        np.minimum.at(least, levels[level], np.arange(len(column.values)))
        most = np.zeros_like(least)
        np.maximum.at(most, levels[level], np.arange(len(column.values)))
        low[at_level], high[at_level] = least[node] + 1, most[node] + 1
    return low, high


def encode_like(column: Column, values: pa.ChunkedArray) -> np.ndarray:
    """Return the number of each value in a column, from 1; 0 for none (int64)."""
    encoded = encode(column.name, column.role, pa.chunked_array([column.values, *values.chunks]))
    places: np.ndarray = encoded.codes[len(column.values) :].astype(np.int64) + 1
    return places


def _units(bounds: pa.ChunkedArray, column: Column) -> np.ndarray:
    """Return the bounds of subdomains as numbers; of values without order, as their positions."""
    place = encode_like(column, bounds) - 1
    if not is_ordered(column.values.type):
        return place.astype(np.float64)
    units: np.ndarray = exact(column.values, column.name).units.astype(np.float64)[place]
    return units
