"""A part of a composed line as its next version makes it: by whoever works on it, from its own map.

A part of which nobody can be shown is not in the version: its groups are closed, as those of one
table are, and whoever came to a new one waits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sfumato.expectations.errors import PromiseError
from sfumato.tasks.candidates.continued import Continuing, SlotsBefore
from sfumato.tasks.declaration.cuts import text_of_where
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.partitions.continued.evolve import NobodyShownError, require_the_same_people
from sfumato.tasks.partitions.continued.parameters import ContinuedVersions
from sfumato.tasks.parts.continued.people import find_people, people_out
from sfumato.tasks.parts.divided import PartOnDisk
from sfumato.tasks.parts.strata import read_names_of
from sfumato.tasks.private.people.maps_of_parts import MapInParts
from sfumato.tasks.private.people.slots import LIVE, VACANT, SlotMap
from sfumato.tasks.private.people.store import erased_names, last_in_parts
from sfumato.tasks.private.state import last_digest, read_state
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.stages.anonymize import write_continued_candidate

_PEOPLE = "people"  # a folder of the stage, as long as parts are made


@dataclass(frozen=True)
class PartContinuation:
    """What a worker is told of a part's past: a place in a file, and where names lie.

    Attributes:
        wish: how versions go on.
        known: the map of the line's last version, None before its first.
        number: the part's place there, None for a new part.
        people: the directory with the names of who must stay out.
        made_after: the digest of the line's last version.
    """

    wish: ContinuedVersions
    known: MapInParts | None
    number: int | None
    people: Path
    made_after: str | None

    def before(self, part: str) -> SlotsBefore:
        """The part's slots, whose groups have the ids of all parts of the version before."""
        out = people_out(self.people, part)
        if self.known is None or self.number is None:
            return SlotsBefore(None, out, None, self.made_after)
        of, slots = self.known.parts[self.number], self.known.read(self.number)
        shown = np.where(slots.published < 0, -1, slots.published + of.first_group)
        return SlotsBefore(replace(slots, published=shown), out, of.digest, self.made_after)


def continuations_of(
    parts: Sequence[PartOnDisk], continuing: Continuing, stage: Path
) -> list[PartContinuation]:
    """What each part goes on from, and who must stay out of it.

    Args:
        parts: the table.
        continuing: the line, and how it goes on.
        stage: where the names of people lie until all parts are made.

    Raises:
        PromiseError: where what the last version was made of is not known here, or most people are
            others.
    """
    state = read_state(continuing.line)
    known = last_in_parts(continuing.line, state)
    people = private_directory(stage / _PEOPLE)
    met = find_people(parts, known, erased_names(continuing.line), people)
    if not continuing.wish.others:
        require_the_same_people(met.gone, met.shown, met.new, met.rows)
    wish = continuing.wish.with_others()  # of a single part that says nothing
    digest = last_digest(state)
    if known is None:
        return [PartContinuation(wish, None, None, people, digest) for _ in parts]
    numbers = [known.number_of(text_of_where(part.where[0])) for part in parts]
    return [PartContinuation(wish, known.nameless(), of, people, digest) for of in numbers]


def continue_part(
    part: PartOnDisk, terms: Terms, place: Path, randomness: Randomness, goes_on: PartContinuation
) -> None:
    """Write the candidate of a part in `place`; none where nobody of it can be shown.

    Raises:
        PromiseError: where groups cannot go on, or the line's first version cannot be made.
    """
    before, rows = goes_on.before(part.name), part.read(terms)
    names = read_names_of(part.strata)
    come_later = before.slots is None and goes_on.known is not None
    if come_later and rows.rows - len(before.out) < goes_on.wish.cohort:
        return
    try:
        write_continued_candidate(
            rows,
            names,
            terms,
            place,
            randomness,
            goes_on.wish,
            before,
            may_leave_out=not come_later,
        )
    except PromiseError as error:
        ends = before.slots is not None and isinstance(error, NobodyShownError)
        if not (ends or come_later):
            raise


def close_slots(slots: SlotMap) -> SlotMap:
    """The slots of a part of which nobody is shown: its groups are shown no more."""
    kind = slots.kind.copy()
    kind[kind == LIVE] = VACANT
    nothing = np.full(len(slots), -1)
    gone = np.ones(len(slots), dtype=bool)
    return replace(slots, kind=kind, published=nothing, retired=gone, composed=True)
