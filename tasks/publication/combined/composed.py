"""The composition gate: whether a staged version may stand beside all those before it.

It holds two things against each other, neither of which is believed by itself: what the staged
files show of each group, and what the private map says of who stands in which. Whatever is missing
or does not agree is refused.

Source: the theorems of atoms, signatures and slots (see `expectations.composition.gate`).
"""

from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.expectations.composition.gate import Passed, gate
from sfumato.expectations.composition.refusals import Refused, number
from sfumato.expectations.composition.state import Shown
from sfumato.expectations.errors import PromiseError
from sfumato.expectations.groups.counting import dense
from sfumato.expectations.groups.groups import Groups
from sfumato.tasks.declaration.opened import open_release
from sfumato.tasks.declaration.shown_form import form_of
from sfumato.tasks.declaration.tables import read_tables
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.forms.composed.lineage import LINEAGE, PREVIOUS, rows_of, vacant_of
from sfumato.tasks.forms.composed.registry import VACANCIES
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.private.people.groups import groups_ever
from sfumato.tasks.private.people.kinds import LIVE, VACANT, WITNESS
from sfumato.tasks.private.people.numbered import count_of, person_numbers
from sfumato.tasks.private.people.slots import SlotMap, from_table
from sfumato.tasks.private.people.store import slots_so_far
from sfumato.tasks.private.state import LineState, last_digest, read_state
from sfumato.tasks.publication.combined.common_values import by_values, in_common
from sfumato.tasks.publication.combined.shown import ShownVersion
from sfumato.tasks.publication.combined.succession import breaches
from sfumato.tasks.publication.line import Candidate, Line

_GROUP = "/group"


def require_composed(line: Line, candidate: Candidate, staging: Path) -> Passed | None:
    """Refuse a staged version that tells more together with earlier ones than it promises.

    Returns:
        What is told, None where its groups show no values.

    Raises:
        PromiseError: with the rule, and counts of groups alone.
    """
    state = read_state(line.private)
    if candidate.made_after != last_digest(state):
        raise PromiseError("another version of the line was published meanwhile: run again")
    if candidate.map is None:
        raise _broken("what the version is made of is not known here")
    declared = open_release(staging).declared
    if declared.predecessor not in (None, last_digest(state)):
        raise _broken("the version continues another one than the last")
    tables = read_tables(declared, staging / "data")
    before, now = (
        slots_so_far(line.private, state),
        from_table(candidate.map, "the candidate's map"),
    )
    verdict = _judged(before, now, declared, tables)
    if isinstance(verdict, Refused):
        raise _broken(str(verdict))
    if declared.predecessor is not None:
        _require_succession(line, state, before, declared, tables)
    return verdict


def _require_succession(
    line: Line, state: LineState, before: SlotMap | None, declared: Declared, tables: Tables
) -> None:
    """Refuse groups that do not show what they showed in the version before.

    And a map of that version that does not know all of its groups and values.
    """
    last = ShownVersion.of(open_release(line.public / max(state.versions)))
    if before is None or not _knows_all(before, last):
        raise _broken("the map of the version before is not that of its groups")
    if found := list(breaches(last, ShownVersion(declared, tables))):
        raise _broken("; ".join(found))


def _knows_all(before: SlotMap, last: ShownVersion) -> bool:
    """Decide whether a map has the people, and the vacant values, of every group of a version."""
    lineage = last.tables[LINEAGE]
    shown = before.published >= 0
    live, vacant = (
        np.bincount(before.published[shown & (before.kind == kind)], minlength=lineage.num_rows)
        for kind in (LIVE, VACANT)
    )
    tells = VACANCIES[last.declared.form.method].tells
    return np.array_equal(live, rows_of(lineage)) and (
        not tells or np.array_equal(vacant, vacant_of(lineage))
    )


def _broken(why: str) -> PromiseError:
    return PromiseError(f"versions: composed is broken: {why}")


