"""State of composition: what all versions so far reveal together, and why a version does not fit.

An *atom* is a set of people of whose values all versions together reveal one multiset, and no more
(Theorem A). A *mixed* atom is a set of people who were re-mixed among groups that all show the same
values: its multiset is that of each of these groups (Theorems S and C).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.expectations.composition.sparse import columns_of, join
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel

_NONE = np.array([], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Shown:
    """A version: people, their groups, and what is published of these.

    Attributes:
        person: an id for each member (int64, dense over all versions and lines); a *ghost*, a
            former holder of a value that nobody in the release has now, is also a member; so is a
            made-up value, by an id of its own.
        group: the published group of each member (int64).
        groups: the groups, read from the published tables: their values are numbered by one
            dictionary common to all versions, as are those of the state (see `renumber`).
        live: False for ghosts and made-up values (bool, one per member). It does not change what
            versions reveal together; `exposure` counts the live.
        slot: the slot of each member (int64, the same in all versions, -1 for none), None where
            groups are never re-mixed.
    """

    person: np.ndarray
    group: np.ndarray
    groups: Groups
    live: np.ndarray
    slot: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Atoms:
    """The atoms that versions reveal together, and what is needed to judge the next version.

    Attributes:
        atom_of: the atom of each person (int64, one per id, -1 for people never shown).
        groups: the atoms as groups: their multisets of values, and what quasi-identifiers they
            admit as long as each atom is a published group.
        people: the people of each atom (int64, one per atom).
        mixed: marks the mixed atoms (bool, one per atom).
        showing: marks which version showed which atom (bool, versions x atoms).
        slot: the slot of each person (int64, one per id, -1 for none, -2 for more than one).
        versions: one group per version: everything that it showed.
    """

    atom_of: np.ndarray
    groups: Groups
    people: np.ndarray
    mixed: np.ndarray
    showing: np.ndarray
    slot: np.ndarray
    versions: Groups

    def __len__(self) -> int:
        return len(self.groups)


def no_atoms(groups: Groups) -> Atoms:
    """Return the state before the first version, for groups with the same columns as these."""
    none = Groups(_NONE, {name: _nothing(counts) for name, counts in columns_of(groups).items()})
    nothing = np.zeros((0, 0), dtype=bool)
    return Atoms(_NONE, none, _NONE, nothing[0:0].reshape(-1), nothing, _NONE, none)


def _nothing(like: Counts) -> Counts:
    return replace(like, group=_NONE, value=_NONE, count=_NONE)


def with_room(numbers: np.ndarray, version: Shown) -> np.ndarray:
    """Return a copy of numbers of people (int64, one per id), -1 for this version's new ids."""
    length = max(len(numbers), int(version.person.max(initial=-1)) + 1)
    room = np.full(length, -1, dtype=np.int64)
    room[: len(numbers)] = numbers
    return room


def as_counts(version: Shown) -> Groups:
    """Return what a version shows of its members as counts, of values or of subdomains."""
    members = np.bincount(version.group, minlength=len(version.groups))
    return Groups(members, columns_of(version.groups))


def with_version(versions: Groups, groups: Groups) -> Groups:
    """Return the versions so far and one more, each as one group of everything that it showed."""
    columns = {}
    for name, counts in groups.sensitive.items():
        value = np.flatnonzero(counts.totals)
        whole = replace(
            counts, group=np.zeros(len(value), np.int64), value=value, count=counts.totals[value]
        )
        columns[name] = join([versions.sensitive[name], whole], [len(versions), 1], counts)
    return Groups(np.append(versions.sizes, groups.rows), columns)


