"""The line whose groups another line shows (`groups` in its spec), with its private map.

A slot is a row of a published version: a place in a group, which a person holds (the holder). The
map of a version lists all slots of its line; see `tasks.private.people.slots`.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.private.people.lines import read_line
from sfumato.tasks.private.people.slots import WITNESS, SlotMap
from sfumato.tasks.private.people.store import read_map
from sfumato.tasks.private.state import STATE, LineState, PublishedVersion, read_state


@dataclass(frozen=True, eq=False)
class FollowedLine:
    """A line that another one follows.

    Attributes:
        name: the name of the line.
        slots: the line's slots after its latest version.
        sha256: the SHA-256 of the map that they were read from.
    """

    name: str
    slots: SlotMap
    sha256: str

    @property
    def is_shown(self) -> np.ndarray:
        """The slots in groups that the latest version shows (bool, one per slot).

        All groups count as shown if versions are not composed. Witnesses are no slots of people.
        """
        slots = self.slots
        is_shown = (slots.published >= 0) | (not slots.composed)
        return np.asarray(is_shown & (slots.kind != WITNESS))


def followed_line(work: Path, name: str, people: str | None, composed: bool) -> FollowedLine:
    """Return the line that another line follows.

    Args:
        work: the work directory of both lines.
        name: the name of the line to follow.
        people: the name of the other line's people in its spec; None if it has none.
        composed: whether the other line's versions are composed.

    Raises:
        InputError: if the line has no version in the work directory, its last run was cut short, it
            is not known to be about the same people, it keeps no map, or the versions of only one
            of the two lines are composed.
        PromiseError: if its map is gone.
    """
    number, latest = _latest(work, name)
    line = read_line(work, name)
    if line is None or people is None or line.people != people:
        raise InputError(
            f"groups: line {name} is not known to be about the same people. Write the "
            f"same `people: NAME` in both specs, then release {name} again"
        )
    if latest.map is None:
        raise InputError(
            f"groups: line {name} does not record who is in which group. Its spec "
            "needs `remember: map`, or follow another line"
        )
    if latest.composed != composed:
        rule = "composed" if latest.composed else "not composed"
        raise InputError(
            f"versions: must have the same rule as line {name}, because this line shows "
            f"its groups. The versions of {name} are {rule}"
        )
    return FollowedLine(name, read_map(work / name, number, latest.map), latest.map)


def without_one_sided(slots: SlotMap, other: SlotMap) -> SlotMap:
    """Return a map in which slots of people whom another map does not know have no holder.

    Both maps have groups in common. If a person has a slot of such a group in `slots`, but no slot
    in `other`, the other map has forgotten the person, or gave the slot to somebody else. Then the
    slot stays without its holder's name, and only its group identifies it.
    """
    alone = (
        slots.is_held
        & np.isin(slots.group, other.group)
        & ~np.isin(slots.key, other.key[other.is_held])
    )
    key = slots.key.copy()
    key[alone] = b""
    return replace(slots, key=key)


def _latest(work: Path, name: str) -> tuple[str, PublishedVersion]:
    """Return the number of a line's latest version, and its entry in the line's state.

    Raises:
        InputError: if there is no version, or a run of the line was cut short.
    """
    state = read_state(work / name) if (work / name / STATE).is_file() else LineState()
    if state.pending is not None:
        raise InputError(
            f"groups: a run of line {name} was interrupted. Release that line again first"
        )
    if state.versions:
        return max(state.versions.items())
    raise InputError(
        f"groups: no version of a line {name} is known in this work directory. Release "
        "that line first"
    )
