"""Composed versions in parts: a part continues as its own line, and nobody is ever in two.

A *slot* is a row of a published version: its group, and the values that the group goes on to show
for it. A person who was given a slot keeps it (see `private.people.slots`). The *map* of a version
is the private file of all slots of the line.

A person's *name* is a keyed hash of the person's unit (16 bytes, S16). Names are divided by their
first bits into files that fit into memory. For each part, a file has the names of people who must
stay out of it: those who have, or had, a slot in another part, and those who were forgotten.

A part of which nobody can be shown is not in the version. Its groups are closed as groups of a
version in one table are, and its slots stay in the map. People who came to a new part wait for a
later version.

A part is identified by its cut: the text of the shares that define its stratum, or its piece of
one. The name of a part is its number in a version.
"""

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.tasks.arrays.at_rest import write_stage_table
from sfumato.tasks.candidates.continued import LineContinuation, SlotsBefore
from sfumato.tasks.candidates.remember import (
    file_of_map,
    map_in,
    write_map_followed,
    write_version_before,
)
from sfumato.tasks.continued.evolve import NobodyShownError, require_the_same_people
from sfumato.tasks.continued.parameters import ContinuedVersions
from sfumato.tasks.microdata.table import Randomness
from sfumato.tasks.parts.cuts import Cuts, cuts_of_document, read_cuts
from sfumato.tasks.parts.divided import PartOnDisk
from sfumato.tasks.parts.strata import read_names_of
from sfumato.tasks.private.people.keys import NAME
from sfumato.tasks.private.people.maps_of_parts import Buckets, MapInParts, MappedPart, join_maps
from sfumato.tasks.private.people.slots import LIVE, VACANT, SlotMap, as_table
from sfumato.tasks.private.people.store import count_of, erased_names, last_in_parts, person_numbers
from sfumato.tasks.private.state import LineState, last_digest, read_state
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.publication.parts import terms_of_part
from sfumato.tasks.publication.parts_read import are_apart
from sfumato.tasks.stages.anonymize import write_continued_candidate
from sfumato.tasks.stages.stage import read_note, write_note
from sfumato.tasks.terms.parts import (
    PartsOfTable,
    PublishedPart,
    Where,
    text_of_where,
    where_of_text,
)
from sfumato.tasks.terms.terms import Terms

_PEOPLE = "people"  # a folder of the stage while parts are made
CUTS = "cuts"
"""The cuts of the line, in the stage of a divided table."""


@dataclass
class PeopleMet:
    """Counts of a line's people in a table.

    Attributes:
        shown: people whom the line's last version shows.
        gone: those of them who are not in the table.
        rows: all people in the table.
        new: people in the table who have no slot, and never had one, and were not forgotten.
    """

    shown: int = 0
    gone: int = 0
    rows: int = 0
    new: int = 0


def find_people(
    parts: Sequence[PartOnDisk], last_map: MapInParts | None, erased: np.ndarray, place: Path
) -> PeopleMet:
    """Write for each part the people who must stay out, and count who came and left.

    Args:
        parts: the parts of the table.
        last_map: the map of the line's last version, None before its first.
        erased: the names of people whose slots were forgotten (S16, sorted).
        place: a private directory of the run, for files of names (see `file_of_out`).

    Raises:
        PromiseError: if somebody has slots in two parts.
    """
    here, there = (Buckets(private_directory(place / name)) for name in ("here", "there"))
    for number, part in enumerate(parts):
        here.add(read_names_of(part.strata), number)
    place_of = _places(parts, last_map)
    if last_map is not None:
        for number in range(len(last_map.parts)):
            names, kind = last_map.names(number)
            has_name = names != b""
            there.add(names[has_name], number, kind[has_name] == LIVE)
    met = PeopleMet()
    # Bucket by bucket: the people of the table (here), and those with slots in the map (there).
    # `of_rows` are parts of the table, `of_names` parts of the map.
    for (rows, of_rows, _), (names, of_names, live) in zip(here.each(), there.each(), strict=True):
        # The same person has the same number in all three arrays.
        of_people, of_slots, of_erased = numbers = person_numbers(rows, names, erased)
        last_place = np.full(count_of(numbers), -1, dtype=np.int64)  # of each person
        last_place[of_slots] = of_names
        _require_one(last_place[of_slots], of_names)
        is_erased, known_in = np.isin(of_people, of_erased), last_place[of_people]
        # People stay out of a part if they were forgotten, or have a slot in another part.
        out = is_erased | ((known_in >= 0) & (known_in != place_of[of_rows]))
        for number in np.unique(of_rows[out]).tolist():
            _append(file_of_out(place, parts[number].name), rows[out & (of_rows == number)])
        met.shown += int(live.sum())
        met.gone += int((live & ~np.isin(of_slots, of_people)).sum())
        met.rows += len(rows)
        met.new += int(((known_in < 0) & ~is_erased).sum())
    return met


