"""Commands on a composed line in parts: forgetting, backups, drafts, other lines."""

import hashlib
import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.flows.choice.draft import draft
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.life.lines import back_up, forget, rename, restore
from sfumato.tasks.lines.difference import difference
from sfumato.tasks.lines.line import CandidateMap
from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.parts.original import original_of_version
from sfumato.tasks.private.people.keys import name_of, people_key
from sfumato.tasks.private.people.lines import maps_of, people_of
from sfumato.tasks.private.state import read_state
from sfumato.tasks.publication import publish as publication
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.withdrawal import withdraw
from sfumato.tasks.terms.opened import open_release
from tests.flow_here import release_here
from tests.parts.composed_line import SPEC, ComposedLine, part_of
from tests.parts.test_composed import groups_of_people, newest


@pytest.fixture
def line(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    return ComposedLine(tmp_path / "line")


def name(line, number):
    return name_of(str(number), people_key(line.private.parent))


def in_one_table(line):
    """The spec without parts."""
    spec = line.write()
    document = yaml.safe_load(spec.read_text())
    del document["parts"]
    spec.write_text(yaml.safe_dump(document))
    return spec


def test_whoever_is_forgotten_is_linked_to_no_slot_and_stays_out(line, tmp_path):
    line.publish()
    line.move()
    line.people.setdefault(3, line.person(3))
    line.publish()
    units = tmp_path / "units"
    units.write_text("3\n140\n")
    assert forget(line.divided.spec, units) == 2
    gone = {name(line, 3), name(line, 140)}
    for path in line.private.rglob("*"):
        if path.is_file() and path.name != "erased":
            content = path.read_bytes()
            assert not any(name in content for name in gone)
    (slots,) = maps_of(line.private)
    assert not gone & set(slots.key.tolist())
    line.people[3] = line.person(3, year=2021)
    line.people[140] = line.person(140, year=2021)
    line.people |= {n: line.person(n, year=2021, job=f"job {n % 6}") for n in range(900, 906)}
    third = line.publish()
    assert check(third.directory).derived == "equal"
    assert not gone & groups_of_people(line, third.directory).keys()


def test_a_backup_is_put_back_part_by_part_as_it_was(line, tmp_path):
    line.publish()
    line.move(join=36)
    line.publish()
    file = tmp_path / "backup"
    back_up(line.divided.spec, file)
    map_of_line = newest(line)
    before = [map_of_line.read(number).key.tolist() for number in range(len(map_of_line.parts))]
    shutil.rmtree(line.private)
    restore(line.divided.spec, file)
    map_of_line = newest(line)
    assert [
        map_of_line.read(number).key.tolist() for number in range(len(map_of_line.parts))
    ] == before
    line.move(join=36)
    assert check(line.publish().directory).derived == "equal"


def test_people_go_on_under_other_names(line, tmp_path):
    line.publish()
    units = tmp_path / "units"
    units.write_text("".join(f"{n},{n + 500}\n" for n in range(150)))
    assert rename(line.divided.spec, units) == 150
    line.people = {n + 500: {**p, "id": n + 500} for n, p in line.people.items()}
    line.people |= {n: line.person(n, year=2021, job=f"job {n % 6}") for n in range(900, 906)}
    rows = line.publish().declared.rows
    assert (rows.published, rows.vacant) == (156, 0)


def test_a_line_goes_on_from_a_version_that_was_withdrawn(line):
    line.publish()
    line.move()
    second = line.publish()
    withdraw(line.divided.plan().line, "0002", "a mistake")
    line.move()
    third = line.publish()
    assert third.declared.predecessor == second.manifest["sfumato"]["digest"]
    assert check(third.directory).derived == "equal"


@pytest.mark.parametrize("withdrawn", [False, True])
def test_the_next_version_is_held_against_the_files_of_the_last_one(line, withdrawn):
    first = line.publish()
    path = part_of(first, year="2021") / "data" / "st.parquet"
    table = pq.read_table(path)
    other = {"job 0": "job 1", "job 1": "job 0"}
    jobs = pa.array([other.get(job, job) for job in table["job"].to_pylist()])
    place = table.column_names.index("job")
    path.chmod(0o644)
    pq.write_table(table.set_column(place, table.schema.field("job"), jobs), path)
    if withdrawn:
        withdraw(line.divided.plan().line, "0001", "a mistake")
    line.move()
    with pytest.raises(PromiseError, match="with other values than before"):
        line.publish()


def test_the_map_is_kept_as_it_is_and_never_read_whole(line, monkeypatch):
    monkeypatch.setattr(CandidateMap, "read", pytest.fail)
    monkeypatch.setattr("sfumato.tasks.private.people.store.read_map", pytest.fail)
    line.publish()
    line.move()
    assert line.publish().directory.name == "0002"


def test_a_version_is_measured_by_the_rows_that_it_shows(line):
    line.publish()
    line.move(join=36, leave=20)
    line.people[3] = line.person(3, year=2021)
    second = line.publish()
    _, divided = line.divided.divide("again")
    original = original_of_version(divided, second.directory, line.divided.plan().line)
    counts = [rows.rows for rows in original.each(["age", "job"])]
    assert counts == [part.rows for part in second.declared.made_of]
    ages = [p["age"] for p in line.people.values() if p["year"] == 2021 and p["id"] != 3]
    assert sorted(list(original.each(["age"]))[2]["age"].array().to_pylist()) == sorted(ages)
    line.move(join=36)
    line.publish()
    line.move(join=36)
    line.publish()
    with pytest.raises(InputError, match="the record of its people is not here any more, so"):
        original_of_version(divided, second.directory, line.divided.plan().line)


def test_two_versions_are_compared_in_totals(line):
    first = line.publish()
    line.move(join=36)
    other = line.publish()
    groups = difference(first, other)["groups"]
    numbers = [sum(part.groups for part in version.declared.made_of) for version in (first, other)]
    assert groups["continued"] + groups["ended"] == numbers[0]
    assert groups["continued"] + groups["new"] == numbers[1]
    assert groups["new"] > 0
    assert groups["left_by_somebody"] > 0


def test_only_the_maps_of_two_versions_are_kept(line):
    for _ in range(3):
        line.publish()
        line.move()
    assert sorted(path.name for path in (line.private / "map").iterdir()) == ["0002", "0003"]
    assert len(people_of(line.private)) >= 150


def test_a_draft_is_made_of_the_line_as_it_is_and_leaves_no_trace(line):
    line.publish()
    line.move(join=36)
    line.write()
    before = {p: p.read_bytes() for p in line.private.rglob("*") if p.is_file()}
    draft_made = draft(line.divided.spec, Overrides(), hours=1)
    after = {p: p.read_bytes() for p in line.private.rglob("*") if p.is_file()}
    assert draft_made.summary["rows"]["vacant"] == 8
    assert {p for p in after if after[p] != before.get(p) and "publishing" not in p.name} == set()
    release = open_release(draft_made.place / "release")
    assert release.declared.predecessor is not None
    assert check(release.directory).derived == "equal"


@pytest.mark.parametrize("step", ["stage", "_intend", "appear", "_record"])
def test_a_run_that_dies_leaves_state_and_public_files_in_agreement(line, monkeypatch, step):
    line.publish()
    line.move()
    real = getattr(publication, step)

    def dying(*arguments, **named):
        if step == "stage":
            real(*arguments, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(publication, step, dying)
    with pytest.raises(KeyboardInterrupt):
        line.publish()
    monkeypatch.setattr(publication, step, real)
    line.publish()
    public = line.folder / "public" / line.name
    state = read_state(line.private)
    assert sorted(state.versions) == sorted(read_record(public).versions) == ["0001", "0002"]
    sha256 = hashlib.sha256((line.private / "map" / "0002").read_bytes()).hexdigest()
    assert state.versions["0002"].map == sha256
    line.versions = [public / "0001", public / "0002"]
    line.move()
    assert check(line.publish().directory).derived == "equal"


def test_another_map_than_was_judged_is_not_published(line, monkeypatch):
    line.write()
    real = publication.stage

    def change_map(resolved, candidate):
        content = candidate.map.path.read_bytes()
        candidate.map.path.write_bytes(content + b"\0")
        return real(resolved, candidate)

    monkeypatch.setattr(publication, "stage", change_map)
    with pytest.raises(PromiseError, match="map was changed after validation"):
        line.publish()
    assert not list((line.private / "map").glob("*"))


def test_what_is_told_together_is_in_the_private_report(line, monkeypatch):
    for _ in range(2):
        line.write(evaluate={"workloads": [{"kind": "counts", "of": "job", "queries": 5}]})
        version = release_here(line.divided.spec)
        line.versions.append(version)
        line.move(join=36)
    document = json.loads((line.private / "reports" / "0002" / "composition.json").read_bytes())
    assert document["route"] == "A"
    assert document["fewest"] == {"job": 3}
    assert document["vacancy"] == {
        "people": open_release(version).declared.rows.published,
        "vacant": 8,
    }
    (column,) = document["exposure"]["columns"]
    assert column["intersection"]["one"] == 0
    assert column["newcomers"]["few"] == column["leavers"]["few"] == 0
    assert read_record(version.parent).versions["0002"].accuracy


class TestOtherLines:
    """Lines about the same people, in parts or not."""

    @pytest.fixture
    def other(self, line, tmp_path):
        line_beside = ComposedLine(tmp_path / "other")
        line_beside.divided.spec.parent.mkdir(parents=True, exist_ok=True)
        line_beside.people = line.people
        return line_beside

    def test_people_of_another_line_have_to_be_named(self, line, other):
        line.publish(people=None)
        with pytest.raises(PromiseError, match="150 units are in line coming-in-parts"):
            other.publish(name="others", people=None)

    def test_a_column_that_both_protect_is_not_judged_in_parts(self, line, other):
        line.publish()
        with pytest.raises(
            PromiseError, match="'job' is grouped in both lines, and releases in parts"
        ):
            other.publish(name="others")

    def test_a_column_that_is_open_in_the_other_is_refused(self, line, other):
        line.publish()
        columns = {
            **SPEC["columns"],
            "job": {"role": "quasi-identifier"},
            "age": {"role": "sensitive", "type": "integer"},
        }
        with pytest.raises(PromiseError, match="is protected in one line and open in the other"):
            other.publish(name="others", columns=columns, parts={"rows": 400})

    def test_other_columns_of_the_same_people_are_allowed(self, line, other):
        line.publish()
        for number, person in line.people.items():
            person["pay"] = 100 * (number % 7)
        columns = {n: c for n, c in SPEC["columns"].items() if n != "job"}
        columns |= {"pay": {"role": "sensitive", "type": "integer"}, "job": {"role": "drop"}}
        second = other.publish(name="others", columns=columns)
        assert second.declared.rows.published == 150


def test_parts_do_not_go_on_in_one_table(line, monkeypatch):
    line.publish()
    line.move()
    spec = in_one_table(line)
    with pytest.raises(PromiseError, match="version 0001 was made in parts"):
        release_here(spec)


def test_one_table_does_not_go_on_in_parts(line, monkeypatch):
    release_here(in_one_table(line))
    line.move()
    with pytest.raises(PromiseError, match="version 0001 was made in one table"):
        line.publish()


def test_versions_without_a_map_are_not_continued(line):
    line.publish(versions="disjoint", remember="units")
    line.people = {n: line.person(n, job=f"job {n % 6}") for n in range(400, 500)}
    with pytest.raises(PromiseError, match="it was published without a map"):
        line.publish()