def with_former_holders(atoms: Atoms, person: np.ndarray, atom: np.ndarray) -> Atoms:
    """Return the state if slots of some atoms had other holders before.

    Each of these people had one slot of the atom and has none now. Everyone who was ever in the
    atom may have any of its values (Theorem C); how likely each value is stays open.

    Args:
        atoms: the state, in which everyone has a slot of their own.
        person: the ids of former holders, none of them in the state (int64).
        atom: the atom that each was in (int64).
    """
    length = max(len(atoms.atom_of), int(person.max(initial=-1)) + 1)
    atom_of, slot = np.full((2, length), -1, dtype=np.int64)
    atom_of[: len(atoms.atom_of)], slot[: len(atoms.slot)] = atoms.atom_of, atoms.slot
    any_slot = np.empty(len(atoms), dtype=np.int64)
    placed = np.flatnonzero(atoms.atom_of >= 0)
    any_slot[atoms.atom_of[placed]] = atoms.slot[placed]
    atom_of[person], slot[person] = atom, any_slot[atom]
    mixed = atoms.mixed.copy()
    mixed[atom] = True
    people = atoms.people + np.bincount(atom, minlength=len(atoms))
    return replace(atoms, atom_of=atom_of, slot=slot, mixed=mixed, people=people)


def renumber(atoms: Atoms, name: str, into: np.ndarray, like: Counts) -> Atoms:
    """Return the state with the values of one column numbered anew, after a dictionary has grown.

    Args:
        atoms: the state.
        name: the column.
        into: the new number of each value (int64, ascending).
        like: counts of the column with the new numbers.
    """

    def anew(groups: Groups) -> Groups:
        old = groups.sensitive[name]
        new = replace(like, group=old.group, value=into[old.value], count=old.count)
        return replace(groups, sensitive={**groups.sensitive, name: new})

    return replace(atoms, groups=anew(atoms.groups), versions=anew(atoms.versions))


@dataclass(frozen=True)
class Refused:
    """Verdict that versions do not keep their promises together.

    Attributes:
        reason: the rule that is broken and how many groups break it.
        groups: how many groups break it.
        people: the members of these groups, 0 if unknown.
    """

    reason: str
    groups: int
    people: int

    def __str__(self) -> str:
        return self.reason


def number(count: int, what: str) -> str:
    """Return a count with its noun, `1 group` or `2 groups`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def why_unreadable(
    before: Atoms, version: Shown, promises: Sequence[PrivacyModel]
) -> Refused | None:
    """Return why a version cannot be compared with earlier ones, None if it can."""
    for promise in promises:
        if promise.reference_uri is not None:
            return Refused(f"{promise.title} is only defined for one version", 0, 0)
        if promise.known_columns:
            return Refused(f"{promise.title} with `known` is only defined for one version", 0, 0)
    return _wrong_people(version) or _wrong_values(before, version)


def _wrong_people(version: Shown) -> Refused | None:
    """Refuse a version whose members are not one group each, with everyone in one place."""
    lengths = {len(version.person), len(version.group), len(version.live)}
    slots = lengths if version.slot is None else {len(version.slot)}
    if lengths != slots or len(lengths) > 1 or not len(version.person):
        return Refused("the record of who is in which group is damaged", 0, 0)
    outside = (version.group < 0) | (version.group >= len(version.groups)) | (version.person < 0)
    if outside.any():
        return Refused("the record of who is in which group is damaged", 0, int(outside.sum()))
    if twice := int((np.bincount(version.person) > 1).sum()):
        return Refused(f"{number(twice, 'person')} in two places", 0, twice)
    return None


def _wrong_values(before: Atoms, version: Shown) -> Refused | None:
    """Refuse a version with other columns or values than earlier ones, or not one value a person.

    Every group must show as many values as it has members.
    """
    columns = columns_of(version.groups)
    if not columns or columns.keys() != before.groups.sensitive.keys():
        return Refused("earlier versions have other sensitive columns", 0, 0)
    members = np.bincount(version.group, minlength=len(version.groups))
    for name, counts in columns.items():
        sums = np.zeros(len(members), dtype=np.int64)
        sums[counts.group[counts.starts]] = np.add.reduceat(counts.count, counts.starts)
        differ = (sums != members) | (members == 0)
        differ[counts.group[counts.count <= 0]] = True
        if wrong := int(differ.sum()):
            reason = f"{number(wrong, 'group')} with more or fewer values than people"
            return Refused(reason, wrong, int(members[differ].sum()))
        if before.groups.sensitive[name].value.max(initial=-1) >= counts.values:
            return Refused(f"earlier versions have values of {name!r} that this one lacks", 0, 0)
    return None
