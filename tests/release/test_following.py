"""A second line of the same people in the groups of the first: in another form, beside others."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.expectations.shared.errors import InputError, PromiseError, SpecError
from sfumato.flows.inputs.spec import read_spec
from sfumato.tasks.candidates.followed import slots_as_followed
from sfumato.tasks.lines import meeting
from sfumato.tasks.lines.previous import hold_against
from sfumato.tasks.microdata.table import Microdata, encode
from sfumato.tasks.private.people.followed import FollowedLine
from sfumato.tasks.private.people.forget import with_forgotten
from sfumato.tasks.private.people.lines import maps_of
from sfumato.tasks.private.people.seen import take_slots
from sfumato.tasks.private.people.slots import SlotMap
from sfumato.tasks.publication.check import check
from sfumato.tasks.terms.opened import open_release
from tests.release.evolving import DIVERSE, JOBS, Evolving, spec
from tests.report.html import Read

COLUMNS = spec("split", "any", Path())["columns"]
HOURS = COLUMNS | {
    "job": {"role": "drop"},
    "hours": {"role": "sensitive", "type": "integer"},
}
BOTH = COLUMNS | {"hours": {"role": "sensitive", "type": "integer"}}
TWO_HOURS = [{"model": "l-diversity", "variant": "distinct", "l": 2, "sensitive": "hours"}]


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    place = tmp_path / "work"
    monkeypatch.setenv("SFUMATO_WORK", str(place))
    return place


@pytest.fixture
def first(tmp_path):
    line = Evolving(tmp_path / "first", "split", "first")
    for number, person in line.people.items():
        person["hours"] = number % 30
    return line


def following(first, name="second", kind="split"):
    """A line beside the first, about its people as they are when it publishes."""
    other = Evolving(first.folder.parent / name, kind, name)
    other.people = first.people
    return other


def follow(line, **changes):
    changes = {"groups": "first", "partition": None, "people": "first", **changes}
    return line.publish(**changes)


def holds_against_all(line):
    """The last version, held against all before it as anybody can."""
    *earlier, last = line.versions
    assert len(hold_against(open_release(last), earlier, open_release).steps) == len(earlier)
    return last


def report(work, name, version):
    return json.loads((work / name / "reports" / version / "composition.json").read_bytes())


def groups(work, name):
    """The people of each group that the latest version shows, vacant or not."""
    slots = maps_of(work / name)[-1]
    keys_by_group = {}
    for key, group, published in zip(slots.key, slots.group, slots.published, strict=True):
        if published >= 0 or not slots.composed:
            keys_by_group.setdefault(int(group), set()).add(key)
    return set(map(frozenset, keys_by_group.values()))


@pytest.mark.parametrize("kind", ["permuted", "generalized"])
def test_a_second_form_goes_on_with_the_first(kind, first, work):
    second = following(first, kind=kind)
    promises = DIVERSE if kind != "generalized" else [{"model": "k-anonymity", "k": 2}, *DIVERSE]
    for number in range(3):
        if number:
            first.move()
            second.people = first.people
        first.publish()
        follow(second, promises=promises)
        composition = report(work, "second", f"{number + 1:04d}")
        assert composition["route"] == "A"
        for attack in ("intersection", "newcomers", "leavers"):
            assert [column[attack]["few"] for column in composition["exposure"]["columns"]] == [0]
        check(second.versions[-1])
    first_groups, there = groups(work, "second"), groups(work, "first")
    assert first_groups == there or (
        kind == "generalized" and first_groups < there
    )  # k counts who is left
    last = holds_against_all(second)
    text = Read((last / "index.html").read_text(encoding="utf-8")).text
    assert "The groups are those of the release first" in text


def test_who_is_in_no_group_there_waits(first, work):
    first.publish()
    second = following(first)
    second.people = first.people | {n: second._person(n) for n in range(500, 520)}
    rows = json.loads((follow(second) / "datapackage.json").read_bytes())["sfumato"]["rows"]
    assert (rows["published"], rows["not_represented_versions"]) == (72, 20)
    assert (rows["suppressed"], rows.get("vacant", 0)) == (0, 0)


def test_who_left_before_is_vacant_there_and_here(first, work):
    first.publish()
    first.move(join=0, leave=5)
    first.publish()
    second = following(first)
    directory = follow(second)
    rows = json.loads((directory / "datapackage.json").read_bytes())["sfumato"]["rows"]
    assert (rows["published"], rows["vacant"]) == (67, 5)
    st = pq.read_table(directory / "data" / "st.parquet").to_pylist()
    assert sum(row["count"] for row in st) == 72


def test_somebody_may_have_left_a_group_before_it_is_shown_here(first):
    first.publish()
    second = following(first)
    follow(second)
    first.move(join=24, leave=0)
    first.publish()
    for number in sorted(first.people)[-2:]:
        del first.people[number]
    first.publish()
    second.people = first.people
    follow(second)
    holds_against_all(second)
    rows = json.loads((second.versions[-1] / "datapackage.json").read_bytes())["sfumato"]["rows"]
    assert (rows["published"], rows["vacant"]) == (94, 2)


def test_what_the_other_line_shows_no_more_is_shown_no_more(first, work):
    retiring = {"versions": {"rule": "composed", "retire": "9/10"}}
    first.publish(**retiring)
    second = following(first)
    follow(second)
    first.move(join=0, leave=3)
    first.publish(**retiring)
    second.people = first.people
    follow(second)
    assert groups(work, "second") == groups(work, "first")
    assert len(groups(work, "second")) in (21, 22, 23)


def test_who_was_forgotten_here_is_nobody_in_a_group_that_is_new_here():
    names = np.array([b"a" * 16, b"b" * 16, b"c" * 16, b"d" * 16], dtype="S16")
    jobs = Microdata((encode("job", "sensitive", pa.array(["x", "y", "x", "y"])),), 4)
    ones = np.ones(4, dtype=np.int64)
    there = SlotMap(
        names, np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), ones, 0 * ones, ones < 0, jobs
    )
    there = replace(there, composed=True)
    before = take_slots(there, np.arange(2))
    slots_followed = slots_as_followed(
        jobs, names, before, FollowedLine("first", there, ""), ["job"], names[3:]
    )
    assert dict(zip(slots_followed.key.tolist(), slots_followed.group.tolist(), strict=True)) == {
        b"": 1,
        b"a" * 16: 0,
        b"b" * 16: 0,
        b"c" * 16: 1,
    }


def test_another_column_beside_the_same_groups(first, work):
    first.publish()
    first.move(join=0, leave=5)
    first.publish()
    second = following(first)
    directory = follow(second, columns=HOURS, promises=TWO_HOURS)
    rows = json.loads((directory / "datapackage.json").read_bytes())["sfumato"]["rows"]
    assert (rows["published"], rows.get("vacant", 0)) == (67, 0)
    first.move(join=12, leave=3)
    first.publish()
    second.people = first.people
    follow(second, columns=HOURS, promises=TWO_HOURS)
    assert report(work, "second", "0002")["vacancy"] == {"people": 76, "vacant": 3}
    check(second.versions[-1])
    holds_against_all(second)


def test_a_group_of_which_somebodys_values_are_not_known_waits(first, work):
    first.publish()
    first.move(join=0, leave=2)
    first.publish()
    second = following(first)
    directory = follow(
        second, columns=BOTH, promises=[DIVERSE[0] | {"sensitive": "job"}, *TWO_HOURS]
    )
    rows = json.loads((directory / "datapackage.json").read_bytes())["sfumato"]["rows"]
    assert rows["published"] + rows["not_represented_versions"] == 70
    assert rows["not_represented_versions"] in (2, 4, 5, 6)
    assert groups(work, "second") < groups(work, "first")


def test_versions_that_are_not_composed(first, work):
    alone = {"versions": "disjoint"}
    first.publish(**alone)
    directory = follow(following(first, kind="permuted"), **alone)
    assert groups(work, "second") == groups(work, "first")
    assert "lineage.parquet" not in {p.name for p in (directory / "data").iterdir()}
    with pytest.raises(PromiseError, match="72 units are in line"):
        following(first, "third").publish(people="first", versions="disjoint")


def test_promises_that_the_groups_break(first):
    first.publish()
    with pytest.raises(
        PromiseError, match="groups: 24 of 24 groups of line first do not keep"
    ) as refused:
        follow(following(first), promises=[DIVERSE[0] | {"l": 4}])
    assert refused.value.exit_code == 3


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"groups": "nobody"}, "no version of a line nobody is known"),
        ({"people": "others"}, "line first is not known to be about the same people"),
        ({"versions": "disjoint"}, "The versions of first are composed"),
    ],
)
def test_lines_that_cannot_be_followed(first, changes, why):
    first.publish()
    with pytest.raises(InputError, match=why) as refused:
        follow(following(first), **changes)
    assert refused.value.exit_code == 2


def test_a_line_without_a_map_cannot_be_followed(first):
    first.publish(versions="disjoint", remember="units")
    with pytest.raises(InputError, match="does not record who is in which group"):
        follow(following(first), versions="disjoint", **{"across-lines": "accepted-risk"})


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"partition": {"method": "anatomy"}}, "groups: replaces partition"),
        ({"groups": None}, "partition: is missing"),
        ({"groups": "second"}, "groups: second is this line itself"),
        ({"people": None}, "people: is missing"),
        ({"strata": ["age"]}, "strata: groups are from another line"),
        (
            {
                "form": {"method": "ambiguous"},
                "promises": [{"model": "alpha-beta", "alpha": "0.9", "beta": "0.5"}],
            },
            "form: ambiguous shows things about groups that the groups",
        ),
        ({"versions": {"rule": "composed", "cohort": 3}}, "versions.cohort: people in no group"),
    ],
)
def test_what_does_not_go_with_groups(first, changes, why):
    second = following(first)
    settings = {"groups": "first", "partition": None, "people": "first", **changes}
    with pytest.raises(SpecError, match=why):
        read_spec(second.write(**settings))


def test_a_line_with_groups_of_its_own_cannot_take_anothers(first):
    first.publish()
    second = following(first)
    second.publish(people="second", columns=HOURS, promises=TWO_HOURS)
    first.move(join=0, leave=1)
    with pytest.raises(
        PromiseError, match=("groups: earlier versions of this line have other groups")
    ):
        follow(second, columns=HOURS, promises=TWO_HOURS)


def test_a_line_that_goes_on_alone_is_held_against_the_other(first):
    first.publish()
    second = following(first, kind="permuted")
    follow(second)
    first.move()
    second.people = first.people
    second.publish(people="first", partition={"method": "anatomy", "draw": "round-robin"})
    with pytest.raises(PromiseError, match="'job' is grouped in both"):
        first.publish()


def test_the_other_line_may_not_go_on_meanwhile(first, monkeypatch):
    first.publish()
    second = following(first)
    require_followed = meeting.require_followed

    def go_on(line, candidate):
        monkeypatch.setattr(meeting, "followed_line", lambda *_: Changed)
        require_followed(line, candidate)

    class Changed:
        sha256 = "another"

    monkeypatch.setattr("sfumato.tasks.lines.composition.require_followed", go_on)
    with pytest.raises(PromiseError, match="line first has changed in the meantime"):
        follow(second)


def test_who_is_forgotten_in_one_line_stops_neither(first, work):
    first.publish()
    second = following(first, kind="permuted")
    follow(second)
    forget(work / "first", 0)
    for number in range(2):
        first.move(join=6, leave=2)
        second.people = first.people
        first.publish()
        follow(second)
        nobody = [int((~maps_of(work / n)[-1].is_held).sum()) for n in ("first", "second")]
        assert nobody == [1, number]
        forget(work / "second", 20)


@pytest.mark.parametrize(
    ("rule", "since"), [({"vacancies": "refill"}, 0), ({"changes": "reinsert"}, 1)]
)
def test_beside_another_column_places_may_change_hands_there(rule, since, first, work):
    """Whoever was given a place there, or another one, waits here: the places here are as first."""
    second = following(first)
    for number in range(3):
        if number:
            move_and_change(first)
        first.publish(versions={"rule": "composed", **rule})
        second.people = first.people
        if number >= since:
            follow(second, columns=HOURS, promises=TWO_HOURS)
            check(second.versions[-1])
    holds_against_all(second)
    assert report(work, "second", f"{len(second.versions):04d}")["route"] == "A"


def test_of_a_common_column_they_may_not(first):
    refill = {"versions": {"rule": "composed", "vacancies": "refill"}}
    first.publish(**refill)
    follow(following(first))
    move_and_change(first)
    with pytest.raises(PromiseError, match="'job' is grouped in both lines, and slots of one"):
        first.publish(**refill)


def move_and_change(line):
    line.move(join=24, leave=8)
    for number, person in enumerate(line.people.values()):
        person["hours"] = number % 30
    for person in list(line.people.values())[:2]:
        person["job"] = JOBS[(JOBS.index(person["job"]) + 1) % len(JOBS)]


def forget(line, number):
    slots = maps_of(line)[-1]
    names = np.sort(slots.key[slots.is_held])[number : number + 1]
    files = {
        str(path.relative_to(line)): path.read_bytes()
        for path in (line / "state.json", *(line / "map").iterdir())
    }
    for path, content in with_forgotten(files, names).items():
        (line / path).write_bytes(content)
