"""Counts of what versions and lines tell together: privately always, on the page where accepted.

The figures are held against attacks on the published tables alone, by somebody who knows
everybody's quasi-identifiers.
"""

import json
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow.parquet as pq
import pytest

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.lines.exposed import require_nothing_by_subtraction
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.private.people.lines import maps_of
from sfumato.tasks.private.people.seen import take_slots
from sfumato.tasks.private.people.slots import SlotMap
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.files import write_release
from sfumato.tasks.terms.assessment import assess
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables
from sfumato.tasks.terms.terms import FacedPeople
from tests.lines import prepare, publish_prepared
from tests.release.evolving import KINDS, Evolving
from tests.report.html import Read

ACCEPTED = {"versions": "accepted-risk"}
SHARED = {"people": "town", "versions": "disjoint", "across-lines": "accepted-risk"}
KNOWN = ("age", "zip", "edu")


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    place = tmp_path / "work"
    monkeypatch.setenv("SFUMATO_WORK", str(place))
    return place


def line(folder, name="coming-and-going", kind="split"):
    line = Evolving(folder, kind, name)
    while True:  # until everybody is known by what is no secret
        twice = Counter(key(row) for row in line.people.values())
        again = [number for number, row in line.people.items() if twice[key(row)] > 1]
        if not again:
            return line
        for number in again:
            line.people[number] = line._person(number)


def key(row):
    return tuple(row[name] for name in KNOWN)


def publish(line, seed, **changes):
    run = line.folder / f"run-of-seed-{seed}"
    return publish_prepared(prepare(line.write(**changes), run, seeded_keys(seed)), run).directory


def manifest(directory):
    return json.loads((directory / "datapackage.json").read_bytes())["sfumato"]


def report(work, name, version):
    place = work / name / "reports" / version / "composition.json"
    return json.loads(place.read_text(encoding="utf-8"))


def values_by_person(directory):
    """Return what a version tells of everybody: the values of the group."""
    qit = pq.read_table(directory / "data" / "qit.parquet").to_pylist()
    values_by_group = {}
    for row in pq.read_table(directory / "data" / "st.parquet").to_pylist():
        values_by_group.setdefault(row["group_id"], set()).add(row["job"])
    return {key(row): values_by_group[row["group_id"]] for row in qit}


def histogram(directory):
    counts_found = Counter()
    for row in pq.read_table(directory / "data" / "st.parquet").to_pylist():
        counts_found[row["job"]] += row["count"]
    return counts_found


def test_two_histograms_that_differ_by_one_person_name_the_value(tmp_path, work):
    line_ = line(tmp_path / "line")
    first = publish(line_, 1, **ACCEPTED)
    line_.people[900] = {**line_._person(900), "age": 77}
    second = publish(line_, 2, **ACCEPTED)
    assert histogram(second) - histogram(first) == Counter([line_.people[900]["job"]])
    (column,) = report(work, line_.name, "0002")["exposure"]["columns"]
    assert column["newcomers"] == {"people": 1, "one": 1, "few": 1}
    assert column["leavers"] == {"people": 0, "one": 0, "few": 0}
    assert manifest(second)["exposure"]["columns"] == [column]
    page = Read((second / "index.html").read_text(encoding="utf-8"))
    assert not page.faults
    assert "and of 1 of those who came or left" in page.text
    assert "values that came with newcomers 1 1 1 of 3" in page.text
    assert "was counted" not in Read((first / "index.html").read_text(encoding="utf-8")).text
    check(second)


def test_figures_of_versions_are_those_of_an_attack_on_their_tables(tmp_path, work):
    line_ = line(tmp_path / "line")
    versions = []
    for seed in (1, 2, 3):
        versions.append(values_by_person(publish(line_, seed, **ACCEPTED)))
        gone = sorted(line_.people)[seed]
        del line_.people[gone]
    faced = {}
    for version_values in versions:
        for person, values in version_values.items():
            faced[person] = faced.get(person, values) & values
    counts = [len(values) for values in faced.values()]
    (version_values,) = report(work, line_.name, "0003")["exposure"]["columns"]
    assert version_values["intersection"] == {
        "people": 72,
        "one": counts.count(1),
        "few": sum(count < 3 for count in counts),
    }
    assert version_values["intersection"]["one"] > 10
    assert version_values["leavers"] == {"people": 2, "one": 2, "few": 2}
    assert (version_values["column"], version_values["asked"]) == ("job", 3)


