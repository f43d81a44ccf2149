"""A line draws once of the same rows, and never lets versions betray people together."""

import json
import multiprocessing
import os
import shutil
from datetime import UTC, date, datetime, timedelta
from functools import partial

import pytest

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.lines.versions import Approval, Record, read_record, record_content
from sfumato.tasks.private.durable import hold_lock_if_free
from sfumato.tasks.private.state import read_state
from sfumato.tasks.publication import amendments, withdrawal
from sfumato.tasks.publication import publish as publication
from sfumato.tasks.publication.amendments import record_accuracy
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.publish import publish
from sfumato.tasks.publication.withdrawal import withdraw
from sfumato.tasks.query.accuracy.usefulness import MeasuredBounds
from sfumato.tasks.stages.deidentify import identity
from sfumato.tasks.stages.validate import assess_candidate, seal_candidate, sealed_candidate
from sfumato.tasks.verification.line_log import read_log
from sfumato.tasks.verification.log_writing import NEXT_LOG
from tests.lines import TIME, publish_prepared
from tests.release.small import SPEC, Small, people


def content(directory):
    return {p.relative_to(directory): p.read_bytes() for p in directory.rglob("*") if p.is_file()}


def test_a_record_says_as_little_as_it_can():
    day, approvals = date(2026, 1, 2), (Approval(by="a", time=TIME, reason="b"),)
    record = Record(name="wages").with_new("0001", "1" * 64, TIME).with_new("0002", "2" * 64, TIME)
    third = record.with_new("0003", "3" * 64, TIME, day)
    assert [version.predecessor for version in third.versions.values()] == [
        None,
        "1" * 64,
        "2" * 64,
    ]
    assert (record.lowest_format, third.lowest_format) == (1, 2)
    approved = {"0001": record.versions["0001"].model_copy(update={"approvals": approvals})}
    assert record.model_copy(update={"versions": approved}).lowest_format == 3
    assert record.with_goal("0002", "met", ()).lowest_format == 4
    document = json.loads(record_content(record))["versions"]["0002"]
    assert set(document) == {"accuracy", "approver", "digest", "predecessor", "status", "time"}


def test_same_source_and_spec_is_the_version_that_stands(small, first):
    before = content(first.directory)
    again = small.publish("two")
    assert (first.existed, again.existed) == (False, True)
    assert again.directory == first.directory
    assert content(first.directory) == before


def test_shuffled_rows_are_the_same_source(small, first):
    again = small.write(people()[::-1]).publish("two")
    assert again.directory == first.directory


def test_disjoint_units_make_a_new_version(small, release):
    second = small.write(people(first=1000, seed=2)).publish("two").directory
    assert (release.name, second.name) == ("0001", "0002")
    record = read_record(release.parent)
    assert record.current == "0002"
    assert record.versions["0001"].status == "superseded"
    assert record.versions["0002"].predecessor == record.versions["0001"].digest
    assert check(release).verdicts
    assert check(second).verdicts


def test_overlapping_units_are_refused(small, first):
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


def test_withdrawn_or_gone_versions_are_not_drawn_again(small, release):
    plan, _ = small.prepare_run("two")
    withdraw(plan.line, "0001", "a test")
    assert read_record(release.parent).current is None
    with pytest.raises(PromiseError, match="was withdrawn"):
        small.publish("three")
    shutil.rmtree(release.parent)
    with pytest.raises(PromiseError, match="is missing"):
        small.publish("four")


def test_without_the_private_state_nothing_new_is_drawn(small, first, tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "other"))
    with pytest.raises(PromiseError, match="the private state of another work directory"):
        small.publish("two")


class Killed(BaseException):
    pass


@pytest.mark.parametrize("point", ["stage", "_intend", "appear", "_open_to_all", "_record"])
def test_interrupted_anywhere_the_next_run_ends_with_one_whole_version(small, monkeypatch, point):
    def kill(*_, **__):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(publication, point, kill)
        with pytest.raises(Killed):
            small.publish("one")
    published = small.publish("two")
    line = published.directory.parent
    assert [p.name for p in sorted(line.iterdir()) if p.name.isdigit()] == ["0001"]
    assert read_record(line).current == "0001"
    assert published.existed == (point in ("_open_to_all", "_record"))
    assert published.directory.stat().st_mode & 0o777 == 0o755
    assert check(published.directory).verdicts


