"""A line draws once of the same rows, and never lets versions betray people together."""

import json
import multiprocessing
import os
import shutil

import pytest

from sfumato.expectations.errors import PromiseError
from sfumato.tasks.publication import publish as publication
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.publish import withdraw
from sfumato.tasks.publication.versions import read_record
from tests.release.small import SPEC, Small, people


def content(directory):
    return {p.relative_to(directory): p.read_bytes() for p in directory.rglob("*") if p.is_file()}


def test_same_source_and_spec_is_the_version_that_stands(small):
    first = small.publish("one")
    before = content(first.directory)
    again = small.publish("two")
    assert (first.existed, again.existed) == (False, True)
    assert again.directory == first.directory
    assert content(first.directory) == before


def test_shuffled_rows_are_the_same_source(small):
    first = small.publish("one")
    again = small.write(people()[::-1]).publish("two")
    assert again.directory == first.directory


def test_disjoint_units_make_a_new_version(small):
    first = small.publish("one").directory
    second = small.write(people(first=1000, seed=2)).publish("two").directory
    assert (first.name, second.name) == ("0001", "0002")
    record = read_record(first.parent)
    assert record.current == "0002"
    assert record.versions["0001"].status == "superseded"
    assert record.versions["0002"].predecessor == record.versions["0001"].digest
    assert check(first).verdicts
    assert check(second).verdicts


def test_overlapping_units_are_refused(small):
    small.publish("one")
    small.write([*people(first=1000, seed=2), people()[0]])
    with pytest.raises(PromiseError, match="1 units are in an earlier version"):
        small.publish("two")


def test_changed_rows_without_units_are_refused(small):
    columns = {**SPEC["columns"], "person": {"role": "identifier"}}
    small.write(people(), columns=columns, unit="row").publish("one")
    small.write(people(first=1000, seed=2), columns=columns, unit="row")
    with pytest.raises(PromiseError, match="cannot be checked without a unit"):
        small.publish("two")


def test_accepted_risk_is_a_new_version(small):
    small.write(people(), versions="accepted-risk").publish("one")
    small.write(people(seed=5), versions="accepted-risk")
    assert small.publish("two").directory.name == "0002"


def test_withdrawn_or_gone_versions_are_not_drawn_again(small):
    first = small.publish("one").directory
    plan, _ = small.prepared("two")
    withdraw(plan.line, "0001")
    assert read_record(first.parent).current is None
    with pytest.raises(PromiseError, match="was withdrawn"):
        small.publish("three")
    shutil.rmtree(first.parent)
    with pytest.raises(PromiseError, match="is gone"):
        small.publish("four")


def test_without_the_private_state_nothing_new_is_drawn(small, tmp_path, monkeypatch):
    small.publish("one")
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "other"))
    with pytest.raises(PromiseError, match="the private state of another work directory"):
        small.publish("two")


class Killed(BaseException):
    pass


@pytest.mark.parametrize("point", ["stage", "_intend", "appear", "_record"])
def test_interrupted_anywhere_the_next_run_ends_with_one_whole_version(small, monkeypatch, point):
    def kill(*_):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(publication, point, kill)
        with pytest.raises(Killed):
            small.publish("one")
    published = small.publish("two")
    line = published.directory.parent
    assert [p.name for p in sorted(line.iterdir()) if p.is_dir()] == ["0001"]
    assert read_record(line).current == "0001"
    assert published.existed == (point == "_record")
    assert check(published.directory).verdicts


def publish_apart(folder, name):
    os.environ["SFUMATO_WORK"] = str(folder.parent / "work")
    return str(Small(folder).publish(name).directory)


def test_two_processes_share_one_version_of_one_source(small):
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        found = pool.starmap(publish_apart, [(small.folder, "a"), (small.folder, "b")])
    assert len(set(found)) == 1
    record = json.loads((small.folder / "public" / "wages" / "releases.json").read_text())
    assert list(record["versions"]) == ["0001"]
