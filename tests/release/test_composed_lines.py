"""Composed lines: who stays, who comes, who left, and what is refused."""

import json
import shutil
from datetime import date
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.flows.choice.draft import rehearse
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.life.lines import back_up, forget, rename, restore
from sfumato.tasks.candidates import continued
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.private.people.lines import maps_of
from sfumato.tasks.private.people.slots import LIVE, VACANT, WITNESS, as_table
from sfumato.tasks.private.people.store import read_map, slots_so_far, write_map
from sfumato.tasks.private.state import read_state, write_state
from sfumato.tasks.publication.check import check
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables
from tests.lines import prepare, publish_prepared
from tests.release.evolving import KINDS, Evolving, evolve, forge


@pytest.fixture
def work(tmp_path, monkeypatch):
    place = tmp_path / "work"
    monkeypatch.setenv("SFUMATO_WORK", str(place))
    return place


@pytest.fixture
def line(tmp_path, work):
    return Evolving(tmp_path / "line", "split")


def private(work):
    return work / "coming-and-going"


def newest_map(work):
    return maps_of(private(work))[-1]


def manifest(directory):
    return json.loads((directory / "datapackage.json").read_bytes())["sfumato"]


def tables(directory):
    return read_tables(open_release(directory).declared, directory / "data")


@pytest.fixture(scope="module")
def line_of_kind(tmp_path_factory):
    """Gives a line of a kind with three versions, and its work directory, to be read alone."""

    @cache
    def make_line(kind):
        folder = tmp_path_factory.mktemp("evolved")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SFUMATO_WORK", str(folder / "work"))
            return evolve(folder / "line", kind), folder / "work"

    return make_line


@pytest.mark.parametrize("kind", KINDS)
def test_every_version_passes_its_check_and_names_the_one_before(line_of_kind, kind):
    line, _ = line_of_kind(kind)
    before = None
    for directory in line.versions:
        check(directory)
        assert manifest(directory).get("predecessor") == before
        before = manifest(directory)["digest"]
    rounds_stated = kind == "ambiguous"
    assert manifest(line.versions[0])["format"] == (11 if rounds_stated else 2)


