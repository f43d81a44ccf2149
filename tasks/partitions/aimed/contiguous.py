"""One quasi-identifier cut into runs of its values: of all ways the one with the least width.

What a run adds to the expected width of the declared families depends on the run alone, so the best
ways to cut all values before one are the best ways to cut those before some earlier one, and a run.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.partitions.aimed.dealt import Dealt
from sfumato.tasks.partitions.aimed.parameters import ContiguousParameters
from sfumato.tasks.partitions.aimed.queries import AimedQueries, Windows
from sfumato.tasks.partitions.aimed.within import Deciding, group_within
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
        PromiseError: where there is no (k,e)-promise, or a run cannot keep a promise.
    """
    return group_within(microdata, strata, promises, parameters, randomness, cut_into_runs)


def cut_into_runs(deciding: Deciding, rows: np.ndarray) -> Iterator[np.ndarray]:
    """The best runs of the one column's values, as parts of a stratum's rows (positions, int64)."""
    (windows,) = deciding.queries.windows.values()
    below = windows.below(rows)
    places = _places(below)
    costs = RunCosts(deciding.dealt(rows), deciding.queries, windows, below, places).table()
    cuts = places[best_ends(costs, len(places) - 1)]
    run = np.searchsorted(cuts, windows.place[rows], side="right")
    for number in np.unique(run):
        yield rows[run == number]


class RunCosts:
    """What runs of values add to the score."""

    def __init__(
        self,
        dealt: Dealt,
        queries: AimedQueries,
        windows: Windows,
        below: np.ndarray,
        places: np.ndarray,
    ) -> None:
        """Keep what tells the rows and the hits of every run between two places."""
        self._dealt, self._queries, self._windows = dealt, queries, windows
        self._below, self._places = below, places
        total = int(below[-1])
        few = total <= _SIZES
        sizes = np.arange(total + 1) if few else np.geomspace(1, total, _SIZES).round().astype(int)
        self._sizes = np.unique(np.append(sizes, total))

    def table(self) -> np.ndarray:
        """The cost of the run from each place (rows) to each other (columns), inf for none."""
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
        first, last = self._places[start], self._places[end]
        rows = int(self._below[last] - self._below[first])
        known = int(self._sizes[np.abs(self._sizes - rows).argmin()])
        within = np.clip(self._below, self._below[first], self._below[last])
        widths = self._dealt.widths(known)
        hits = self._windows.hits(within - self._below[first])
        if known == rows or widths is None:
            return self._queries.cost(widths, [(self._windows, hits)])
        nearly = np.round(hits * (known / rows)).astype(np.int64)
        return self._queries.cost(widths, [(self._windows, nearly)]) * rows / known


def best_ends(costs: np.ndarray, last: int) -> np.ndarray:
    """Where the runs but the last end, at the least sum of costs; of equal sums the fewest runs.

    Args:
        costs: of the run from each place to each later one, infinite where it is not allowed.
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
    """The values before which runs may end, and both ends (int64).

    Rows without a value are before all values, and stay with the least.
    """
    values = np.flatnonzero(np.diff(below[1:])) + 1  # those that rows have
    inner = values[1:]
    if len(inner) > _PLACES:
        wanted = np.linspace(0, below[-1], _PLACES + 2)[1:-1]
        inner = np.unique(inner[np.minimum(np.searchsorted(below[inner], wanted), len(inner) - 1)])
    return np.concatenate([[0], inner, [len(below) - 1]])