def _judged(
    before: SlotMap | None, now: SlotMap, declared: Declared, tables: Tables
) -> Passed | Refused | None:
    """The verdict on a version, whose groups' values are those that the published tables show.

    None where they show none: what is shown in their place is compared with the version before.
    """
    names = person_numbers(*(one.key for one in (before, now) if one is not None))
    if refused := _too_present(now, declared) or _moved(before, now, names, tables[LINEAGE]):
        return refused
    if declared.form.declares:
        return None
    columns = _columns(declared)
    shown = form_of(declared).groups(tables, declared.columns, (), columns)
    members = np.flatnonzero((now.kind != WITNESS) & (now.published >= 0))
    promises = [by_values(promise) for promise in declared.promises]
    ids = _ids(before, now, names)
    of_now, atoms = Groups(shown.sizes, dict(shown.sensitive)), None
    if before is not None:
        people = np.flatnonzero(before.kind != WITNESS)
        of_before, of_now = in_common(groups_ever(before, columns), of_now)
        past = Shown(ids[0], _dense(before.group[people]), of_before, np.ones(len(people), bool))
        found = gate(None, past, [])
        if isinstance(found, Refused):
            return found
        atoms = found.atoms
    version = Shown(ids[1][members], now.published[members], of_now, now.kind[members] == LIVE)
    return gate(atoms, version, [promise for promise in promises if promise is not None])


def _moved(
    before: SlotMap | None, now: SlotMap, names: list[np.ndarray], lineage: pa.Table
) -> Refused | None:
    """Why people are in other groups than those that go on from theirs, None where nobody is."""
    if before is None or not before.composed:
        return None
    previous = lineage[PREVIOUS].fill_null(-1).to_numpy()
    of_before, of_now = names
    place = np.full(count_of(names), -1, dtype=np.int64)
    place[of_before[before.held]] = np.flatnonzero(before.held)
    is_ = np.flatnonzero(place[of_now] >= 0)
    was = place[of_now[is_]]
    shown = (before.published[was] >= 0) & (now.published[is_] >= 0)
    was, is_ = was[shown], is_[shown]
    moved = previous[now.published[is_]] != before.published[was]
    if not moved.any():
        return None
    people = int(moved.sum())
    return Refused(f"{number(people, 'person')} in another group than before", 0, people)


def _columns(declared: Declared) -> list[str]:
    """The columns whose values stay with a group: in recoded forms all but quasi-identifiers."""
    return declared.named("sensitive", *(["insensitive"] if declared.recoded else []))


def _too_present(now: SlotMap, declared: Declared) -> Refused | None:
    """Why all groups ever published together tell more of anybody's presence than is promised."""
    for promise in declared.promises:
        if promise.judged_jointly:
            covered = promise.quasi_identifiers or ()
            ever = groups_ever(now, [str(promise.sensitive)], covered)
            if not (verdict := promise.check(ever)).holds:
                reason = f"all versions together break {promise.title}"
                return Refused(reason, verdict.failing, 0)
    return None


def _dense(numbers: np.ndarray) -> np.ndarray:
    return dense(numbers)[0]


def _ids(
    before: SlotMap | None, now: SlotMap, names: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """An id for whoever holds each slot, in the map before (its people alone) and in this one.

    SlotMap that nobody holds any more, because they were forgotten, are told apart by their groups.
    """
    maps = [one for one in (before, now) if one is not None]
    kept = [np.flatnonzero(one.kind != WITNESS) for one in maps]
    ids = np.concatenate([of[at] for of, at in zip(names, kept, strict=True)])
    group = np.concatenate([one.group[at] for one, at in zip(maps, kept, strict=True)])
    map_ = np.repeat(np.arange(len(maps)), [len(at) for at in kept])
    nobody = ~np.concatenate([one.held[at] for one, at in zip(maps, kept, strict=True)])
    order = np.lexsort((map_[nobody], group[nobody]))
    runs = np.flatnonzero(nobody)[order]
    place = np.arange(len(runs)) - _start_of_run(group[runs] * 2 + map_[runs])
    ids[runs] = ids.max(initial=0) + 1 + _dense(group[runs] * (len(ids) + 1) + place)
    ids = _dense(ids)
    of_now = np.full(len(now), -1, dtype=np.int64)
    of_now[kept[-1]] = ids[map_ == len(maps) - 1]
    return ids[map_ == 0], of_now


def _start_of_run(keys: np.ndarray) -> np.ndarray:
    """Where the run of equal keys that each is in starts (int64)."""
    if not len(keys):
        return keys
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    return np.repeat(starts, np.diff(np.append(starts, len(keys))))
