"""One quasi-identifier cut into runs of its values, with the least expected width of answers.

A run's contribution to the score (see `queries`) depends only on the run. So the
best way to cut all values before a value is the best way to cut those before some earlier value,
and one more run: dynamic programming finds the optimum.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.partitions.aimed.dealt import DealtValues
from sfumato.tasks.partitions.aimed.parameters import ContiguousParameters
from sfumato.tasks.partitions.aimed.queries import AimedQueries, Windows
from sfumato.tasks.partitions.aimed.within import CutContext, group_within
from sfumato.tasks.partitions.partition import Partition

_PLACES = 96  # between which runs may end; of more values, those that part the rows most evenly
_SIZES = 64  # numbers of rows of runs, of which widths are computed; others are in proportion


def partition(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    parameters: ContiguousParameters,
    randomness: Randomness,
) -> Partition:
    """Group the rows of each stratum within the runs of values that narrow answers most.

    Raises:
        PromiseError: if there is no (k,e)-promise, or a run cannot keep a promise.
    """
    return group_within(microdata, strata, promises, parameters, randomness, cut_into_runs)


def cut_into_runs(context: CutContext, rows: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the rows of each of the best runs of the column's values (positions, int64)."""
    (windows,) = context.queries.windows.values()
    below = windows.counts_below(rows)
    places = _places(below)
    costs = RunCosts(context.deal(rows), context.queries, windows, below, places).table()
    cuts = places[best_ends(costs, len(places) - 1)]
    run = np.searchsorted(cuts, windows.place[rows], side="right")
    for number in np.unique(run):
        yield rows[run == number]


class RunCosts:
    """The contributions of runs of values to the score."""

    def __init__(
        self,
        dealt: DealtValues,
        queries: AimedQueries,
        windows: Windows,
        below: np.ndarray,
        places: np.ndarray,
    ) -> None:
        """Keep the counts and hits from which the cost of every run between two places follows."""
        self._dealt, self._queries, self._windows = dealt, queries, windows
        self._below, self._places = below, places
        total = int(below[-1])
        few = total <= _SIZES
        sizes = np.arange(total + 1) if few else np.geomspace(1, total, _SIZES).round().astype(int)
        self._sizes = np.unique(np.append(sizes, total))

    def table(self) -> np.ndarray:
        """Return the cost of the run from each place (rows) to each other place (columns).

        It is infinite where the run is not allowed.
        """
        number = len(self._places)
        costs = np.full((number, number), np.inf)
        costs[0, -1] = self._cost(0, number - 1)  # no cut is always allowed
        for start in range(number - 1):
            for end in range(start + 1, number):
                rows = int(self._below[self._places[end]] - self._below[self._places[start]])
                if rows and self._dealt.allows(rows):
                    costs[start, end] = self._cost(start, end)
        return costs

    def _cost(self, start: int, end: int) -> float:
        """Return the cost of the run between two places, given by their numbers.

        If widths are not computed for its number of rows, those of the nearest number are taken in
        proportion.
        """
        first, last = self._places[start], self._places[end]
        rows = int(self._below[last] - self._below[first])
        nearest_size = int(self._sizes[np.abs(self._sizes - rows).argmin()])
        within = np.clip(self._below, self._below[first], self._below[last])
        widths = self._dealt.widths(nearest_size)
        hits = self._windows.hits(within - self._below[first])
        if nearest_size == rows or widths is None:
            return self._queries.cost(widths, [(self._windows, hits)])
        nearly = np.round(hits * (nearest_size / rows)).astype(np.int64)
        return self._queries.cost(widths, [(self._windows, nearly)]) * rows / nearest_size


def best_ends(costs: np.ndarray, last: int) -> np.ndarray:
    """Return where all runs but the last end, at the least sum of costs.

    Of several optima it takes one with the fewest runs.

    Args:
        costs: the cost of the run from each place (rows) to each later one (columns), infinite
            where the run is not allowed (float64).
        last: the place where the last run ends; the first begins at 0.

    Returns:
        Places (int64), ascending.
    """
    best = np.full(last + 1, np.inf)
    runs = np.zeros(last + 1, dtype=np.int64)
    before = np.full(last + 1, -1, dtype=np.int64)
    best[0] = 0
    for end in range(1, last + 1):
        sums = best[:end] + costs[:end, end]
        chosen = np.lexsort((runs[:end], sums))[0]
        best[end], before[end], runs[end] = sums[chosen], chosen, runs[chosen] + 1
    ends: list[int] = []
    place = before[last]
    while place > 0:
        ends.append(int(place))
        place = before[place]
    return np.array(ends[::-1], dtype=np.int64)


def _places(below: np.ndarray) -> np.ndarray:
    """Return the values before which runs may end, and both ends (int64).

    Rows without a value are before all values, and stay with the least.
    """
    values = np.flatnonzero(np.diff(below[1:])) + 1  # those that rows have
    inner = values[1:]
    if len(inner) > _PLACES:
        even_counts = np.linspace(0, below[-1], _PLACES + 2)[1:-1]
        inner = np.unique(
            inner[np.minimum(np.searchsorted(below[inner], even_counts), len(inner) - 1)]
        )
    return np.concatenate([[0], inner, [len(below) - 1]])
