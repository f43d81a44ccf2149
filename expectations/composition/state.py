"""What all versions so far tell together, and why a version does not compose with them.

An *atom* is a set of people whose values all versions together tell as one multiset, and no more
(Theorem A). A *mixed* atom is a set of people who were re-mixed among groups that all show the same
values: its multiset is the one of each of these groups (Theorems S and C).
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
            former holder of a value that nobody represented has now, is a member, too, and so is a
            made-up value, by an id of its own.
        group: the published group of each member (int64).
        groups: the groups, read from the published tables: their values are numbered by one
            dictionary common to all versions, as are those of the state (see `renumber`).
        live: False for ghosts and made-up values (bool, one per member). What versions tell
            together is the same for both; `exposure` counts the live.
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
    """What versions tell together, and what is needed to judge the next one.

    Attributes:
        of: the atom of each person (int64, one per id, -1 for people never shown).
        groups: the atoms as groups: their multisets of values, and what quasi-identifiers they
            admit as long as each atom is a published group.
        people: the people of each atom (int64, one per atom).
        mixed: marks the mixed atoms (bool, one per atom).
        shown: marks which version showed which atom (bool, versions x atoms).
        slot: the slot of each person (int64, one per id, -1 for none, -2 for more than one).
        versions: one group per version: everything that it showed.
    """

    of: np.ndarray
    groups: Groups
    people: np.ndarray
    mixed: np.ndarray
    shown: np.ndarray
    slot: np.ndarray
    versions: Groups

    def __len__(self) -> int:
        return len(self.groups)


def no_atoms(groups: Groups) -> Atoms:
    """The state before the first version, for groups with the same columns as these."""
    none = Groups(_NONE, {name: _nothing(counts) for name, counts in columns_of(groups).items()})
    nothing = np.zeros((0, 0), dtype=bool)
    return Atoms(_NONE, none, _NONE, nothing[0:0].reshape(-1), nothing, _NONE, none)


def _nothing(like: Counts) -> Counts:
    return replace(like, group=_NONE, value=_NONE, count=_NONE)


def with_room(of: np.ndarray, shown: Shown) -> np.ndarray:
    """A copy of numbers of people (int64, one per id), with -1 for ids that this version adds."""
    length = max(len(of), int(shown.person.max(initial=-1)) + 1)
    room = np.full(length, -1, dtype=np.int64)
    room[: len(of)] = of
    return room


def as_counts(shown: Shown) -> Groups:
    """What a version shows of its members as counts, whatever stands for values."""
    members = np.bincount(shown.group, minlength=len(shown.groups))
    return Groups(members, columns_of(shown.groups))


def with_version(versions: Groups, groups: Groups) -> Groups:
    """The versions so far and one more, each as one group of everything that it shows."""
    columns = {}
    for name, counts in groups.sensitive.items():
        value = np.flatnonzero(counts.totals)
        one = replace(
            counts, group=np.zeros(len(value), np.int64), value=value, count=counts.totals[value]
        )
        columns[name] = join([versions.sensitive[name], one], [len(versions), 1], counts)
    return Groups(np.append(versions.sizes, groups.rows), columns)


def with_former_holders(atoms: Atoms, person: np.ndarray, atom: np.ndarray) -> Atoms:
    """The state where slots of some atoms were held by other people before.

    Each of them held one slot of the atom alone, and holds none now: whoever ever was in it may
    have any of its values (Theorem C), however likely each is.

    Args:
        atoms: the state, in which everybody holds a slot of their own.
        person: the ids of former holders, that nobody in the state has (int64).
        atom: in which each was (int64).
    """
    length = max(len(atoms.of), int(person.max(initial=-1)) + 1)
    of, slot = np.full((2, length), -1, dtype=np.int64)
    of[: len(atoms.of)], slot[: len(atoms.slot)] = atoms.of, atoms.slot
    some = np.empty(len(atoms), dtype=np.int64)
    known = np.flatnonzero(atoms.of >= 0)
    some[atoms.of[known]] = atoms.slot[known]
    of[person], slot[person] = atom, some[atom]
    mixed = atoms.mixed.copy()
    mixed[atom] = True
    people = atoms.people + np.bincount(atom, minlength=len(atoms))
    return replace(atoms, of=of, slot=slot, mixed=mixed, people=people)


def renumber(atoms: Atoms, name: str, into: np.ndarray, like: Counts) -> Atoms:
    """The state with the values of one column numbered anew, where a dictionary has grown.

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
    """Versions do not keep their promises together.

    Attributes:
        reason: the rule that is broken and how many groups break it.
        groups: that number.
        people: the members of these groups, 0 where that is not told.
    """

    reason: str
    groups: int
    people: int

    def __str__(self) -> str:
        return self.reason


def number(count: int, what: str) -> str:
    """So many of something, `1 group` or `2 groups`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def why_unreadable(before: Atoms, shown: Shown, promises: Sequence[PrivacyModel]) -> Refused | None:
    """Why a version cannot be compared with those before, None where it can."""
    for promise in promises:
        if promise.reference_uri is not None:
            return Refused(f"{promise.title} is about one version alone", 0, 0)
        if promise.known_columns:
            return Refused(f"{promise.title} of people of whom more is known", 0, 0)
    return _wrong_people(shown) or _wrong_values(before, shown)


def _wrong_people(shown: Shown) -> Refused | None:
    lengths = {len(shown.person), len(shown.group), len(shown.live)}
    slots = lengths if shown.slot is None else {len(shown.slot)}
    if lengths != slots or len(lengths) > 1 or not len(shown.person):
        return Refused("the members of groups cannot be read", 0, 0)
    outside = (shown.group < 0) | (shown.group >= len(shown.groups)) | (shown.person < 0)
    if outside.any():
        return Refused("the members of groups cannot be read", 0, int(outside.sum()))
    if twice := int((np.bincount(shown.person) > 1).sum()):
        return Refused(f"{number(twice, 'person')} in two places", 0, twice)
    return None


def _wrong_values(before: Atoms, shown: Shown) -> Refused | None:
    columns = columns_of(shown.groups)
    if not columns or columns.keys() != before.groups.sensitive.keys():
        return Refused("what earlier versions were made of is not known here", 0, 0)
    members = np.bincount(shown.group, minlength=len(shown.groups))
    for name, counts in columns.items():
        sums = np.zeros(len(members), dtype=np.int64)
        sums[counts.group[counts.starts]] = np.add.reduceat(counts.count, counts.starts)
        differ = (sums != members) | (members == 0)
        differ[counts.group[counts.count <= 0]] = True
        if wrong := int(differ.sum()):
            reason = f"{number(wrong, 'group')} with more or fewer values than people"
            return Refused(reason, wrong, int(members[differ].sum()))
        if before.groups.sensitive[name].value.max(initial=-1) >= counts.values:
            return Refused("what earlier versions were made of is not known here", 0, 0)
    return None