def test_four_lines_about_the_same_people(tmp_path, work):
    first = line(tmp_path / "0", "line-0")
    tables_shown, exposures = [], []
    for number in range(4):
        other = line(tmp_path / str(number), f"line-{number}")
        other.people = first.people
        directory = publish(other, number, **SHARED)
        check(directory)
        tables_shown.append(values_by_person(directory))
        faced = [
            set.intersection(*(values[person] for values in tables_shown))
            for person in tables_shown[0]
        ]
        counts = [len(values) for values in faced]
        exposure = report(work, other.name, "0001")["exposure"]
        exposures.append(manifest(directory).get("exposure"))
        if not number:
            assert exposure == {"versions": 1, "lines": 1, "columns": []}
            assert "format" not in manifest(directory)
            continue
        assert exposures[-1] == exposure
        assert (exposure["versions"], exposure["lines"]) == (number + 1, number + 1)
        assert exposure["columns"][0]["intersection"] == {
            "people": 72,
            "one": counts.count(1),
            "few": sum(count < 3 for count in counts),
        }
        page = Read((directory / "index.html").read_text(encoding="utf-8")).text
        assert f"of {number + 1} releases about the same people" in page
        assert "line-0" not in page
        assert "town" not in page
    ones = [exposure_part["columns"][0]["intersection"]["one"] for exposure_part in exposures[1:]]
    assert ones[0] < ones[1] < ones[2]
    assert ones[2] == 60


def test_a_column_that_another_line_shows_is_known_of_everybody(tmp_path, work):
    line_ = line(tmp_path / "one", "hides")
    publish(line_, 1, **SHARED)
    other = line(tmp_path / "two", "shows", kind="ranges")
    other.people = line_.people
    columns = {
        "id": {"role": "identifier", "type": "integer", "unit": True},
        "age": {"role": "quasi-identifier", "type": "integer"},
        "job": {"role": "quasi-identifier", "type": "string"},
        "zip": {"role": "drop", "type": "integer"},
        "edu": {"role": "drop", "type": "integer"},
        "hours": {"role": "sensitive", "type": "integer"},
    }
    publish(other, 2, **SHARED, columns=columns)
    assert report(work, "shows", "0001")["exposure"]["columns"] == []
    line_.people = {**line_.people, 900: line_._person(900)}
    publish(line_, 3, **{**SHARED, "versions": "accepted-risk"})
    (column,) = report(work, "hides", "0002")["exposure"]["columns"]
    assert column["intersection"]["one"] >= 72


@pytest.mark.parametrize("changes", [ACCEPTED, SHARED])
def test_what_has_nothing_to_tell_stays_as_it_was(tmp_path, work, changes):
    line_ = line(tmp_path / "line")
    first = publish(line_, 1, **changes)
    line_.people = {
        number + 5_000: {**row, "id": number + 5_000} for number, row in line_.people.items()
    }
    second = publish(line_, 2, **changes)
    for directory in (first, second):
        assert "format" not in manifest(directory)
        assert "exposure" not in manifest(directory)


def test_a_disjoint_line_tells_nothing_on_its_page(tmp_path, work):
    line_ = line(tmp_path / "line")
    directory = publish(line_, 1, versions="disjoint")
    assert "exposure" not in manifest(directory)
    assert report(work, line_.name, "0001")["exposure"]["columns"] == []


def test_a_version_published_meanwhile_makes_counts_old(tmp_path, work):
    line_ = line(tmp_path / "line")
    publish(line_, 1, **ACCEPTED)
    line_.people[900] = line_._person(900)
    run = tmp_path / "slow"
    slow = prepare(line_.write(**ACCEPTED), run, seeded_keys(5))
    line_.people[901] = line_._person(901)
    publish(line_, 6, **ACCEPTED)
    with pytest.raises(
        PromiseError, match=r"was published in the meantime\. Run the command again"
    ):
        publish_prepared(slow, run)
    assert sorted(path.name for path in (line_.folder / "public" / line_.name).glob("0*")) == [
        "0001",
        "0002",
    ]


def test_a_line_published_meanwhile_makes_counts_old(tmp_path, work):
    line_ = line(tmp_path / "one", "one")
    run = tmp_path / "slow"
    slow = prepare(line_.write(**SHARED), run, seeded_keys(5))
    other = line(tmp_path / "two", "two")
    other.people = line_.people
    publish(other, 6, **SHARED)
    with pytest.raises(
        PromiseError, match=r"was published in the meantime\. Run the command again"
    ):
        publish_prepared(slow, run)


