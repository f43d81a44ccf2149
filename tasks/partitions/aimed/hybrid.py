"""Quasi-identifiers cut in two while answers get narrower by it; `ke` within what is not cut.

Source: LeFevre, DeWitt, Ramakrishnan, Workload-aware anonymization (KDD 2006) cut Mondrian's boxes
for a workload; Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE
2007) group what is left.

A part is cut where it, its values dealt at random, would be shown more narrowly in bands of one
quasi-identifier. It is cut in two, between those of the best bands that lie nearest to the middle,
and each side is judged again with its own values, which the groups show by then.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.partitions.aimed.dealt import DealtValues
from sfumato.tasks.partitions.aimed.parameters import HybridParameters
from sfumato.tasks.partitions.aimed.queries import AimedQueries, Windows
from sfumato.tasks.partitions.aimed.within import CutContext, group_within
from sfumato.tasks.partitions.partition import Partition

_BANDS = (2, 3, 4, 6, 8, 12, 16, 24, 32)  # numbers of bands that are tried
_NEGLIGIBLE = 0.01  # of what as many rows of the whole stratum add
_WORTH = 0.97  # of what a part adds to the score: bands that leave more are not worth a cut


def partition(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    parameters: HybridParameters,
    randomness: Randomness,
) -> Partition:
    """Group the rows of each stratum within cuts of quasi-identifiers that narrow answers.

    Raises:
        PromiseError: if there is no (k,e)-promise, or a part cannot keep a promise.
    """
    return group_within(microdata, strata, promises, parameters, randomness, cut_in_two)


@dataclass(frozen=True, eq=False)
class _Bands:
    """Bands of a column by which a part would be shown: runs of values about equal in rows.

    `cost` is what the part then adds to the score (see `queries`).
    """

    cost: float
    windows: Windows
    cuts: np.ndarray  # the first value of each band but the first (int64)


def cut_in_two(context: CutContext, rows: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the parts of a stratum's rows (positions, int64), cut while bands are better."""
    whole = _uncut_cost(context, rows, context.deal(rows))
    waiting = [rows]
    while waiting:
        part = waiting.pop()
        sides = _sides(context, part, _NEGLIGIBLE * whole * len(part) / max(len(rows), 1))
        if sides is None:
            yield part
        else:
            waiting += sides


def _uncut_cost(context: CutContext, rows: np.ndarray, dealt: DealtValues) -> float:
    """Return what rows add to the score if they are not cut."""
    return context.queries.cost(dealt.widths(len(rows)), context.queries.hits(rows))


def _sides(
    context: CutContext, rows: np.ndarray, enough: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the two sides of the best cut of a part.

    Returns None if the part is best left whole, or adds no more than `enough` to the score.
    """
    dealt, queries = context.deal(rows), context.queries
    uncut = _uncut_cost(context, rows, dealt)
    if uncut <= enough:
        return None
    candidates = (
        _best_bands(queries, rows, dealt, windows) for windows in queries.windows.values()
    )
    best = min(
        (bands for bands in candidates if bands is not None), key=lambda b: b.cost, default=None
    )
    if best is None or not best.cost < _WORTH * uncut:
        return None
    below = best.windows.counts_below(rows)[best.cuts]
    middle = best.cuts[np.argmin(np.abs(2 * below - len(rows)))]
    right = best.windows.place[rows] >= middle
    return rows[~right], rows[right]


def _best_bands(
    queries: AimedQueries, rows: np.ndarray, dealt: DealtValues, windows: Windows
) -> _Bands | None:
    """Return the best bands of a column, about equal in rows, or None if it has none."""
    best, below = None, windows.counts_below(rows)
    for number in _BANDS:
        cuts = _quantiles(below, number)
        sizes = np.diff(below[np.concatenate([[0], cuts, [windows.values + 1]])])
        if not len(cuts) or not dealt.allows(int(sizes.min())):
            break
        cost = _cost(queries, rows, dealt, windows, cuts)
        if best is None or cost < best.cost:
            best = _Bands(cost, windows, cuts)
    return best


def _cost(
    queries: AimedQueries, rows: np.ndarray, dealt: DealtValues, windows: Windows, cuts: np.ndarray
) -> float:
    """Return what rows add to the score in bands; `cuts` are their first values but the first."""
    band = np.searchsorted(cuts, windows.place[rows], side="right")
    typical = max(round(len(rows) / (len(cuts) + 1)), 1)
    return queries.cost_of_parts(dealt.widths(typical), rows, band, len(cuts) + 1)


def _quantiles(below: np.ndarray, number: int) -> np.ndarray:
    """Return the first value of each band but the first (int64), for bands about equal in rows.

    Args:
        below: how many rows have a value below 0, 1, … (int64), and all at the end.
        number: the number of bands; if values are few, there are fewer bands.
    """
    ranks = np.arange(1, number) * below[-1] / number
    upper = np.searchsorted(below, ranks)
    nearer = np.where(ranks - below[upper - 1] < below[upper] - ranks, upper - 1, upper)
    cuts = np.unique(nearer)
    inside: np.ndarray = cuts[(below[cuts] > 0) & (below[cuts] < below[-1])]
    distinct = np.unique(below[inside], return_index=True)[1]
    return inside[distinct]
