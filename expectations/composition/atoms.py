"""Theorem A: what groups reveal of the atoms that they cut.

If each group cuts at most one atom, groups reveal the values of every part of it, and no more.

A group is a union of whole atoms and of a part of at most one further atom (its newcomers count as
one). The part has what remains of the group's values; the rest of that atom has what remains of the
atom's values. Negative counts mean that a value known to be in the atom is gone.
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

MOST_CUTS = 1  # with two, a group does not reveal what each part has
_Entries = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of a group and an atom of its members, each once; parallel, ascending by group.

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
        """The number of atoms, newcomers among them, that each group cuts (int64)."""
        return np.bincount(self.group[~self.whole], minlength=self.groups)


def pairs_of(before: Atoms, atom_of: np.ndarray, version: Shown) -> Pairs:
    """Return the pairs of groups and atoms that share members; linear if no group mixes atoms.

    Args:
        before: the state.
        atom_of: the atom of each person (int64, one per id, -1 for newcomers).
        version: the version.
    """
    atom, groups = atom_of[version.person], len(version.groups)
    first = np.full(groups, -1, dtype=np.int64)
    first[version.group] = atom
    mixes = np.zeros(groups, dtype=bool)
    mixes[version.group[atom != first[version.group]]] = True
    width = len(before) + 1
    pure = np.flatnonzero(~mixes)
    inside = np.flatnonzero(mixes[version.group])
    key, number, people = np.unique(
        version.group[inside] * width + atom[inside] + 1, return_inverse=True, return_counts=True
    )
    group = np.concatenate([pure, key // width])
    order = stable_order(group)
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
    """The parts that a version's groups make of the atoms that they cut, and of newcomers.

    Attributes:
        piece: the pair of each part that a group has (int64, ascending).
        pieces: these parts as groups.
        rest: the atoms of which somebody is not shown apart from those parts (int64, ascending).
        rests: these remainders as groups.
        old: the former atoms that are cut into pieces and rests (int64, ascending).
        gone: marks the groups that lack a value which their atoms are known to have (bool).
    """

    piece: np.ndarray
    pieces: Groups
    rest: np.ndarray
    rests: Groups
    old: np.ndarray
    gone: np.ndarray


@dataclass(frozen=True, eq=False)
class _Cuts:
    """The pairs by how they are cut, as places in `pairs`.

    `continued` are groups that are one whole atom, `whole` are whole atoms in groups that have
    others, `piece` are parts of the atoms `old`, of whose people `left` are in no piece.
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
    """Return the parts that the `clean` groups (bool, one per group) make of atoms.

    Each clean group cuts at most one atom and no mixed one.
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
    """Return what each group has beyond whole atoms, and mark impossible groups in `gone`."""
    pairs = cuts.pairs
    place = np.full(pairs.groups, -1, dtype=np.int64)
    place[pairs.group[cuts.whole]] = len(cuts.piece)  # a whole group must leave nothing
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
    """Return what pieces leave of each cut atom, and mark impossible groups in `gone`."""
    of_old = cuts.of_old
    row, value, count = piece
    mine = of_old[row] >= 0
    theirs, of_theirs = entries_of(former, cuts.old)
    owner, value, count = difference(
        np.concatenate([of_theirs, of_old[row[mine]]]),
        np.concatenate([former.value[theirs], value[mine]]),
        np.concatenate([former.count[theirs], -count[mine]]),
    )
    wrong = np.zeros(len(cuts.old) + 1, dtype=bool)
    wrong[owner[(count < 0) | (cuts.left[owner] == 0)]] = True
    gone[cuts.pairs.group[cuts.piece[wrong[of_old]]]] = True
    place = np.cumsum(cuts.left > 0) - 1
    fine = (count > 0) & (cuts.left[owner] > 0)
    return place[owner[fine]], value[fine], count[fine]
