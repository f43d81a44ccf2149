"""Promises against somebody who knows other sensitive values of people, over several versions."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import PromiseError, SpecError
from sfumato.flows.inputs.spec import read_spec
from sfumato.tasks.lines.previous import hold_against
from sfumato.tasks.microdata.grouping import as_tuples
from sfumato.tasks.microdata.table import encode
from sfumato.tasks.private.people import store
from sfumato.tasks.publication.check import check
from sfumato.tasks.terms.opened import open_release
from tests.release.evolving import Evolving, spec

KNOWN = {"model": "l-diversity", "variant": "distinct", "l": 2, "sensitive": "job"}
TOGETHER = {
    "promises": [
        {"model": "k-anonymity", "k": 3},
        {**KNOWN, "known": ["hours"]},
        {**KNOWN, "sensitive": "hours"},
    ],
    "partition": {"method": "mondrian"},
    "form": {"method": "generalized"},
}
SPLIT = TOGETHER | {
    "promises": [{**KNOWN, "known": ["hours"]}, {**KNOWN, "sensitive": "hours"}],
    "form": {"method": "split", "sensitive": "together"},
}


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    place = tmp_path / "work"
    monkeypatch.setenv("SFUMATO_WORK", str(place))
    return place


@pytest.fixture
def line(tmp_path):
    line = Evolving(tmp_path / "line", "generalized")
    two_shifts(line)
    return line


def two_shifts(line):
    for number, person in line.people.items():
        person["hours"] = 20 if number % 7 < 4 else 40


def columns(line):
    hours = {"hours": {"role": "sensitive", "type": "integer"}}
    return {"columns": spec(line.kind, line.name, line.folder)["columns"] | hours}


@pytest.mark.parametrize("changes", [TOGETHER, SPLIT], ids=["generalized", "split"])
def test_they_are_kept_where_groups_go_on_whole(line, changes, work):
    for number in range(3):
        if number:
            line.move()
            two_shifts(line)
        check(line.publish(**changes | columns(line)))
    *earlier, last = line.versions
    assert len(hold_against(open_release(last), earlier, open_release).steps) == 2
    report = json.loads((work / line.name / "reports" / "0003" / "composition.json").read_bytes())
    assert report["route"] == "A"
    assert report["fewest"].keys() == report["likeliest"].keys() == {"job", "hours"}


def test_tuples_of_a_group_that_are_others_are_found(line, monkeypatch):
    """The values of each column are what they were; which stand beside each other are not."""
    line.publish(**SPLIT | columns(line))
    line.move(join=0, leave=2)
    slots_so_far = store.slots_so_far

    def turn_values(place, state):
        slots = slots_so_far(place, state)
        order = slots.group.argsort(kind="stable")
        first = order[slots.group[order] == slots.group[order[0]]]
        taken = np.arange(len(slots))
        taken[first] = np.roll(first, 1)
        hours = encode("hours", "sensitive", slots.rows["hours"].array().take(pa.array(taken)))
        rows = slots.rows.keep(hours if c.name == "hours" else c for c in slots.rows.columns)
        return replace(slots, rows=rows)

    monkeypatch.setattr("sfumato.tasks.lines.composed.slots_so_far", turn_values)
    with pytest.raises(
        PromiseError, match="1 group with other sensitive values than in earlier versions"
    ):
        line.publish(**SPLIT | columns(line))


def test_tuples_are_told_apart_whatever_is_in_them():
    ones = [["a\x1fb", "a", "\\0", None, "\\s"], ["c", "b\x1fc", "x", "x", ""]]
    assert len(as_tuples("both", [pa.array(values) for values in ones]).values) == 5


@pytest.mark.parametrize("rule", [{"vacancies": "refill"}, {"changes": "reinsert"}])
def test_where_people_change_places_they_are_not(line, rule):
    changes = TOGETHER | columns(line) | {"versions": {"rule": "composed", **rule}}
    with pytest.raises(SpecError, match="known: an attacker with this knowledge learns more if"):
        read_spec(line.write(**changes))
