"""Channels beside the values: order, ids, metadata, help tables and pictures tell no world apart.

Two worlds leave the same values in each group, and give them to other people; their sources stand
in another order, too. What is published of them may differ in nothing but which row of a permuted
table shows which value, which is drawn.
"""

import json
import random
import re
from collections import defaultdict
from unittest.mock import patch

import numpy as np
import pyarrow.parquet as pq
import pytest

from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.partitions.registry import PARTITIONS
from sfumato.tasks.terms.opened import MANIFEST, PAGE
from tests.release.small import Small, people

COLUMNS = {
    "person": {"role": "identifier", "unit": True},
    "age": {"role": "quasi-identifier", "type": "integer"},
    "town": {"role": "quasi-identifier", "nulls": "category"},
    "note": {"role": "drop"},
    "wage": {"role": "sensitive", "type": "decimal", "nulls": "drop-row"},
}
BOXES = {
    "columns": COLUMNS,
    "promises": [{"model": "l-diversity", "variant": "distinct", "l": 4}],
    "partition": {"method": "mondrian"},
    "evaluate": {"workloads": []},
}
"""Everybody's value is different, so that cuts depend on quasi-identifiers alone."""
TARGETS = {
    "promises": [{"model": "p-privacy", "target": "source"}],
    "partition": {"method": "stratum"},
    "strata": ["town"],
}
FORMS = {
    "permuted": {"form": {"method": "permuted"}},
    "split": {"form": {"method": "split"}},
    "generalized": {"form": {"method": "generalized"}},
    "suppressed": {"form": {"method": "suppressed"}},
    "redistributed": {"form": {"method": "redistributed"}, **TARGETS},
    "ambiguous": {
        "form": {"method": "ambiguous"},
        "promises": [{"model": "alpha-beta", "alpha": "0.9", "beta": "0.5"}],
        "partition": {"method": "disjoint-cover"},
    },
}
DRAWN = "microdata."
SIZE = re.compile(rb"(?<=data/microdata)\.[^<]{2,40}</a>(?:</th><td class=.number.>| \()[^<)]*")
"""What the page tells, in its two lists, of the size of a file that is drawn."""


@pytest.fixture(scope="module")
def rows():
    """People, each with a value of their own, and some who are not published."""
    rows = people(rows=160)
    return [{**row, "wage": row["wage"] and f"{i}.5"} for i, row in enumerate(rows)]


@pytest.fixture(scope="module")
def groups(rows, tmp_path_factory):
    """The group of each age and town in the boxes."""
    version = release(tmp_path_factory.mktemp("groups") / "line", rows, "groups", "permuted")
    table = pq.read_table(version / "data/microdata.parquet")
    columns = (table[name].to_pylist() for name in ("age", "town", "group_id"))
    return {(age, town or ""): group for age, town, group in zip(*columns, strict=True)}


def thin_out(rows):
    """Fewer of the people, of whom no two have the same age and town."""
    return list({(row["age"], row["town"]): row for row in rows}.values())[::2]


def covering_groups(folder, rows):
    """The one group that covers the age and town of each person, in tables that show them apart."""
    version = release(folder, rows, "groups", "ambiguous")
    covered = defaultdict(set)
    for name in ("age", "town"):
        for row in pq.read_table(version / f"data/at_{name}.parquet").to_pylist():
            covered[name, row[name] or ""].add(row["group_id"])
    vectors = {}
    for row in rows:
        vectors[int(row["age"]), row["town"]] = (
            covered["age", int(row["age"])] & covered["town", row["town"]]
        )
    return {vector: min(values) for vector, values in vectors.items() if len(values) == 1}


def partition_by(of_vector):
    """A partition into given groups: which columns are cut apart depends on values, as declared."""

    def partition(microdata, *_):
        columns = (microdata[name].array().to_pylist() for name in ("age", "town"))
        vectors = [(age, town or "") for age, town in zip(*columns, strict=True)]
        return Partition(np.array([of_vector[vector] for vector in vectors]))

    return patch.dict(PARTITIONS, {"disjoint-cover": partition})


