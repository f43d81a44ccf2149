"""Versions in which people were moved to other groups of the same values, from end to end."""

import numpy as np
import pytest

from sfumato.expectations.shared.errors import PromiseError
from sfumato.flows.life.lines import forget
from sfumato.tasks.continued.parameters import ComposedVersions
from sfumato.tasks.lines.previous import hold_against
from sfumato.tasks.private.people.slots import LIVE, MOVED
from sfumato.tasks.publication.check import check
from sfumato.tasks.terms.opened import open_release
from tests.release.evolving import Evolving
from tests.release.test_refilled_versions import NAME, manifest, newest, report

CLOSING = {
    "versions": {"rule": "composed", "vacancies": "refill", "consolidate": True},
    "partition": {"method": "anatomy", "draw": "round-robin"},
}


@pytest.fixture
def work(tmp_path, monkeypatch):
    place = tmp_path / "work"
    monkeypatch.setenv("SFUMATO_WORK", str(place))
    return place


def thinned_line(folder, kind="split", versions=2, **changes):
    """A line that more people leave than come to."""
    line = Evolving(folder / "line", kind)
    for number in range(versions):
        if number:
            line.move(join=6, leave=18)
        line.publish(**CLOSING, **changes)
    return line


@pytest.mark.parametrize("kind", ["permuted", "split"])
def test_versions_pass_their_checks_and_tell_no_more_of_anybody(tmp_path, work, kind):
    line = thinned_line(tmp_path, kind, versions=3)
    for directory in line.versions:
        check(directory)
    release = open_release(line.versions[-1])
    assert hold_against(release, line.versions[:-1], open_release).whole
    composition = report(work, "0003")
    assert composition["route"] == "S"
    assert composition["moved"] > 0
    assert composition["likeliest"] == {"job": "1/3"}
    (column,) = composition["exposure"]["columns"]
    for attack in ("intersection", "newcomers", "leavers"):
        assert (column[attack]["one"], column[attack]["few"]) == (0, 0)
    slots = newest(work)
    moved = slots.kind == MOVED
    assert moved.sum() > composition["moved"]
    assert slots.retired[moved].all()
    assert (slots.kind[slots.own] == LIVE).sum() == manifest(line.versions[-1])["rows"]["published"]
    assert len(np.unique(slots.key[slots.own])) == slots.own.sum()
    page = (line.versions[-1] / "index.html").read_text(encoding="utf-8")
    assert "in another group of exactly the same values" in page


def test_fewer_values_are_vacant_and_fewer_groups_shown(tmp_path, work):
    counts = {}
    for name, more in (("closing", {}), ("refill", {"consolidate": False})):
        versions = {**CLOSING["versions"], **more}
        line = Evolving(tmp_path / name, "split", name=name)
        for join, leave in ((0, 0), (6, 30)):
            line.move(join, leave)
            line.publish(versions=versions, partition=CLOSING["partition"])
        counts[name] = manifest(line.versions[-1])["rows"].get("vacant", 0)
        assert manifest(line.versions[-1])["rows"]["published"] > 40
    assert counts["closing"] < counts["refill"]


def test_people_who_move_where_the_line_does_not_say_so_are_refused(tmp_path, work, monkeypatch):
    line = thinned_line(tmp_path, versions=1)
    line.move(join=6, leave=18)
    fields = ComposedVersions.model_fields
    monkeypatch.setattr(
        "sfumato.tasks.continued.parameters.ComposedVersions.model_fields",
        {name: field for name, field in fields.items() if name != "consolidate"},
    )
    with pytest.raises(PromiseError, match="in another group than before"):
        line.publish(**CLOSING)


def test_who_moved_is_forgotten_in_both_slots(tmp_path, work):
    line = thinned_line(tmp_path, versions=3)
    before = newest(work)
    moved = set(before.key[before.kind == MOVED].tolist())
    gone = sorted(line.people)[:20]
    units = tmp_path / "units"
    units.write_text("".join(f"{unit}\n" for unit in gone), encoding="utf-8")
    assert forget(line.folder / "spec.yaml", units) == 20
    forgotten = set(before.names.tolist()) - set(newest(work).names.tolist())
    assert len(forgotten) == 20
    assert forgotten & moved
    for path in (work / NAME).rglob("*"):
        if path.is_file() and path.name != "erased":
            assert not any(name in path.read_bytes() for name in forgotten), path
    line.move(join=6, leave=6)
    line.publish(**CLOSING)
    check(line.versions[-1])
    assert not forgotten & set(newest(work).names.tolist())
    assert manifest(line.versions[-1])["rows"]["not_represented_versions"] >= 14
