"""Theorem A: the values that groups reveal of the parts of atoms.

An atom is a set of people of whose values the versions so far reveal one multiset, and no more. A
group of the next version cuts an atom if it shows some of the atom's people and not all. The
newcomers of a group, who are in no atom yet, count as an atom that it cuts.

Theorem A: if each group cuts at most one atom, groups reveal the values of every part of it, and no
more. For such a group is a union of whole atoms, whose values are known, and of at most one part of
an atom, the piece. The piece has what remains of the group's values. The people of a cut atom who
are in no piece are its rest; they have what remains of the atom's values. If what remains is
negative, a value known to be in the atom is gone, and the versions contradict each other.
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

MOST_CUTS = 1  # atoms that a group may cut: with two, it does not reveal what each part has
_Entries = tuple[np.ndarray, np.ndarray, np.ndarray]  # parallel rows, values and counts (int64)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of a group and an atom of its members, each once; parallel, ascending by group.

    Attributes:
        group: the group (int64).
        atom: the atom; -1 for the newcomers of the group, who make one pair (int64).
        people: the number of people of the atom in the group (int64).
        whole: marks pairs with all people of the atom (bool); False for newcomers.
        of_member: the pair of each member of the version (int64, one per member).
        groups: the number of all groups.
    """

    group: np.ndarray
    atom: np.ndarray
    people: np.ndarray
    whole: np.ndarray
    of_member: np.ndarray
    groups: int

    @property
    def cuts(self) -> np.ndarray:
        """The number of atoms, newcomers among them, that each group cuts (int64)."""
        return np.bincount(self.group[~self.whole], minlength=self.groups)


