"""How likely people of a register are in the groups that cover them.

Where few people and groups hang together all worlds are counted (`placed`). Else each group draws
its members by itself, of all whom it covers; nobody is in two, and what is drawn is scaled until
every group has as many people as rows: that is right where nobody is covered by two groups, and the
values that are shown tell nothing more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.expectations.groups.covering import Covering
from sfumato.expectations.measures.readings import covering_pairs
from sfumato.tasks.attacks.linking.counted import shares_of_pairs
from sfumato.tasks.forms.ambiguous import expected_occurrences

_SURE, _ROUNDS, _NEAR = 1 - 1e-12, 100, 1e-9
_COUNTED = 100_000  # pairs of whom worlds may be counted
_STEPS = 2_000_000_000  # of pairs and members, at most


@dataclass(frozen=True, eq=False)
class CoveredPeople:
    """People of a register in pairs with the groups that cover them.

    Attributes:
        shown: the groups.
        codes: the register's vectors (int64, one array per quasi-identifier, one entry per vector).
        people: how many have each vector (int64).
        vector: of each pair (int64, ascending).
        group: of each pair (int64).
    """

    shown: Covering
    codes: Sequence[np.ndarray]
    people: np.ndarray
    vector: np.ndarray
    group: np.ndarray

    def alike(self) -> np.ndarray:
        """How likely one is in each group, everybody weighing the same (float64, by pairs)."""
        return self._alike[0]

    def are_counted(self) -> np.ndarray:
        """The vectors whose people's memberships all worlds tell, everybody weighing the same.

        (bool, one per vector); of the others they are near.
        """
        near = np.bincount(self.vector, ~self._alike[1], len(self.people))
        return np.asarray(near == 0)

    @cached_property
    def _alike(self) -> tuple[np.ndarray, np.ndarray]:
        covered = np.bincount(self.group, self.people[self.vector], len(self.shown.sizes))
        drawn = (self.shown.sizes / np.maximum(covered, 1))[self.group]
        return self._by_worlds(self.fill(drawn), np.ones(len(drawn), dtype=np.int64))

    def weighed(self) -> np.ndarray | None:
        """The same by how often values seem to occur (float64); None of too many people.

        Somebody weighs the product of the expected occurrences of their values in the group.
        """
        sizes = self.shown.sizes[self.group]
        if int(sizes.sum()) > _STEPS:
            return None
        weights = self._weights()
        return self._by_worlds(self.fill(self._drawn(weights)), weights)[0]

    def combined(self) -> np.ndarray:
        """The same for who takes all combinations of a group's values to be as likely (float64)."""
        return self.fill(self.shown.rounded()[self.group], rounds=0)

    def fill(self, drawn: np.ndarray, rounds: int = _ROUNDS) -> np.ndarray:
        """How likely one is in each group, being in one at most (float64, by pairs).

        Args:
            drawn: the chance to be drawn by each group by itself (float64, by pairs).
            rounds: of scaling, so that groups, and those in none, have as many people as they have.
        """
        drawn = np.minimum(drawn, _SURE)
        odds, out, sizes = drawn / (1 - drawn), 1.0, self.shown.sizes
        times, none = self.people[self.vector], self.people.sum() - sizes.sum()
        for _ in range(rounds):
            of_all = self._of_all(odds, out)
            members = np.bincount(self.group, times * odds / of_all[self.vector], len(sizes))
            scale = sizes / np.maximum(members, _NEAR)
            left = max((self.people * out / of_all).sum(), _NEAR)
            odds, out = odds * scale[self.group], out * none / left
            if np.abs(scale - 1).max() < _NEAR:
                break
        return np.asarray(odds / self._of_all(odds, out)[self.vector])

    def _of_all(self, odds: np.ndarray, out: float) -> np.ndarray:
        """The odds of all that can be of people, in no group among them (float64, by vectors)."""
        of_all = out + np.bincount(self.vector, odds, len(self.people))
        return np.where(of_all > 0, of_all, 1.0)

    def _weights(self) -> np.ndarray:
        """Products of expected occurrences, the largest of each group 1 (float64, by pairs)."""
        found = np.ones(len(self.group))
        for cover, codes in zip(self.shown.covers, self.codes, strict=True):
            often = expected_occurrences(self.shown.sizes, cover)
            place = cover.group * cover.values + cover.value
            wanted = self.group * cover.values + codes[self.vector]
            found *= often[np.searchsorted(place, wanted)]
        largest = np.zeros(len(self.shown.sizes))
        np.maximum.at(largest, self.group, found)
        return np.asarray(found / largest[self.group])

    def _drawn(self, weights: np.ndarray) -> np.ndarray:
        """The chance to be drawn by each group by itself, by weights (float64, by pairs).

        A set of so many people weighs what they weigh, multiplied. Source: Chen, Dempster, Liu,
        Weighted finite population sampling to maximize entropy (Biometrika 1994).
        """
        chance, size = np.zeros(len(self.group)), self.shown.sizes[self.group]
        for drawn in range(1, int(size.max(initial=0)) + 1):
            of = np.flatnonzero(size >= drawn)
            left = weights[of] * (1 - chance[of])
            times = self.people[self.vector[of]]
            total = np.bincount(self.group[of], left * times, len(self.shown.sizes))
            share = np.divide(left, total[self.group[of]], out=np.ones(len(of)), where=left > 0)
            chance[of] = np.minimum(1.0, drawn * share)
        return chance

    def _by_worlds(self, found: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Shares of worlds in place of what is found, where the worlds are counted, and where.

        float64 and bool, by pairs.
        """
        if len(found) > _COUNTED:
            return found, np.zeros(len(found), dtype=bool)
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
        told = zip(pairs, found.tolist(), strict=True)
        counted = np.array([pair in shares for pair in pairs], dtype=bool)
        return np.array([float(shares.get(pair, share)) for pair, share in told]), counted

    def _values(self) -> list[set[tuple[int, int]]]:
        """The values of each group, each with the number of its quasi-identifier."""
        found: list[set[tuple[int, int]]] = [set() for _ in self.shown.sizes]
        for number, cover in enumerate(self.shown.covers):
            for group, value in zip(cover.group.tolist(), cover.value.tolist(), strict=True):
                found[group].add((number, value))
        return found


def cover_people(shown: Covering, codes: Sequence[np.ndarray], people: np.ndarray) -> CoveredPeople:
    """Find the groups that cover the people of a register.

    Args:
        shown: the groups.
        codes: the register's vectors (int64, one array per quasi-identifier, one entry per vector).
        people: how many have each vector (int64).
    """
    return CoveredPeople(shown, codes, people, *covering_pairs(shown, codes))
