"""People are known under other names: by the normal form of their units, and by their rows."""

import json
import shutil
from pathlib import Path

import pytest

from sfumato.expectations.shared.errors import PromiseError
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.inputs.resolved import resolve_run
from sfumato.flows.life.lines import forget, rename
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.private.people.backup import state_files
from sfumato.tasks.private.people.keys import name_of, people_key
from sfumato.tasks.private.people.source_rows import ROWS_NORMAL, WHOSE, read_rows
from sfumato.tasks.private.people.spelled import UNITS_NORMAL, read_spelled
from sfumato.tasks.private.state import STATE
from sfumato.tasks.publication.publish import existing_version
from sfumato.tasks.stages.deidentify import identity
from tests.lines import prepare, publish_prepared
from tests.release.evolving import Evolving, spec

ALONE = {"versions": "disjoint", "unit": "row", "people": None}
KNOWN = {"versions": "disjoint", "people": None}
ABOUT = spec("split", "any", Path())["columns"]
ROW = {"id": {"role": "drop", "type": "integer"}, **{n: c for n, c in ABOUT.items() if n != "id"}}
CODE = {"id": {"role": "identifier", "type": "string", "unit": True}}
CODED = {"columns": {**ABOUT, **CODE}}


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    place = tmp_path / "work"
    monkeypatch.setenv("SFUMATO_WORK", str(place))
    return place


@pytest.fixture
def first(tmp_path):
    return Evolving(tmp_path / "first", "split", "first")


def other(first, name="second", others=0, kind="split"):
    """A line about the first line's people, save some."""
    line = Evolving(first.folder.parent / name, kind, name, seed=8)
    line.people = {n: line.people[n] if n < others else p for n, p in first.people.items()}
    return line


def as_rows(line, **changes):
    return line.publish(**ALONE | {"columns": ROW} | changes)


def with_ids(line, write):
    line.people = {n: {**p, "id": write(p["id"])} for n, p in line.people.items()}
    return line


def one_changed(line):
    """Another version: one value is another one."""
    line.people[0] = {**line.people[0], "age": 1 + line.people[0]["age"]}
    return line


def with_many(line):
    """A line of 144 people: of fewer than 100 no columns could tell."""
    line.people |= {number: line._person(number) for number in range(100, 172)}
    return line


def said_by(run, line):
    return [notice for notice in run.private_notices if line in notice]


@pytest.mark.parametrize(
    ("write", "kind"),
    [
        (lambda unit: f"P{unit:03} ", "a space at the end: 72"),
        (lambda unit: f"p{unit:03}", "case: 72"),
        (lambda unit: f"P{unit}", "leading zeros: 72"),
    ],
)
def test_units_of_an_earlier_version_are_known_in_another_spelling(first, write, kind):
    with_ids(first, lambda unit: f"P{unit:03}").publish(**KNOWN | CODED)
    first.people = {n: {**p, "id": write(n)} for n, p in first.people.items()}
    with pytest.raises(PromiseError, match=rf"disjoint is broken: 72 units \({kind}\)") as refused:
        one_changed(first).publish(**KNOWN | CODED)
    assert refused.value.exit_code == 3
    assert str(refused.value).count("\n  - ") == 3
    assert "P0" not in str(refused.value)


def test_the_same_rows_under_a_prefix_are_an_earlier_versions_people(first):
    with_ids(first, lambda unit: f"P{unit:03}").publish(**KNOWN | CODED)
    with_ids(first, lambda unit: f"north-{unit}")
    with pytest.raises(
        PromiseError, match=r"rows are also in version 0001, under other units, .*\b71 comb"
    ):
        one_changed(first).publish(**KNOWN | CODED)


NUMBERS = {"id": {"role": "identifier", "type": "decimal", "unit": True}}


@pytest.mark.parametrize("remember", ["map", "units"])
def test_numbers_of_another_type_are_the_same_people(first, remember):
    settings = {"remember": remember}
    first.publish(**KNOWN | settings)
    with_ids(first, lambda unit: f"{unit}.0")
    with pytest.raises(PromiseError, match="disjoint is broken: 72 units are in an earlier"):
        one_changed(first).publish(**KNOWN | settings | {"columns": {**ABOUT, **NUMBERS}})
    second = with_ids(other(first), lambda unit: f"{float(unit):.2f}")
    with pytest.raises(PromiseError, match="72 units are in line first"):
        second.publish(**KNOWN | {"columns": {**ABOUT, **NUMBERS}})


@pytest.mark.parametrize("change", [{"zip": 1}, {"age": 1}, {"zip": 100}])
def test_what_changed_for_everybody_hides_nobody(first, change):
    with_ids(first, lambda unit: f"P{unit}").publish(**KNOWN | CODED)
    with_ids(first, lambda unit: f"Q{unit}")
    first.people = {
        n: {**p, **{name: p[name] + more for name, more in change.items()}}
        for n, p in first.people.items()
    }
    (name,) = change
    with pytest.raises(PromiseError, match="rows are also in version 0001, under") as refused:
        first.publish(**KNOWN | CODED)
    assert name not in str(refused.value).partition(")")[0]


