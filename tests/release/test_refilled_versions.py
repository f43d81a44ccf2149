"""Versions in which newcomers were given the slots of people who left, from end to end."""

import json

import numpy as np
import pytest

from sfumato.expectations.shared.errors import PromiseError
from sfumato.flows.cli.analyst.check import tell_succession
from sfumato.flows.life.lines import back_up, forget, rename, restore
from sfumato.tasks.lines.previous import hold_against
from sfumato.tasks.private.people.lines import maps_of, people_of
from sfumato.tasks.private.people.slots import FormerHolders, SlotMap, as_table, from_table
from sfumato.tasks.publication.check import check
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables
from tests.private.test_seen import slots as slots_of
from tests.release.evolving import KINDS, Evolving

REFILL = {"versions": {"rule": "composed", "vacancies": "refill"}}
NAME = "coming-and-going"


@pytest.fixture
def work(tmp_path, monkeypatch):
    place = tmp_path / "work"
    monkeypatch.setenv("SFUMATO_WORK", str(place))
    return place


def refilled_line(folder, kind="split", versions=2):
    line = Evolving(folder / "line", kind)
    for number in range(versions):
        if number:
            line.move(leave=12)
        line.publish(**REFILL)
    return line


def newest(work):
    return maps_of(work / NAME)[-1]


def manifest(directory):
    return json.loads((directory / "datapackage.json").read_bytes())["sfumato"]


def report(work, version):
    return json.loads((work / NAME / "reports" / version / "composition.json").read_bytes())


@pytest.mark.parametrize(
    ("kind", "route"), [("permuted", "S"), ("ranges", "C"), ("generalized", "C")]
)
def test_versions_pass_their_checks_and_tell_no_more_of_anybody(tmp_path, work, kind, route):
    line = refilled_line(tmp_path, kind, versions=3)
    for directory in line.versions:
        check(directory)
    release = open_release(line.versions[-1])
    assert hold_against(release, line.versions[:-1], open_release).whole
    composition = report(work, "0003")
    assert composition["route"] == route
    (column,) = composition["exposure"]["columns"]
    for attack in ("intersection", "newcomers", "leavers"):
        assert (column[attack]["one"], column[attack]["few"]) == (0, 0)
    slots = newest(work)
    assert len(slots.past)
    assert not np.isin(slots.past.key, slots.key).any()
    assert len(np.unique(slots.names)) == slots.is_held.sum() + len(slots.past)
    with (line.versions[-1] / "index.html").open(encoding="utf-8") as page:
        assert "Newcomers may have taken the place of people who left" in page.read()


def test_no_label_widens_for_whoever_is_given_a_slot(tmp_path, work):
    line = refilled_line(tmp_path, "generalized", versions=1)
    for _ in range(3):
        before = labels(line.versions[-1])
        line.move(leave=12)
        line.publish(**REFILL)
        lineage, now = tables(line.versions[-1])["lineage"], labels(line.versions[-1])
        for group, previous in zip(*map(lineage.column, (0, 1)), strict=True):
            if previous.is_valid:
                assert now[group.as_py()] == before[previous.as_py()]
    assert len(newest(work).past) > 1


def tables(directory):
    return read_tables(open_release(directory).declared, directory / "data")


def labels(directory):
    rows = tables(directory)["microdata"].to_pylist()
    return {row["group_id"]: tuple(row[n] for n in ("age", "zip", "edu")) for row in rows}


def test_counts_of_a_version_tell_how_many_slots_were_given_away(tmp_path, work):
    line = refilled_line(tmp_path)
    counts = json.loads((work / NAME / "reports" / "0002" / "partition.json").read_bytes())
    assert counts["refilled"] == len(newest(work).past) == 12
    assert (counts["continued"], counts["new"]) == (60, 12)
    assert manifest(line.versions[1])["rows"].get("vacant", 0) == 0


def test_a_map_with_former_holders_is_of_a_later_format(tmp_path):
    keys, values = [b"1" * 16, b"2" * 16], [1, 2]
    alone = slots_of(keys, values, composed=True)
    assert as_table(alone).schema.metadata[b"sfumato"].startswith(b'{"format": 1,')
    past = FormerHolders(np.array([b"3" * 16, b""], dtype="S16"), np.array([0, 0]))
    both = SlotMap(**{**vars(alone), "past": past})
    again = from_table(as_table(both), "here")
    assert as_table(both).schema.metadata[b"sfumato"].startswith(b'{"format": 2,')
    assert again.key.tolist() == keys
    assert again.rows["s"].array().to_pylist() == values
    assert (again.past.key.tolist(), again.past.group.tolist()) == ([b"3" * 16, b""], [0, 0])
    assert again.names.tolist() == sorted([*keys, b"3" * 16])
    with pytest.raises(PromiseError, match="cannot be read"):
        from_table(as_table(both).drop_columns(["group"]), "here")


