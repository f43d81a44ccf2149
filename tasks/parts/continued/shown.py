"""The parts of a composed version: those of which somebody is shown, numbered anew, and their maps.

A part is known by its cut, and its name is its place in a version. Whoever is in a part that is not
shown is not represented; its slots stay in the map.
"""

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from pathlib import Path

import numpy as np

from sfumato.expectations.errors import PromiseError
from sfumato.tasks.arrays.at_rest import write_stage_table
from sfumato.tasks.candidates.remember import (
    file_of_map,
    map_in,
    write_map_followed,
    write_version_before,
)
from sfumato.tasks.declaration.cuts import PublishedPart, text_of_where
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.parts.continued.continuation import close_slots
from sfumato.tasks.parts.continued.cut import CUTS
from sfumato.tasks.parts.continued.people import file_of_out
from sfumato.tasks.parts.divided import PartOnDisk
from sfumato.tasks.private.people.keys import NAME
from sfumato.tasks.private.people.maps_of_parts import MapInParts, MappedPart, join_maps
from sfumato.tasks.private.people.slots import as_table
from sfumato.tasks.private.state import LineState, last_digest
from sfumato.tasks.publication.parts import terms_of_part
from sfumato.tasks.stages.stage import read_note, write_note

_SHOWN, _AWAY, _PEOPLE = "shown", "away", "people"
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
