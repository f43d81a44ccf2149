"""Versions are current once they were measured, and goals that are missed are told or refused."""

import json

import pytest

from sfumato.expectations.shared.errors import PromiseError, SpecError
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.inputs.resolved import resolve_run
from sfumato.flows.life.evaluation import evaluate_again
from sfumato.tasks import evaluate as tasks
from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.private.failure import listening
from sfumato.tasks.private.state import read_state
from sfumato.tasks.publication import publish as publication
from tests.flow_here import release_here
from tests.release.evolving import Evolving
from tests.release.small import SPEC, people

WORKLOADS = SPEC["evaluate"]["workloads"]


class Killed(BaseException):
    """The exception that stands for a process that is killed."""


@pytest.fixture
def killed_release(monkeypatch):
    """Runs that are killed before anything is measured."""

    def release(spec):
        def kill(*_, **__):
            raise Killed

        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(tasks, "evaluate_release", kill)
            release_here(spec)

    return release


def record_of(spec):
    return read_record(resolve_run(spec).line.public)


def test_a_version_that_was_not_measured_is_pending_and_the_next_run_measures_it(
    small, killed_release
):
    killed_release(small.spec)
    record = record_of(small.spec)
    assert (record.current, record.versions["0001"].status) == (None, "pending")
    assert (
        json.loads((resolve_run(small.spec).line.public / "releases.json").read_text())["format"]
        == 4
    )
    version = release_here(small.spec)
    record = record_of(small.spec)
    assert (version.name, record.current) == ("0001", "0001")
    assert record.versions["0001"].accuracy
    assert record.lowest_format == 1  # older software reads it again


def test_an_earlier_version_stays_current_until_then(small, killed_release):
    release_here(small.spec)
    small.write(people(first=1000, seed=2))
    killed_release(small.spec)
    record = record_of(small.spec)
    assert (record.current, record.versions["0002"].status) == ("0001", "pending")
    assert record.versions["0002"].predecessor == record.versions["0001"].digest
    evaluate_again(resolve_run(small.spec).line.public / "0002", small.spec, Overrides())
    record = record_of(small.spec)
    assert (record.current, record.versions["0001"].status) == ("0002", "superseded")


def test_another_source_cannot_measure_it_and_says_so(small, killed_release):
    killed_release(small.spec)
    small.write(people(first=1000, seed=2))
    texts = []
    with listening(lambda text, event, _: texts.append(text) if event == "said" else None):
        release_here(small.spec)
    assert any("version 0001 is pending" in text for text in texts)
    record = record_of(small.spec)
    assert (record.current, record.versions["0001"].status) == ("0002", "pending")


def test_a_composed_line_measures_it_first_from_whom_it_remembers(
    tmp_path, monkeypatch, killed_release
):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    line = Evolving(tmp_path / "line", "ranges")
    workload = {"kind": "range", "aggregate": "avg", "over": "age", "spans": [9], "queries": 3}
    spec = line.write(evaluate={"workloads": [workload]})
    killed_release(spec)
    line.versions.append(tmp_path)
    line.move()
    line.write(evaluate={"workloads": [workload]})
    release_here(spec)
    record = record_of(spec)
    assert record.current == "0002"
    assert [version.status for version in record.versions.values()] == ["superseded", "published"]
    assert all(version.accuracy for version in record.versions.values())


@pytest.mark.parametrize("point", ["_record", "refresh_pages"])
def test_what_was_cut_short_is_still_pending_when_it_is_finished(small, monkeypatch, point):
    def kill(*_, **__):
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(publication, point, kill)
        release_here(small.spec)
    line = resolve_run(small.spec).line
    publication.recover(line)
    assert record_of(small.spec).versions["0001"].status == "pending"
    assert not any(version.unmeasured for version in read_state(line.private).versions.values())


def goal(width, on_failure="tell"):
    require = {"median-relative-width": width, "on-failure": on_failure}
    return {"workloads": WORKLOADS, "require": require}


def test_a_goal_that_is_missed_is_told_and_one_that_is_met_too(small):
    small.write(people(), evaluate=goal(0.0001))
    texts = []
    with listening(lambda text, event, _: texts.append(text) if event == "said" else None):
        version = release_here(small.spec)
    assert any(text.startswith("below-goal: the median relative width is ") for text in texts)
    assert record_of(small.spec).versions["0001"].goal == "below-goal"
    page = (version.parent / "index.html").read_text(encoding="utf-8")
    assert "less accurate than its publisher asked for" in page
    small.write(people(first=1000, seed=2), evaluate=goal(2))
    release_here(small.spec)
    assert record_of(small.spec).versions["0002"].goal == "met"


def test_a_goal_that_refuses_is_judged_before_anything_appears(small):
    small.write(people(), evaluate=goal(0.0001, "refuse"))
    with pytest.raises(PromiseError, match=r"^evaluate\.require: the median relative width is"):
        release_here(small.spec)
    line = resolve_run(small.spec).line
    assert not read_record(line.public).versions
    assert not read_state(line.private).versions
    assert not list(line.public.glob("[0-9]*"))


def test_what_was_measured_before_is_not_measured_again(small, monkeypatch):
    small.write(people(), evaluate=goal(2, "refuse"))
    monkeypatch.setattr(tasks, "evaluate_release", None)
    version = release_here(small.spec)
    recorded_version = record_of(small.spec).versions["0001"]
    assert (recorded_version.goal, recorded_version.status) == ("met", "published")
    assert recorded_version.accuracy
    reports = resolve_run(small.spec).line.reports(version.name)
    assert (reports / "accuracy.html").read_text(encoding="utf-8").count("<svg") == 4
    assert "noise of differential privacy" in (reports / "accuracy.html").read_text("utf-8")


def test_a_pending_version_that_misses_a_goal_that_refuses_is_not_current(small, killed_release):
    killed_release(small.spec)
    small.write(people(), evaluate=goal(0.0001, "refuse"))
    with pytest.raises(PromiseError, match="Version 0001 stays pending"):
        release_here(small.spec)
    record = record_of(small.spec)
    assert (record.current, record.versions["0001"].status) == (None, "pending")
    small.write(people(), evaluate=goal(2, "refuse"))
    release_here(small.spec)
    record = record_of(small.spec)
    assert (record.current, record.versions["0001"].goal) == ("0001", "met")


def test_one_group_is_warned_of(small):
    small.write(people(), promises=[{"model": "ke-anonymity", "k": 40, "e": 100}])
    version = release_here(small.spec)
    (warning,) = record_of(small.spec).versions["0001"].warnings
    assert warning.startswith("all rows are in one group")
    assert "is hardly useful" in (version.parent / "index.html").read_text(encoding="utf-8")


def test_a_goal_needs_a_workload(small):
    small.write(people(), evaluate={"require": {"median-relative-width": 0.1}})
    with pytest.raises(SpecError, match="needs workloads"):
        resolve_run(small.spec)
