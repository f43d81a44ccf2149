"""Places of cuts between strata: at round values and between nodes, never at a person's value."""

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
        {share.column: share for share in shares_of_part}
        for part in open_release(release).declared.made_of
        for shares_of_part in part.where
    ]


def test_a_declared_cut_is_that_of_larger_strata_alone(divided_line):
    release = divided_line.write(
        visits(), parts={"rows": 150, "by": "age", "at": [40, 65]}
    ).publish("one")
    cut_shares = [
        shares_of_part for shares_of_part in shares(release.directory) if "age" in shares_of_part
    ]
    assert {shares_of_part["year"].values for shares_of_part in cut_shares} == {
        ("2020",),
        ("2021",),
    }
    ends = [
        (shares_of_part["age"].least, shares_of_part["age"].below) for shares_of_part in cut_shares
    ]
    assert ends == [(None, "40"), ("40", "65"), ("65", None)] * 2


def test_a_declared_cut_that_leaves_too_much_is_refused(divided_line):
    divided_line.write(visits(), parts={"rows": 50, "by": "age", "at": [40]})
    with pytest.raises(
        InputError,
        match=(
            r"rows, more than 50\. Name more values, or raise "
            r"parts\.rows"
        ),
    ):
        divided_line.publish("one")


@pytest.mark.parametrize("rows", [60, 100, 300, 1000])
def test_cuts_are_at_round_values_and_parts_small_enough(divided_line, rows):
    release = divided_line.write(visits(), parts={"rows": rows}).publish("one").directory
    declared = open_release(release).declared
    assert max(part.rows for part in declared.made_of) <= rows
    for shares_of_part in shares(release):
        for share in shares_of_part.values():
            for end in (share.least, share.below):
                assert end is None or int(end) % 5 == 0


def test_nodes_of_a_hierarchy_are_kept_whole(divided_line):
    rows = visits()
    same = pa.array(np.full(600, 7))
    for name in ("age", "year"):
        rows = rows.set_column(rows.column_names.index(name), name, same)
    columns = {**SPEC["columns"], "town": {**SPEC["columns"]["town"], "hierarchy": "towns.csv"}}
    divided_line.write(rows, columns=columns, parts={"rows": 400})
    lines = [",".join(f'"{label}"' for label in row) for row in HIERARCHY]
    (divided_line.folder / "towns.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    release = divided_line.publish("one").directory
    towns = [
        (shares_of_part["town"].values, shares_of_part["town"].null)
        for shares_of_part in shares(release)
    ]
    assert towns == [(("Aa",), True), (("Bee", "Cé, the long", "Dee"), False)]


def test_what_cannot_be_cut_is_refused_with_what_to_say(divided_line):
    rows = visits()
    for name in ("age", "year"):
        place = rows.column_names.index(name)
        rows = rows.set_column(place, name, pa.array(np.full(600, 7)))
    with pytest.raises(
        InputError, match=("and no quasi-identifier can cut it at a label or a round")
    ):
        divided_line.write(rows, parts={"rows": 400}).publish("one")


def test_the_next_version_is_cut_as_the_one_before(divided_line):
    person = {"person": {"role": "identifier", "unit": True}}
    terms = {"columns": {**person, **SPEC["columns"]}, "unit": "person", "remember": "units"}
    first = divided_line.write(visits(), **terms).publish("one").directory
    cut = {
        shares_of_part["year"].values: shares_of_part["age"].least
        for shares_of_part in shares(first)
        if "age" in shares_of_part
    }
    fewer = visits(rows=200, seed=2, first=1000)
    second = divided_line.write(fewer, **terms).publish("two").directory
    assert second.name == "0002"
    assert {
        shares_of_part["year"].values: shares_of_part["age"].least
        for shares_of_part in shares(second)
        if "age" in shares_of_part
    } == cut


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
    grids_found = list(grids(histogram, type_, hierarchy))
    coarse = next(
        grid for grid in grids_found if len(grid.ends) >= len(ends) and grid.ends[:1] == ends[:1]
    )
    assert coarse.ends == ends
    assert all(grid.counts.sum() == len(texts) for grid in grids_found)
    assert first == 0 or Decimal(first) > 0


def test_integers_are_never_cut_at_each_value():
    histogram = Histogram([str(n) for n in range(10)], np.ones(10, dtype=np.int64))
    assert {end for grid in grids(histogram, "integer", None) for end in grid.ends} == {"5"}
