"""Statistics of seeds: exact signed ranks, their intervals, ratios and rank correlations.

Source: Wilcoxon, Individual comparisons by ranking methods (1945); Hodges and Lehmann, Estimates of
location based on rank tests (1963).
"""

from math import log

import numpy as np

LEAST_RATIO = 1.05
"""The least effect of a claim that something is better: 5 % of the smaller value."""
LEAST_TAU = 0.5
"""The least effect of a claim that something rises or falls: Kendall's tau with the level."""
_FARTHEST = log(1000)  # ratios beyond a thousand, also to 0, count as a thousand
_TAIL = 0.025  # of a 95 % interval, on each side
_FEWEST = 6  # values that have such an interval


def log_ratios(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the logarithms of high by low; 0 where both are 0, at most ln 1,000 in size."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logarithms = np.log(high) - np.log(low)
    equal = (high == low) & np.isfinite(high)
    ratios: np.ndarray = np.clip(np.where(equal, 0.0, logarithms), -_FARTHEST, _FARTHEST)
    return ratios


def mean_of_levels(values: np.ndarray) -> np.ndarray:
    """Return the mean of the levels that could be measured (float64, one per seed that has any)."""
    measured = np.where(np.isfinite(values), values, np.nan)
    rows = measured[~np.isnan(measured).all(axis=1)] if measured.size else measured.reshape(0, 0)
    return np.nanmean(rows, axis=1) if len(rows) else np.empty(0)


def signed_ranks(margins: np.ndarray) -> tuple[float, float]:
    """Return Wilcoxon's exact p-values, that margins are above 0 and that they are below.

    Equal sizes share their ranks; zeros have ranks and no side (Pratt).
    """
    finite = margins[np.isfinite(margins)]
    size = np.sort(np.abs(finite))
    first, last = (np.searchsorted(size, np.abs(finite), side) for side in ("left", "right"))
    ranks = (first + last + 1)[finite != 0]  # twice the rank: a whole number also where shared
    sums = _ways(ranks)
    reached = int(ranks[finite[finite != 0] > 0].sum())
    ways = sums.sum()
    return float(sums[reached:].sum() / ways), float(sums[: reached + 1].sum() / ways)


def _ways(ranks: np.ndarray) -> np.ndarray:
    """Return the number of sets of ranks by their sum (float64, from 0)."""
    sums = np.ones(1)
    for rank in ranks.tolist():
        sums = np.append(sums, np.zeros(rank)) + np.append(np.zeros(rank), sums)
    return sums


def equivalence(values: np.ndarray, least: float, most: float) -> tuple[float, float]:
    """Return the p-values that values lie within limits, and that they lie beyond one of them."""
    above, under = signed_ranks(values - least), signed_ranks(most - values)
    return max(above[0], under[0]), min(1.0, 2 * min(above[1], under[1]))


def location(values: np.ndarray) -> tuple[float, float, float]:
    """Return the middle of values, and the ends of its interval of 95 %.

    The middle is the median of the means of all pairs. The interval are those middles that the
    signed ranks do not reject. Fewer than six values have no interval of 95 %: then the ends are
    the extremes. Without any value all three are NaN.
    """
    finite = values[np.isfinite(values)]
    if not len(finite):
        return float("nan"), float("nan"), float("nan")
    first, second = np.triu_indices(len(finite))
    means = np.sort((finite[first] + finite[second]) / 2)
    sums = _ways(np.arange(1, len(finite) + 1))
    rejected = int((np.cumsum(sums) / sums.sum() <= _TAIL).sum())  # sums that are too small
    end = max(rejected - 1, 0)
    return float(np.median(means)), float(means[end]), float(means[-1 - end])


def has_interval(values: np.ndarray) -> bool:
    """Decide whether there are enough values for an interval of 95 %."""
    return int(np.isfinite(values).sum()) >= _FEWEST


def share_interval(cases: int, happened: int) -> tuple[float, float]:
    """Return the interval of 95 % of a share (Clopper and Pearson)."""
    from scipy.stats import beta

    low = float(beta.ppf(_TAIL, happened, cases - happened + 1)) if happened else 0.0
    missing = cases - happened
    high = float(beta.ppf(1 - _TAIL, happened + 1, missing)) if missing else 1.0
    return low, high


def rank_correlation(values: np.ndarray) -> float:
    """Kendall's tau of values in the order of their levels, without those that are NaN."""
    from scipy.stats import kendalltau

    is_finite = np.isfinite(values)
    if is_finite.sum() < 2:
        return 0.0
    tau = float(kendalltau(np.flatnonzero(is_finite), values[is_finite]).statistic)
    return 0.0 if np.isnan(tau) else tau