def people_out(place: Path, part: str) -> np.ndarray:
    """Return the names of people who must stay out of a part (S16, sorted)."""
    file = file_of_out(place, part)
    return np.sort(np.fromfile(file, dtype=NAME)) if file.exists() else np.array([], dtype=NAME)


def file_of_out(place: Path, part: str) -> Path:
    """Return the file with the names of people who must stay out of a part."""
    return place / f"out-{part}"


def _places(parts: Sequence[PartOnDisk], last_map: MapInParts | None) -> np.ndarray:
    """Return the position in the map of each part of a table (int64), -1 for a new part."""
    number_of_part = (
        {} if last_map is None else {part.where: n for n, part in enumerate(last_map.parts)}
    )
    places = [number_of_part.get(text_of_where(part.where[0]), -1) for part in parts]
    return np.array(places, dtype=np.int64)


def _require_one(places: np.ndarray, of_names: np.ndarray) -> None:
    if (places != of_names).any():
        raise PromiseError("versions: composed is broken, because people have places in two parts")


def _append(file: Path, names: np.ndarray) -> None:
    with file.open("ab") as out:
        out.write(names.astype(NAME).tobytes())


@dataclass(frozen=True)
class PartContinuation:
    """The past of a part, as files: a worker that makes the part reads them.

    Attributes:
        wish: the spec's rules by which versions continue.
        known: the map of the line's last version, None before its first.
        number: the part's position in the map, None for a new part.
        people: the directory with the names of people who must stay out.
        made_after: the digest of the line's last version.
    """

    wish: ContinuedVersions
    known: MapInParts | None
    number: int | None
    people: Path
    made_after: str | None

    def slots_before(self, part: str) -> SlotsBefore:
        """Return the slots that a part continues; `slots` of the result is None for a new part.

        A map has ids of groups by part; here they are numbered through all parts of the version
        before.
        """
        out = people_out(self.people, part)
        if self.known is None or self.number is None:
            return SlotsBefore(None, out, None, self.made_after)
        mapped, slots = self.known.parts[self.number], self.known.read(self.number)
        published = np.where(slots.published < 0, -1, slots.published + mapped.first_group)
        return SlotsBefore(replace(slots, published=published), out, mapped.digest, self.made_after)


def continuations_of(
    parts: Sequence[PartOnDisk], continuing: LineContinuation, stage: Path
) -> list[PartContinuation]:
    """Return the past that each part continues, with the people who must stay out of it.

    Args:
        parts: the parts of the table.
        continuing: the line, and how it continues.
        stage: the stage, which has the names of people until all parts are made.

    Raises:
        PromiseError: if what the last version was made of is not known here, or most people are
            others.
    """
    state = read_state(continuing.line)
    last_map = last_in_parts(continuing.line, state)
    people = private_directory(stage / _PEOPLE)
    met = find_people(parts, last_map, erased_names(continuing.line), people)
    if not continuing.wish.others:
        require_the_same_people(met.gone, met.shown, met.new, met.rows)
    wish = continuing.wish.with_others()  # counts of a single part mean nothing
    digest = last_digest(state)
    if last_map is None:
        return [PartContinuation(wish, None, None, people, digest) for _ in parts]
    numbers = [last_map.number_of(text_of_where(part.where[0])) for part in parts]
    return [
        PartContinuation(wish, last_map.nameless(), number, people, digest) for number in numbers
    ]