@pytest.mark.parametrize("rule", ["disjoint", "accepted-risk"])
def test_another_name_or_place_of_a_line_meets_the_same_refusals(tmp_path, work, rule):
    line_ = line(tmp_path / "line", "town-jobs")
    settings = {"versions": rule, "people": "town"}
    publish(line_, 1, **settings)
    renamed = line(tmp_path / "renamed", "jobs-of-the-town")
    renamed.people = {**line_.people, 900: line_._person(900)}
    with pytest.raises(PromiseError, match=r"72 units are in line town-jobs\. Do one of"):
        publish(renamed, 2, **{**settings, "people": None})
    wrong = "the same people" if rule == "disjoint" else "'job' is grouped in both"
    with pytest.raises(PromiseError, match=wrong):
        publish(renamed, 3, **settings)
    renamed.name = "town-jobs"
    elsewhere = {**settings, "publish": {"uri": str(tmp_path / "elsewhere")}}
    if rule == "disjoint":
        with pytest.raises(PromiseError, match="72 units are in an earlier version"):
            publish(renamed, 4, **elsewhere)
    else:
        directory = publish(renamed, 4, **elsewhere)
        (column,) = manifest(directory)["exposure"]["columns"]
        assert column["newcomers"] == {"people": 1, "one": 1, "few": 1}


@pytest.mark.parametrize("kind", KINDS)
def test_composed_versions_tell_nothing_by_subtraction(tmp_path, work, kind):
    line = Evolving(tmp_path / "line", kind)
    for number in range(3):
        line.publish()
        composition = report(work, line.name, f"000{number + 1}")
        assert composition["rule"] == "composed"
        assert composition["route"] == (None if kind == "redistributed" else "A")
        line.move()
    assert composition["vacancy"]["vacant"] > 0
    (column,) = composition["exposure"]["columns"]
    for way in ("intersection", "newcomers", "leavers"):
        assert column[way]["one"] == column[way]["few"] == 0
    assert column["newcomers"]["people"] == 24
    if composition["route"]:
        (fewest,), (likeliest,) = composition["fewest"].values(), composition["likeliest"].values()
        assert fewest >= column["asked"]
        assert Fraction(likeliest) < 1
        assert composition["atoms"] > 0


def test_a_map_that_tells_by_subtraction_is_refused(tmp_path, work):
    line = Evolving(tmp_path / "line", "split")
    line.publish()
    line.move(join=24, leave=0)
    line.publish()
    (now,) = maps_of(work / line.name)
    is_kept = now.since == 1
    before = take_slots(now, np.flatnonzero(is_kept))
    require_nothing_by_subtraction(before, now, ["job"])
    moved = now.group.copy()
    moved[np.flatnonzero(~is_kept)[0]] = now.group[np.flatnonzero(is_kept)[0]]
    wrong = SlotMap(**{**vars(now), "group": moved})
    with pytest.raises(PromiseError, match="1 people came or left"):
        require_nothing_by_subtraction(before, wrong, ["job"])


def forge(directory, place, **changes):
    """A copy of a release that declares other counts, consistent in itself."""
    declared = open_release(directory).declared
    (column,) = declared.exposure.columns
    exposure_forged = declared.exposure.model_copy(
        update={"columns": (column.model_copy(update=changes),)}
    )
    declared = declared.model_copy(update={"exposure": exposure_forged})
    write_release(place, assess(declared, read_tables(declared, directory / "data")))
    return place


@pytest.mark.parametrize(
    "changes",
    [
        {"column": "age"},
        {"column": "no such"},
        {"asked": 1},
        {"leavers": FacedPeople.model_construct(people=1, one=3, few=2)},
        {"leavers": FacedPeople.model_construct(people=1, one=-1, few=1)},
    ],
)
def test_counts_that_cannot_be_are_refused(tmp_path, changes):
    line_ = line(tmp_path / "line")
    publish(line_, 1, **ACCEPTED)
    line_.people[900] = line_._person(900)
    directory = publish(line_, 2, **ACCEPTED)
    check(forge(directory, tmp_path / "same"))
    with pytest.raises(PromiseError):
        check(forge(directory, tmp_path / "forged", **changes))
