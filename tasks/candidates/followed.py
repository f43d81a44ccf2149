"""A version in the groups of another line about the same people: in another form, or beside others.

A person who holds a slot of a shown group there holds it here. A group is shown whole, with the
values of everybody who ever was in it. If the two lines have no common column whose values stay
with a group, it has the values of those who are here when it is first shown. People in no such
group wait.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.expectations.groups.counting import dense
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.continued.survivors import stack
from sfumato.tasks.lines.line import Line
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.partitions.of_line import line_of
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.private.people.followed import FollowedLine, followed_line
from sfumato.tasks.private.people.keys import NAME
from sfumato.tasks.private.people.lines import lock_of_lines, read_line
from sfumato.tasks.private.people.seen import take_slots
from sfumato.tasks.private.people.slots import SlotMap, groups_ever
from sfumato.tasks.private.people.store import count_of, person_numbers
from sfumato.tasks.private.state import read_state
from sfumato.tasks.terms.terms import Terms

if TYPE_CHECKING:
    from sfumato.tasks.continued.evolve import Evolved


def find_followed(line: Line, terms: Terms) -> FollowedLine | None:
    """Return the line whose groups a line shows, None if the line makes its own.

    Raises:
        InputError: if that line is not known here, or cannot be followed.
        PromiseError: if a composed line goes on in other groups than that line's.
    """
    name = line_of(terms.partition)
    if name is None:
        return None
    own_line, state = read_line(line.work, line.name), read_state(line.private)
    composed = any(version.composed for version in state.versions.values())
    if composed and (own_line is None or own_line.groups != name):
        raise PromiseError(
            "groups: earlier versions of this line have other groups than line "
            f"{name}, and cannot continue in these. Start a line with another name "
            "about the same people"
        )
    with lock_of_lines(line.work):
        return followed_line(line.work, name, line.people, terms.is_composed)


def lasting_columns(terms: Terms) -> list[str]:
    """Return the columns whose values stay with a group.

    In recoded forms these are all but quasi-identifiers.
    """
    return terms.names_with_roles("sensitive", *(["insensitive"] if terms.is_recoded else []))


def partition_as_followed(
    table: Microdata, names: np.ndarray, followed: FollowedLine, lasting: Sequence[str]
) -> Partition:
    """Return the groups of a version that continues none: those all of whose people are here.

    Args:
        table: the de-identified rows.
        names: of each row's person (S16).
        followed: the other line.
        lasting: the columns whose values stay with a group.

    Raises:
        PromiseError: if no group can be shown.
    """
    row = _rows_of_slots(names, followed.slots)
    visible = followed.is_shown
    if _share_values(followed, lasting):
        visible = _whole(followed.slots, visible, _same_values(table, row, followed.slots, lasting))
    slots = np.flatnonzero(visible & (row >= 0))
    if not len(slots):
        raise _error_of_nobody(followed)
    group = np.full(table.rows, -1, dtype=np.int64)
    group[row[slots]] = dense(followed.slots.group[slots])[0]
    return Partition(group)


def slots_as_followed(
    table: Microdata,
    names: np.ndarray,
    before: SlotMap | None,
    followed: FollowedLine,
    lasting: Sequence[str],
    erased: np.ndarray,
) -> SlotMap:
    """Return the slots of a composed line that follows another: its own and those of new groups.

    Args:
        table: the de-identified rows.
        names: of each row's person (S16).
        before: the line's own slots, None before its first version.
        followed: the other line.
        lasting: the columns whose values stay with a group.
        erased: the names of people whose slots were forgotten here (S16, sorted).

    Raises:
        PromiseError: if no group can be shown.
    """
    there = followed.slots
    row = _rows_of_slots(names, there)
    new = followed.is_shown
    if before is not None:
        new &= ~np.isin(there.group, _known_here(there, before))
    complete = all(_has(there, column.name, column.role) for column in table.columns)
    if not complete and _share_values(followed, lasting):
        new = _whole(there, new, _same_values(table, row, there, lasting))
    taken = np.flatnonzero(new if complete else new & (row >= 0))
    entering = _entering(table, there, taken, row[taken], erased)
    if before is None:
        if not (row[taken] >= 0).any():
            raise _error_of_nobody(followed)
        return entering
    return _add_slots(before, entering, followed)


def require_promises_kept(
    slots: SlotMap, before: SlotMap | None, promises: Sequence[PrivacyModel], name: str
) -> None:
    """Refuse groups that are new to a line and break a promise while all their people are in them.

    Raises:
        PromiseError: with counts of groups.
    """
    first = -1 if before is None else before.group
    new = np.flatnonzero(~np.isin(slots.group, first))
    if not len(new):
        return
    entering = replace(take_slots(slots, new), levels={})
    for promise in promises:
        sensitive = [promise.sensitive] if promise.sensitive else []
        groups = groups_ever(entering, sensitive)
        if broken := int(promise.failing(groups).sum()):
            raise PromiseError(
                f"groups: {broken} of {len(groups)} groups of line {name} do not keep "
                f"{promise.title}. Promise here what they keep, or change the promises "
                "of that line"
            )


def counts_as_followed(
    evolved: "Evolved", names: np.ndarray, before: SlotMap | None
) -> Mapping[str, int]:
    """Return the counts of a version with groups, and people, that are new only to this line."""
    was_here = np.zeros(len(names), dtype=bool)
    if before is not None:
        was_here = np.isin(names, before.key[before.is_held])
    continued = evolved.drawn.partition.continued
    assert continued is not None  # noqa: S101 - every evolved version has it
    goes_on = continued.previous >= 0
    return {
        **evolved.counts,
        "continued": int((evolved.shown & was_here).sum()),
        "new": int((evolved.shown & ~was_here).sum()),
        "groups_continued": int(goes_on.sum()),
        "groups_new": int((~goes_on).sum()),
    }


def _rows_of_slots(names: np.ndarray, slots: SlotMap) -> np.ndarray:
    """Return the row of each slot's holder (int64, one per slot), -1 if it is not in the table."""
    of_rows, of_slots = numbers = person_numbers(names, slots.key)
    row = np.full(count_of(numbers), -1, dtype=np.int64)
    row[of_rows] = np.arange(len(names))
    return np.where(slots.own, row[of_slots], -1)


