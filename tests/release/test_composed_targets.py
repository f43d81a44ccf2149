"""Composed lines whose groups another partition makes, with declared distributions."""

import json

import numpy as np
import pyarrow.compute as pc
import pytest

from sfumato.expectations.shared.errors import SpecError
from sfumato.tasks.lines.all_versions import moved_between
from sfumato.tasks.lines.shown import ShownVersion
from sfumato.tasks.publication.check import check
from sfumato.tasks.terms.opened import open_release
from tests.release.evolving import Evolving

ROWS = 8
FORM = {"method": "redistributed", "tree": "balanced", "denominator": 4, "rows": ROWS}
MONDRIAN = {"partition": {"method": "mondrian"}, "form": FORM}
TARGETS = {
    "uniform": {"target": "uniform"},
    "all rows": {"target": "source", "per": "table"},
    "strata": {"target": "source"},
}


@pytest.fixture
def line(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    return Evolving(tmp_path / "line", "redistributed")


def wish(target, **changes):
    promise = {"model": "p-privacy", **TARGETS[target]}
    return {**MONDRIAN, "promises": [promise], "strata": STRATA[target], **changes}


STRATA = {"uniform": [], "all rows": [], "strata": [{"column": "age", "bands": [40]}]}


def rows_of(directory):
    return json.loads((directory / "datapackage.json").read_bytes())["sfumato"]["rows"]


def trees_of(directory):
    """The published distributions, as sets of nodes with their weights."""
    table = open_release(directory).table("targets")
    return {
        tuple(sorted(map(tuple, rows)))
        for number in pc.unique(table["target"]).to_pylist()
        for rows in [
            [
                (row["lower"], row["upper"], row["weight"])
                for row in table.filter(pc.equal(table["target"], number)).to_pylist()
            ]
        ]
    }


@pytest.mark.parametrize("target", TARGETS)
def test_newcomers_get_groups_of_their_own_and_the_distributions_of_the_first_version(line, target):
    line.publish(**wish(target))
    for _ in range(2):
        line.move(join=40, leave=6)
        line.publish(**wish(target))
    versions = [ShownVersion.read(open_release(place)) for place in line.versions]
    assert moved_between(line.versions, versions)
    first, *later = (trees_of(place) for place in line.versions)
    assert len(first) == (2 if target == "strata" else 1)
    assert all(trees <= first for trees in later)
    for directory, version in zip(line.versions, versions, strict=True):
        assert all(verdict.holds for _, verdict in check(directory).verdicts)
        new = version.previous < 0
        assert (version.rows[new] >= ROWS).all()
    sizes = [len(version.rows) for version in versions]
    assert 4 < sizes[0] < sizes[1] < sizes[2]
    assert (np.diff([version.rows.sum() for version in versions]) == 34).all()


def test_newcomers_who_are_too_few_for_a_group_wait(line):
    line.publish(**wish("uniform"))
    line.move(join=ROWS - 1, leave=0)
    assert rows_of(line.publish(**wish("uniform")))["not_represented_versions"] == ROWS - 1


def test_newcomers_with_a_value_that_no_distribution_has_wait(line):
    line.publish(**wish("uniform"))
    line.move(join=20, leave=0)
    line.people[1_000] = {**line.people[1_000], "hours": 999}
    assert rows_of(line.publish(**wish("uniform")))["not_represented_versions"] == 20


def test_groups_depend_on_no_value(line, tmp_path, monkeypatch):
    """With other values of the same people, every version has rows in the same groups."""
    other = Evolving(tmp_path / "other", "redistributed")
    for each in (line, other):
        monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / f"work of {each.folder.name}"))
        for version in range(2):
            if version:
                each.move(join=40, leave=0)
            if each is other:
                hours = sorted(person["hours"] for person in each.people.values())
                people = zip(each.people.items(), hours, strict=True)
                each.people |= {n: {**p, "hours": h} for (n, p), h in people}
            each.publish(**wish("uniform", versions={"rule": "composed", "changes": "as-first"}))
    for first, second in zip(line.versions, other.versions, strict=True):
        tables = [open_release(place).table("qit") for place in (first, second)]
        assert tables[0].equals(tables[1])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"versions": {"rule": "composed", "vacancies": "refill"}},
            r"versions\.vacancies: `refill`",
        ),
        (
            {"versions": {"rule": "composed", "changes": "reinsert"}},
            r"versions\.changes: `reinsert`",
        ),
        ({"form": {"method": "redistributed"}}, r"form\.rows: partition mondrian needs the fewest"),
    ],
)
def test_what_does_not_go_with_them_is_refused_by_name(line, changes, words):
    with pytest.raises(SpecError, match=words):
        line.publish(**wish("uniform", **changes))


def test_targets_of_groups_own_are_refused_by_name(line):
    own = [
        {"model": "p-privacy", "target": {"nearest": "own"}},
        {"model": "l-diversity", "variant": "distinct", "l": 2},
    ]
    with pytest.raises(SpecError, match=r"promises\.0: p-privacy"):
        line.publish(**wish("uniform", promises=own))