@pytest.mark.parametrize("kind", KINDS)
def test_survivors_stay_in_their_groups_beside_the_same_values(line_of_kind, kind):
    place = private(line_of_kind(kind)[1])
    versions_known = read_state(place).versions
    was, now = (read_map(place, name, str(versions_known[name].map)) for name in ("0002", "0003"))
    before = dict(zip(was.key[was.is_held].tolist(), was.group[was.is_held].tolist(), strict=True))
    after = dict(zip(now.key[now.is_held].tolist(), now.group[now.is_held].tolist(), strict=True))
    assert before.items() <= after.items()
    assert not set(after.values()) - set(before.values()) & set(before.values())
    newcomers = after.keys() - before.keys()
    assert newcomers
    assert {after[name] for name in newcomers}.isdisjoint(before.values())


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_is_in_two_slots(line_of_kind, kind):
    line, work = line_of_kind(kind)
    assert len(line.versions) == 3
    slots = newest_map(work)
    slots_held = slots.key[slots.is_held]
    assert len(np.unique(slots_held)) == len(slots_held)
    assert (slots.is_held | (slots.kind == WITNESS)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_redraw_in_place_of_a_continuation_is_refused(tmp_path, work, kind, monkeypatch):
    line = evolve(tmp_path / "line", kind, versions=1)
    line.move()
    monkeypatch.setattr(continued, "slots_so_far", lambda _line, _state: None)
    with pytest.raises(PromiseError, match="versions: composed is broken"):
        line.publish()
    assert [path.name for path in line.versions] == ["0001"]


def test_the_same_people_and_values_find_the_version_that_stands(line, work):
    line.publish()
    state = (private(work) / "state.json").read_bytes()
    assert line.publish() == line.versions[0]
    assert (private(work) / "state.json").read_bytes() == state


def test_the_same_rows_of_other_people_are_another_version(line):
    line.publish()
    line.people = {number + 500: {**p, "id": number + 500} for number, p in line.people.items()}
    with pytest.raises(PromiseError, match="72 of 72 units are gone and 72 of 72 are new"):
        line.publish()


def test_whoever_left_leaves_the_values_and_finds_the_slot_again(line, work):
    line.publish()
    gone = line.people.pop(5)
    line.publish()
    assert manifest(line.versions[1])["rows"]["vacant"] == 1
    vacant = newest_map(work)
    assert (vacant.kind == VACANT).sum() == 1
    line.people[5] = gone
    line.publish()
    assert "vacant" not in manifest(line.versions[2])["rows"]
    assert tables(line.versions[0])["st"].equals(tables(line.versions[2])["st"])


def test_whose_value_changed_is_withheld_until_it_is_the_old_one(line):
    line.publish()
    was = line.people[3]["job"]
    line.people[3]["job"] = "job 0" if was != "job 0" else "job 1"
    line.publish()
    rows = manifest(line.versions[1])["rows"]
    assert (rows["published"], rows["not_represented_versions"], rows["vacant"]) == (71, 1, 1)
    line.people[3]["job"] = was
    line.publish()
    assert manifest(line.versions[2])["rows"]["published"] == 72


def test_as_first_shows_the_values_of_the_first_version(line):
    wish = {"versions": {"rule": "composed", "changes": "as-first"}}
    line.publish(**wish)
    line.people[3]["job"] = "job 0" if line.people[3]["job"] != "job 0" else "job 1"
    line.publish(**wish)
    assert manifest(line.versions[1])["rows"]["published"] == 72
    assert tables(line.versions[0])["st"].equals(tables(line.versions[1])["st"])


def test_newcomers_who_cannot_be_grouped_wait_together(line):
    line.publish()
    line.people |= {number: {**line._person(number), "job": "job 0"} for number in (900, 901)}
    line.publish()
    rows = manifest(line.versions[1])["rows"]
    assert (rows["published"], rows["not_represented_versions"]) == (72, 2)
    assert tables(line.versions[0])["st"].equals(tables(line.versions[1])["st"])
    line.people |= {n: {**line._person(n), "job": f"job {n % 4 + 1}"} for n in range(902, 906)}
    line.publish()
    assert manifest(line.versions[2])["rows"]["published"] == 78


def test_nobody_is_left_out_of_a_cohort_by_a_value(tmp_path, work):
    """Whoever is known to have come, and is missing where others are shown, would be told."""
    line = Evolving(tmp_path / "line", "ambiguous")
    suppress = {"partition": {"method": "disjoint-cover", "residue": "suppress"}}
    line.publish(**suppress)
    newcomers = {n: {**line._person(n), "job": "job 0"} for n in range(900, 905)}
    line.people |= newcomers | {n: {**line._person(n), "job": "job 1"} for n in (905, 906)}
    line.publish(**suppress)
    rows = manifest(line.versions[1])["rows"]
    assert (rows["suppressed"], rows["not_represented_versions"]) == (0, 7)


def test_a_small_cohort_waits_for_more(line):
    wish = {"versions": {"rule": "composed", "cohort": 10}}
    line.publish(**wish)
    line.move(join=6, leave=0)
    line.publish(**wish)
    assert manifest(line.versions[1])["rows"]["not_represented_versions"] == 6


def test_k_counts_people_and_not_vacant_values(tmp_path, work):
    line = Evolving(tmp_path / "line", "generalized")
    line.publish()
    slots = newest_map(work)
    first = slots.rows.take(np.flatnonzero(slots.group == slots.group[0])).table().to_pylist()
    labels = [tuple(row[name] for name in ("age", "zip", "edu")) for row in first]
    members = [n for n, p in line.people.items() if (p["age"], p["zip"], p["edu"]) in labels]
    for number in members[2:]:
        del line.people[number]
    line.publish()
    assert all(row >= 3 for row in tables(line.versions[1])["lineage"]["rows"].to_pylist())
    assert manifest(line.versions[1])["rows"]["not_represented_versions"] == 2
    assert check(line.versions[1])


def test_labels_only_widen(tmp_path, work):
    line = Evolving(tmp_path / "line", "generalized")
    line.publish()
    line.people[1]["age"] = 99
    line.publish()
    assert (newest_map(work).kind == WITNESS).sum() == 1
    line.people[1]["age"] = 20
    line.publish()
    ages = [
        text for text in tables(line.versions[2])["microdata"]["age"].to_pylist() if "99" in text
    ]
    assert ages


def test_rows_of_a_group_show_the_same_labels(tmp_path, work):
    """Promises are judged by group id: labels that differ would show smaller groups."""
    line = Evolving(tmp_path / "line", "generalized")
    line.publish()

    def hide_one_age(tables):
        tables["microdata"][0]["age"] = "*"

    with pytest.raises(PromiseError, match="different labels"):
        forge(line.versions[0], tmp_path / "forged", hide_one_age)


def test_another_form_shows_the_same_groups(line, work):
    line.publish()
    line.move()
    line.publish(form={"method": "permuted"})
    check(line.versions[1])
    lineage = tables(line.versions[1])["lineage"]
    assert lineage["previous_group_id"].null_count < lineage.num_rows


def test_a_stricter_promise_retires_groups_that_do_not_keep_it(line):
    line.publish()
    line.move(join=24, leave=0)
    line.publish(promises=[{"model": "l-diversity", "variant": "distinct", "l": 4}])
    rows = manifest(line.versions[1])["rows"]
    assert (rows["published"], rows["not_represented_versions"]) == (24, 72)
    assert tables(line.versions[1])["lineage"]["previous_group_id"].null_count == 6


def test_where_no_group_keeps_a_stricter_promise_nothing_is_published(line):
    line.publish()
    del line.people[3]
    with pytest.raises(PromiseError, match=("versions: composed: no group can be shown any more")):
        line.publish(promises=[{"model": "l-diversity", "variant": "distinct", "l": 4}])


def test_a_line_that_was_disjoint_goes_on_composed(tmp_path, work):
    line = Evolving(tmp_path / "line", "split")
    line.publish(versions="disjoint")
    line.move()
    line.publish()
    assert "predecessor" not in manifest(line.versions[1])
    assert manifest(line.versions[1])["rows"]["published"] == 90
    line.move()
    line.publish()
    assert manifest(line.versions[2])["predecessor"] == manifest(line.versions[1])["digest"]


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda line: shutil.rmtree(line / "map"), "its map is missing"),
        (lambda line: (line / "map" / "0001").write_bytes(b"PAR1"), "its map has changed"),
        (
            lambda line: (line.parent / "people" / "key").unlink(),
            "without it no person can be recognised",
        ),
    ],
)
def test_a_lost_or_other_map_is_refused(line, work, damage, why):
    line.publish()
    line.move()
    damage(private(work))
    with pytest.raises(PromiseError, match=why):
        line.publish()


