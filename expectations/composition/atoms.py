"""Theorem A: groups that each cut at most one atom tell what every part of it has, and no more.

A group is a union of whole atoms and of a part of at most one further atom (its newcomers count as
one). What the part has is what is left of the group's values; what the rest of that atom has is
what is left of the atom's. Negative counts mean that a value known to be there is gone.
"""

from dataclasses import dataclass

import numpy as np

from sfumato.expectations.composition.sparse import (
    columns_of,
    difference,
    entries_of,
    same_rows,
)
from sfumato.expectations.composition.state import Atoms, Shown
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.shared.sorting import stable_order

MOST_CUTS = 1  # with two, a group does not tell what each part has
_Entries = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Each group with each atom that its members come from, once; parallel, ascending by group.

    Attributes:
        group: the group (int64).
        atom: the atom, -1 for all newcomers of the group (int64).
        people: the members of the group who come from there (int64).
        whole: marks pairs where that is the whole atom (bool).
        of_member: the pair of each member (int64).
        groups: how many groups there are.
    """

    group: np.ndarray
    atom: np.ndarray
    people: np.ndarray
    whole: np.ndarray
    of_member: np.ndarray
    groups: int

    @property
    def cuts(self) -> np.ndarray:
        """How many atoms, newcomers among them, each group cuts (int64, one per group)."""
        return np.bincount(self.group[~self.whole], minlength=self.groups)


def pairs_of(before: Atoms, of: np.ndarray, shown: Shown) -> Pairs:
    """The pairs of the groups and atoms that have members in common; linear where no group mixes.

    Args:
        before: the state.
        of: the atom of each person (int64, one per id, -1 for newcomers).
        shown: the version.
    """
    atom, groups = of[shown.person], len(shown.groups)
    first = np.full(groups, -1, dtype=np.int64)
    first[shown.group] = atom
    mixes = np.zeros(groups, dtype=bool)
    mixes[shown.group[atom != first[shown.group]]] = True
    width = len(before) + 1
    pure = np.flatnonzero(~mixes)
    inside = np.flatnonzero(mixes[shown.group])
    key, number, people = np.unique(
        shown.group[inside] * width + atom[inside] + 1, return_inverse=True, return_counts=True
    )
    group = np.concatenate([pure, key // width])
    order = stable_order(group)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    of_group = np.zeros(groups, dtype=np.int64)
    of_group[pure] = place[: len(pure)]
    of_member = of_group[shown.group]
    of_member[inside] = place[len(pure) + number]
    sizes = np.bincount(shown.group, minlength=groups)
    people = np.concatenate([sizes[pure], people])[order]
    atoms = np.concatenate([first[pure], key % width - 1])[order]
    whole = atoms >= 0
    whole[whole] = people[whole] == before.people[atoms[whole]]
    return Pairs(group[order], atoms, people, whole, of_member, groups)


@dataclass(frozen=True, eq=False)
class Parts:
    """What the groups of a version tell of the atoms that they cut, and of newcomers.

    Attributes:
        piece: the pair of each part that a group has (int64, ascending).
        pieces: these parts as groups.
        rest: the atoms of which somebody is not shown apart from those parts (int64, ascending).
        rests: these remainders as groups.
        old: the atoms that are no more, cut into pieces and rests (int64, ascending).
        gone: marks the groups in which a value that is known to be there is not (bool).
    """

    piece: np.ndarray
    pieces: Groups
    rest: np.ndarray
    rests: Groups
    old: np.ndarray
    gone: np.ndarray


@dataclass(frozen=True, eq=False)
class _Cuts:
    """Which pairs are continued, whole and cut; `piece` of which of the atoms `old`."""

    continued: np.ndarray
    whole: np.ndarray
    piece: np.ndarray
    old: np.ndarray
    left: np.ndarray
    pairs: Pairs

    @property
    def of_old(self) -> np.ndarray:
        """The place in `old` of the atom of each piece (int64, one per piece), -1 for newcomers."""
        atom = self.pairs.atom[self.piece]
        return np.where(atom >= 0, np.searchsorted(self.old, atom), -1)


def parts_of(before: Atoms, shown: Shown, pairs: Pairs, clean: np.ndarray) -> Parts:
    """The parts that the `clean` groups (bool, one per group) make of atoms.

    Each clean group cuts at most one atom, and none that is mixed.
    """
    cuts = _cuts(before, pairs, clean)
    gone = np.zeros(len(shown.groups), dtype=bool)
    pieces: dict[str, Counts] = {}
    rests: dict[str, Counts] = {}
    for name, counts in columns_of(shown.groups).items():
        known = before.groups.sensitive[name]
        _mark_changed(gone, cuts, counts, known)
        piece = _pieces(gone, cuts, counts, known)
        rest = _rests(gone, cuts, piece, known)
        pieces[name], rests[name] = (Counts(*one, counts.values, None) for one in (piece, rest))
    kept = np.flatnonzero(cuts.left)
    return Parts(
        cuts.piece,
        Groups(pairs.people[cuts.piece], pieces),
        cuts.old[kept],
        Groups(cuts.left[kept], rests),
        cuts.old,
        gone,
    )


def _cuts(before: Atoms, pairs: Pairs, clean: np.ndarray) -> _Cuts:
    inside = clean[pairs.group]
    alone = np.bincount(pairs.group, minlength=pairs.groups)[pairs.group] == 1
    piece = np.flatnonzero(inside & ~pairs.whole)
    atom = pairs.atom[piece]
    old, number = np.unique(atom[atom >= 0], return_inverse=True)
    taken = np.zeros(len(old), dtype=np.int64)
    np.add.at(taken, number, pairs.people[piece[atom >= 0]])
    return _Cuts(
        np.flatnonzero(inside & pairs.whole & alone),
        np.flatnonzero(inside & pairs.whole & ~alone),
        piece,
        old,
        before.people[old] - taken,
        pairs,
    )


def _mark_changed(gone: np.ndarray, cuts: _Cuts, counts: Counts, known: Counts) -> None:
    """Mark the groups that are a whole atom each and show other values than it."""
    group, atom = cuts.pairs.group[cuts.continued], cuts.pairs.atom[cuts.continued]
    gone[group[~same_rows(counts, group, known, atom)]] = True


def _pieces(gone: np.ndarray, cuts: _Cuts, counts: Counts, known: Counts) -> _Entries:
    """What is left of each group for its piece, and mark the groups where that cannot be."""
    pairs = cuts.pairs
    place = np.full(pairs.groups, -1, dtype=np.int64)
    place[pairs.group[cuts.whole]] = len(cuts.piece)  # a whole group must leave nothing
    place[pairs.group[cuts.piece]] = np.arange(len(cuts.piece))
    group = np.flatnonzero(place >= 0)
    mine, of_mine = entries_of(counts, group)
    theirs, of_theirs = entries_of(known, pairs.atom[cuts.whole])
    owner = np.concatenate([group[of_mine], pairs.group[cuts.whole][of_theirs]])
    owner, value, count = difference(
        owner,
        np.concatenate([counts.value[mine], known.value[theirs]]),
        np.concatenate([counts.count[mine], -known.count[theirs]]),
    )
    wrong = (count < 0) | (place[owner] == len(cuts.piece))
    gone[owner[wrong]] = True
    return place[owner[~wrong]], value[~wrong], count[~wrong]


def _rests(gone: np.ndarray, cuts: _Cuts, piece: _Entries, known: Counts) -> _Entries:
    """What is left of each cut atom, and mark the groups that cut it where that cannot be."""
    of_old = cuts.of_old
    row, value, count = piece
    mine = of_old[row] >= 0
    theirs, of_theirs = entries_of(known, cuts.old)
    owner, value, count = difference(
        np.concatenate([of_theirs, of_old[row[mine]]]),
        np.concatenate([known.value[theirs], value[mine]]),
        np.concatenate([known.count[theirs], -count[mine]]),
    )
    wrong = np.zeros(len(cuts.old) + 1, dtype=bool)
    wrong[owner[(count < 0) | (cuts.left[owner] == 0)]] = True
    gone[cuts.pairs.group[cuts.piece[wrong[of_old]]]] = True
    kept = np.cumsum(cuts.left > 0) - 1
    fine = (count > 0) & (cuts.left[owner] > 0)
    return kept[owner[fine]], value[fine], count[fine]
