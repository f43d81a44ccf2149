"""The maps of a line's versions on disk, and what was forgotten of them.

<line>/map/<version>   who stands in which slot (see `slots`), whose SHA-256 the state has
<line>/map/erased      the names of people whose slots were forgotten

A version that was made to be combined has all slots of those before it: of such a line the maps of
the last two versions are kept. Of other lines all are: each may tell more together with the others.
"""

import hashlib
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

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

_KEPT = 2
_WORD = np.dtype(np.int64)


MAP, ERASED = "map", "erased"


def write_map(line: Path, version: str, table: pa.Table) -> str:
    """Keep the map of a version; its SHA-256, by which the state will know it."""
    content = io.BytesIO()
    pq.write_table(table, content, compression="zstd")
    write_atomically(private_directory(line / MAP) / version, content.getvalue())
    return hashlib.sha256(content.getvalue()).hexdigest()


def keep_map(line: Path, version: str, file: Path) -> str:
    """Keep the map of a version that is in a file, which may be large; its SHA-256."""
    place = private_directory(line / MAP) / version
    copy_atomically(file, place)
    return sha256_of(place)


def map_in_parts(line: Path, version: str, sha256: str) -> MapInParts | None:
    """The map of a version in parts, to be read part by part; None where it is of one table.

    Raises:
        PromiseError: where it is gone, or is not the one that the state knows.
        PromiseError: where it is no map.
    """
    place = line / MAP / version
    try:
        found = sha256_of(place)
    except OSError:
        raise _not_known(version, "its map is gone") from None
    if found != sha256:
        raise _not_known(version, "its map is another one")
    return MapInParts.of(place)


def last_in_parts(line: Path, state: LineState) -> MapInParts | None:
    """The map of a line's last version, whose slots are those of all; None before its first.

    Raises:
        PromiseError: where it is not known here, or is not one of a composed line in parts.
    """
    if not state.versions:
        return None
    version = max(state.versions)
    known = state.versions[version]
    if known.map is None:
        raise _not_known(version, "it was published without a map (remember: map)")
    found = map_in_parts(line, version, known.map)
    if found is None or not known.composed:
        raise PromiseError(
            f"versions: composed: version {version} was made in one table, and its groups cannot "
            "go on in parts: leave parts out, or start a line of another name"
        )
    return found


def require_one_table(line: Path, state: LineState) -> None:
    """Refuse to go on in one table where a line's last version was in parts.

    Raises:
        PromiseError: with the rule.
    """
    version = max(state.versions, default=None)
    if version is not None and has_map(line, version) and is_in_parts(line / MAP / version):
        raise PromiseError(
            f"versions: composed: version {version} was made in parts, and its groups go on in "
            "these: say parts as before"
        )


def read_map(line: Path, version: str, sha256: str) -> SlotMap:
    """The map of a version, all of it also where that is in parts.

    Raises:
        PromiseError: where it is gone, or is not the one that the state knows.
        PromiseError: where it is no map.
    """
    place = line / MAP / version
    try:
        content = read_bytes(place)
    except OSError:
        raise _not_known(version, "its map is gone") from None
    if hashlib.sha256(content).hexdigest() != sha256:
        raise _not_known(version, "its map is another one")
    try:
        table = pq.read_table(pa.BufferReader(content))
        return from_table(with_numbers_of_all(table), place)
    except (pa.ArrowException, KeyError, ValueError):
        raise PromiseError(f"{place}: cannot be read as a map of people") from None


def since_composed(state: LineState) -> list[tuple[str, PublishedVersion]]:
    """The versions whose maps have all slots: those from the last composed one on, or all."""
    versions = sorted(state.versions.items())
    composed = [place for place, (_, known) in enumerate(versions) if known.composed]
    return versions[max(composed, default=0) :]


def has_map(line: Path, version: str) -> bool:
    """True where the map of a version is kept."""
    return (line / MAP / version).is_file()