def test_a_line_that_remembers_only_units_cannot_be_composed_later(line, work):
    line.publish(versions="disjoint", remember="units")
    assert not (private(work) / "map").exists()
    line.move()
    with pytest.raises(PromiseError, match="published without a map"):
        line.publish()


def test_another_version_published_meanwhile_is_noticed(tmp_path, line):
    line.publish()
    line.move()
    late = tmp_path / "late"
    line.write()
    plan = prepare(line.folder / "spec.yaml", late, seeded_keys(9))
    line.people.popitem()
    line.publish()
    with pytest.raises(
        PromiseError, match="another version of the line was published in the meantime"
    ):
        publish_prepared(plan, late)


def test_who_is_forgotten_has_no_slot_and_stays_out(line, work, tmp_path):
    line.publish()
    line.move()
    line.publish()
    spec, units = line.folder / "spec.yaml", tmp_path / "units"
    backup = tmp_path / "backup"
    back_up(spec, backup)
    units.write_text("3\n4\n", encoding="utf-8")
    names = {name for slots in maps_of(private(work)) for name in slots.key[slots.is_held].tolist()}
    assert forget(spec, units) == 2
    names_left = {
        name for slots in maps_of(private(work)) for name in slots.key[slots.is_held].tolist()
    }
    gone = names - names_left
    assert len(gone) == 2
    for path in private(work).rglob("*"):
        if path.is_file() and path.name != "erased":
            assert not any(name in path.read_bytes() for name in gone), path
    assert {3, 4} <= line.people.keys()
    line.move()
    line.publish()
    assert manifest(line.versions[2])["rows"]["not_represented_versions"] >= 2
    check(line.versions[2])
    with pytest.raises(PromiseError, match="is older than the line"):
        restore(spec, backup)
    units.write_text("77777\n", encoding="utf-8")
    with pytest.raises(InputError, match="the unit in line 1 of the file is not known"):
        forget(spec, units)


def test_people_are_known_by_other_units(line, work, tmp_path):
    line.publish()
    spec, units = line.folder / "spec.yaml", tmp_path / "units.csv"
    units.write_text("".join(f"{n},{n + 500}\n" for n in range(72)), encoding="utf-8")
    assert rename(spec, units) == 72
    line.people = {n + 500: {**p, "id": n + 500} for n, p in line.people.items()}
    line.move()
    line.publish()
    rows = manifest(line.versions[1])["rows"]
    assert (rows["published"], rows["vacant"]) == (90, 6)
    line.people.popitem()
    with pytest.raises(PromiseError, match="89 units are in an earlier version"):
        line.publish(versions="disjoint")
    units.write_text("1,2\n", encoding="utf-8")
    with pytest.raises(InputError, match="the unit in line 1 of the file is not known"):
        rename(spec, units)
    units.write_text("501,502\n", encoding="utf-8")
    with pytest.raises(InputError, match="already belongs to another person"):
        rename(spec, units)
    units.write_text("501,900\n502,900\n", encoding="utf-8")
    with pytest.raises(InputError, match="occurs in another line of the file"):
        rename(spec, units)