def test_who_is_forgotten_stays_forgotten_in_later_versions(first, work):
    first.publish()
    line = resolve_run(first.folder / "spec.yaml").line
    (first.folder / "units.txt").write_text("5")
    assert forget(first.folder / "spec.yaml", first.folder / "units.txt") == 1
    first.move(join=24, leave=0)
    first.publish()
    name = name_of("5", people_key(work))
    half = int.from_bytes(name[:8], "little")
    for version in ("0001", "0002"):
        assert half not in read_spelled(line.private, version)["name"]
        rows = read_rows(line.private, version)
        assert half not in rows.column(WHOSE).to_pylist()


def test_newcomers_who_wait_can_be_forgotten_and_renamed(first):
    with_ids(first, lambda unit: f"P{unit}").publish(columns={**ABOUT, **CODE})
    spec_, units = first.folder / "spec.yaml", first.folder / "units.txt"
    first.people |= {n: {**first._person(n), "id": f"P{n}"} for n in (1_000, 1_001)}
    first.publish(columns={**ABOUT, **CODE}, versions={"rule": "composed", "cohort": 20})
    units.write_text("P1000")
    assert forget(spec_, units) == 1
    units.write_text("P1001,p1001\nP3,p3")
    assert rename(spec_, units) == 2


def test_versions_whose_maps_are_gone_are_compared_by_the_map_of_later_ones(first, work):
    """As earlier software left them: without normal forms, and with the last two maps alone."""
    first.publish()
    gone = {n: first.people.pop(n) for n in range(30)}
    for _ in range(3):
        first.move(join=12, leave=0)
        first.publish()
    place = work / "first"
    state = json.loads((place / STATE).read_bytes())
    for version in state["versions"].values():
        version.pop("units_normal"), version.pop("rows_normal")
    (place / STATE).write_text(json.dumps({**state, "format": 2}))
    for folder in (UNITS_NORMAL, ROWS_NORMAL):
        shutil.rmtree(place / folder)
    first.people |= {n + 500: {**p, "id": n + 500} for n, p in gone.items()}
    with pytest.raises(PromiseError, match=r"rows are also in version \d+, under"):
        first.publish()


def test_a_statement_about_a_composed_line_is_none_about_a_disjoint_one(first):
    with_ids(first, lambda unit: f"P{unit}").publish(**KNOWN | CODED)
    path = one_changed(with_ids(first, lambda unit: f"Q{unit}")).write(**KNOWN | CODED)
    run = first.folder / "others"
    resolved = prepare(path, run, seeded_keys(1), Overrides(others=True))
    with pytest.raises(PromiseError, match="rows are also in version 0001"):
        publish_prepared(resolved, run)


def test_a_statement_stays_with_its_candidate(first):
    """Whoever publishes what was approved does not say it again."""
    first.publish()
    first.people = {n + 500: {**p, "id": n + 500} for n, p in first.people.items()}
    path, run = first.write(), first.folder / "others"
    prepare(path, run, seeded_keys(3), Overrides(others=True))
    assert publish_prepared(resolve_run(path), run).directory.name == "0002"


def test_what_a_killed_run_kept_is_gone(first, work):
    first.publish(**KNOWN | {"remember": "units"})
    rows = work / "first" / ROWS_NORMAL
    rows.mkdir(mode=0o700)
    (rows / "0002").write_bytes(b"of a killed run")
    first.people = {n + 500: {**first._person(n), "id": n + 500} for n in range(72)}
    assert first.publish(**KNOWN | {"remember": "units"}).name == "0002"
    assert not (rows / "0002").exists()


def test_the_same_rows_under_a_prefix_are_another_lines_people(first):
    with_ids(first, lambda unit: f"P{unit:03}").publish(**KNOWN | CODED)
    second = with_ids(other(first), lambda unit: f"north-{unit}")
    message = (
        r"all 72 rows are also in line first, version 0001, compared by .*\(age, edu, job, zip\)"
    )
    with pytest.raises(PromiseError, match=message):
        second.publish(**KNOWN | CODED)


def test_units_of_another_line_are_known_in_another_spelling(first):
    with_ids(first, lambda unit: f"P{unit:03}").publish(**KNOWN | CODED)
    second = with_ids(other(first, others=72), lambda unit: f"p{unit:03}\u00a0")
    message = r"72 units \(a space at the end and case: 72\) are in line first, version 0001"
    with pytest.raises(PromiseError, match=message):
        second.publish(**KNOWN | CODED)


def test_people_who_left_and_came_again_under_other_names_are_the_same(first):
    first.publish()
    first.people = {
        **{n: p for n, p in first.people.items() if n >= 30},
        **{n + 500: {**p, "id": n + 500} for n, p in first.people.items() if n < 30},
    }
    with pytest.raises(
        PromiseError,
        match=r"composed is broken: all 30 rows are also in version 0001, under other units",
    ):
        first.publish()
    path, run = first.write(), first.folder / "others"
    published = publish_prepared(prepare(path, run, seeded_keys(3), Overrides(others=True)), run)
    assert published.directory.name == "0002"


