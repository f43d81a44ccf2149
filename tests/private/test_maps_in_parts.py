"""The maps of parts in one file: read part by part as they were, and whole with other numbers."""

import hashlib
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.tasks.microdata.table import Microdata, encode
from sfumato.tasks.private.people import maps_of_parts
from sfumato.tasks.private.people.forget import with_forgotten
from sfumato.tasks.private.people.keys import NAME
from sfumato.tasks.private.people.maps_of_parts import Buckets, MapInParts, MappedPart, join_maps
from sfumato.tasks.private.people.slots import FormerHolders, SlotMap, as_table, from_table
from sfumato.tasks.private.people.store import read_map
from sfumato.tasks.private.state import STATE, LineState, PublishedVersion


def a_map(rng, slots, former, scale=2):
    """A map of so many slots, a few of which are nobody's, and of who held some before."""
    names = np.array([rng.bytes(16) for _ in range(slots)], dtype=NAME)
    names[rng.random(slots) < 0.2] = b""
    group = rng.integers(0, 4, slots)
    published = np.where(group > 2, -1, group)
    pay = pa.array(rng.integers(0, 99, slots)).cast(pa.decimal128(38, scale))
    rows = Microdata((encode("pay", "sensitive", pay),), slots)
    past = np.array([rng.bytes(16) for _ in range(former)], dtype=NAME)
    return SlotMap(
        key=names,
        group=group,
        published=published,
        since=np.ones(slots, dtype=np.int64),
        kind=rng.integers(0, 2, slots).astype(np.int8),
        retired=published < 0,
        rows=rows,
        composed=True,
        past=FormerHolders(past, rng.integers(0, 4, former)),
    )


def contents_of(slots):
    """All that a map says."""
    pay = slots.rows["pay"].array().to_pylist()
    arrays = (slots.key, slots.group, slots.published, slots.kind, slots.retired)
    past = sorted(zip(slots.past.key.tolist(), slots.past.group.tolist(), strict=True))
    return [array.tolist() for array in arrays], pay, past


def write_joined(folder, parts, scale=None):
    """A file of these maps, whose parts begin at ids 0, 10, 20 and so on."""
    entries = []
    for number, slots in enumerate(parts):
        place = folder / f"part-{number}"
        pq.write_table(as_table(slots), place)
        entries.append((MappedPart(f"where {number}", first_group=10 * number), place))
    join_maps(folder / "map", entries, {"cut": []})
    return folder / "map"


sizes = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3)), min_size=1, max_size=5)


@given(sizes=sizes, seed=st.integers(0, 99), rows=st.integers(1, 12))
def test_parts_are_read_as_they_were_and_the_whole_numbers_them_on(
    tmp_path_factory, sizes, seed, rows
):
    folder, rng = tmp_path_factory.mktemp("maps"), np.random.default_rng(seed)
    parts = [a_map(rng, *size) for size in sizes]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(maps_of_parts, "_AT_ONCE", rows)  # groups of rows begin and end anywhere
        place = write_joined(folder, parts)
    maps = MapInParts.open(place)
    assert maps is not None
    assert dict(maps.cuts) == {"cut": []}
    for number, slots in enumerate(parts):
        assert contents_of(maps.read(number)) == contents_of(slots)
        names, kind = maps.names(number)
        assert sorted(names.tolist()) == sorted([*slots.key.tolist(), *slots.past.key.tolist()])
        assert len(kind) == len(names)
    whole = from_table(maps_of_parts.with_numbers_of_all(pq.read_table(place)), place)
    first = 0
    for number, slots in enumerate(parts):
        here = slice(first, first + len(slots))
        lower = sum(part.groups for part in maps.parts[:number])
        assert (whole.group[here] - lower).tolist() == slots.group.tolist()
        moved = np.where(slots.published < 0, -1, slots.published + 10 * number)
        assert whole.published[here].tolist() == moved.tolist()
        first += len(slots)
    assert len(whole.past) == sum(len(slots.past) for slots in parts)


