"""The limits that (α,β)-privacy sets for a group of a given size, in whole numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, prod
from typing import NamedTuple

import numpy as np

from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.partitions.shared.thresholds import (
    about_the_first,
    smallest_alpha,
    smallest_beta,
)

_MOST = 2**62  # limits above it are lowered to it, so that sums of them do not overflow


class Limits(NamedTuple):
    """The limits of a group of g rows; the two arrays (int64) have an entry for each g.

    It covers at least `combinations[g]` combinations, and has one sensitive value at most
    `times[g]` times; a group has at least `least` rows.
    """

    combinations: np.ndarray
    times: np.ndarray
    least: int


@dataclass(frozen=True)
class AmbiguityRule:
    """The strictest α and β that are promised of one sensitive attribute.

    Attributes:
        alpha: the largest presence: rows of a group per combination that it covers.
        beta: the largest share of one sensitive value in a group.
        sensitive: the sensitive attribute.
        quasi_identifiers: the columns whose combinations count.
    """

    alpha: Fraction
    beta: Fraction
    sensitive: str
    quasi_identifiers: tuple[str, ...]

    @property
    def least(self) -> int:
        """The smallest size of a group: ⌈1/β⌉."""
        return ceil(1 / self.beta)

    def limits(self, alpha: Fraction, rows: int, domain: Sequence[int], repeats: bool) -> Limits:
        """Return the limits for a presence of at most `alpha`, up to the largest possible group.

        Args:
            alpha: largest presence in one group.
            rows: the number of rows.
            domain: the number of values of each quasi-identifier.
            repeats: whether a sensitive value may occur as often as β allows; otherwise once.
        """
        most = min(rows, int(alpha * prod(domain)))
        sizes = np.arange(most + 1)
        combinations = _times(sizes, alpha.denominator, alpha.numerator, up=True)
        if not repeats:
            return Limits(combinations, np.ones_like(sizes), self.least)
        times = _times(sizes, self.beta.numerator, self.beta.denominator, up=False)
        times[: self.least] = 1
        return Limits(combinations, times, self.least)


def _times(sizes: np.ndarray, numerator: int, denominator: int, up: bool) -> np.ndarray:
    """Return sizes times a fraction, rounded up or down, at most 2^62 (int64)."""
    fits = (int(sizes[-1]) + 1) * max(numerator, denominator) <= _MOST
    exact = sizes if fits else sizes.astype(object)
    scaled = -(-exact * numerator // denominator) if up else exact * numerator // denominator
    rounded: np.ndarray = np.minimum(scaled, _MOST).astype(np.int64)
    return rounded


def strictest_rule(promises: Sequence[AlphaBeta], microdata: Microdata) -> AmbiguityRule:
    """Return the rule of the first (α,β)-promise, as strict as any other about the same columns.

    A promise about other quasi-identifiers or another sensitive attribute is not read.

    Raises:
        PromiseError: if there are no quasi-identifiers.
    """
    names = covered_names(promises[0], microdata)
    if not names:
        raise PromiseError("ambiguity: needs a column with `role: quasi-identifier`")
    about = about_the_first(promises)
    alike = [promise for promise in about if set(covered_names(promise, microdata)) == set(names)]
    return AmbiguityRule(
        Fraction(smallest_alpha(alike)),
        Fraction(smallest_beta(about)),
        str(promises[0].sensitive),
        names,
    )


def covered_names(promise: AlphaBeta, microdata: Microdata) -> tuple[str, ...]:
    """Return the quasi-identifiers that a promise is about, all of them if it names none."""
    everything = tuple(column.name for column in microdata.with_roles("quasi-identifier"))
    return everything if promise.quasi_identifiers is None else promise.quasi_identifiers
