"""Where strata are cut: at round values and between nodes, never at somebody's value."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.parts.cuts import Histogram, grids
from sfumato.tasks.schema.hierarchy_rules import Intervals
from sfumato.tasks.terms.opened import open_release
from tests.parts.divided import SPEC, visits

HIERARCHY = [
    ("Aa", "north", "*"),
    ("Bee", "south", "*"),
    ("Cé, the long", "south", "*"),
    ("Dee", "west", "*"),
]


def shares(release):
    return [
        {share.column: share for share in of}
        for part in open_release(release).declared.made_of
        for of in part.where
    ]


def test_a_declared_cut_is_that_of_larger_strata_alone(divided):
    release = divided.write(visits(), parts={"rows": 150, "by": "age", "at": [40, 65]}).publish(
        "one"
    )
    found = [of for of in shares(release.directory) if "age" in of]
    assert {of["year"].values for of in found} == {("2020",), ("2021",)}
    ends = [(of["age"].least, of["age"].below) for of in found]
    assert ends == [(None, "40"), ("40", "65"), ("65", None)] * 2


def test_a_declared_cut_that_leaves_too_much_is_refused(divided):
    divided.write(visits(), parts={"rows": 50, "by": "age", "at": [40]})
    with pytest.raises(InputError, match="more than 50: name more values"):
        divided.publish("one")


@pytest.mark.parametrize("rows", [60, 100, 300, 1000])
def test_cuts_are_at_round_values_and_parts_small_enough(divided, rows):
    release = divided.write(visits(), parts={"rows": rows}).publish("one").directory
    declared = open_release(release).declared
    assert max(part.rows for part in declared.made_of) <= rows
    for of in shares(release):
        for share in of.values():
            for end in (share.least, share.below):
                assert end is None or int(end) % 5 == 0


def test_nodes_of_a_hierarchy_are_kept_whole(divided):
    rows = visits()
    same = pa.array(np.full(600, 7))
    for name in ("age", "year"):
        rows = rows.set_column(rows.column_names.index(name), name, same)
    columns = {**SPEC["columns"], "town": {**SPEC["columns"]["town"], "hierarchy": "towns.csv"}}
    divided.write(rows, columns=columns, parts={"rows": 400})
    lines = [",".join(f'"{label}"' for label in row) for row in HIERARCHY]
    (divided.folder / "towns.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    release = divided.publish("one").directory
    found = [(of["town"].values, of["town"].null) for of in shares(release)]
    assert found == [(("Aa",), True), (("Bee", "Cé, the long", "Dee"), False)]


def test_what_cannot_be_cut_is_refused_with_what_to_say(divided):
    rows = visits()
    for name in ("age", "year"):
        place = rows.column_names.index(name)
        rows = rows.set_column(place, name, pa.array(np.full(600, 7)))
    with pytest.raises(InputError, match="no quasi-identifier has a node or a round value"):
        divided.write(rows, parts={"rows": 400}).publish("one")


def test_the_next_version_is_cut_as_the_one_before(divided):
    person = {"person": {"role": "identifier", "unit": True}}
    terms = {"columns": {**person, **SPEC["columns"]}, "unit": "person", "remember": "units"}
    first = divided.write(visits(), **terms).publish("one").directory
    cut = {of["year"].values: of["age"].least for of in shares(first) if "age" in of}
    fewer = visits(rows=200, seed=2, first=1000)
    second = divided.write(fewer, **terms).publish("two").directory
    assert second.name == "0002"
    assert {of["year"].values: of["age"].least for of in shares(second) if "age" in of} == cut


@pytest.mark.parametrize(
    ("texts", "type_", "hierarchy", "first", "ends"),
    [
        (["18", "44", "90"], "integer", None, 100, ()),
        (["18", "44", "90"], "integer", Intervals(intervals=(5, 20)), 20, ("20", "40", "60", "80")),
        (["-18", "3"], "integer", None, 50, ("0",)),
        (["0.13", "0.87"], "decimal", None, 1, ()),
        (["1987-03-09", "2001-12-31"], "date", None, 0, ("1990-01-01", "2000-01-01")),
    ],
)
def test_grids_are_there_before_the_rows(texts, type_, hierarchy, first, ends):
    histogram = Histogram(texts, np.ones(len(texts), dtype=np.int64))
    found = list(grids(histogram, type_, hierarchy))
    coarse = next(
        grid for grid in found if len(grid.ends) >= len(ends) and grid.ends[:1] == ends[:1]
    )
    assert coarse.ends == ends
    assert all(grid.counts.sum() == len(texts) for grid in found)
    assert first == 0 or Decimal(first) > 0


def test_integers_are_never_cut_at_each_value():
    histogram = Histogram([str(n) for n in range(10)], np.ones(10, dtype=np.int64))
    assert {end for grid in grids(histogram, "integer", None) for end in grid.ends} == {"5"}
