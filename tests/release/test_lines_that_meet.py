"""Lines about the same people: what one of them promises, the other may not take away."""

import hashlib
from dataclasses import replace

import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.flows.inputs.resolved import resolve_run
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.private.people.frozen import FrozenCodings
from sfumato.tasks.private.people.identity import Identity
from sfumato.tasks.private.people.lines import read_line, write_line
from sfumato.tasks.private.state import read_state, write_state
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.publication import publish as publication
from sfumato.tasks.publication import publish as publish_module
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.publish import existing_version
from sfumato.tasks.stages.deidentify import identity
from tests.lines import prepare, publish_prepared
from tests.release.evolving import DIVERSE, Evolving, spec

ASKED = Identity("rows", "spec", None, FrozenCodings(), hashed=pa.table({}))
SIXES = [DIVERSE[0] | {"l": 6}]


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))


def line(folder, kind="split", name="first", people=None):
    line = Evolving(folder / name, kind, name)
    if people is not None:
        line.people = people
    return line


def by_sixes(folder):
    line_ = line(folder)
    for number, person in line_.people.items():
        person.update(age=number // 6, zip=0, edu=0)
    return line_


def six_by_six(line):
    """Groups of the six who are as old as each other, each with another job."""
    return line.publish(
        people="town",
        form={"method": "generalized"},
        partition={"method": "mondrian"},
        promises=[{"model": "k-anonymity", "k": 6}, *SIXES],
    )


def test_a_line_may_not_cut_the_groups_of_another_below_what_that_promises(tmp_path):
    first = by_sixes(tmp_path)
    six_by_six(first)
    halves = {n: p | {"age": p["age"] * 2 + n % 2} for n, p in first.people.items()}
    second = line(tmp_path, name="second", people=halves)
    with pytest.raises(
        PromiseError, match="groups of the other line are split, although it promises"
    ):
        second.publish(
            people="town",
            form={"method": "generalized"},
            partition={"method": "mondrian"},
            promises=[{"model": "k-anonymity", "k": 3}, DIVERSE[0] | {"l": 3}],
        )


def test_a_line_may_join_groups_of_another(tmp_path):
    first = by_sixes(tmp_path)
    six_by_six(first)
    pairs = {n: p | {"age": p["age"] // 2} for n, p in first.people.items()}
    second = line(tmp_path, name="second", people=pairs)
    assert check(six_by_six(second)).verdicts


def test_covers_of_the_same_people_are_not_drawn_twice(tmp_path):
    line(tmp_path, "ambiguous").publish(people="town")
    promises = [{"model": "alpha-beta", "alpha": "0.9", "beta": "0.5", "sensitive": "hours"}]
    columns = {"job": {"role": "drop"}, "hours": {"role": "sensitive", "type": "integer"}}
    second = line(tmp_path, "ambiguous", "second")
    columns = spec(second.kind, second.name, second.folder)["columns"] | columns
    with pytest.raises(PromiseError, match="both lines hide who is in them"):
        second.publish(people="town", columns=columns, promises=promises)


def test_distributions_and_values_are_not_shown_of_one_column(tmp_path):
    first = line(tmp_path, "redistributed")
    first.publish(people="town")
    second = line(tmp_path, "ranges", "second")
    with pytest.raises(
        PromiseError,
        match="'hours' is shown in both lines, and one of them shows only distributions",
    ):
        second.publish(people="town")


@pytest.mark.parametrize("before_it_is_made", [True, False])
def test_the_people_of_a_version_that_stands_can_be_named_later(tmp_path, before_it_is_made):
    first = line(tmp_path)
    stands = first.publish(people=None)
    with pytest.raises(PromiseError, match=r"then release first again"):
        line(tmp_path, name="second").publish(people="town")
    if before_it_is_made:
        resolved = resolve_run(first.write(people="town"))
        first_identity = identity(first.folder / "run-0" / "deidentified")
        assert existing_version(resolved.line, first_identity, "composed") == stands
    else:
        assert first.publish(people="town") == stands
    assert read_line(tmp_path / "work", "first").people == "town"
    assert check(line(tmp_path, name="third").publish(people="town")).verdicts


def test_naming_the_people_of_a_version_keeps_what_later_ones_told(tmp_path):
    first, work = line(tmp_path), tmp_path / "work"
    stands = first.publish(people=None)
    later = read_line(work, "first").model_copy(update={"open": ("age", "edu", "height", "zip")})
    write_line(work, "first", later)
    assert first.publish(people="town") == stands
    assert read_line(work, "first") == later.model_copy(update={"people": "town"})


def test_a_run_says_that_the_same_units_are_other_people_elsewhere(tmp_path):
    line(tmp_path).publish(people="town")
    second, run = line(tmp_path, name="second"), tmp_path / "run"
    resolved = prepare(second.write(people="village"), run, seeded_keys(0))
    published = publish_prepared(resolved, run)
    assert published.notices == ("72 units are in line first, about other people",)
    assert published.together.known.people == "village"


def cut_short(place):
    """As if the run had been killed between the version and the record of it."""
    state = read_state(place)
    write_state(
        place,
        state.model_copy(update={"versions": {}, "pending": ("0001", state.versions["0001"])}),
    )


def test_a_version_of_a_killed_run_counts(tmp_path):
    line(tmp_path).publish(people="town")
    cut_short(tmp_path / "work" / "first")
    second = line(tmp_path, name="second")
    with pytest.raises(PromiseError, match="72 units are in line first"):
        second.publish(people=None)
    follower = line(tmp_path, name="third")
    with pytest.raises(InputError, match="a run of line first was interrupted"):
        follower.publish(people="town", groups="first", partition=None)


def test_a_line_whose_state_is_gone_is_not_forgotten(tmp_path):
    """Whoever is in both could otherwise be grouped anew without a word."""
    line(tmp_path).publish(people="town")
    (tmp_path / "work" / "first" / "state.json").unlink()
    second = line(tmp_path, name="second")
    with pytest.raises(PromiseError, match=r"line first .* its state is missing"):
        second.publish(people="town")


def test_what_a_killed_run_told_of_its_line_is_no_line(tmp_path):
    lines_folder = private_directory(tmp_path / "work" / "people" / "lines")
    (lines_folder / ".first.4194304.tmp").write_bytes(b"half of what a li")
    assert check(line(tmp_path).publish()).verdicts


def test_a_line_whose_first_version_never_appeared_stops_no_other(tmp_path, monkeypatch):
    first = line(tmp_path)
    with monkeypatch.context() as killed:
        killed.setattr(publish_module, "appear", _kill_run)
        with pytest.raises(KeyboardInterrupt):
            first.publish(people="town")
    assert read_line(tmp_path / "work", "first") is not None
    resolved = resolve_run(first.write(people="town"))
    first_identity = identity(first.folder / "run-0" / "deidentified")
    assert existing_version(resolved.line, first_identity, "composed") is None
    assert read_line(tmp_path / "work", "first") is None
    assert check(line(tmp_path, name="second").publish(people="town")).verdicts


def _kill_run(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("type_", ["float", "decimal"])
def test_a_number_is_somebodys_whatever_its_type(tmp_path, type_):
    line(tmp_path).publish(people="town")
    second = line(tmp_path, name="second")
    numbered = {"role": "identifier", "type": type_, "unit": True}
    columns = spec("split", "second", tmp_path)["columns"] | {"id": numbered}
    for person in second.people.values():
        person["id"] = f"{person['id']}.0"
    with pytest.raises(PromiseError, match="72 units are in line first about the same people"):
        second.publish(people="town", columns=columns, versions="disjoint")


def pin_people(line):
    """A line whose people are known by the numbers of the file's rows."""
    numbered = {"role": "identifier", "type": "integer", "unit": True, "generated": "row-number"}
    columns = spec("split", line.name, line.folder)["columns"]
    del columns["id"]
    line.write()
    sha256 = hashlib.sha256((line.folder / "people.csv").read_bytes()).hexdigest()
    source = {"uri": "people.csv", "format": "csv", "sha256": sha256}
    return {"columns": columns | {"person": numbered}, "source": source}


def test_row_numbers_are_those_of_one_file(tmp_path):
    first = line(tmp_path)
    first.people = {n: {k: v for k, v in p.items() if k != "id"} for n, p in first.people.items()}
    first.publish(**pin_people(first))
    first.people.pop(0)
    resolved = resolve_run(first.write(**pin_people(first)))
    with pytest.raises(PromiseError, match=r"source\.sha256 differs from that of earlier versions"):
        existing_version(resolved.line, ASKED, "composed")


def test_row_numbers_of_a_version_that_never_appeared_are_nobodys(tmp_path, monkeypatch):
    def die(*_):
        raise KeyboardInterrupt

    first = line(tmp_path)
    first.people = {n: {k: v for k, v in p.items() if k != "id"} for n, p in first.people.items()}
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(publication, "appear", die)
        first.publish(**pin_people(first))
    first.people.pop(0)
    resolved = resolve_run(first.write(**pin_people(first)))
    assert read_line(tmp_path / "work", "first").pinned not in (None, resolved.line.pinned)
    assert existing_version(resolved.line, ASKED, "composed") is None


def test_people_whom_another_line_knows_are_refused_before_anything_is_made(tmp_path):
    line(tmp_path).publish(people="town")
    resolved = resolve_run(line(tmp_path, name="second").write(people=None))
    with pytest.raises(PromiseError, match=r"3 units are in line first\. Do one of"):
        existing_version(resolved.line, replace(ASKED, met={"first": 3}), "disjoint")