def test_a_map_that_knows_fewer_people_than_the_version_is_refused(line, work):
    line.publish()
    state = read_state(private(work))
    slots = read_map(private(work), "0001", str(state.versions["0001"].map))
    kept_table = as_table(slots).filter(pa.array(slots.group != slots.group[0]))
    sha256 = write_map(private(work), "0001", kept_table)
    version = state.versions["0001"].model_copy(update={"map": sha256})
    write_state(private(work), state.model_copy(update={"versions": {"0001": version}}))
    line.move()
    with pytest.raises(PromiseError, match="does not match its groups"):
        line.publish()


def test_a_composed_line_does_not_become_one_that_accepts_the_risk(line):
    line.publish()
    line.move()
    with pytest.raises(PromiseError, match="Write `versions: composed`"):
        line.publish(versions="accepted-risk")


@pytest.mark.parametrize("remember", [("units", "map"), ("map", "units")])
def test_lines_that_remember_only_units_meet_others_too(tmp_path, work, remember):
    first = Evolving(tmp_path / "one", "split", name="one")
    first.publish(versions="disjoint", remember=remember[0], people=None)
    other = Evolving(tmp_path / "other", "split", name="other")
    with pytest.raises(PromiseError, match=r"72 units are in line one\. Do one of"):
        other.publish(versions="disjoint", remember=remember[1], people=None)


def test_people_are_named_also_where_the_version_stands(tmp_path, work):
    first = Evolving(tmp_path / "one", "split", name="one")
    first.publish(people=None)
    other = Evolving(tmp_path / "other", "split", name="other")
    with pytest.raises(PromiseError, match="then release one again"):
        other.publish(people="sick")
    assert first.publish(people="sick") == first.versions[0]
    other = Evolving(tmp_path / "again", "split", name="other")
    assert other.publish(people="sick")  # the same draw gives the same groups


def test_the_public_record_tells_of_which_day_a_version_is(line, work):
    line.publish()
    assert json.loads((line.versions[0].parent / "releases.json").read_bytes())["format"] == 1
    line.move()
    spec = line.write()
    run = line.folder / "backfilled"
    plan = prepare(spec, run, seeded_keys(3), Overrides(as_of=date(2026, 3, 1)))
    publish_prepared(plan, run)
    record = json.loads((line.versions[0].parent / "releases.json").read_bytes())
    assert record["format"] == 2
    assert [v.get("as_of") for v in record["versions"].values()] == [None, "2026-03-01"]


def test_a_rehearsal_tells_what_would_be_retired_and_leaves_nothing(line, work):
    line.publish()

    def files():
        return sorted(p for p in private(work).rglob("*") if p.is_file() and p.name != ".lock")

    before = files()
    line.move(join=24, leave=0)
    stricter = [{"model": "l-diversity", "variant": "distinct", "l": 4}]
    rehearsal = rehearse(line.write(promises=stricter), Overrides())
    assert rehearsal["groups_retired"] == rehearsal["rows"]["not_represented_versions"] / 3 == 24
    assert (
        rehearsal["groups_continued"],
        rehearsal["groups_new"],
        rehearsal["rows"]["published"],
    ) == (0, 6, 24)
    assert (rehearsal["people_new"], rehearsal["people_waiting"]) == (24, 0)
    assert rehearsal["people_continued"] == 0
    assert files() == before
    assert [path.name for path in line.versions[0].parent.glob("0*")] == ["0001"]


def test_a_rehearsal_tells_what_stands_and_what_the_line_forbids(line, work):
    line.publish()
    assert rehearse(line.write(), Overrides()) == {"stands": "0001"}
    line.move()
    with pytest.raises(PromiseError, match="versions: disjoint is broken: 66 units"):
        rehearse(line.write(versions="disjoint"), Overrides())
    (private(work) / "state.json").unlink()
    with pytest.raises(PromiseError):
        rehearse(line.write(), Overrides())


def test_the_slots_of_a_line_are_those_of_its_last_version(line, work):
    line.publish()
    line.move()
    line.publish()
    slots = slots_so_far(private(work), read_state(private(work)))
    assert slots is not None
    assert (slots.kind == LIVE).sum() == len(line.people)


def test_a_version_goes_on_where_the_one_before_it_is(line, tmp_path):
    line.publish()
    line.move()
    elsewhere = {"uri": str(tmp_path / "elsewhere")}
    with pytest.raises(PromiseError, match=r"0001, which this one continues, is not in .*where"):
        line.publish(publish=elsewhere)
