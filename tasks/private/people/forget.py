"""Forgetting people, and knowing them by other names.

A forgotten person leaves a slot that nothing links to a person any more: its value stays in the
group, as in the versions before, beside nobody. The person stays out of later versions: if they
were shown among newcomers, the slot that stays vacant could reveal them.
"""

import hashlib
import io
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.keys import HASH_BYTES
from sfumato.tasks.private.people.keys import NAME
from sfumato.tasks.private.people.source_rows import ROWS_NORMAL, with_other_units
from sfumato.tasks.private.people.spelled import (
    UNITS_NORMAL,
    bytes_of,
    half_of,
    sorted_units,
    units_in,
)
from sfumato.tasks.private.people.store import ERASED, MAP, erased_names
from sfumato.tasks.private.state import STATE, parse_state
from sfumato.tasks.schema.files import read_bytes

_KEY = "key"
_HALF = 8  # bytes of half of a name
Rename = Callable[[bytes], bytes | None]
"""Returns the new name of a person, None to forget it."""


def forget_units(
    place: Path, files: Mapping[str, bytes], names: Sequence[bytes]
) -> dict[str, bytes]:
    """Return the files of a line's state in which these people have no slots.

    Args:
        place: the file of units, for messages.
        files: the files of the line's state, by their paths.
        names: the names of people, in the order of the file of units.

    Raises:
        InputError: where somebody has no slot, by the line of the file.
    """
    people = _KnownPeople.read(files)
    for number, name in enumerate(names, 1):
        if not people.has(name):
            raise InputError(
                f"{place}: the unit in line {number} of the file is not known in this "
                "release line. Correct it or delete it"
            )
    return with_forgotten(files, np.array(sorted(set(names)), dtype=NAME))


def forget_erased(line: Path, version: str) -> None:
    """Remove people who were forgotten from the kept files of a version that has them again."""
    erased = erased_names(line)
    if not len(erased):
        return
    paths = [f"{folder}/{version}" for folder in (UNITS_NORMAL, ROWS_NORMAL)]
    files = {path: read_bytes(line / path, None) for path in paths if (line / path).exists()}
    for path, content in _with_other_units(files, dict.fromkeys(half_of(erased).tolist())).items():
        write_atomically(line / path, content)


@dataclass(frozen=True)
class _KnownPeople:
    """People in the maps of a line, and people in its units who wait for a slot.

    Attributes:
        names: the names of those who have, or had, a slot.
        halves: half of the name of everyone who was in a source; empty if the line keeps no maps.
    """

    names: frozenset[bytes]
    halves: frozenset[int]

    @classmethod
    def read(cls, files: Mapping[str, bytes]) -> "_KnownPeople":
        names = frozenset(name for path in _maps(files) for name in _names(_read(files[path])))
        paths = [path for path in files if path.startswith(f"{UNITS_NORMAL}/") and names]
        return cls(names, frozenset(h for p in paths for h in units_in(files[p])["name"].tolist()))

    def has(self, name: bytes) -> bool:
        return name in self.names or int.from_bytes(name[:_HALF], "little") in self.halves


def with_forgotten(files: Mapping[str, bytes], names: np.ndarray) -> dict[str, bytes]:
    """Return the files of a line's state without the links of these people (S16) to their slots."""
    if not len(names):
        return dict(files)
    gone = {name.ljust(NAME.itemsize, b"\0") for name in names.tolist()}
    changed = _rewritten(files, lambda name: None if name in gone else name)
    changed |= _with_other_units(files, dict.fromkeys(half_of(names).tolist()))
    before = np.frombuffer(files.get(_ERASED, b""), dtype=NAME)
    changed[_ERASED] = np.union1d(before, names).astype(NAME).tobytes()
    return changed


def _rewritten(files: Mapping[str, bytes], rename: Rename) -> dict[str, bytes]:
    """Return the files of a line's state with people renamed or forgotten in its maps.

    The state gets the new SHA-256 of each map.
    """
    rewritten, state = dict(files), parse_state(Path(STATE), files[STATE])
    versions = dict(state.versions)
    for path in _maps(files):
        rewritten[path] = _with_names(files[path], rename)
        number = path.rpartition("/")[2]
        if number in versions:
            sha256 = hashlib.sha256(rewritten[path]).hexdigest()
            versions[number] = versions[number].model_copy(update={"map": sha256})
    changed = state.model_copy(update={"versions": versions})
    rewritten[STATE] = changed.model_dump_json(exclude_none=True).encode()
    return rewritten


