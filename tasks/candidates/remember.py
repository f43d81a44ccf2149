"""The data that a candidate leaves for the line's private map: each person's group and values.

It is written for every line that has a unit, also if versions are not composed today: without it no
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
from sfumato.tasks.schema.columns import Role
from sfumato.tasks.schema.files import read_json, sha256_of
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.terms.people import WhoseRows

Remember = Literal["map", "units"]
"""The memory of a line: who is in which group, or only who was in a version."""

_MAP, _NAMES, _AFTER = "map.parquet", "names.npy", "made-after.json"
_WHOSE, _STANDS = "whose", "stands.parquet"
_FOLLOWED = "map-followed.json"


def write_names(stage: Path, names: np.ndarray) -> None:
    """Write the name of each row's person (S16) into a stage."""
    np.save(stage / _NAMES, names)


def names_in(stage: Path) -> np.ndarray | None:
    """Return the name of each row's person (S16), None if nobody is remembered."""
    place = stage / _NAMES
    return np.load(place) if place.exists() else None


def file_of_map(stage: Path) -> Path:
    """Return the path of a candidate's map in its stage."""
    return stage / _MAP


def write_slots(stage: Path, slots: SlotMap) -> None:
    """Write the map of a candidate into its stage, as the line will keep it."""
    write_stage_table(as_table(slots), stage / _MAP, compression="zstd")


def map_in(stage: Path) -> Path | None:
    """Return the file of a candidate's map, None if nobody is remembered."""
    place = stage / _MAP
    return place if place.exists() else None


def map_sha256(stage: Path) -> str | None:
    """Return the SHA-256 of a candidate's map, None if it has none."""
    place = stage / _MAP
    return sha256_of(place) if place.exists() else None


def write_whose(stage: Path, whose: WhoseRows) -> None:
    """Write into a candidate's stage whose its rows are, and the group of each."""
    (stage / _WHOSE).mkdir()
    save(whose.rows, stage / _WHOSE)
    write_stage_table(pa.table({"group": whose.group}), stage / _WHOSE / _STANDS)


def whose_in(stage: Path) -> WhoseRows | None:
    """Return whose the rows of a candidate are, None if people have one row each."""
    place = stage / _WHOSE
    if not place.exists():
        return None
    return WhoseRows(read_stage_table(place / _STANDS)["group"].to_numpy(), load(place))


def forget_whose(stage: Path) -> None:
    """Delete the record of whose a candidate's rows are; after judging it is not needed."""
    shutil.rmtree(stage / _WHOSE, ignore_errors=True)


def write_version_before(stage: Path, digest: str | None) -> None:
    """Write the digest of the line's last version when a candidate was made from the map."""
    (stage / _AFTER).write_text(json.dumps(digest), encoding="utf-8", newline="\n")


def version_before(stage: Path) -> str | None:
    """Return the digest that `write_version_before` wrote, None if there was no version."""
    place = stage / _AFTER
    return read_json(place, None) if place.exists() else None


def write_map_followed(stage: Path, sha256: str | None) -> None:
    """Write the SHA-256 of the other line's map that a candidate follows, None for none."""
    (stage / _FOLLOWED).write_text(json.dumps(sha256), encoding="utf-8", newline="\n")


def map_followed(stage: Path) -> str | None:
    """Return the SHA-256 that `write_map_followed` wrote, None if there is none."""
    place = stage / _FOLLOWED
    return read_json(place, None) if place.exists() else None


def slots_of(names: np.ndarray, microdata: Microdata, group: np.ndarray) -> SlotMap:
    """Return the slots of a version that continues none.

    `group` is the class of each row (int64, -1: none).
    """
    grouped = np.flatnonzero(group >= 0)
    nothing = np.full(len(grouped), -1)
    return SlotMap(
        key=names[grouped],
        group=group[grouped].astype(np.int64),
        published=nothing,
        since=np.ones(len(grouped), dtype=np.int64),
        kind=np.full(len(grouped), LIVE, dtype=np.int8),
        retired=np.zeros(len(grouped), dtype=bool),
        rows=microdata.take(grouped),
    )


def whose_rows(microdata: Microdata, class_: np.ndarray) -> WhoseRows:
    """Return whose the rows of a version are, from the class of each row (int64, -1: none).

    Of people with related rows it has all published columns, by which their groups are compared.
    """
    grouped = np.flatnonzero(class_ >= 0)
    rows = microdata.take(grouped)
    roles: tuple[Role, ...] = ("sensitive",)
    if rows.related is not None:
        roles = ("quasi-identifier", "insensitive", "sensitive")
    return WhoseRows(class_[grouped], rows.keep(rows.with_roles(*roles)))


def publish_with_ids(
    form: Form,
    microdata: Microdata,
    partition: Partition,
    parameters: FormParameters,
    draw: Randomness,
) -> tuple[Tables, np.ndarray]:
    """Return the tables of a form of exact rows, and the group id of each row (int64, -1: none)."""
    of_rows = parameters.table_of_rows
    marks = encode(MARK, "insensitive", pa.array(partition.group))
    marked = replace(microdata, columns=(*microdata.columns, marks))
    tables = form.publish(marked, partition, parameters, draw)
    stand = tables[of_rows].select([GROUP_ID, MARK]).group_by([GROUP_ID, MARK]).aggregate([])
    marked_tables = {**tables, of_rows: tables[of_rows].drop_columns([MARK]), ALONG: stand}
    published = dict(form.canonical(marked_tables))
    along = published.pop(ALONG)
    id_of = np.full(int(partition.group.max(initial=-1)) + 2, -1, dtype=np.int64)
    id_of[along[MARK].to_numpy()] = along[GROUP_ID].to_numpy()
    return published, id_of[partition.group]


def publish_with_classes(
    form: Form, microdata: Microdata, partition: Partition, parameters: object, draw: Randomness
) -> tuple[Tables, np.ndarray]:
    """Return the tables of a recoding form, and the class of each row (int64, -1: none).

    Rows of one class look alike.
    """
    marks = encode(MARK, "insensitive", pa.array(mark(partition.group, np.zeros(1, np.int64))))
    marked = replace(microdata, columns=(*microdata.columns, marks))
    table = form.publish(marked, partition, parameters, draw)[TABLE]
    groups = table[MARK].to_numpy() // 4
    of_group = np.full(int(partition.group.max(initial=-1)) + 2, -1, dtype=np.int64)
    of_group[groups] = np.arange(table.num_rows)  # one of its rows, which look alike
    occurring = np.flatnonzero(of_group >= 0)
    labels = [c.name for c in microdata.with_roles("quasi-identifier")]
    rows = table.select(labels).take(pa.array(of_group[occurring]))
    keys, _ = key([encode(name, "insensitive", rows[name]) for name in labels], len(occurring))
    _, of_group[occurring] = np.unique(keys, return_inverse=True)
    of_group[-1] = -1
    return form.canonical({TABLE: table.drop_columns([MARK])}), of_group[partition.group]
