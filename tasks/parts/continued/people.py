"""Who of a table has a place in another part of the line: found by names, so many at a time.

Names are keyed hashes, and are told apart by their first bits into files that fit into memory. Of
each part is kept who is in it and must stay out: whoever has, or had, a slot in another part, and
whoever was forgotten.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato.expectations.errors import PromiseError
from sfumato.tasks.declaration.cuts import text_of_where
from sfumato.tasks.parts.divided import PartOnDisk
from sfumato.tasks.parts.strata import read_names_of
from sfumato.tasks.private.people.keys import NAME
from sfumato.tasks.private.people.maps_of_parts import Buckets, MapInParts
from sfumato.tasks.private.people.slots import LIVE
from sfumato.tasks.private.people.store import count_of, person_numbers
from sfumato.tasks.private.workdir import private_directory


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