_ERASED = f"{MAP}/{ERASED}"


def _with_other_units(
    files: Mapping[str, bytes], units: Mapping[int, np.ndarray | None]
) -> dict[str, bytes]:
    """Return the files of units and rows in normal form that change, with other units.

    Args:
        files: the files of the line's state, by their paths.
        units: by half of a unit's name, the new unit (SPELLED, one), or None to delete the unit.
    """
    rewritten = {}
    for path, content in files.items():
        if path.startswith(f"{UNITS_NORMAL}/"):
            spelled = units_in(content)
            there = [units[half] for half in spelled["name"].tolist() if half in units]
            others = [unit for unit in there if unit is not None]
            spelled = spelled[~np.isin(spelled["name"], np.array(list(units), dtype=np.uint64))]
            rewritten[path] = bytes_of(sorted_units(np.concatenate([spelled, *others])))
        elif path.startswith(f"{ROWS_NORMAL}/"):
            rewritten[path] = with_other_units(
                content, {u: _half(unit) for u, unit in units.items()}
            )
    return rewritten


def _half(unit: np.ndarray | None) -> int | None:
    return None if unit is None else int(unit["name"][0])


def _maps(files: Mapping[str, bytes]) -> list[str]:
    return [path for path in files if path.startswith(f"{MAP}/") and path != _ERASED]


def _read(content: bytes) -> pa.Table:
    return pq.read_table(pa.BufferReader(content))


def _names(table: pa.Table) -> list[bytes]:
    return [name for name in table[_KEY].to_pylist() if name is not None]


def _with_names(content: bytes, rename: Rename) -> bytes:
    table = _read(content)
    names = [None if name is None else rename(name) for name in table[_KEY].to_pylist()]
    where = table.column_names.index(_KEY)
    renamed = table.set_column(where, table.schema.field(where), pa.array(names, table[_KEY].type))
    written = io.BytesIO()
    pq.write_table(renamed, written, compression="zstd")
    return written.getvalue()


def rename_units(
    place: Path,
    files: Mapping[str, bytes],
    names: Mapping[bytes, bytes],
    hashes: Mapping[bytes, bytes],
    spelled: Mapping[bytes, np.ndarray],
) -> dict[str, bytes]:
    """Return the files of a line's state in which people have other names.

    Args:
        place: the file of units, for messages.
        files: the files of the line's state, by their paths.
        names: the new name by old name, in the order of the file of units.
        hashes: the new hash by old hash, by which versions know their units.
        spelled: by old name the new unit in its normal form (SPELLED, one).

    Raises:
        InputError: where somebody has no slot, or the new name is somebody's already.
    """
    people = _KnownPeople.read(files)
    times = Counter(names.values())
    for number, (old, new) in enumerate(names.items(), 1):
        if not people.has(old):
            raise InputError(
                f"{place}: the unit in line {number} of the file is not known in this "
                "release line. Correct it or delete it"
            )
        if people.has(new):
            raise InputError(
                f"{place}: the new unit in line {number} of the file already belongs "
                "to another person. Choose another unit"
            )
        if times[new] > 1:
            raise InputError(
                f"{place}: the new unit in line {number} of the file occurs in another "
                "line of the file, too. Give each person a unit of their own"
            )
    renamed = _rewritten(files, lambda name: names.get(name, name))
    halves = half_of(np.array(list(spelled), dtype=NAME)).tolist()
    renamed |= _with_other_units(files, dict(zip(halves, spelled.values(), strict=True)))
    for path in (path for path in renamed if path.startswith("units/")):
        units = [
            renamed[path][place : place + HASH_BYTES]
            for place in range(0, len(renamed[path]), HASH_BYTES)
        ]
        renamed[path] = b"".join(sorted(hashes.get(unit, unit) for unit in units))
    return renamed
