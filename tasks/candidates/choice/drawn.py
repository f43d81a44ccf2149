"""Queries of the declared families, drawn at random, that all candidates are asked."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.partitions.aimed.queries import AimedQueries

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