def pairs_of(before: Atoms, atom_of: np.ndarray, version: Shown) -> Pairs:
    """Return the pairs of groups and atoms that share members; linear if no group mixes atoms.

    Args:
        before: the state after the versions so far.
        atom_of: the atom of each person (int64, one per id, -1 for newcomers).
        version: the next version.
    """
    atom, groups = atom_of[version.person], len(version.groups)
    first = np.full(groups, -1, dtype=np.int64)
    first[version.group] = atom
    mixes = np.zeros(groups, dtype=bool)
    mixes[version.group[atom != first[version.group]]] = True
    width = len(before) + 1  # atoms, and the newcomers as number 0
    # a group with one atom is one pair; only members of the other groups have to be sorted
    pure = np.flatnonzero(~mixes)
    inside = np.flatnonzero(mixes[version.group])
    key, number, people = np.unique(
        version.group[inside] * width + atom[inside] + 1, return_inverse=True, return_counts=True
    )
    group = np.concatenate([pure, key // width])
    order = stable_order(group)
    # the sorted position of each pair; before sorting, those of pure groups come first
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    of_group = np.zeros(groups, dtype=np.int64)
    of_group[pure] = place[: len(pure)]
    of_member = of_group[version.group]
    of_member[inside] = place[len(pure) + number]
    sizes = np.bincount(version.group, minlength=groups)
    people = np.concatenate([sizes[pure], people])[order]
    atoms = np.concatenate([first[pure], key % width - 1])[order]
    whole = atoms >= 0
    whole[whole] = people[whole] == before.people[atoms[whole]]
    return Pairs(group[order], atoms, people, whole, of_member, groups)


@dataclass(frozen=True, eq=False)
class Parts:
    """The pieces and rests that a version makes of the atoms that its groups cut.

    Attributes:
        piece: the pair of each piece (its position in `Pairs`; int64, ascending).
        pieces: the pieces as groups, with their values.
        rest: the cut atoms that have a rest: people in no piece (int64, ascending).
        rests: their rests as groups, with their values.
        old: the atoms that are cut, with a rest or without (int64, ascending).
        gone: marks the groups that contradict earlier versions: a value that their atoms are known
            to have is gone (bool, one per group).
    """

    piece: np.ndarray
    pieces: Groups
    rest: np.ndarray
    rests: Groups
    old: np.ndarray
    gone: np.ndarray


@dataclass(frozen=True, eq=False)
class _Cuts:
    """The pairs by how they are cut.

    Attributes:
        continued: the pairs of groups that are one whole atom (positions in `pairs`).
        whole: the pairs of whole atoms in groups that have more than one pair (in the same way).
        piece: the pairs of pieces (in the same way).
        old: the atoms that are cut (ascending).
        left: the number of people of each of these atoms who are in no piece.
        pairs: all pairs.
    """

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


def parts_of(before: Atoms, version: Shown, pairs: Pairs, clean: np.ndarray) -> Parts:
    """Return the pieces and rests that some groups make of atoms.

    Args:
        before: the state after the versions so far.
        version: the next version.
        pairs: its groups with their atoms.
        clean: marks the groups that count (bool, one per group): each of them cuts at most one
            atom, and has no people of a mixed one.
    """
    cuts = _cuts(before, pairs, clean)
    gone = np.zeros(len(version.groups), dtype=bool)
    pieces: dict[str, Counts] = {}
    rests: dict[str, Counts] = {}
    for name, counts in columns_of(version.groups).items():
        former = before.groups.sensitive[name]
        _mark_changed(gone, cuts, counts, former)
        piece = _pieces(gone, cuts, counts, former)
        rest = _rests(gone, cuts, piece, former)
        pieces[name], rests[name] = (
            Counts(*entries, counts.values, None) for entries in (piece, rest)
        )
    remaining = np.flatnonzero(cuts.left)
    return Parts(
        cuts.piece,
        Groups(pairs.people[cuts.piece], pieces),
        cuts.old[remaining],
        Groups(cuts.left[remaining], rests),
        cuts.old,
        gone,
    )


def _cuts(before: Atoms, pairs: Pairs, clean: np.ndarray) -> _Cuts:
    """Return the pairs of clean groups by how they are cut."""
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


def _mark_changed(gone: np.ndarray, cuts: _Cuts, counts: Counts, former: Counts) -> None:
    """Mark the groups that are a whole atom each and show other values than it."""
    group, atom = cuts.pairs.group[cuts.continued], cuts.pairs.atom[cuts.continued]
    gone[group[~same_rows(counts, group, former, atom)]] = True


def _pieces(gone: np.ndarray, cuts: _Cuts, counts: Counts, former: Counts) -> _Entries:
    """Return the values of each piece, and mark impossible groups in `gone`.

    The rows of the entries number the pieces; the values are those of the group less those of its
    whole atoms.
    """
    pairs = cuts.pairs
    # the piece of each group; -1 for groups that do not count here
    place = np.full(pairs.groups, -1, dtype=np.int64)
    place[pairs.group[cuts.whole]] = len(cuts.piece)  # no piece: nothing may remain
    place[pairs.group[cuts.piece]] = np.arange(len(cuts.piece))
    group = np.flatnonzero(place >= 0)
    mine, of_mine = entries_of(counts, group)
    theirs, of_theirs = entries_of(former, pairs.atom[cuts.whole])
    owner = np.concatenate([group[of_mine], pairs.group[cuts.whole][of_theirs]])
    owner, value, count = difference(
        owner,
        np.concatenate([counts.value[mine], former.value[theirs]]),
        np.concatenate([counts.count[mine], -former.count[theirs]]),
    )
    wrong = (count < 0) | (place[owner] == len(cuts.piece))
    gone[owner[wrong]] = True
    return place[owner[~wrong]], value[~wrong], count[~wrong]


def _rests(gone: np.ndarray, cuts: _Cuts, piece: _Entries, former: Counts) -> _Entries:
    """Return the values of each rest, and mark impossible groups in `gone`.

    The rows of the entries number the rests; the values are those of the atom less those of its
    pieces.
    """
    of_old = cuts.of_old
    row, value, count = piece
    mine = of_old[row] >= 0
    theirs, of_theirs = entries_of(former, cuts.old)
    owner, value, count = difference(
        np.concatenate([of_theirs, of_old[row[mine]]]),
        np.concatenate([former.value[theirs], value[mine]]),
        np.concatenate([former.count[theirs], -count[mine]]),
    )
    wrong = np.zeros(len(cuts.old) + 1, dtype=bool)  # the last is that of newcomers (-1)
    wrong[owner[(count < 0) | (cuts.left[owner] == 0)]] = True
    gone[cuts.pairs.group[cuts.piece[wrong[of_old]]]] = True
    place = np.cumsum(cuts.left > 0) - 1  # the number of the rest, of atoms that have one
    fine = (count > 0) & (cuts.left[owner] > 0)
    return place[owner[fine]], value[fine], count[fine]
