"""Presence in groups that show only which values of each quasi-identifier they admit.

Source: Wang, Ambiguity: hide the presence of individuals and their privacy with low information
loss. A group j of |G_j| rows covers every vector of the values that it admits; there are
N_j = Π_i m_ij of them, and one of them is present with probability p_j = |G_j| / N_j. A vector may
be covered by many groups: then the sum of p_j is the expected number of its records, and bounds
the probability that there is one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd, prod

import numpy as np

from sfumato.expectations.groups.counting import pack
from sfumato.expectations.groups.groups import Cover, Groups
from sfumato.expectations.shared.sorting import number, stable_order, starts


@dataclass(frozen=True, eq=False)
class Covering:
    """The groups with the admitted values of some quasi-identifiers; each group admits some.

    `sizes` are the rows of each group (int64, one per group).
    """

    sizes: np.ndarray
    covers: tuple[Cover, ...]

    def presence(self, group: int) -> Fraction:
        """Return p_j of a group, at most 1."""
        presence: Fraction = self.presences[self.kinds[group]]
        return presence

    @cached_property
    def presences(self) -> tuple[Fraction, ...]:
        """The different p_j, each once."""
        return self._kinds[0]

    @cached_property
    def kinds(self) -> np.ndarray:
        """The index in `presences` of each group's presence (int64, one per group)."""
        return self._kinds[1]

    @cached_property
    def admitted_counts(self) -> np.ndarray:
        """m_ij: the number of values that each group admits (int64, quasi-identifiers x groups)."""
        return np.array([cover.sizes(len(self.sizes)) for cover in self.covers])

    @cached_property
    def _kinds(self) -> tuple[tuple[Fraction, ...], np.ndarray]:
        """The different p_j, and the index of each group's p_j among them."""
        # groups of the same size with the same numbers of values, in any order, have the same p_j
        shapes = np.vstack([self.sizes, np.sort(self.admitted_counts, axis=0)])
        key, _ = pack(list(shapes), [int(column.max(initial=0)) + 1 for column in shapes])
        order, shape = stable_order(key), np.empty(len(key), dtype=np.int64)
        shape[order] = number(key[order])
        distinct = shapes[:, order[starts(key[order])]].T
        numbers: dict[tuple[int, int], int] = {}
        kinds = [
            numbers.setdefault(_reduce(rows, prod(admitted)), len(numbers))
            for rows, *admitted in distinct.tolist()
        ]
        presences = tuple(Fraction(*presence) for presence in numbers)
        return presences, np.array(kinds)[shape]

    def least_presence(self, group: int) -> Fraction:
        """Return the least presence that any group made of rows of this one has by itself.

        g rows admit at most min(g, m_i) values: g / Π min(g, m_i) falls until g is the largest m_i.
        """
        admitted = self.admitted_counts[:, group].tolist()
        g = min(max(admitted), int(self.sizes[group]))
        return Fraction(g, prod(min(g, m) for m in admitted))

    def rounded_presences(self) -> np.ndarray:
        """Return p_j of every group, rounded (float64, one per group)."""
        rounded: np.ndarray = np.array([float(p) for p in self.presences])[self.kinds]
        return rounded

    def are_above(self, alpha: Fraction) -> np.ndarray:
        """Mark the groups with a p_j of more than α, exactly (bool, one per group)."""
        over: np.ndarray = np.array([p > alpha for p in self.presences])[self.kinds]
        return over


def _reduce(rows: int, vectors: int) -> tuple[int, int]:
    """Return the share of the vectors, at most 1, in lowest terms.

    A pair of integers is hashed faster than a fraction.

    >>> _reduce(6, 9), _reduce(9, 6)
    ((2, 3), (1, 1))
    """
    shared = gcd(rows, vectors)
    return (1, 1) if rows >= vectors else (rows // shared, vectors // shared)


@dataclass(frozen=True)
class Presence:
    """The largest presence of any vector, and the groups that cover it."""

    largest: Fraction
    groups: tuple[int, ...]


def covering(groups: Groups, quasi_identifiers: Sequence[str] | None) -> Covering | None:
    """Return the groups as they cover vectors; None if a quasi-identifier is not shown."""
    names = list(groups.covers) if quasi_identifiers is None else list(quasi_identifiers)
    if not names or not len(groups) or any(name not in groups.covers for name in names):
        return None
    coverage = Covering(groups.sizes, tuple(groups.covers[name] for name in names))
    return coverage if coverage.admitted_counts.all() else None


def single(coverage: Covering) -> Presence:
    """Return the largest presence in any one group."""
    largest = max(coverage.presences)
    kind = coverage.presences.index(largest)
    return Presence(largest, (int(np.argmax(coverage.kinds == kind)),))