def _has(slots: SlotMap, name: str, role: str) -> bool:
    return slots.rows.has(name) and slots.rows[name].role == role


def _share_values(followed: FollowedLine, lasting: Sequence[str]) -> bool:
    """Decide whether both lines have a column whose values stay with a group."""
    return any(followed.slots.rows.has(name) for name in lasting)


def _same_values(
    table: Microdata, row: np.ndarray, slots: SlotMap, names: Sequence[str]
) -> np.ndarray:
    """Mark the slots whose holder is in the table and has the same values still (bool).

    A column that has another role in the other line has no values to be compared.
    """
    names = [name for name in names if _has(slots, name, table[name].role)]
    ours, theirs = ([source[name] for name in names] for source in (table, slots.rows))
    both = stack(table.keep(ours), slots.rows.keep(theirs))
    same = row >= 0
    for name in names:
        codes = both[name].codes
        same &= codes[row] == codes[table.rows :]
    return same


def _whole(slots: SlotMap, visible: np.ndarray, here: np.ndarray) -> np.ndarray:
    """Return the visible slots (bool) in whose groups all visible slots are `here` (bool)."""
    return visible & ~np.isin(slots.group, slots.group[visible & ~here])


def _known_here(there: SlotMap, before: SlotMap) -> np.ndarray:
    """Return the groups that the line has shown, or whose people have another place in it."""
    elsewhere = there.is_held & np.isin(there.key, before.key[before.is_held])
    return np.concatenate([before.group, there.group[elsewhere]])


def _entering(
    table: Microdata, there: SlotMap, taken: np.ndarray, row: np.ndarray, erased: np.ndarray
) -> SlotMap:
    """Return slots of the other line as slots of this one: values that it lacks are the table's."""
    columns = [
        there.rows[column.name].take(taken)
        if _has(there, column.name, column.role)
        else column.take(row)
        for column in table.columns
    ]
    key = there.key[taken].copy()
    key[np.isin(key, erased)] = b""
    return SlotMap(
        key=key.astype(NAME),
        group=there.group[taken],
        published=np.full(len(taken), -1, dtype=np.int64),
        since=np.ones(len(taken), dtype=np.int64),
        kind=there.kind[taken],
        retired=np.zeros(len(taken), dtype=bool),
        rows=Microdata(tuple(columns), len(taken)),
        composed=True,
    )


def _add_slots(before: SlotMap, entering: SlotMap, followed: FollowedLine) -> SlotMap:
    """Return the line's slots and entering ones; retire those that the other line shows no more."""
    there = followed.slots
    gone = ~np.isin(before.group, there.group[followed.is_shown])
    none = np.zeros(len(entering), dtype=np.int64)
    since = int(before.since.max(initial=0)) + 1
    return replace(
        before,
        key=np.concatenate([entering.key, before.key]),
        group=np.concatenate([entering.group, before.group]),
        published=np.concatenate([entering.published, before.published]),
        since=np.concatenate([entering.since * since, before.since]),
        kind=np.concatenate([entering.kind, before.kind]).astype(np.int8),
        retired=np.concatenate([entering.retired, before.retired | gone]),
        rows=stack(entering.rows, before.rows),
        levels={name: np.append(none, level) for name, level in before.levels.items()},
    )


def _error_of_nobody(followed: FollowedLine) -> PromiseError:
    return PromiseError(
        f"groups: no group of line {followed.name} can be shown, because each lacks "
        "people in this source"
    )
