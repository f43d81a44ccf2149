"""Versions in parts are current once they were measured; goals that are missed refuse them."""

import csv
import json
from importlib import import_module

import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.shared.errors import Fault, InputError, PromiseError
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.life.evaluation import evaluate_again
from sfumato.tasks import evaluate as tasks
from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.private.failure import listening
from sfumato.tasks.query.engines import truth
from sfumato.tasks.terms.opened import open_release
from tests.flow_here import release_here
from tests.parts.divided import SPEC, visits
from tests.parts.test_promises import KINDS

ASKED = [
    {"kind": "range", "aggregate": "avg", "over": "age", "of": "cost", "spans": [9], "queries": 6},
    {"kind": "arbitrary", "aggregate": "sum", "of": "cost", "selected": [30], "queries": 6},
    {"kind": "counts", "of": "ward", "selectivity": [40], "queries": 6},
]
LEAVES = {  # rows of a value that is too frequent are suppressed
    **KINDS["disjoint cover"],
    "partition": {"method": "disjoint-cover", "residue": "suppress"},
    "promises": [{"model": "alpha-beta", "alpha": 0.9, "beta": 0.5, "sensitive": "ward"}],
}


def often_a(seed=1):
    """Rows of which more than half have the same value."""
    rows = visits(200, seed)
    ward = np.where(np.arange(200) % 3 > 0, "a", rows["ward"].to_numpy(zero_copy_only=False))
    return rows.set_column(rows.column_names.index("ward"), "ward", pa.array(ward))


class Killed(BaseException):
    """The exception that stands for a process that is killed."""


@pytest.fixture(scope="module", autouse=True)
def gate():
    """Return the module that judges, imported before parts are collected one by one."""
    return import_module("sfumato.expectations.suites.gate")


@pytest.fixture
def write_measured(divided_line):
    """Writes a line with workloads, by default in two parts: each is judged and asked."""

    def write(rows=None, require=None, **changes):
        workloads = ASKED[2:] if "form" in changes else ASKED  # ambiguous releases answer counts
        evaluation = {"workloads": workloads, **({"require": require} if require else {})}
        return divided_line.write(
            visits(200) if rows is None else rows, evaluate=evaluation, **changes
        )

    return write


def record_of(line):
    return read_record(line.plan().line.public)


def test_a_release_is_measured_before_its_rows_go(write_measured, divided_line):
    line = write_measured(visits())
    version = release_here(line.spec)
    record = record_of(line).versions["0001"]
    assert record.status == "published"
    assert len(open_release(version).declared.made_of) > 3
    assert [workload["queries"] for workload in record.accuracy] == [6, 6, 6]
    assert all(workload["median"] >= 0 for workload in record.accuracy)
    reports = line.plan().line.reports(version.name)
    with (reports / "accuracy.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["kind"] for row in rows] == ["range"] * 6 + ["arbitrary"] * 6 + ["counts"] * 6
    assert {row["inside"] for row in rows} == {"true"}
    assert not list((divided_line.folder.parent / "work").rglob("*.parquet"))
    assert not list(version.rglob("accuracy*"))


def test_a_killed_run_leaves_a_pending_version_that_the_next_one_measures(
    write_measured, monkeypatch
):
    def kill(*_, **__):
        raise Killed

    line = write_measured()
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(tasks, "evaluate_release", kill)
        release_here(line.spec)
    record = record_of(line)
    assert (record.current, record.versions["0001"].status) == (None, "pending")
    assert release_here(line.spec).name == "0001"
    record = record_of(line)
    assert (record.current, record.versions["0001"].status) == ("0001", "published")
    assert len(record.versions["0001"].accuracy) == 3


def test_another_source_says_which_version_is_pending(write_measured, monkeypatch):
    def kill(*_, **__):
        raise Killed

    line = write_measured(versions="accepted-risk")
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(tasks, "evaluate_release", kill)
        release_here(line.spec)
    texts = []
    write_measured(visits(200, seed=2), versions="accepted-risk")
    with listening(lambda text, event, _: texts.append(text) if event == "said" else None):
        assert release_here(line.spec).name == "0002"
    assert any("version 0001 is pending" in text for text in texts)
    assert record_of(line).current == "0002"


def test_what_misses_a_goal_that_refuses_never_appears(write_measured):
    line = write_measured(require={"median-relative-width": 1e-9, "on-failure": "refuse"})
    with pytest.raises(PromiseError, match=r"evaluate\.require: the median relative width is"):
        release_here(line.spec)
    assert not list(line.plan().line.public.glob("0*"))
    line = write_measured(require={"median-relative-width": 9, "on-failure": "refuse"})
    version = release_here(line.spec)
    record = record_of(line).versions["0001"]
    assert (record.status, record.goal) == ("published", "met")
    assert (line.plan().line.reports(version.name) / "accuracy.csv").exists()


def test_a_goal_that_only_tells_is_recorded(write_measured):
    line = write_measured(require={"median-relative-width": 1e-9})
    release_here(line.spec)
    assert record_of(line).versions["0001"].goal == "below-goal"


def test_a_candidate_waits_for_approval_with_its_accuracy(write_measured):
    line = write_measured(approval="required")
    candidate = release_here(line.spec)
    workloads = json.loads((candidate / "report" / "accuracy.json").read_bytes())
    assert [workload["queries"] for workload in workloads] == [6, 6, 6]


def test_a_truth_outside_its_bounds_withdraws_the_version(write_measured, monkeypatch):
    line = write_measured()
    monkeypatch.setattr(truth.Truth, "answer", lambda *_: -1)
    with pytest.raises(Fault, match="the truth is outside the bounds"):
        release_here(line.spec)
    assert record_of(line).versions["0001"].status == "withdrawn"


@pytest.mark.parametrize("changes", [{}, LEAVES], ids=["all rows", "rows left out"])
def test_a_version_is_measured_again_on_its_source_in_any_order(write_measured, changes):
    line = write_measured(often_a(), **changes)
    version = release_here(line.spec)
    left_out = open_release(version).declared.rows.suppressed
    assert bool(left_out) == bool(changes)
    write_measured(often_a().take(np.random.default_rng(3).permutation(200)), **changes)
    evaluation = evaluate_again(version, line.spec, Overrides())
    assert (len(evaluation.public), evaluation.fault) == (1 if changes else 3, None)
    assert not list((line.folder.parent / "work").rglob("*.parquet"))
    write_measured(often_a(seed=9), **changes)
    with pytest.raises(InputError, match="was not made from this source"):
        evaluate_again(version, line.spec, Overrides())


def test_nothing_is_measured_where_nobody_knows_who_was_left_out(write_measured):
    line = write_measured(often_a(), **LEAVES)
    version = release_here(line.spec)
    (line.plan().line.private / "left-out" / version.name).unlink()
    with pytest.raises(InputError, match="parts: the record of the release's people is not here"):
        evaluate_again(version, line.spec, Overrides())
    assert record_of(line).versions["0001"].status == "published"


def test_without_workloads_nothing_is_pending(divided_line):
    line = divided_line.write(visits(200))
    release_here(line.spec)
    record = record_of(line)
    assert (record.current, record.versions["0001"].accuracy) == ("0001", None)
    assert SPEC.get("evaluate") is None
