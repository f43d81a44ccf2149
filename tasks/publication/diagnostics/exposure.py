"""The presence of the represented people in groups that show only the values they admit.

`expectations.models.alpha_beta` promises for every vector of quasi-identifiers there could be; this
is about those that the table has, and so it stays private. Readings: see
`expectations.measures.readings`, and `weighted`, of an attacker who fits how frequent values are
(`expectations.measures.occurrences`): the expected number of records of a vector, Σ |G_j| Π
E[n_ij(v_i)] / |G_j| over the groups that cover it, which no α bounds. The source is Wang, Ambiguity
(see `expectations.groups.covering`); `weighted` is this project's own.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.expectations.errors import InputError, PromiseError
from sfumato.expectations.groups.counting import pack
from sfumato.expectations.groups.covering import Covering, covering
from sfumato.expectations.groups.groups import Cover, Groups
from sfumato.expectations.measures.readings import Readings, of_sums
from sfumato.tasks.forms.ambiguous.expected import expected_occurrences
from sfumato.tasks.publication.diagnostics.exposure_sums import Sums, pairs, sums

_UNIT = 2.0**-52
_MOST = 5 * 10**10  # pairs of a vector and a group that are compared at most


@dataclass(frozen=True)
class Weighted:
    """Expected numbers of records, over the rows: those of more than α, the median, the largest."""

    above: Fraction
    median: float
    largest: float


@dataclass(frozen=True)
class Exposure:
    """The shares of the rows whose vector is more present than α, by each reading.

    Attributes:
        alpha: the bound.
        per_group: by one of the groups that cover the vector, decided exactly.
        one_record: by all of them, a person having at most one record.
        combined_or: by all of them, each showing the person or not on its own: 1 - Π (1 - p_j).
        combined_sum: by the expected number of records, Σ p_j.
        largest: the largest presence of a row's vector in any one group.
        weighted: by an attacker who fits how frequent values are.
        covering_mean: how many groups cover a row's vector, on average.
        covering_most: how many at most.
    """

    alpha: Fraction
    per_group: Fraction
    one_record: Fraction
    combined_or: Fraction
    combined_sum: Fraction
    largest: Fraction
    weighted: Weighted
    covering_mean: Fraction
    covering_most: int

    def document(self) -> dict[str, Any]:
        """The same for JSON, to six digits."""
        return {
            "alpha": _digits(self.alpha),
            "rows_above_alpha": {
                "per_group": _digits(self.per_group),
                "one_record": _digits(self.one_record),
                "combined_or": _digits(self.combined_or),
                "combined_sum": _digits(self.combined_sum),
                "weighted_presence": _digits(self.weighted.above),
            },
            "largest_in_a_group": _digits(self.largest),
            "weighted_presence": {
                "median": _digits(self.weighted.median),
                "largest": _digits(self.weighted.largest),
            },
            "covering_groups": {"mean": _digits(self.covering_mean), "most": self.covering_most},
        }


@dataclass(frozen=True)
class Unmeasured:
    """A table too large to measure: the `pairs` of a vector and a group that it takes to compare.

    `alpha` is the bound.
    """

    alpha: Fraction
    pairs: int

    def document(self) -> dict[str, Any]:
        """The same for JSON, and how many pairs are compared at most."""
        return {
            "alpha": _digits(self.alpha),
            "skipped": {"pairs_to_compare": self.pairs, "compared_at_most": _MOST},
        }


def exposure(
    groups: Groups,
    codes: np.ndarray,
    alpha: Fraction,
    quasi_identifiers: Sequence[str] | None = None,
) -> Exposure | Unmeasured | None:
    """Measure how exposed the people of a table are, None where it has no row.

    Sums that rounding cannot tell from α are not above it, unless one group alone is. What is
    compared at most is a number of pairs, so that the same table is always measured or never.

    Args:
        groups: what is shown of them.
        codes: of values, numbered as in the covers (integers, rows x quasi-identifiers).
        alpha: the presence that is promised.
        quasi_identifiers: the names of the columns of `codes`, all that groups show where None.

    Raises:
        PromiseError: where the values that groups admit are not shown, or outnumber their rows.
        InputError: where a row is covered by no group.
    """
    if not len(codes):
        return None
    shown = covering(groups, quasi_identifiers)
    if shown is None or (shown.admitted > shown.sizes).any():
        raise PromiseError("exposure needs the values that groups admit, as many as rows at most")
    vectors, rows, covers = _distinct(shown.covers, codes)
    shown = Covering(shown.sizes, covers)
    if (asked := pairs(shown, vectors)) > _MOST:
        return Unmeasured(alpha, asked)
    presences = sorted(shown.presences)
    rank = {presence: number for number, presence in enumerate(presences)}
    ranks = np.array([rank[presence] for presence in shown.presences])[shown.kinds]
    found = sums(shown, vectors, _shares(shown), ranks, _weights(shown.rounded()))
    if not found.covering.all():
        raise InputError(f"{int(rows[found.covering == 0].sum())} rows are covered by no group")
    return _summary(found, rows, presences, alpha, len(groups))


def _distinct(
    covers: Sequence[Cover], codes: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray, tuple[Cover, ...]]:
    """The different vectors in lexicographic order, their rows, and the covers in its order.

    First comes the quasi-identifier whose values fewest groups admit, on average over the rows.
    """
    columns = list(codes.T)
    admitting = [_admitting(cover, column) for cover, column in zip(covers, columns, strict=True)]
    if unknown := int(np.logical_or.reduce([number == 0 for number in admitting]).sum()):
        raise InputError(f"{unknown} rows have a value that no group admits")
    order = np.argsort([number.mean() for number in admitting], kind="stable").tolist()
    key, _ = pack([columns[i] for i in order], [covers[i].values for i in order])
    _, first, rows = np.unique(key, return_index=True, return_counts=True)
    return [columns[i][first] for i in order], rows, tuple(covers[i] for i in order)


def _admitting(cover: Cover, codes: np.ndarray) -> np.ndarray:
    """Count the groups that admit the value of each row."""
    groups = np.append(np.bincount(cover.value, minlength=cover.values), 0)
    return groups[np.where((codes >= 0) & (codes < cover.values), codes, cover.values)]


def _shares(shown: Covering) -> list[np.ndarray]:
    """The expected rows of each value of the first quasi-identifier, of the others the share."""
    expected = [expected_occurrences(shown.sizes, cover) for cover in shown.covers]
    others = zip(expected[1:], shown.covers[1:], strict=True)
    return [expected[0], *(rows / shown.sizes[cover.group] for rows, cover in others)]


def _weights(p: np.ndarray) -> np.ndarray:
    """The numbers that the readings add up (groups x 3), infinite where a group is sure."""
    unsure = np.where(p < 1, p, 0.0)
    odds = np.where(p < 1, unsure / (1 - unsure), np.inf)
    misses = np.where(p < 1, np.log1p(-unsure), -np.inf)
    return np.column_stack([odds, misses, p])


def _summary(
    found: Sums, rows: np.ndarray, presences: Sequence[Fraction], alpha: Fraction, groups: int
) -> Exposure:
    total, limit = int(rows.sum()), float(alpha) * (1 + (groups + 64) * _UNIT)
    alone = found.largest >= bisect_right(presences, alpha)
    read = _readings(found.totals)

    def above(presence: np.ndarray) -> Fraction:
        return Fraction(int(rows[alone | (presence > limit)].sum()), total)

    return Exposure(
        alpha=alpha,
        per_group=Fraction(int(rows[alone].sum()), total),
        one_record=above(read.one_record),
        combined_or=above(read.any_record),
        combined_sum=above(read.expected),
        largest=presences[int(found.largest.max())],
        weighted=_weighted(found.products, rows, limit),
        covering_mean=Fraction(int((found.covering * rows).sum()), total),
        covering_most=int(found.covering.max()),
    )


def _readings(totals: np.ndarray) -> Readings:
    """The readings of the sums of what `_weights` has."""
    odds, misses, p = totals
    sure = np.isinf(odds)
    return of_sums(sure, np.where(sure, 0.0, odds), misses, p)


def _weighted(presence: np.ndarray, rows: np.ndarray, limit: float) -> Weighted:
    order = np.argsort(presence)
    before, total = np.cumsum(rows[order]), int(rows.sum())
    middle = np.searchsorted(before, [(total - 1) // 2, total // 2], side="right")
    return Weighted(
        above=Fraction(int(rows[presence > limit].sum()), total),
        median=float(presence[order[middle]].mean()),
        largest=float(presence.max()),
    )


def _digits(number: Fraction | float) -> float:
    """To six significant digits: only what is nothing is 0."""
    return float(f"{float(number):.6g}")