def test_people_who_come_and_go_are_others(first):
    first.publish()
    first.move(join=24, leave=24)
    path, run = first.write(), first.folder / "next"
    published = publish_prepared(prepare(path, run, seeded_keys(1)), run)
    assert published.directory.name == "0002"
    assert said_by(published, "earlier versions") == [
        "earlier versions: too few rows were compared to decide whether the people are the same"
    ]


def test_a_second_line_of_the_same_rows_is_refused(first):
    as_rows(first)
    with pytest.raises(PromiseError, match="all 72 rows are also in line first") as refused:
        as_rows(other(first))
    assert refused.value.exit_code == 3


def test_the_same_rows_are_refused_before_anything_is_made(first):
    as_rows(first)
    second = other(first)
    with pytest.raises(PromiseError, match="72 rows"):
        as_rows(second)
    resolved = resolve_run(second.folder / "spec.yaml")
    identification = identity(second.folder / "run-0" / "deidentified")
    with pytest.raises(PromiseError, match="all 72 rows are also in line first"):
        existing_version(resolved.line, identification, "disjoint")


def test_rows_of_a_line_are_found_in_another_spelling(first):
    as_rows(first)
    second = other(first, others=20)
    for person in second.people.values():
        person["job"] = f"{person['job'].upper()} "
    with pytest.raises(PromiseError, match=r"rows are also in line first, version 0001, .*5"):
        as_rows(second)


def test_rows_that_chance_may_have_made_alike_are_others(first, work):
    as_rows(first)
    as_rows(other(first, others=60))
    normal_rows_file = work / "second" / ROWS_NORMAL / "0001"
    assert normal_rows_file.stat().st_mode & 0o777 == 0o600
    assert f"{ROWS_NORMAL}/0001" in state_files(work / "second")


def test_what_is_kept_of_units_is_backed_up(first, work):
    first.publish(**KNOWN)
    files = state_files(work / "first")
    assert {f"{UNITS_NORMAL}/0001", f"{ROWS_NORMAL}/0001"} <= files.keys()


def test_rows_of_a_line_that_knows_its_people(first):
    first.publish(people=None)
    with pytest.raises(PromiseError, match="all 72 rows are also in line first"):
        as_rows(other(first))


def test_a_line_that_knows_its_people_beside_rows(first):
    as_rows(first)
    with pytest.raises(PromiseError, match="all 72 rows are also in line first"):
        other(first).publish()


def test_an_unrelated_table_with_a_column_in_common_is_published(first):
    """Few columns prove nothing, which the owner is told, and nobody else."""
    as_rows(with_many(first))
    second = with_many(Evolving(first.folder.parent / "second", "split", "second", seed=8))
    columns = {n: c if n in ("age", "job") else {**c, "role": "drop"} for n, c in ROW.items()}
    path = second.write(**ALONE | {"columns": columns})
    run = second.folder / "run"
    published = publish_prepared(prepare(path, run, seeded_keys(1)), run)
    assert said_by(published, "line first") == [
        "line first: these columns are not enough to decide whether people are the same: age, job"
    ]
    assert published.notices == ()
    assert not said_by(published, "too few")
    report = json.loads((resolve_run(path).line.reports("0001") / "same-people.json").read_text())
    assert [comparison["judged"]["can_tell"] for comparison in report] == [False]


def test_a_line_that_keeps_no_rows_is_compared_by_its_units_alone(first, work):
    first.publish(**KNOWN | {"remember": "units"})
    assert not (work / "first" / ROWS_NORMAL).exists()
    second = with_ids(other(first), lambda unit: unit + 1_000)
    path, run = second.write(**KNOWN), second.folder / "run"
    published = publish_prepared(prepare(path, run, seeded_keys(1)), run)
    assert said_by(published, "line first") == [
        "line first: rows were not recorded (remember: units), so only units are compared"
    ]


def test_rows_that_are_gone_are_missed(first, work):
    as_rows(first)
    (work / "first" / ROWS_NORMAL / "0001").unlink()
    with pytest.raises(PromiseError, match=r"line first: the rows of version 0001 are missing"):
        as_rows(other(first))


def test_the_risk_may_be_accepted_or_the_people_be_others(first):
    as_rows(first, people="town")
    with pytest.raises(PromiseError, match="72 rows"):
        as_rows(other(first), people="town")
    second = other(first, "others")
    path, run = second.write(**ALONE | {"columns": ROW, "people": "village"}), second.folder / "run"
    published = publish_prepared(prepare(path, run, seeded_keys(1)), run)
    assert "about other people" in said_by(published, "line first")[0]
    as_rows(other(first, "third"), **{"across-lines": "accepted-risk"})
