"""A line whose groups another line of the same people shows, and its latest slots."""

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
        name: of the line.
        slots: those that its latest version left.
        sha256: of the map in which they are.
    """

    name: str
    slots: SlotMap
    sha256: str

    @property
    def is_shown(self) -> np.ndarray:
        """The slots that are in groups that the latest version shows (bool)."""
        slots = self.slots
        is_shown = (slots.published >= 0) | (not slots.composed)
        return np.asarray(is_shown & (slots.kind != WITNESS))


def followed_line(work: Path, name: str, people: str | None, composed: bool) -> FollowedLine:
    """Return the line of that name, for a line of these people whose versions are composed, or not.

    Raises:
        InputError: where no version of it is known here, it is not known to be about these people,
            it keeps no map, or its versions go on in another way.
        PromiseError: where its map is gone.
    """
    number, latest = _latest(work, name)
    line = read_line(work, name)
    if line is None or people is None or line.people != people:
        raise InputError(
            f"groups: line {name} is not known to be about the same people: name them in both "
            f"specs (people:), and release {name} again"
        )
    if latest.map is None:
        raise InputError(
            f"groups: line {name} does not know who is in which group (remember: units)"
        )
    if latest.composed != composed:
        rule = "composed" if latest.composed else "not composed"
        raise InputError(f"versions: those of line {name}, whose groups they show, are {rule}")
    return FollowedLine(name, read_map(work / name, number, latest.map), latest.map)


def without_one_sided(slots: SlotMap, other: SlotMap) -> SlotMap:
    """Return the first of two maps of the same groups, without people who have slots only in it.

    Their slots are in groups of both maps: in the other map they were forgotten, or somebody else
    was given the slots. So these slots belong to nobody, and are known by their groups.
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
    """Return the number of a line's latest version, and its entry in the line's state."""
    state = read_state(work / name) if (work / name / STATE).is_file() else LineState()
    if state.pending is not None:
        raise InputError(f"groups: a run of line {name} was cut short: release it again first")
    if state.versions:
        return max(state.versions.items())
    raise InputError(
        f"groups: no version of a line {name} is known in this work directory: release it first"
    )
