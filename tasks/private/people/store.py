"""The maps of a line's versions on disk, and the names of forgotten people.

<line>/map/<version>   the holder of each slot (see `slots`); its SHA-256 is in the state
<line>/map/erased      the names of people whose slots were forgotten

A version that was made to be combined has all slots of those before it, so that such a line keeps
only the maps of the last two versions. Other lines keep all maps: each may reveal more together
with the others.
"""

import hashlib
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.expectations.machine.fault import require_machine
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.sorting import distinct
from sfumato.tasks.microdata.table import Column, Microdata, encode
from sfumato.tasks.private.durable import copy_atomically, write_atomically
from sfumato.tasks.private.people.keys import NAME
from sfumato.tasks.private.people.maps_of_parts import MapInParts, is_in_parts, with_numbers_of_all
from sfumato.tasks.private.people.slots import FormerHolders, SlotMap, from_table
from sfumato.tasks.private.state import LineState, PublishedVersion
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.schema.files import read_bytes, sha256_of

_KEPT = 2  # maps of a line whose versions are combined
_WORD = np.dtype(np.int64)


MAP, ERASED = "map", "erased"


def write_map(line: Path, version: str, table: pa.Table) -> str:
    """Keep the map of a version; return its SHA-256, by which the state will know it."""
    content = io.BytesIO()
    pq.write_table(table, content, compression="zstd")
    write_atomically(private_directory(line / MAP) / version, content.getvalue())
    return hashlib.sha256(content.getvalue()).hexdigest()


def keep_map(line: Path, version: str, file: Path) -> str:
    """Keep the map of a version that is in a file, which may be large; return its SHA-256."""
    place = private_directory(line / MAP) / version
    copy_atomically(file, place)
    return sha256_of(place)


def map_in_parts(line: Path, version: str, sha256: str) -> MapInParts | None:
    """Return the map of a version in parts, to be read part by part, or None if it is of one table.

    Raises:
        PromiseError: where it is gone, is not the one that the state knows, or is no map.
    """
    place = line / MAP / version
    try:
        sha256_there = sha256_of(place)
    except OSError:
        raise _not_known(version, "its map is missing") from None
    if sha256_there != sha256:
        raise _not_known(version, "its map has changed")
    return MapInParts.open(place)


def last_in_parts(line: Path, state: LineState) -> MapInParts | None:
    """Return the map of a line's last version, which has all slots, or None before the first.

    Raises:
        PromiseError: where it is not known here, or is not one of a composed line in parts.
    """
    if not state.versions:
        return None
    version = max(state.versions)
    published = state.versions[version]
    if published.map is None:
        raise _not_known(version, "it was published without a map (remember: map)")
    slots = map_in_parts(line, version, published.map)
    if slots is None or not published.composed:
        raise PromiseError(
            f"versions: composed: version {version} was made in one table, so its "
            "groups cannot continue in parts. Leave `parts` out, or start a line with "
            "another name"
        )
    return slots


def require_one_table(line: Path, state: LineState) -> None:
    """Refuse to go on in one table if a line's last version was in parts.

    Raises:
        PromiseError: with the rule.
    """
    version = max(state.versions, default=None)
    if version is not None and has_map(line, version) and is_in_parts(line / MAP / version):
        raise PromiseError(
            f"versions: composed: version {version} was made in parts, so its groups "
            "can only continue in these parts. Write `parts` as in that version"
        )


def read_map(line: Path, version: str, sha256: str) -> SlotMap:
    """Return the map of a version, all of it even if it is in parts.

    Raises:
        PromiseError: where it is gone, is not the one that the state knows, or is no map.
    """
    place = line / MAP / version
    try:
        content = read_bytes(place)
    except OSError:
        raise _not_known(version, "its map is missing") from None
    if hashlib.sha256(content).hexdigest() != sha256:
        raise _not_known(version, "its map has changed")
    try:
        table = pq.read_table(pa.BufferReader(content))
        return from_table(with_numbers_of_all(table), place)
    except (pa.ArrowException, KeyError, ValueError) as error:
        require_machine(error)
        raise PromiseError(
            f"{place}: cannot be read as a map of people. Restore it from a backup: "
            "sfumato line restore SPEC FILE"
        ) from None


def since_composed(state: LineState) -> list[tuple[str, PublishedVersion]]:
    """Return the versions whose maps have all slots: from the last composed one on, or all."""
    versions = sorted(state.versions.items())
    composed = [place for place, (_, published) in enumerate(versions) if published.composed]
    return versions[max(composed, default=0) :]


def has_map(line: Path, version: str) -> bool:
    """Decide whether the map of a version is kept."""
    return (line / MAP / version).is_file()


