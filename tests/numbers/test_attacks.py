"""Attacks on releases that show numbers of rows, against all worlds of small groups."""

import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from sfumato.tasks.attacks.group.related_rows import RelatedTruth
from sfumato.tasks.microdata.grouping import related_rows
from sfumato.tasks.microdata.table import Microdata, OwnedRows, encode
from tests.flow_here import release_here
from tests.numbers.clinic import spec_of_numbers
from tests.numbers.worlds import ShownGroup, random_groups
from tests.related.hospital import made_up


def truth_about(group: ShownGroup, kind: str) -> RelatedTruth:
    owner = np.array([p for p, n in enumerate(group.numbers) for _ in range(n)], np.int64)
    values = encode("s", "sensitive", pa.array(group.values, pa.string()))
    owned = OwnedRows(owner, Microdata((values,), len(owner)))
    people = np.zeros(len(group.numbers), np.int64)
    counted = related_rows(owned, people, ["s"])
    return RelatedTruth("s", np.array([len(people)]), people, owned, counted, kind)


@pytest.mark.parametrize("kind", ["shuffled", "published"])
def test_certain_values_are_those_of_all_worlds(kind):
    certain = 0
    for group in random_groups(31, 300):
        if not group.values:
            continue
        truth, worlds = truth_about(group, kind), group.worlds(kind)
        marked = dict(zip(truth.people.person.tolist(), truth.by_groups.tolist(), strict=True))
        for person, number in enumerate(group.numbers):
            if number:
                sure = set.intersection(*(group.values_of(person, world) for world in worlds))
                assert marked[person] == bool(sure), group
                certain += bool(sure)
    assert certain > 50


@pytest.mark.parametrize("kind", ["hidden", "shuffled", "published"])
def test_the_commands_know_numbers(kind, tmp_path, monkeypatch, call):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    hospital = made_up(5, 80)
    workload = {"kind": "people", "over": "age", "span": 20, "times": [1, 2], "queries": 5}
    spec = spec_of_numbers(tmp_path, hospital, kind, evaluate={"workloads": [workload]})
    release = release_here(spec)
    code, output, error = call("attack", release, "--truth", spec, "--format", "json")
    assert code == 0, error
    scores = {s["measure"]: s for s in json.loads(output)["scores"]["diagnosis"]}
    people = {p["patient"]: (p["age"], p["sex"]) for p in hospital.patients.to_pylist()}
    alike, having = Counter(people.values()), {*hospital.stays["patient"].to_pylist()}
    alone = sum(alike[people[patient]] == 1 for patient in having)
    read = [s for name, s in scores.items() if "of whom the files show how many they have" in name]
    assert [(s["number"], s["of"]) for s in read] == [(alone, len(having))] * (kind == "published")
    words = {
        "hidden": "nothing but the group",
        "shuffled": "the group and its numbers of rows",
        "published": "the group and the published numbers of rows",
    }
    assert any(name.endswith(f"certain, by {words[kind]}") for name in scores)
    for arguments in (
        ("plan", spec, "--format", "json"),
        ("evaluate", release, "--spec", spec),
        ("check", release),
        ("describe", release.parent),
    ):
        code, output, error = call(*arguments)
        assert code == 0, (arguments, error)
