"""Units by their normal form, so that people are recognised whose units are spelled another way.

A *unit* is the identifier of the person or household that a row is about; its *name* is a keyed
hash of it. The normal form of a unit is its text after some *steps*, such as another case.

<line>/units-normal/<version>   the number of a version's units in 8 bytes, and for each unit,
                                sorted (0600): 16 bytes of the name of its normal form, 8 of its own
                                name, and the steps to that form

Names are made with the work directory's key (see `people.keys`): they mean nothing without it.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from os import SEEK_END
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.notation.normal_form import kinds_of, normal_steps
from sfumato.tasks.microdata.table import Column
from sfumato.tasks.private.durable import write_pieces_atomically
from sfumato.tasks.private.keys import keyed_hashes
from sfumato.tasks.private.people.keys import NAME, NAME_BYTES, name_of, spellings_of
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.schema.files import open_file, regular

UNITS_NORMAL = "units-normal"
_NUMBER = 8  # bytes of the number of units
_AT_ONCE = 1 << 20  # units of each table that are compared at once
SPELLED = np.dtype([("normal", NAME), ("name", "<u8"), ("steps", "u1")])
"""A unit: the name of its normal form, the first half of its own, and the steps of the form."""


@dataclass(frozen=True)
class OtherSpelling:
    """Units of one table that are in another one, spelled in another way.

    Attributes:
        units: the number of these units.
        kinds: the number of each kind of difference, the most frequent first.
    """

    units: int
    kinds: tuple[tuple[str, int], ...]

    @property
    def in_words(self) -> str:
        """The kinds of difference with their counts."""
        return ", ".join(f"{kind}: {count:,}" for kind, count in self.kinds)


def spelled_units(unit: Column, names: np.ndarray, secret: bytes) -> np.ndarray:
    """Return every distinct unit of a table by its normal form (SPELLED, sorted).

    Args:
        unit: the unit of each row.
        names: the names of the column's distinct values (S16).
        secret: the key of the work directory.
    """
    normal = names.copy()
    texts, steps = normal_steps(spellings_of(unit.values))
    changed = np.flatnonzero(steps)
    hashes = keyed_hashes(texts.take(pa.array(changed)).cast(pa.binary()).to_pylist(), secret)
    normal[changed] = np.ascontiguousarray(hashes[:, :NAME_BYTES]).view(NAME).ravel()
    return sorted_units(_records(normal, names, steps))


def spelled_unit(text: str, secret: bytes) -> np.ndarray:
    """Return a unit, given as text, by its normal form (SPELLED, one)."""
    texts, steps = normal_steps(pa.array([text]))
    names = np.array(
        [name_of(spelling, secret) for spelling in (texts[0].as_py(), text)], dtype=NAME
    )
    return _records(names[:1], names[1:], steps)


def _records(normal: np.ndarray, names: np.ndarray, steps: np.ndarray) -> np.ndarray:
    units = np.empty(len(names), dtype=SPELLED)
    units["normal"], units["name"], units["steps"] = normal, half_of(names), steps
    return units


def half_of(names: np.ndarray) -> np.ndarray:
    """Return the first half of each name (uint64), which suffices within a work directory."""
    return np.ascontiguousarray(names, dtype=NAME).view("<u8")[::2].copy()


def sorted_units(units: np.ndarray) -> np.ndarray:
    """Return the units (SPELLED) in ascending order of their normal forms."""
    return units[np.argsort(units["normal"], kind="stable")]


def write_spelled(line: Path, version: str, units: np.ndarray) -> None:
    """Remember the units of a version by their normal forms (SPELLED, sorted)."""
    content = np.ascontiguousarray(units).view(np.uint8).data
    place = private_directory(line / UNITS_NORMAL) / version
    write_pieces_atomically(place, [_number_bytes(units), content])


def read_spelled(line: Path, version: str) -> np.ndarray:
    """Return the units of a version by their normal forms (SPELLED, sorted), left in their file.

    Raises:
        PromiseError: where they are gone, though the state knows of them.
    """
    place = line / UNITS_NORMAL / version
    try:
        return _units_in_file(place)
    except (OSError, ValueError):
        raise PromiseError(
            f"{place}: cannot be read as the units of a version. Restore it from a backup: "
            "sfumato line restore SPEC FILE"
        ) from None


def units_in(content: bytes) -> np.ndarray:
    """Return the units (SPELLED) in content that `bytes_of` made.

    Raises:
        ValueError: where it is not whole.
    """
    number = int.from_bytes(content[:_NUMBER], "little")
    if len(content) != _NUMBER + number * SPELLED.itemsize:
        raise ValueError("is incomplete")
    return np.frombuffer(content, dtype=SPELLED, offset=_NUMBER)


def _units_in_file(place: Path) -> np.ndarray:
    """Return the units (SPELLED) in a file that `write_spelled` wrote, mapped into memory.

    Raises:
        ValueError: where it is not whole.
    """
    with open_file(place) as file:
        number = int.from_bytes(file.read(_NUMBER), "little")
        size = file.seek(0, SEEK_END)
    if size != _NUMBER + number * SPELLED.itemsize:
        raise ValueError("is incomplete")
    if not number:
        return np.empty(0, dtype=SPELLED)
    return np.memmap(regular(place), dtype=SPELLED, mode="r", offset=_NUMBER)


def bytes_of(units: np.ndarray) -> bytes:
    """Return the units (SPELLED, sorted) as they are in a file: their number, and each."""
    return _number_bytes(units) + units.tobytes()


def _number_bytes(units: np.ndarray) -> bytes:
    return len(units).to_bytes(_NUMBER, "little")


def spelled_otherwise(ours: np.ndarray, theirs: np.ndarray) -> OtherSpelling:
    """Count units of one table that are in another in their normal form, and not as written.

    Args:
        ours: the units of the one (SPELLED, sorted).
        theirs: the units of the other (SPELLED, sorted).
    """
    number, kinds = 0, Counter[str]()
    for our_block, their_block in _blocks(ours, theirs):
        pairs = _steps_of_others(our_block, their_block)
        number += len(pairs)
        for (our_steps, their_steps), count in zip(
            *np.unique(pairs, axis=0, return_counts=True), strict=True
        ):
            kinds[kinds_of(int(our_steps), int(their_steps))] += int(count)
    return OtherSpelling(number, tuple(kinds.most_common()))


def count_in_both(ours: np.ndarray, theirs: np.ndarray) -> int:
    """Count the units of one table (SPELLED, sorted) that are in another, spelled the same."""
    blocks = _blocks(ours, theirs)
    return sum(int(np.isin(ours["name"], theirs["name"]).sum()) for ours, theirs in blocks)


def _blocks(ours: np.ndarray, theirs: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield blocks of two tables of units (SPELLED, sorted) that share their normal forms.

    Units with one normal form are in one block. Tables in files are read block by block.
    """
    first = second = 0
    while first < len(ours) and second < len(theirs):
        last = min(
            units[min(start + _AT_ONCE, len(units)) - 1]["normal"]
            for units, start in ((ours, first), (theirs, second))
        )
        end, their_end = (
            bisect_right(units, last, lo=start, key=itemgetter("normal"))
            for units, start in ((ours, first), (theirs, second))
        )
        yield np.array(ours[first:end]), np.array(theirs[second:their_end])
        first, second = end, their_end


def _steps_of_others(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Return the steps of units that others spell in another way (uint8, units x 2)."""
    first = np.searchsorted(theirs["normal"], ours["normal"], "left")
    times = np.searchsorted(theirs["normal"], ours["normal"], "right") - first
    met = np.flatnonzero(times)
    met = met[~np.isin(ours["name"][met], theirs["name"])]
    return np.stack([ours["steps"][met], theirs["steps"][first[met]]], axis=1)
