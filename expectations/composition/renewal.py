"""The state after a version: atoms cut anew, newcomers, and people who were mixed."""

from dataclasses import replace

import numpy as np

from sfumato.expectations.composition.atoms import Pairs, Parts
from sfumato.expectations.composition.slots import Mixtures, with_slots
from sfumato.expectations.composition.sparse import join_groups, take_groups
from sfumato.expectations.composition.state import Atoms, Shown, as_counts, with_room, with_version
from sfumato.expectations.groups.groups import Cover, Groups


class Renewal:
    """The atoms that stay, then rests, pieces and mixtures, each numbered in that order.

    Attributes:
        stay: the atoms that stay as they are (int64, ascending).
    """

    def __init__(
        self, before: Atoms, version: Shown, pairs: Pairs, parts: Parts, mixtures: Mixtures
    ) -> None:
        self._before, self._shown, self._pairs = before, version, pairs
        self._parts, self._mixtures = parts, mixtures
        gone = mixtures.atom >= 0
        gone[parts.old] = True
        self.stay = np.flatnonzero(~gone)
        lengths = [len(self.stay), len(parts.rest), len(parts.piece), len(mixtures)]
        self._rests, self._pieces, self._mixed, self._length = np.cumsum(lengths).tolist()

    @property
    def rests(self) -> np.ndarray:
        """The atoms of people who remain when others of their atom are in groups apart (int64)."""
        return np.arange(self._rests, self._pieces)

    @property
    def pieces(self) -> np.ndarray:
        """The atoms of newcomers and of parts of former atoms (int64)."""
        return np.arange(self._pieces, self._mixed)

    def atoms(self) -> Atoms:
        """Return the state."""
        atom_of = self._atom_of_person()
        people = np.concatenate(
            [
                self._before.people[self.stay],
                self._parts.rests.sizes,
                self._parts.pieces.sizes,
                np.bincount(
                    atom_of[atom_of >= self._mixed] - self._mixed, minlength=len(self._mixtures)
                ),
            ]
        )
        mixed = np.arange(self._length) >= self._mixed
        mixed[: self._rests] = self._before.mixed[self.stay]
        return Atoms(
            atom_of,
            self._groups(),
            people,
            mixed,
            self._shown_in(),
            with_slots(self._before, self._shown),
            with_version(self._before.versions, as_counts(self._shown)),
        )

    def _numbers(self) -> np.ndarray:
        """Return each former atom's new atom for people in no piece (int64, -1: none)."""
        number = np.full(len(self._before), -1, dtype=np.int64)
        number[self.stay] = np.arange(len(self.stay))
        number[self._parts.rest] = self.rests
        mixed = np.flatnonzero(self._mixtures.atom >= 0)
        number[mixed] = self._mixed + self._mixtures.atom[mixed]
        return number

    def _atom_of_person(self) -> np.ndarray:
        """Return the new atom of each person (int64, one per id, -1 for people never shown)."""
        atom_of = with_room(self._before.atom_of, self._shown)
        if len(self.stay) < len(self._before):
            atom_of = np.where(atom_of >= 0, self._numbers()[atom_of], -1)
        of_pair = np.full(len(self._pairs.group), -1, dtype=np.int64)
        of_pair[self._parts.piece] = self.pieces
        mixture = self._mixtures.group[self._pairs.group]
        of_pair[mixture >= 0] = self._mixed + mixture[mixture >= 0]
        new = of_pair[self._pairs.of_member]
        atom_of[self._shown.person[new >= 0]] = new[new >= 0]
        return atom_of

    def _groups(self) -> Groups:
        """Return the new atoms as groups, with the values that quasi-identifiers admit if plain."""
        like = as_counts(self._shown)
        old = self._before.groups
        if len(self.stay) < len(old):
            old = take_groups(old, self.stay)
        mixed = take_groups(like, self._mixtures.first)
        parts = [old, self._parts.rests, self._parts.pieces, mixed]
        groups = join_groups(parts, like)
        return replace(groups, covers=self._covers()) if self.is_plain() else groups

    def is_plain(self) -> bool:
        """Return True if each group of this version and of the past is an atom by itself."""
        alone = len(self._pairs.group) == self._pairs.groups
        whole = len(self.stay) == len(self._before) and alone
        past = not len(self._before) or bool(self._before.groups.covers)
        return whole and (past or not self._shown.groups.covers)

    def _covers(self) -> dict[str, Cover]:
        """Return the values that the new atoms admit, by quasi-identifier."""
        group = self._pairs.group[self._parts.piece]
        place = np.full(self._pairs.groups, -1, dtype=np.int64)
        place[group] = self.pieces
        covers = {}
        for name, new in self._shown.groups.covers.items():
            past = self._before.groups.covers.get(name, Cover(group[:0], group[:0], 0))
            here = place[new.group] >= 0
            covers[name] = Cover(
                np.concatenate([past.group, place[new.group[here]]]),
                np.concatenate([past.value, new.value[here]]),
                max(past.values, new.values),
            )
        return covers

    def _shown_in(self) -> np.ndarray:
        """Return which version showed which new atom (bool, versions x atoms), this version last.

        Rests and pieces were shown by the versions that showed the atoms they are parts of.
        """
        before = self._before.showing
        atom = self._pairs.atom[self._parts.piece]
        past = np.zeros((len(before) + 1, self._length), dtype=bool)
        past[:-1, : self._rests] = before[:, self.stay]
        past[:-1, self._rests : self._pieces] = before[:, self._parts.rest]
        past[:-1, self.pieces[atom >= 0]] = before[:, atom[atom >= 0]]
        whole = self._pairs.atom[self._pairs.whole & (self._mixtures.group[self._pairs.group] < 0)]
        past[-1, np.searchsorted(self.stay, whole)] = True
        past[-1, self._pieces :] = True
        return past
