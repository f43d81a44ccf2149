"""Chances that people of a register are in the groups that cover them.

A group *covers* the people all of whose values it admits; a *vector* is a combination of values. If
few people and groups are connected, all worlds are counted (see `counted`). Otherwise each group is
taken to draw its members by itself from all whom it covers, on condition that nobody is in two
groups, and chances are scaled until every group has as many people as rows. That is right if nobody
is covered by two groups, and the groups' values say nothing more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.expectations.groups.covering import Covering
from sfumato.expectations.measures.readings import covering_pairs
from sfumato.tasks.attacks.linking.counted import shares_of_pairs
from sfumato.tasks.forms.ambiguous import expected_occurrences

_SURE, _ROUNDS, _NEAR = 1 - 1e-12, 100, 1e-9  # largest chance; most rounds; error to stop at
_COUNTED = 100_000  # most pairs whose worlds are counted
_STEPS = 2_000_000_000  # most steps, over pairs and the rows of their groups


@dataclass(frozen=True, eq=False)
class CoveredPeople:
    """People of a register, in pairs with the groups that cover them.

    Attributes:
        shown: the groups.
        codes: the register's vectors (int64, one array per quasi-identifier, one entry per vector).
        people: the number of people with each vector (int64).
        vector: the vector of each pair (int64, ascending).
        group: the group of each pair (int64).
    """

    shown: Covering
    codes: Sequence[np.ndarray]
    people: np.ndarray
    vector: np.ndarray
    group: np.ndarray

    def alike(self) -> np.ndarray:
        """Return the chance of each membership if all people weigh the same (float64, by pairs)."""
        return self._alike[0]

    def are_counted(self) -> np.ndarray:
        """Mark the vectors whose memberships are exactly counted if people weigh alike (bool).

        Memberships of all other vectors are approximate.
        """
        near = np.bincount(self.vector, ~self._alike[1], len(self.people))
        return np.asarray(near == 0)

    @cached_property
    def _alike(self) -> tuple[np.ndarray, np.ndarray]:
        covered = np.bincount(self.group, self.people[self.vector], len(self.shown.sizes))
        chance = (self.shown.sizes / np.maximum(covered, 1))[self.group]
        return self._by_worlds(self.fill(chance), np.ones(len(chance), dtype=np.int64))

    def by_weights(self) -> np.ndarray | None:
        """Return the chance of each membership by expected occurrences; None for too many people.

        The weight of a person is the product of the expected occurrences of their values in the
        group.
        """
        sizes = self.shown.sizes[self.group]
        if int(sizes.sum()) > _STEPS:
            return None
        weights = self._weights()
        return self._by_worlds(self.fill(self._drawing_chances(weights)), weights)[0]

    def by_combinations(self) -> np.ndarray:
        """Return the chance of each membership if all combinations are as likely (float64)."""
        return self.fill(self.shown.rounded_presences()[self.group], rounds=0)

    def fill(self, chance: np.ndarray, rounds: int = _ROUNDS) -> np.ndarray:
        """Return the chance of each membership, at most one per person (float64, by pairs).

        Args:
            chance: the chance that each group, by itself, draws the person (float64, by pairs).
            rounds: the number of rounds of scaling, after which the number of people in each group
                and in no group is right.
        """
        chance = np.minimum(chance, _SURE)
        # `odds` are a person's odds of each group, `out` those of no group
        odds, out, sizes = chance / (1 - chance), 1.0, self.shown.sizes
        times, none = self.people[self.vector], self.people.sum() - sizes.sum()
        for _ in range(rounds):
            of_all = self._of_all(odds, out)
            members = np.bincount(self.group, times * odds / of_all[self.vector], len(sizes))
            scale = sizes / np.maximum(members, _NEAR)
            outside = max((self.people * out / of_all).sum(), _NEAR)
            odds, out = odds * scale[self.group], out * none / outside
            if np.abs(scale - 1).max() < _NEAR:
                break
        return np.asarray(odds / self._of_all(odds, out)[self.vector])

    def _of_all(self, odds: np.ndarray, out: float) -> np.ndarray:
        """Return the total odds of a person's options, no group included (float64, by vectors)."""
        of_all = out + np.bincount(self.vector, odds, len(self.people))
        return np.where(of_all > 0, of_all, 1.0)

    def _weights(self) -> np.ndarray:
        """Return products of expected occurrences, the largest per group 1 (float64, by pairs)."""
        weights = np.ones(len(self.group))
        for cover, codes in zip(self.shown.covers, self.codes, strict=True):
            often = expected_occurrences(self.shown.sizes, cover)
            place = cover.group * cover.values + cover.value
            pair_place = self.group * cover.values + codes[self.vector]
            weights *= often[np.searchsorted(place, pair_place)]
        largest = np.zeros(len(self.shown.sizes))
        np.maximum.at(largest, self.group, weights)
        return np.asarray(weights / largest[self.group])

    def _drawing_chances(self, weights: np.ndarray) -> np.ndarray:
        """Return the chance that each group draws a person, by weights (float64, by pairs).

        The weight of a set of people is the product of their weights. Source: Chen, Dempster, Liu,
        Weighted finite population sampling to maximize entropy (Biometrika 1994).
        """
        # step by step, from the chances of drawing one person less (their recursion)
        chance, size = np.zeros(len(self.group)), self.shown.sizes[self.group]
        for number in range(1, int(size.max(initial=0)) + 1):
            pairs = np.flatnonzero(size >= number)
            remaining = weights[pairs] * (1 - chance[pairs])
            times = self.people[self.vector[pairs]]
            total = np.bincount(self.group[pairs], remaining * times, len(self.shown.sizes))
            share = np.divide(
                remaining, total[self.group[pairs]], out=np.ones(len(pairs)), where=remaining > 0
            )
            chance[pairs] = np.minimum(1.0, number * share)
        return chance

    def _by_worlds(
        self, estimate: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the chances, counted where that is possible, and where it is.

        Args:
            estimate: the estimated chance of each pair (float64).
            weights: the weight of each pair's person in the group.

        Returns:
            The share of worlds of each pair if its worlds are counted, otherwise the estimate
            (float64); and whether they are counted (bool).
        """
        if len(estimate) > _COUNTED:
            return estimate, np.zeros(len(estimate), dtype=bool)
        pairs = list(zip(self.vector.tolist(), self.group.tolist(), strict=True))
        rows = zip(*(codes.tolist() for codes in self.codes), strict=True)
        vectors = {kind: frozenset(enumerate(row)) for kind, row in enumerate(rows)}
        sizes = enumerate(self.shown.sizes.tolist())
        values = self._values()
        shares = shares_of_pairs(
            dict(zip(pairs, weights.tolist(), strict=True)),
            dict(enumerate(self.people.tolist())),
            vectors,
            {group: (size, frozenset(values[group])) for group, size in sizes},
        )
        estimates = zip(pairs, estimate.tolist(), strict=True)
        counted = np.array([pair in shares for pair in pairs], dtype=bool)
        return np.array([float(shares.get(pair, share)) for pair, share in estimates]), counted

    def _values(self) -> list[set[tuple[int, int]]]:
        """Return the values of each group, each with the number of its quasi-identifier."""
        values: list[set[tuple[int, int]]] = [set() for _ in self.shown.sizes]
        for number, cover in enumerate(self.shown.covers):
            for group, value in zip(cover.group.tolist(), cover.value.tolist(), strict=True):
                values[group].add((number, value))
        return values


def cover_people(
    covering: Covering, codes: Sequence[np.ndarray], people: np.ndarray
) -> CoveredPeople:
    """Find the groups that cover the people of a register.

    Args:
        covering: the groups.
        codes: the register's vectors (int64, one array per quasi-identifier, one entry per vector).
        people: the number of people with each vector (int64).
    """
    return CoveredPeople(covering, codes, people, *covering_pairs(covering, codes))