def test_whoever_comes_back_to_a_slot_of_somebody_else_stays_out(tmp_path, work):
    line = Evolving(tmp_path / "line", "split")
    line.publish(**REFILL)
    gone = {number: line.people.pop(number) for number in (0, 1, 2, 3)}
    came = {number + 600: {**person, "id": number + 600} for number, person in gone.items()}
    line.people |= came
    line.publish(**REFILL)
    former = newest(work).past.key.tolist()
    assert len(former) == 4
    line.people |= gone
    line.publish(**REFILL)
    check(line.versions[-1])
    assert manifest(line.versions[-1])["rows"]["not_represented_versions"] == 4
    assert not set(former) & set(newest(work).key.tolist())


def test_a_slot_in_other_hands_of_which_the_map_does_not_know_is_refused(
    tmp_path, work, monkeypatch
):
    line = refilled_line(tmp_path, versions=1)
    monkeypatch.setattr(FormerHolders, "with_others", lambda self, *_: self)
    line.move(leave=12)
    with pytest.raises(PromiseError, match="12 slots of earlier versions given to other people"):
        line.publish(**REFILL)


def test_groups_of_unknown_likelihoods_are_retired_where_these_are_promised(tmp_path, work):
    line = refilled_line(tmp_path, "ranges")
    promises = [
        *KINDS["ranges"][2],
        {"model": "l-diversity", "variant": "recursive", "l": 2, "c": 9},
    ]
    changed = np.unique(newest(work).past.group)
    line.publish(promises=promises)
    slots = newest(work)
    assert len(changed)
    assert slots.retired[np.isin(slots.group, changed)].all()
    assert report(work, "0003")["route"] == "A"
    assert manifest(line.versions[-1])["rows"]["published"] > 10


def test_who_is_forgotten_is_forgotten_as_a_former_holder_too(tmp_path, work):
    line = refilled_line(tmp_path, versions=3)
    spec, units, backup = line.folder / "spec.yaml", tmp_path / "units", tmp_path / "backup"
    slots = newest(work)
    everybody = set(range(72)) | set(range(1_000, 1_024)) | set(range(2_000, 2_024))
    gone = sorted(everybody - line.people.keys())[:3]
    back_up(spec, backup)
    units.write_text("".join(f"{unit}\n" for unit in gone), encoding="utf-8")
    assert forget(spec, units) == 3
    former_slots = newest(work)
    assert len(former_slots.past) == len(slots.past)
    assert (
        (former_slots.past.key == b"").sum() == (slots.past.key != former_slots.past.key).sum() > 0
    )
    forgotten = set(slots.names.tolist()) - set(former_slots.names.tolist())
    assert len(forgotten) == 3
    for path in (work / NAME).rglob("*"):
        if path.is_file() and path.name != "erased":
            assert not any(name in path.read_bytes() for name in forgotten), path
    back = {unit: line._person(unit) for unit in gone}
    line.people |= back
    line.publish(**REFILL)
    check(line.versions[-1])
    assert not forgotten & set(newest(work).names.tolist())
    assert manifest(line.versions[-1])["rows"]["not_represented_versions"] >= 3
    with pytest.raises(PromiseError, match="is older than the line"):
        restore(spec, backup)


def test_a_former_holder_is_known_by_another_unit(tmp_path, work):
    line = refilled_line(tmp_path)
    spec, units = line.folder / "spec.yaml", tmp_path / "units.csv"
    (gone, *_) = sorted(set(range(72)) - line.people.keys())
    units.write_text(f"{gone},{gone + 500}\n", encoding="utf-8")
    assert rename(spec, units) == 1
    line.people[gone + 500] = {**line._person(gone), "id": gone + 500}
    line.publish(**REFILL)
    assert manifest(line.versions[-1])["rows"]["not_represented_versions"] == 1
    assert len(people_of(work / NAME)) == 72 + 24


def test_another_line_about_these_people_groups_no_column_of_which_slots_changed_hands(
    tmp_path, work
):
    line = Evolving(tmp_path / "line", "split")
    line.publish(people="all", **REFILL)
    line.move(leave=12)
    line.publish(people="all", **REFILL)
    other = Evolving(tmp_path / "other", "permuted", name="other")
    other.people = line.people
    with pytest.raises(PromiseError, match="slots of one line belong to other people now"):
        other.publish(people="all")


def test_whoever_compares_versions_is_told_that_vacant_values_fell(tmp_path, work, capsys):
    line = Evolving(tmp_path / "line", "split")
    for versions in ("composed", "composed", REFILL["versions"]):
        line.publish(versions=versions)
        line.move(leave=6)
    was, now = (manifest(version)["rows"].get("vacant", 0) for version in line.versions[1:])
    assert was > now
    tell_succession(open_release(line.versions[2]), line.versions[1:2], ())
    output = capsys.readouterr().out
    assert f"vacant values of these fell by {was - now}" in output