def prune_maps(line: Path, state: LineState) -> None:
    """Delete maps whose slots a later one has: all but the last two, if versions are combined.

    The state continues to name them.
    """
    versions = sorted(state.versions)
    if versions and state.versions[versions[-1]].composed:
        for version in versions[:-_KEPT]:
            (line / MAP / version).unlink(missing_ok=True)


def slots_so_far(line: Path, state: LineState) -> SlotMap | None:
    """Return the slots that all versions of a line have made, or None if it has no version.

    Raises:
        PromiseError: where the map of a version is not known here, or a person was shown in two
            versions that were not made to be combined.
    """
    maps: list[SlotMap] = []
    for version, published in since_composed(state):
        if published.map is None:
            raise _not_known(version, "it was published without a map (remember: map)")
        maps.append(read_map(line, version, published.map))
    if len(maps) < 2:
        return maps[0] if maps else None
    return _one_after_the_other(maps)


def erased_names(line: Path) -> np.ndarray:
    """Return the names of people whose slots were forgotten (S16, sorted)."""
    place = line / MAP / ERASED
    return np.frombuffer(read_bytes(place) if place.exists() else b"", dtype=NAME)


def _not_known(version: str, why: str) -> PromiseError:
    return PromiseError(
        "versions: composed is broken: the people in the groups of earlier versions "
        f"are not known here ({version}: {why}). If their map is in a backup, restore "
        "it (sfumato line restore)"
    )


def _one_after_the_other(versions: Sequence[SlotMap]) -> SlotMap:
    """Return the slots of versions that have nobody in common, with groups numbered on."""
    key = np.concatenate([slots.key for slots in versions])
    names = key[key != b""]
    if len(distinct(names)) < len(names):
        raise PromiseError(
            "versions: composed is broken: the same people are in earlier versions, "
            "and these were not made to be combined. Start a line with another name "
            "about other people"
        )
    first = np.cumsum([0, *(int(slots.group.max(initial=-1)) + 1 for slots in versions)])
    last = len(versions) - 1
    return SlotMap(
        key=key,
        group=np.concatenate(
            [slots.group + offset for slots, offset in zip(versions, first[:-1], strict=True)]
        ),
        published=np.concatenate(
            [
                slots.published if i == last and slots.composed else np.full(len(slots), -1)
                for i, slots in enumerate(versions)
            ]
        ),
        since=np.concatenate([np.full(len(slots), i + 1) for i, slots in enumerate(versions)]),
        kind=np.concatenate([slots.kind for slots in versions]),
        retired=np.concatenate([slots.retired for slots in versions]),
        rows=_stack_rows([slots.rows for slots in versions]),
        composed=False,
        past=FormerHolders(
            np.concatenate([slots.past.key for slots in versions]),
            np.concatenate(
                [
                    slots.past.group + offset
                    for slots, offset in zip(versions, first[:-1], strict=True)
                ]
            ),
        ),
    )


def _stack_rows(tables: Sequence[Microdata]) -> Microdata:
    columns: list[Column] = []
    for column in tables[-1].columns:
        if any(not table.has(column.name) for table in tables):
            raise PromiseError(
                f"versions: composed: column {column.name!r} is not in all versions. Keep "
                "the columns as they were"
            )
        parts = pa.concat_arrays([table[column.name].array() for table in tables])
        columns.append(encode(column.name, column.role, parts))
    return Microdata(tuple(columns), sum(table.rows for table in tables))


def person_numbers(*names: np.ndarray) -> list[np.ndarray]:
    """Return a number for each name of some arrays (S16): equal for equal names, from 0, dense.

    Names are sorted by their first halves; the second halves are used only if equal first halves
    occur with different ones, as in a work directory of millions. The order of the numbers has no
    meaning.
    """
    whole = np.concatenate([np.ascontiguousarray(array, dtype=NAME) for array in names])
    words = whole.view(_WORD).reshape(-1, 2)
    first, second = (np.ascontiguousarray(words[:, half]) for half in (0, 1))
    order = np.argsort(first)
    differs = _steps(first[order])
    alike = np.flatnonzero(~differs)
    if (second[order[alike]] != second[order[alike - 1]]).any():
        order = np.lexsort((second, first))
        differs = _steps(first[order]) | _steps(second[order])
    number = np.empty(len(whole), dtype=np.int64)
    number[order] = np.cumsum(differs) - 1
    return np.split(number, np.cumsum([len(array) for array in names])[:-1])


def count_of(numbers: list[np.ndarray]) -> int:
    """Return how many numbers there are: one more than the largest."""
    return 1 + max((int(array.max(initial=-1)) for array in numbers), default=-1)


def _steps(ordered: np.ndarray) -> np.ndarray:
    """Mark the entries that differ from the one before (bool); the first does."""
    return np.concatenate((np.ones(min(len(ordered), 1), dtype=bool), ordered[1:] != ordered[:-1]))