def test_whoever_is_forgotten_is_forgotten_in_the_own_part_alone(tmp_path):
    rng = np.random.default_rng(4)
    parts = [a_map(rng, 6, 2), a_map(rng, 7, 1), a_map(rng, 5, 0)]
    place = write_joined(tmp_path, parts)
    gone = next(name for name in parts[1].key.tolist() if name)
    sha256 = hashlib.sha256(place.read_bytes()).hexdigest()
    version = PublishedVersion(rows="", spec="", digest="", units=True, map=sha256, composed=True)
    state = LineState(versions={"0001": version}).model_dump_json().encode()
    files = {STATE: state, "map/0001": place.read_bytes()}
    changed = with_forgotten(files, np.array([gone], dtype=NAME))
    (tmp_path / "line" / "map").mkdir(parents=True, mode=0o700)
    (tmp_path / "line" / "map" / "0001").write_bytes(changed["map/0001"])
    maps = MapInParts.open(tmp_path / "line" / "map" / "0001")
    assert contents_of(maps.read(0)) == contents_of(parts[0])
    assert contents_of(maps.read(2)) == contents_of(parts[2])
    names_kept = [b"" if name == gone else name for name in parts[1].key.tolist()]
    assert maps.read(1).key.tolist() == names_kept
    sha256 = json.loads(changed[STATE])["versions"]["0001"]["map"]
    assert len(read_map(tmp_path / "line", "0001", sha256)) == 18


def test_slots_of_other_columns_are_not_one_map(tmp_path):
    rng = np.random.default_rng(1)
    first, other = a_map(rng, 3, 0), a_map(rng, 3, 0)
    columns = (encode("job", "sensitive", pa.array(["a", "b", "c"])),)
    other = SlotMap(**{**vars(other), "rows": Microdata(columns, 3)})
    with pytest.raises(PromiseError, match="have other columns, or values of other types"):
        write_joined(tmp_path, [first, other])


def test_a_longer_scale_holds_the_values_of_a_shorter_one(tmp_path):
    rng = np.random.default_rng(1)
    maps = MapInParts.open(
        write_joined(tmp_path, [a_map(rng, 3, 0, scale=1), a_map(rng, 3, 0, scale=4)])
    )
    types = {maps.read(number).rows["pay"].values.type for number in (0, 1)}
    assert types == {pa.decimal128(38, 4)}


def test_what_is_no_map_is_a_fault_and_a_newer_one_is_told(tmp_path):
    place = tmp_path / "map"
    pq.write_table(pa.table({"a": [1]}), place)
    with pytest.raises(PromiseError, match="cannot be read as a map of people"):
        MapInParts.open(place)
    place.write_bytes(b"no Parquet")
    with pytest.raises(PromiseError, match="cannot be read as a map of people"):
        MapInParts.open(place)
    assert not maps_of_parts.is_in_parts(place)
    place = write_joined(tmp_path, [a_map(np.random.default_rng(1), 3, 0)])
    table = pq.read_table(place)
    newer = {**json.loads(table.schema.metadata[b"sfumato"]), "format": 99}
    pq.write_table(table.replace_schema_metadata({b"sfumato": json.dumps(newer).encode()}), place)
    with pytest.raises(InputError, match="newer"):
        MapInParts.open(place).read(0)


@given(numbers=st.lists(st.integers(0, 40), max_size=60))
def test_all_of_one_person_are_in_one_share(tmp_path_factory, numbers):
    buckets = Buckets(tmp_path_factory.mktemp("names"))
    names = np.array([hashlib.sha256(b"%d" % n).digest()[:16] for n in numbers], dtype=NAME)
    parts = np.arange(len(names)) % 3
    for part in range(3):
        buckets.add(names[parts == part], part, np.array(numbers)[parts == part] > 20)
    entries = [
        (number, name, part, mark)
        for number, share in enumerate(buckets.each())
        for name, part, mark in zip(*(column.tolist() for column in share), strict=True)
    ]
    expected = zip(names.tolist(), parts.tolist(), [n > 20 for n in numbers], strict=True)
    assert sorted(entry[1:] for entry in entries) == sorted(expected)
    assert len({entry[:2] for entry in entries}) == len({entry[1] for entry in entries})