def another_world(rows, group_of, rng):
    """The same people in another order, with the values of each group given out anew."""
    public_rows = [row for row in rows if int(row["age"]) > 18 and row["wage"]]
    rest = [row for row in rows if row not in public_rows]
    values = defaultdict(list)
    for row in public_rows:
        values[group_of(row)].append(row["wage"])
    for values_of_group in values.values():
        rng.shuffle(values_of_group)
    moved = [{**row, "wage": values[group_of(row)].pop()} for row in public_rows] + rest
    rng.shuffle(moved)
    return moved


def release(folder, rows, name, form):
    """A version of a line of its own."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("SFUMATO_WORK", str(folder / "work"))
        return Small(folder).write(rows, **{**BOXES, **FORMS[form]}).publish(name).directory


def publish_files(folder, rows, name, form):
    """The bytes of every file, by name, and the manifest without the digests of what is drawn."""
    version = release(folder, rows, name, form)
    files = {
        str(path.relative_to(version)): path.read_bytes()
        for path in version.rglob("*")
        if path.is_file()
    }
    manifest = json.loads(files.pop(MANIFEST))
    if form == "permuted":
        files[PAGE] = SIZE.sub(b"", files[PAGE])
        manifest["sfumato"].pop("digest")
        for resource in manifest["resources"]:
            if DRAWN in resource["path"] or resource["path"] == PAGE:
                del resource["hash"], resource["bytes"]
    return version, files, manifest


@pytest.mark.parametrize("form", FORMS)
def test_worlds_that_leave_the_same_groups_publish_the_same(tmp_path, rows, groups, form):
    if form == "ambiguous":
        rows = thin_out(rows)
        groups = covering_groups(tmp_path / "groups", rows)
        assert {*groups.values()} == {*range(1 + max(groups.values()))}

    def group_of(row):
        return row["town"] if form == "redistributed" else groups[int(row["age"]), row["town"]]

    with partition_by(groups):
        assert_worlds_publish_the_same(tmp_path, rows, group_of, form)


def assert_worlds_publish_the_same(tmp_path, rows, group_of, form):
    rng = random.Random(form)
    first, files, manifest = publish_files(tmp_path / "one", rows, "first", form)
    for attempt in range(2):
        world = another_world(rows, group_of, rng)
        assert {row["person"]: row["wage"] for row in world} != {
            row["person"]: row["wage"] for row in rows
        }
        name = f"world-{attempt}"
        other, others, other_manifest = publish_files(tmp_path / name, world, name, form)
        assert other_manifest == manifest
        assert set(others) == set(files)
        drawn_files = {path for path in files if form == "permuted" and DRAWN in path}
        assert len(drawn_files) == (2 if form == "permuted" else 0)
        for path in set(files) - drawn_files:
            assert others[path] == files[path], path
        if drawn_files:
            assert_alike_but_for_the_draw(first, other)


def assert_alike_but_for_the_draw(first, other):
    """Rows stand in the same order under the same ids, and each group has the same values."""
    tables = [pq.read_table(folder / "data/microdata.parquet") for folder in (first, other)]
    known_columns = [table.drop_columns(["wage"]) for table in tables]
    assert known_columns[0].equals(known_columns[1])
    assert not tables[0].equals(tables[1]), "the draws differ"
    assert values_by_group(tables[0]) == values_by_group(tables[1])
    footers = [pq.read_metadata(folder / "data/microdata.parquet") for folder in (first, other)]
    for place, column in enumerate(tables[0].schema.names):
        chunks = [footer.row_group(0).column(place) for footer in footers]
        assert chunks[0].statistics == chunks[1].statistics, column
        assert chunks[0].encodings == chunks[1].encodings
        if column != "wage":
            assert chunks[0].total_compressed_size == chunks[1].total_compressed_size


def values_by_group(table):
    values = defaultdict(list)
    for group, wage in zip(table["group_id"].to_pylist(), table["wage"].to_pylist(), strict=True):
        values[group].append(wage)
    return {group: sorted(group_values) for group, group_values in values.items()}
