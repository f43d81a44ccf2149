"""Versions in which people whose values changed are shown again, from end to end."""

import json

import numpy as np
import pytest

from sfumato.flows.life.lines import forget, rename
from sfumato.tasks.lines.previous import hold_against
from sfumato.tasks.private.people.lines import maps_of, people_of
from sfumato.tasks.private.people.seen import MapOfLine, SeenPeople
from sfumato.tasks.private.people.slots import LEFT, as_table
from sfumato.tasks.publication.check import check
from sfumato.tasks.terms.opened import open_release
from tests.release.evolving import JOBS, Evolving

NAME = "coming-and-going"


@pytest.fixture
def work(tmp_path, monkeypatch):
    place = tmp_path / "work"
    monkeypatch.setenv("SFUMATO_WORK", str(place))
    return place


def changed_line(folder, kind="split", versions=3, **wish):
    """A line some of whose people change their job, or hours, in each version."""
    line = Evolving(folder / "line", kind)
    changes = {"versions": {"rule": "composed", "changes": "reinsert", **wish}}
    for number in range(versions):
        if number:
            line.move(leave=8)
        of_twelve_jobs(line)
        if number:
            for person in line.draw.sample(sorted(line.people), 16):
                line.people[person]["job"] = f"trade {line.draw.randrange(12)}"
                line.people[person]["hours"] = 5 * line.draw.randint(4, 40)
        line.publish(**changes)
    return line


def of_twelve_jobs(line):
    for number, person in line.people.items():
        if person["job"] in JOBS:
            person["job"] = f"trade {number % 12}"


def newest(work):
    return maps_of(work / NAME)[-1]


@pytest.mark.parametrize(
    ("kind", "vacancies"), [("permuted", "keep"), ("split", "refill"), ("ranges", "refill")]
)
def test_versions_pass_their_checks_and_tell_no_more_of_anybody(tmp_path, work, kind, vacancies):
    line = changed_line(tmp_path, kind, vacancies=vacancies)
    for directory in line.versions:
        check(directory)
    release = open_release(line.versions[-1])
    assert hold_against(release, line.versions[:-1], open_release).whole
    slots, reports = newest(work), work / NAME / "reports" / "0003"
    counts = json.loads((reports / "partition.json").read_bytes())
    composition = json.loads((reports / "composition.json").read_bytes())
    assert (slots.kind == LEFT).sum() + len(slots.past) >= counts["reinserted"]
    assert counts["reinserted"] > 0
    assert composition["route"] == (
        "A" if vacancies == "keep" else "C" if kind == "ranges" else "S"
    )
    (column,) = composition["exposure"]["columns"]
    for attack in ("intersection", "newcomers", "leavers"):
        assert (column[attack]["one"], column[attack]["few"]) == (0, 0)
    assert (composition["refilled"], composition["reinserted"]) == (
        counts["refilled"],
        counts["reinserted"],
    )
    assert composition["vacancy"]["vacant"] == release.declared.rows.vacant
    with (line.versions[-1] / "index.html").open(encoding="utf-8") as page:
        assert "may be in another group than before" in page.read()


def test_under_labels_nobody_changes_places(tmp_path, work):
    """And the boxes go on: whoever has no place of their own among newcomers is not shown."""
    line = changed_line(tmp_path, "generalized")
    assert all(check(directory).verdicts for directory in line.versions)
    composition = json.loads((work / NAME / "reports" / "0003" / "composition.json").read_bytes())
    (column,) = composition["exposure"]["columns"]
    for attack in ("intersection", "newcomers", "leavers"):
        assert (column[attack]["one"], column[attack]["few"]) == (0, 0)
    assert composition["withheld"] > 0


def test_somebody_in_two_slots_is_two_people_to_attacks_in_a_map_of_a_later_format(tmp_path, work):
    changed_line(tmp_path)
    slots = newest(work)
    leavers = np.flatnonzero(slots.kind == LEFT)
    assert len(leavers)
    (values_shown,) = SeenPeople([MapOfLine(0, slots)]).versions_showing("job")
    assert len(np.unique(values_shown.person)) == len(slots)
    assert as_table(slots).schema.metadata[b"sfumato"].startswith(b'{"format": 2,')


def test_who_is_forgotten_is_forgotten_in_every_slot(tmp_path, work):
    line = changed_line(tmp_path)
    before = newest(work)
    names = set(before.key[before.kind == LEFT].tolist())
    units = tmp_path / "units"
    units.write_text("".join(f"{unit}\n" for unit in sorted(line.people)), encoding="utf-8")
    number_of_people = len(people_of(work / NAME))
    assert names
    assert forget(line.folder / "spec.yaml", units) == len(line.people)
    after = newest(work)
    assert len(people_of(work / NAME)) == number_of_people - len(line.people)
    gone = set(before.names.tolist()) - set(after.names.tolist())
    assert gone & names
    assert not any(name in path.read_bytes() for name in gone for path in maps(work))
    line.move(leave=0)
    of_twelve_jobs(line)
    line.publish(versions={"rule": "composed", "changes": "reinsert"})
    check(line.versions[-1])
    counts = json.loads((work / NAME / "reports" / "0004" / "partition.json").read_bytes())
    assert (counts["continued"], counts["new"]) == (0, 24)


def maps(work):
    return [path for path in (work / NAME / "map").iterdir() if path.name != "erased"]


def test_who_has_two_slots_is_known_by_another_unit(tmp_path, work):
    line = changed_line(tmp_path)
    units = tmp_path / "units.csv"
    moved = sorted(line.people)
    units.write_text("".join(f"{n},{n + 50_000}\n" for n in moved), encoding="utf-8")
    assert rename(line.folder / "spec.yaml", units) == len(moved)
    line.people = {n + 50_000: {**p, "id": n + 50_000} for n, p in line.people.items()}
    line.publish(versions={"rule": "composed", "changes": "reinsert"})
    check(line.versions[-1])
    counts = work / NAME / "reports" / line.versions[-1].name / "partition.json"
    assert json.loads(counts.read_bytes())["new"] == 0