def continue_part(
    part: PartOnDisk, terms: Terms, place: Path, randomness: Randomness, goes_on: PartContinuation
) -> None:
    """Write the candidate of a part in `place`; no candidate if nobody of it can be shown.

    Raises:
        PromiseError: if groups cannot go on, or the line's first version cannot be made.
    """
    before, rows = goes_on.slots_before(part.name), part.read(terms)
    names = read_names_of(part.strata)
    # a new part of a line that has versions: its people may wait
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
        # a part that was in the line before ends if nobody in it can be shown any more
        ends = before.slots is not None and isinstance(error, NobodyShownError)
        if not (ends or come_later):
            raise


def close_slots(slots: SlotMap) -> SlotMap:
    """Return the slots of a part of which nobody is shown: vacant, and in retired groups."""
    kind = slots.kind.copy()
    kind[kind == LIVE] = VACANT
    nothing = np.full(len(slots), -1)
    gone = np.ones(len(slots), dtype=bool)
    return replace(slots, kind=kind, published=nothing, retired=gone, composed=True)


@dataclass(frozen=True)
class CutOfLine:
    """Cuts of a line.

    Attributes:
        cuts: the pieces of every stratum that is cut.
        fixed: the strata and pieces whose groups continue, by their defining shares.
    """

    cuts: Cuts
    fixed: frozenset[str] = frozenset()

    def require_kept(self, wheres: Sequence[Where], terms: Terms) -> None:
        """Refuse a table whose parts have rows of several parts of the line, or of half of one.

        Args:
            wheres: the strata and pieces into which the table is cut.
            terms: the terms of the version.

        Raises:
            InputError: with the rule.
        """
        fixed = {where_of_text(text) for text in self.fixed}
        if fixed and not are_apart(list(fixed | set(wheres)), terms.columns):
            raise InputError(
                "parts: the line was cut in another way, and groups of composed "
                "versions must stay in their parts. Write strata, parts.by and "
                "parts.at as in the first version"
            )


def cut_so_far(line: Path, parts: PartsOfTable, *, composed: bool) -> CutOfLine:
    """Return the cuts of a line; a composed line keeps them, however many rows a part has now.

    Args:
        line: its private directory.
        parts: the parts that its spec asks for.
        composed: whether its versions are composed.

    Raises:
        PromiseError: if what its last version was made of is not known here, or was no table in
            parts.
    """
    last_map = last_in_parts(line, read_state(line)) if composed else None
    if last_map is None:
        return CutOfLine(read_cuts(line, parts))
    return CutOfLine(
        cuts_of_document(last_map.cuts), frozenset(part.where for part in last_map.parts)
    )


# the note that names the parts that are shown, and the prefix of the folders of all others
_SHOWN, _AWAY = "shown", "away"


# folders of a part: as it was made, and as it was judged
_CANDIDATE, _JUDGED = "candidate", "judged"


def settle_parts(stage: Path, parts: Sequence[PartOnDisk], terms: Terms) -> list[PartOnDisk]:
    """Number the parts that have a candidate anew, from 0001 on.

    Their folders are renamed. The stage gets a note of their former names, and one of the sums of
    their counts of people.

    Args:
        stage: the stage in which all parts were made.
        parts: the parts of the table.
        terms: the terms of the version.

    Returns:
        The parts that have a candidate, by their new names.

    Raises:
        PromiseError: if no part has a candidate.
    """
    shown_parts = [part for part in parts if (stage / part.name / _CANDIDATE).exists()]
    if not shown_parts:
        raise PromiseError("versions: composed: no group of earlier versions can be shown any more")
    for part in parts:
        if part not in shown_parts:
            (stage / part.name).rename(stage / f"{_AWAY}-{part.name}")
    settled, counts = [], Counter[str]()
    for number, part in enumerate(shown_parts, start=1):
        renamed = replace(part, name=f"{number:04d}")
        (stage / part.name).rename(stage / renamed.name)
        place = stage / renamed.name / _CANDIDATE
        title = terms_of_part(terms, renamed.name, len(shown_parts)).title
        write_note(place, "declared", {**read_note(place, "declared"), "title": title})
        counts.update(read_note(place, "counts"))
        settled.append(renamed)
    counts.update(_counts_of_away(stage, [part for part in parts if part not in shown_parts]))
    shutil.rmtree(stage / _PEOPLE)
    write_note(stage, "counts", dict(counts))
    write_note(stage, _SHOWN, [part.name for part in shown_parts])
    return settled