def prune_maps(line: Path, state: LineState) -> None:
    """Delete maps whose slots a later one has: all but the last two, where versions are combined.

    The state goes on to name them.
    """
    versions = sorted(state.versions)
    if versions and state.versions[versions[-1]].composed:
        for version in versions[:-_KEPT]:
            (line / MAP / version).unlink(missing_ok=True)


def slots_so_far(line: Path, state: LineState) -> SlotMap | None:
    """The slots that all versions of a line have made; None where it has no version.

    Raises:
        PromiseError: where the map of a version is not known here, or a person was shown in two
            versions that were not made to be combined.
    """
    found: list[SlotMap] = []
    for version, known in since_composed(state):
        if known.map is None:
            raise _not_known(version, "it was published without a map (remember: map)")
        found.append(read_map(line, version, known.map))
    if len(found) < 2:
        return found[0] if found else None
    return _one_after_the_other(found)


def erased_names(line: Path) -> np.ndarray:
    """The names of people whose slots were forgotten (S16, sorted)."""
    place = line / MAP / ERASED
    return np.frombuffer(read_bytes(place) if place.exists() else b"", dtype=NAME)


def _not_known(version: str, why: str) -> PromiseError:
    return PromiseError(
        "versions: composed is broken: what earlier versions were made of is not known here "
        f"({version}: {why})"
    )


def _one_after_the_other(versions: Sequence[SlotMap]) -> SlotMap:
    """The slots of versions that have nobody in common, groups numbered on."""
    key = np.concatenate([one.key for one in versions])
    held = key[key != b""]
    if len(distinct(held)) < len(held):
        raise PromiseError(
            "versions: composed is broken: the same people are in earlier versions that were not "
            "made to be combined"
        )
    first = np.cumsum([0, *(int(one.group.max(initial=-1)) + 1 for one in versions)])
    last = len(versions) - 1
    return SlotMap(
        key=key,
        group=np.concatenate(
            [one.group + at for one, at in zip(versions, first[:-1], strict=True)]
        ),
        published=np.concatenate(
            [
                one.published if i == last and one.composed else np.full(len(one), -1)
                for i, one in enumerate(versions)
            ]
        ),
        since=np.concatenate([np.full(len(one), i + 1) for i, one in enumerate(versions)]),
        kind=np.concatenate([one.kind for one in versions]),
        retired=np.concatenate([one.retired for one in versions]),
        rows=_stacked([one.rows for one in versions]),
        composed=False,
        past=FormerHolders(
            np.concatenate([one.past.key for one in versions]),
            np.concatenate(
                [one.past.group + at for one, at in zip(versions, first[:-1], strict=True)]
            ),
        ),
    )


def _stacked(tables: Sequence[Microdata]) -> Microdata:
    columns: list[Column] = []
    for column in tables[-1].columns:
        if any(not table.has(column.name) for table in tables):
            raise PromiseError(f"versions: composed: column {column.name!r} is not in all versions")
        parts = pa.concat_arrays([table[column.name].array() for table in tables])
        columns.append(encode(column.name, column.role, parts))
    return Microdata(tuple(columns), sum(table.rows for table in tables))


def person_numbers(*names: np.ndarray) -> list[np.ndarray]:
    """A number for each name of some arrays (S16): the same for the same name, from 0, dense.

    Half a name tells people apart but in one work directory of millions; the other half is asked
    where it does not. Numbers are in no order that means anything.
    """
    whole = np.concatenate([np.ascontiguousarray(one, dtype=NAME) for one in names])
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
    return np.split(number, np.cumsum([len(one) for one in names])[:-1])


def count_of(numbers: list[np.ndarray]) -> int:
    """How many numbers there are: one more than the largest."""
    return 1 + max((int(one.max(initial=-1)) for one in numbers), default=-1)


def _steps(ordered: np.ndarray) -> np.ndarray:
    """Which entries differ from the one before (bool); the first does."""
    return np.concatenate((np.ones(min(len(ordered), 1), dtype=bool), ordered[1:] != ordered[:-1]))
