"""Why each row of a composed line, or of one that follows another, would not be published."""

import csv

import numpy as np
import pytest

from sfumato.flows.choice.draft import draft
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.life.lines import forget
from sfumato.tasks.continued.survivors import Absence, Met, absences
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables
from tests.release.evolving import Evolving


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))


def reasons(line, **changes):
    """Why people would be left out, by their number, and how many rows are like theirs."""
    draft_made = draft(line.write(**changes), Overrides())
    people = list(line.people)
    with (draft_made.page.parent / "left-out.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert sum(draft_made.summary["left_out"].values()) == len(rows)
    return {people[int(row["row"]) - 1]: (row["why"], int(row["rows_alike"])) for row in rows}


def members(line):
    """The numbers of people who are in the group of the first."""
    release = open_release(line.versions[-1])
    rows = read_tables(release.declared, release.directory / "data")["qit"].to_pylist()
    group_of_values = {
        tuple(row[n] for n in ("age", "zip", "edu")): row["group_id"] for row in rows
    }
    assert len(group_of_values) == len(rows)
    group = {n: group_of_values[p["age"], p["zip"], p["edu"]] for n, p in line.people.items()}
    return [n for n in group if group[n] == group[0]]


def test_who_of_a_composed_line_is_left_out_is_told_why(tmp_path):
    line = Evolving(tmp_path / "line", "split")
    line.publish()
    units = tmp_path / "units.csv"
    units.write_text("70\n", encoding="utf-8")
    assert forget(line.write(), units) == 1
    here = members(line)
    stayed = here[0]
    for gone in here[1:]:
        del line.people[gone]
    changed = next(n for n in line.people if n not in (stayed, 70))
    line.people[changed]["job"] = "job 0" if line.people[changed]["job"] != "job 0" else "job 1"
    line.people[900] = {**line._person(900), "age": line.people[70]["age"]}
    line.people[900] |= {name: line.people[70][name] for name in ("zip", "edu")}
    wish = {"rule": "composed", "retire": "0.5", "cohort": 2}
    reasons_found = reasons(line, versions=wish)
    assert {number: why.split(":")[0] for number, (why, _) in reasons_found.items()} == {
        stayed: "withheld",
        changed: "withheld",
        900: "waits",
        70: "stays out for ever",
    }
    assert "group is retired" in reasons_found[stayed][0]
    assert "values are not those" in reasons_found[changed][0]
    assert reasons_found[900][1] == reasons_found[70][1] == 2
    assert reasons_found[changed][1] == 1


def test_whom_the_partition_of_a_first_version_leaves_out_is_suppressed(tmp_path):
    line = Evolving(tmp_path / "line", "ambiguous")
    for number in range(200, 300):
        line.people[number] = line._person(number) | {"job": "job 0"}
    reasons_found = reasons(line, partition={"method": "disjoint-cover", "residue": "suppress"})
    assert reasons_found
    assert {why for why, _ in reasons_found.values()} == {
        "suppressed: the partition could not keep the promises with it"
    }


@pytest.mark.parametrize("rule", ["composed", "accepted-risk"])
def test_who_is_in_no_group_of_the_line_that_is_followed_waits(tmp_path, rule):
    first = Evolving(tmp_path / "first", "split", "first")
    first.publish(versions={"rule": rule}, remember="map")
    second = Evolving(tmp_path / "second", "split", "second")
    second.people = first.people | {number: second._person(number) for number in range(500, 520)}
    changes = {
        "groups": "first",
        "partition": None,
        "people": "first",
        "versions": {"rule": rule},
        "remember": "map",
    }
    reasons_found = reasons(second, **changes)
    assert set(reasons_found) == set(range(500, 520))
    assert {why for why, _ in reasons_found.values()} == {
        "waits: it is in no group of the other line that can be shown"
    }


def test_each_person_has_the_reason_that_the_line_had():
    met = Met(
        slot=np.array([0, 1, -1, -1, 2, 3, -1]),
        continued=np.array([True, True, False, False, False, False, False]),
        new=np.array([False, False, True, True, False, False, False]),
    )
    is_shown = np.array([True, False, True, False, True, False, False])
    suppressed = np.zeros(7, dtype=bool)
    assert absences(met, is_shown, suppressed).tolist() == [
        Absence.NONE,
        Absence.RETIRED,
        Absence.NONE,
        Absence.WAITING,
        Absence.NONE,  # values changed, and it came again among newcomers
        Absence.CHANGED,
        Absence.OUT,
    ]
    suppressed[3] = True
    assert absences(met, is_shown, suppressed)[3] == Absence.SUPPRESSED