def _counts_of_away(stage: Path, parts: Sequence[PartOnDisk]) -> dict[str, int]:
    """Return the numbers of people in parts that are not shown.

    `withheld` are those who must stay out of their part, and `waiting` all others.
    """
    out = [file_of_out(stage / _PEOPLE, part.name) for part in parts]
    withheld = sum(file.stat().st_size // NAME.itemsize for file in out if file.exists())
    rows = sum(part.rows for part in parts)
    return {"withheld": withheld, "waiting": rows - withheld}


def parts_in(candidate: Path, parts: Sequence[PartOnDisk]) -> list[PartOnDisk | None]:
    """Return each part of a table by its name in a candidate, None if the candidate lacks it."""
    if not (candidate / f"{_SHOWN}.json").exists():
        return list(parts)
    places = {name: number for number, name in enumerate(read_note(candidate, _SHOWN), start=1)}
    return [
        replace(part, name=f"{places[part.name]:04d}") if part.name in places else None
        for part in parts
    ]


def write_map_of_parts(
    candidate: Path,
    divided: Path,
    published: Sequence[PublishedPart],
    last_map: MapInParts | None,
    state: LineState,
) -> None:
    """Write the map of all parts to the stage of a candidate.

    Args:
        candidate: the stage in which each shown part was judged.
        divided: the stage of the divided table, which notes the cuts of the line.
        published: the declaration of each shown part.
        last_map: the map of the line's last version, None before its first.
        state: the state of the line.

    Raises:
        PromiseError: if a part has no map, or the maps of two parts have other columns or types.
    """
    entries = []
    for part in published:
        file_of_map(candidate / part.name / _CANDIDATE).unlink(missing_ok=True)
        place = map_in(candidate / part.name / _JUDGED)
        if place is None:
            raise PromiseError("versions: composed is broken, because a part has no map")
        where = text_of_where(part.where[0])
        mapped = MappedPart(where, first_group=part.first_group, digest=part.digest)
        entries.append((mapped, place))
    shown_places = {mapped.where for mapped, _ in entries}
    if last_map is not None:
        entries += _closed_parts(last_map, shown_places, candidate)
    join_maps(file_of_map(candidate), entries, read_note(divided, CUTS))
    for _, place in entries:
        place.unlink()
    write_version_before(candidate, last_digest(state))
    write_map_followed(candidate, None)


def _closed_parts(
    last_map: MapInParts, shown_places: Set[str], candidate: Path
) -> Iterator[tuple[MappedPart, Path]]:
    """Yield the parts of the line of which nobody is shown, and the map of each in a file."""
    for number, part in enumerate(last_map.parts):
        if part.where not in shown_places:
            place = candidate / f"closed-{number}.parquet"
            write_stage_table(as_table(close_slots(last_map.read(number))), place)
            yield MappedPart(part.where), place


def rows_left_out(candidate: Path, parts: Sequence[PartOnDisk], name: str) -> np.ndarray | None:
    """Return whether each row of all parts is left out (bool), one part after the other.

    Args:
        candidate: the stage in which each shown part was judged.
        parts: the parts of the table.
        name: the name of the file in which a shown part marks its rows that are left out.

    Returns:
        None if all rows are in the release.
    """
    places = [
        None if part is None else candidate / part.name / _JUDGED / name
        for part in parts_in(candidate, parts)
    ]
    left_out = [
        np.full(part.rows, place is None) if place is None or not place.exists() else np.load(place)
        for part, place in zip(parts, places, strict=True)
    ]
    return np.concatenate(left_out) if any(rows.any() for rows in left_out) else None