@pytest.fixture
def unrecorded_version(small, monkeypatch):
    """A line whose version appeared when its run was killed, and the run.

    Its candidate was made in 1970.
    """

    def kill(*_, **__):
        raise Killed

    plan, run = small.prepare_run("one")
    candidate = run / "candidate"
    seal_candidate(candidate, assess_candidate(candidate, plan.withheld))
    for path in (candidate / "release").rglob("*"):
        os.utime(path, (0, 0))
    with monkeypatch.context() as patched:
        patched.setattr(publication, "_record", kill)
        with pytest.raises(Killed):
            publish(plan.line, sealed_candidate(candidate), identity(run / "deidentified"), TIME)
    return plan, run


def test_what_a_run_began_is_finished_before_the_next_is_published(unrecorded_version):
    plan, run = unrecorded_version
    assert publish_prepared(plan, run).existed
    assert list(read_record(plan.line.public).versions) == ["0001"]


def test_a_version_whose_run_was_killed_has_the_time_of_its_entry_in_the_log(unrecorded_version):
    line = unrecorded_version[0].line.public
    publish_prepared(*unrecorded_version)
    assert read_record(line).versions["0001"].time == TIME
    assert read_log(line).listing.versions["0001"].time == TIME


def test_a_version_whose_entry_is_lost_is_dated_by_when_it_was_staged(unrecorded_version):
    (unrecorded_version[0].line.public / NEXT_LOG).unlink()
    publish_prepared(*unrecorded_version)
    time_recorded = read_record(unrecorded_version[0].line.public).versions["0001"].time
    staged = datetime.fromisoformat(time_recorded)
    assert timedelta(0) <= datetime.now(UTC) - staged < timedelta(hours=1)
    assert staged.isoformat(timespec="seconds") == time_recorded


def test_a_version_that_never_appeared_is_forgotten(small, monkeypatch):
    def kill(*_, **__):
        raise Killed

    plan, run = small.prepare_run("one")
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(publication, "appear", kill)
        publish_prepared(plan, run)
    assert read_state(plan.line.private).pending[0] == "0001"
    identification = identity(run / "deidentified")
    assert publication.existing_version(plan.line, identification, "disjoint") is None
    assert read_state(plan.line.private).pending is None


def test_what_a_killed_run_staged_is_swept_also_where_nothing_is_published(unrecorded_version):
    plan, run = unrecorded_version
    public = plan.line.public
    (public / ".staging-0123456789abcdef" / "data").mkdir(parents=True)
    (public / ".releases.json.4194304.tmp").write_text("half of what a rec")
    identification = identity(run / "deidentified")
    assert publication.existing_version(plan.line, identification, "disjoint") == public / "0001"
    assert not [*public.glob(".staging-*"), *public.glob(".*.tmp")]


def test_the_number_of_a_version_that_is_gone_is_not_given_again(small):
    first = small.write(people(), versions="accepted-risk").publish("one").directory
    shutil.rmtree(first)
    small.write(people(seed=5), versions="accepted-risk")
    assert small.publish("two").directory.name == "0002"


def test_nobody_publishes_while_it_is_found_out_what_stands(small, monkeypatch):
    plan, run = small.prepare_run("one")
    states_of_lock = []

    def standing(line, *_):
        with hold_lock_if_free(line.public / ".lock") as free:
            states_of_lock.append(not free)

    monkeypatch.setattr(publication, "standing_version", standing)
    publication.existing_version(plan.line, identity(run / "deidentified"), "disjoint")
    assert states_of_lock == [True]


@pytest.mark.parametrize(
    "change",
    [
        partial(withdraw, reason="a test"),
        partial(record_accuracy, measured=MeasuredBounds([])),
    ],
)
def test_nobody_publishes_while_the_record_changes(small, first, monkeypatch, change):
    line, locks = small.plan().line, []

    def replace(*_, **__):
        with hold_lock_if_free(line.public / ".lock") as free:
            locks.append(not free)
        return ()

    for room in (amendments, withdrawal):
        monkeypatch.setattr(room, "replace_record", replace)
    change(line, "0001")
    assert locks == [True]


def test_accuracy_stands_beside_its_version(small, first):
    public = first.directory.parent
    small.write(people(first=1000, seed=2)).publish("two")
    record_accuracy(small.plan().line, "0001", MeasuredBounds([{"queries": 5}]))
    versions = read_record(public).versions
    assert [version.accuracy for version in versions.values()] == [[{"queries": 5}], None]


def publish_apart(folder, name):
    os.environ["SFUMATO_WORK"] = str(folder.parent / "work")
    return str(Small(folder).publish(name).directory)


def test_two_processes_share_one_version_of_one_source(small):
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        versions_found = pool.starmap(publish_apart, [(small.folder, "a"), (small.folder, "b")])
    assert len(set(versions_found)) == 1
    record = json.loads((small.folder / "public" / "wages" / "releases.json").read_text())
    assert list(record["versions"]) == ["0001"]
