"""What a candidate leaves for the line's private map: who stands in which group, and beside what.

Made for every line that has a unit, also where versions are not composed today: without it no
version could ever be continued.
"""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from sfumato.tasks.arrays.at_rest import read_stage_table, write_stage_table
from sfumato.tasks.forms.declared import FormParameters
from sfumato.tasks.forms.form import Form, Tables
from sfumato.tasks.forms.order import ALONG
from sfumato.tasks.forms.recoded import TABLE
from sfumato.tasks.forms.vacancies import MARK, mark
from sfumato.tasks.microdata.table import Microdata, Randomness, encode, key, load, save
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.private.people.slots import LIVE, SlotMap, as_table
from sfumato.tasks.schema.files import read_json, sha256_of
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.terms.people import WhoseRows

Remember = Literal["map", "units"]
"""What a line knows of people: who stands in which group, or only who was in a version."""

_MAP, _NAMES, _AFTER = "map.parquet", "names.npy", "made-after.json"
_WHOSE, _STANDS = "whose", "stands.parquet"
_FOLLOWED = "map-followed.json"


def write_names(stage: Path, names: np.ndarray) -> None:
    """Leave the name of each row's person (S16) in a stage."""
    np.save(stage / _NAMES, names)


def names_in(stage: Path) -> np.ndarray | None:
    """The name of each row's person (S16), None where nobody is remembered."""
    place = stage / _NAMES
    return np.load(place) if place.exists() else None


def file_of_map(stage: Path) -> Path:
    """Where the map of a candidate lies in its stage."""
    return stage / _MAP


def write_slots(stage: Path, slots: SlotMap) -> None:
    """Leave the map of a candidate in its stage, as the line will keep it."""
    write_stage_table(as_table(slots), stage / _MAP, compression="zstd")


def map_in(stage: Path) -> Path | None:
    """The file of the map of a candidate, None where nobody is remembered."""
    place = stage / _MAP
    return place if place.exists() else None


def map_sha256(stage: Path) -> str | None:
    """The SHA-256 of the map of a candidate, None where it has none."""
    place = stage / _MAP
    return sha256_of(place) if place.exists() else None


def write_whose(stage: Path, whose: WhoseRows) -> None:
    """Leave in the stage of a candidate whose its rows are, and where they stand."""
    (stage / _WHOSE).mkdir()
    save(whose.rows, stage / _WHOSE)
    write_stage_table(pa.table({"group": whose.group}), stage / _WHOSE / _STANDS)


def whose_in(stage: Path) -> WhoseRows | None:
    """Whose the rows of a candidate are, None where people have one each."""
    place = stage / _WHOSE
    if not place.exists():
        return None
    return WhoseRows(read_stage_table(place / _STANDS)["group"].to_numpy(), load(place))


def forget_whose(stage: Path) -> None:
    """Take away whose the rows of a candidate are, which was judged and is not needed any more."""
    shutil.rmtree(stage / _WHOSE, ignore_errors=True)


def write_version_before(stage: Path, digest: str | None) -> None:
    """Leave which version of the line was the last when a candidate was made from the map."""
    (stage / _AFTER).write_text(json.dumps(digest), encoding="utf-8")


def version_before(stage: Path) -> str | None:
    """The digest of that version, None where there was none."""
    place = stage / _AFTER
    return read_json(place, None) if place.exists() else None


def write_map_followed(stage: Path, sha256: str | None) -> None:
    """Leave by which map of another line a candidate was made, None where it has its own groups."""
    (stage / _FOLLOWED).write_text(json.dumps(sha256), encoding="utf-8")


def map_followed(stage: Path) -> str | None:
    """The SHA-256 of that map, None where there is none."""
    place = stage / _FOLLOWED
    return read_json(place, None) if place.exists() else None


def slots_of(names: np.ndarray, microdata: Microdata, group: np.ndarray) -> SlotMap:
    """The slots of a version that continues none, from the class of each row (int64, -1: none)."""
    kept = np.flatnonzero(group >= 0)
    nothing = np.full(len(kept), -1)
    return SlotMap(
        key=names[kept],
        group=group[kept].astype(np.int64),
        published=nothing,
        since=np.ones(len(kept), dtype=np.int64),
        kind=np.full(len(kept), LIVE, dtype=np.int8),
        retired=np.zeros(len(kept), dtype=bool),
        rows=microdata.take(kept),
    )


def whose_rows(microdata: Microdata, class_: np.ndarray) -> WhoseRows:
    """Whose the rows of a version are, from the class of each row (int64, -1: none)."""
    kept = np.flatnonzero(class_ >= 0)
    rows = microdata.take(kept)
    return WhoseRows(class_[kept], rows.keep(rows.with_roles("sensitive")))


def publish_with_ids(
    form: Form,
    microdata: Microdata,
    partition: Partition,
    parameters: FormParameters,
    draw: Randomness,
) -> tuple[Tables, np.ndarray]:
    """What a form of exact rows publishes, and the group id of each row (int64, -1: none)."""
    of_rows = str(parameters.rows_table)
    marks = encode(MARK, "insensitive", pa.array(partition.group))
    marked = replace(microdata, columns=(*microdata.columns, marks))
    tables = form.publish(marked, partition, parameters, draw)
    stand = tables[of_rows].select([GROUP_ID, MARK]).group_by([GROUP_ID, MARK]).aggregate([])
    shown = {**tables, of_rows: tables[of_rows].drop_columns([MARK]), ALONG: stand}
    published = dict(form.canonical(shown))
    along = published.pop(ALONG)
    id_of = np.full(int(partition.group.max(initial=-1)) + 2, -1, dtype=np.int64)
    id_of[along[MARK].to_numpy()] = along[GROUP_ID].to_numpy()
    return published, id_of[partition.group]


def publish_with_classes(
    form: Form, microdata: Microdata, partition: Partition, parameters: object, draw: Randomness
) -> tuple[Tables, np.ndarray]:
    """What a form that recodes publishes, and the class of rows that look alike (int64, by row)."""
    marks = encode(MARK, "insensitive", pa.array(mark(partition.group, np.zeros(1, np.int64))))
    marked = replace(microdata, columns=(*microdata.columns, marks))
    table = form.publish(marked, partition, parameters, draw)[TABLE]
    groups = table[MARK].to_numpy() // 4
    of_group = np.full(int(partition.group.max(initial=-1)) + 2, -1, dtype=np.int64)
    of_group[groups] = np.arange(table.num_rows)  # one of its rows, which look alike
    shown = np.flatnonzero(of_group >= 0)
    labels = [c.name for c in microdata.with_roles("quasi-identifier")]
    rows = table.select(labels).take(pa.array(of_group[shown]))
    keys, _ = key([encode(name, "insensitive", rows[name]) for name in labels], len(shown))
    _, of_group[shown] = np.unique(keys, return_inverse=True)
    of_group[-1] = -1
    return form.canonical({TABLE: table.drop_columns([MARK])}), of_group[partition.group]
