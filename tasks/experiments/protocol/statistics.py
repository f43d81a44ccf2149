"""The statistics that tests of claims are made of."""

from collections.abc import Callable

import numpy as np

from sfumato.tasks.experiments.protocol.claims import Weight
from sfumato.tasks.experiments.protocol.points import Matrix, Results


def values_of_pair(
    results: Results,
    data: str,
    measure: str,
    one: str,
    other: str,
    levels: tuple[float, ...],
) -> tuple[np.ndarray, np.ndarray]:
    """The values of two series at the levels that both have (float64, seeds x levels)."""
    first, second = (results.matrix(data, measure, name) for name in (one, other))
    shared = [
        level
        for level in first.levels
        if level in second.levels and (not levels or level in levels)
    ]
    columns = [[found.levels.index(level) for level in shared] for found in (first, second)]
    return first.values[:, columns[0]], second.values[:, columns[1]]


def relative_difference(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """How far the higher is above the lower, relative to both; 0 where both are 0."""
    both = np.abs(high) + np.abs(low)
    found: np.ndarray = np.divide(high - low, both, out=np.zeros_like(both), where=both != 0)
    return found


def mean_of_levels(values: np.ndarray) -> np.ndarray:
    """The mean of the levels that could be measured (float64, one per seed that has any)."""
    known = np.where(np.isfinite(values), values, np.nan)
    kept = known[~np.isnan(known).all(axis=1)] if known.size else known.reshape(0, 0)
    return np.nanmean(kept, axis=1) if len(kept) else np.empty(0)


def signed_ranks(margins: np.ndarray) -> tuple[float, float]:
    """Wilcoxon's exact p-values, that margins are above 0 and that they are below.

    Equal sizes share their ranks; zeros have ranks and no side (Pratt).
    """
    known = margins[np.isfinite(margins)]
    size = np.sort(np.abs(known))
    first, last = (np.searchsorted(size, np.abs(known), side) for side in ("left", "right"))
    ranks = (first + last + 1)[known != 0]  # twice the rank: a whole number also where shared
    sums = np.ones(1)
    for rank in ranks.tolist():
        sums = np.append(sums, np.zeros(rank)) + np.append(np.zeros(rank), sums)
    reached = int(ranks[known[known != 0] > 0].sum())
    ways = sums.sum()
    return float(sums[reached:].sum() / ways), float(sums[: reached + 1].sum() / ways)


def evidence_within(values: np.ndarray, least: float, most: float, told: str) -> Weight:
    """Whether values are surely within limits, or surely beyond one of them."""
    above, under = signed_ranks(values - least), signed_ranks(most - values)
    return Weight(max(above[0], under[0]), min(1.0, 2 * min(above[1], under[1])), told)


def rank_correlation(values: np.ndarray) -> float:
    """Kendall's tau of values in the order of their levels, without those that are NaN."""
    from scipy.stats import kendalltau

    known = np.isfinite(values)
    if known.sum() < 2:
        return 0.0
    tau = float(kendalltau(np.flatnonzero(known), values[known]).statistic)
    return 0.0 if np.isnan(tau) else tau


def ratio_in_words(low: np.ndarray, high: np.ndarray, over: str, under: str) -> str:
    """The ratio of two series, the median of the seeds and the extremes, in words."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.exp(mean_of_levels(np.log(high / low)))
    if not len(ratios):
        return "no ratio: nothing above 0 was measured"
    least, middle, most = np.quantile(ratios, (0, 0.5, 1))
    return f"{over} / {under}: {middle:.3g} ({least:.3g} to {most:.3g})"


def ends_in_words(found: Matrix) -> str:
    """A series at its first and last level, in words."""
    middle: Callable[[int], float] = lambda at: float(np.nanmedian(found.values[:, at]))  # noqa: E731
    return f"{middle(0):.3g} at {found.levels[0]:g}, {middle(-1):.3g} at {found.levels[-1]:g}"
