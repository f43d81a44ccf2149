"""Composed versions in parts: a part goes on as a line of its own, and nobody is ever in two.

Names are keyed hashes, and are told apart by their first bits into files that fit into memory. Of
each part is kept who is in it and must stay out: whoever has, or had, a slot in another part, and
whoever was forgotten.

A part of which nobody can be shown is not in the version: its groups are closed, as those of one
table are, and whoever came to a new one waits.

A part is known by its cut, and its name is its place in a version. Whoever is in a part that is not
shown is not represented; its slots stay in the map.
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

_PEOPLE = "people"  # a folder of the stage, as long as parts are made
CUTS = "cuts"
"""The cuts of the line, in the stage of a divided table."""


@dataclass
class PeopleMet:
    """How many people of a line are in a table: who was shown and is gone, and who is new."""

    shown: int = 0
    gone: int = 0
    rows: int = 0
    new: int = 0


def find_people(
    parts: Sequence[PartOnDisk], known: MapInParts | None, erased: np.ndarray, place: Path
) -> PeopleMet:
    """Write for each part who of its people must stay out, and count who came and left.

    Args:
        parts: the table.
        known: the map of the line's last version, None before its first.
        erased: the names of people whose slots were forgotten (S16, sorted).
        place: a private directory of the run, where names lie.

    Raises:
        PromiseError: where somebody has slots in two parts.
    """
    here, there = (Buckets(private_directory(place / name)) for name in ("here", "there"))
    for number, part in enumerate(parts):
        here.add(read_names_of(part.strata), number)
    place_of = _places(parts, known)
    if known is not None:
        for number in range(len(known.parts)):
            names, kind = known.names(number)
            held = names != b""
            there.add(names[held], number, kind[held] == LIVE)
    met = PeopleMet()
    for (rows, of_rows, _), (names, of_names, live) in zip(here.each(), there.each(), strict=True):
        of_people, of_slots, of_erased = numbers = person_numbers(rows, names, erased)
        place_known = np.full(count_of(numbers), -1, dtype=np.int64)
        place_known[of_slots] = of_names
        _require_one(place_known[of_slots], of_names)
        is_erased, known_in = np.isin(of_people, of_erased), place_known[of_people]
        out = is_erased | ((known_in >= 0) & (known_in != place_of[of_rows]))
        for number in np.unique(of_rows[out]).tolist():
            _append(file_of_out(place, parts[number].name), rows[out & (of_rows == number)])
        met.shown += int(live.sum())
        met.gone += int((live & ~np.isin(of_slots, of_people)).sum())
        met.rows += len(rows)
        met.new += int(((known_in < 0) & ~is_erased).sum())
    return met


def people_out(place: Path, part: str) -> np.ndarray:
    """Who of a part must stay out of it (S16, sorted)."""
    file = file_of_out(place, part)
    return np.sort(np.fromfile(file, dtype=NAME)) if file.exists() else np.array([], dtype=NAME)


def file_of_out(place: Path, part: str) -> Path:
    """The file with the names of who must stay out of a part."""
    return place / f"out-{part}"


def _places(parts: Sequence[PartOnDisk], known: MapInParts | None) -> np.ndarray:
    """The place in the map of each part (int64), -1 for a part that is new."""
    of = {} if known is None else {part.where: n for n, part in enumerate(known.parts)}
    found = [of.get(text_of_where(part.where[0]), -1) for part in parts]
    return np.array(found, dtype=np.int64)


def _require_one(found: np.ndarray, of_names: np.ndarray) -> None:
    if (found != of_names).any():
        raise PromiseError("versions: composed is broken: people have slots in two parts")


def _append(file: Path, names: np.ndarray) -> None:
    with file.open("ab") as out:
        out.write(names.astype(NAME).tobytes())


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
    parts: Sequence[PartOnDisk], continuing: LineContinuation, stage: Path
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


@dataclass(frozen=True)
class CutOfLine:
    """How a line was cut.

    Attributes:
        cuts: the pieces of every stratum that is cut.
        fixed: the strata and pieces whose groups go on, by what tells them from others.
    """

    cuts: Cuts
    fixed: frozenset[str] = frozenset()

    def require_kept(self, found: Sequence[Where], terms: Terms) -> None:
        """Refuse strata or pieces that have rows of several parts of the line, or of half of one.

        Raises:
            InputError: with the rule.
        """
        known = {where_of_text(text) for text in self.fixed}
        if known and not are_apart(list(known | set(found)), terms.columns):
            raise InputError(
                "parts: the line was cut otherwise, and groups of composed versions go on in their "
                "parts: leave strata, and parts.by and at, as they were"
            )


def cut_so_far(line: Path, parts: PartsOfTable, *, composed: bool) -> CutOfLine:
    """How a line was cut; a composed one stays so, however many rows a part may have now.

    Args:
        line: its private directory.
        parts: how its spec wants it.
        composed: whether its versions are.

    Raises:
        PromiseError: where what its last version was made of is not known here, or was no table in
            parts.
    """
    known = last_in_parts(line, read_state(line)) if composed else None
    if known is None:
        return CutOfLine(read_cuts(line, parts))
    return CutOfLine(cuts_of_document(known.cuts), frozenset(part.where for part in known.parts))


_SHOWN, _AWAY = "shown", "away"


_CANDIDATE, _JUDGED = "candidate", "judged"


def settle_parts(stage: Path, parts: Sequence[PartOnDisk], terms: Terms) -> list[PartOnDisk]:
    """Number the parts of a version, of which each has a candidate, and leave which they are.

    Raises:
        PromiseError: where there is none.
    """
    shown = [part for part in parts if (stage / part.name / _CANDIDATE).exists()]
    if not shown:
        raise PromiseError("versions: composed: no group can be shown any more")
    for part in parts:
        if part not in shown:
            (stage / part.name).rename(stage / f"{_AWAY}-{part.name}")
    found, counts = [], Counter[str]()
    for number, part in enumerate(shown, start=1):
        one = replace(part, name=f"{number:04d}")
        (stage / part.name).rename(stage / one.name)
        place = stage / one.name / _CANDIDATE
        title = terms_of_part(terms, one.name, len(shown)).title
        write_note(place, "declared", {**read_note(place, "declared"), "title": title})
        counts.update(read_note(place, "counts"))
        found.append(one)
    counts.update(_away(stage, [part for part in parts if part not in shown]))
    shutil.rmtree(stage / _PEOPLE)
    write_note(stage, "counts", dict(counts))
    write_note(stage, _SHOWN, [part.name for part in shown])
    return found


def _away(stage: Path, parts: Sequence[PartOnDisk]) -> dict[str, int]:
    """What became of the people of parts that are not shown."""
    out = [file_of_out(stage / _PEOPLE, part.name) for part in parts]
    withheld = sum(file.stat().st_size // NAME.itemsize for file in out if file.exists())
    rows = sum(part.rows for part in parts)
    return {"withheld": withheld, "waiting": rows - withheld}


def parts_in(candidate: Path, parts: Sequence[PartOnDisk]) -> list[PartOnDisk | None]:
    """Each part of a table by the name that it has in a candidate, None where it has none."""
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
    known: MapInParts | None,
    state: LineState,
) -> None:
    """Leave the map of all parts in the stage of a candidate.

    Args:
        candidate: the stage, in which each part that is shown was judged.
        divided: the stage that they were made of.
        published: what is declared of each of them.
        known: the map of the line's last version, None before its first.
        state: of the line.

    Raises:
        PromiseError: where the line has gone on since parts were made.
    """
    entries = []
    for part in published:
        file_of_map(candidate / part.name / _CANDIDATE).unlink(missing_ok=True)
        place = map_in(candidate / part.name / _JUDGED)
        if place is None:
            raise PromiseError("versions: composed is broken: a part has no map")
        where = text_of_where(part.where[0])
        mapped = MappedPart(where, first_group=part.first_group, digest=part.digest)
        entries.append((mapped, place))
    shown = {mapped.where for mapped, _ in entries}
    if known is not None:
        entries += _closed_parts(known, shown, candidate)
    join_maps(file_of_map(candidate), entries, read_note(divided, CUTS))
    for _, place in entries:
        place.unlink()
    write_version_before(candidate, last_digest(state))
    write_map_followed(candidate, None)


def _closed_parts(
    known: MapInParts, shown: Set[str], candidate: Path
) -> Iterator[tuple[MappedPart, Path]]:
    """The parts of the line of which nobody is shown, and the map of each in a file."""
    for number, part in enumerate(known.parts):
        if part.where not in shown:
            place = candidate / f"closed-{number}.parquet"
            write_stage_table(as_table(close_slots(known.read(number))), place)
            yield MappedPart(part.where), place


def rows_left_out(candidate: Path, parts: Sequence[PartOnDisk], name: str) -> np.ndarray | None:
    """Which rows of all parts are not represented (bool), one part's after the other's.

    None where all are. Each part that is shown has left it in a file of that name.
    """
    places = [
        None if one is None else candidate / one.name / _JUDGED / name
        for one in parts_in(candidate, parts)
    ]
    found = [
        np.full(part.rows, place is None) if place is None or not place.exists() else np.load(place)
        for part, place in zip(parts, places, strict=True)
    ]
    return np.concatenate(found) if any(of.any() for of in found) else None
