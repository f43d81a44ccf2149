"""A candidate that breaks its promise meets a closed gate at every stage, each tried by itself.

The gates stand one behind the other, so what one of them lets through another would hold up: a gate
is known to be shut by the stage that failed.
"""

import numpy as np
import pytest

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.tasks.microdata.table import load, save
from sfumato.tasks.partitions import registry
from sfumato.tasks.partitions.partition import Partition
from tests.flow_here import release_here
from tests.release.small import SPEC, people


@pytest.fixture
def failed_run(small, monkeypatch):
    """Run the flow, which must fail: the stage in which it does, and what it leaves anywhere."""

    def run(error, match):
        events = []
        with pytest.raises(error, match=match):
            release_here(small.spec, events)
        public = small.folder / "public" / "wages"
        runs = small.folder.parent / "work" / "wages" / "runs"
        folders = [
            path.name for place in (public, runs) for path in place.glob("*") if path.is_dir()
        ]
        files = {path.name for path in public.glob("*") if path.is_file()} - {".lock"}
        return events[-1], [*folders, *files]

    return run


def refused_in(stage):
    """A run that fails in this stage, begins no other, and leaves nothing."""
    return (stage, "failed"), []


@pytest.fixture
def careless(monkeypatch):
    """A partition that groups two rows at a time, whatever was promised."""

    def pairs(microdata, *_):
        return Partition(np.arange(microdata.rows, dtype=np.int64) // 2)

    monkeypatch.setitem(registry.PARTITIONS, "ke", pairs)


def let_pass(monkeypatch, module):
    """Open one gate."""
    monkeypatch.setattr(module, "require", lambda *_: None)


def bound_ages(small):
    columns = {**SPEC["columns"], "age": {**SPEC["columns"]["age"], "range": {"max": 40}}}
    small.write(people(), columns=columns)


def test_a_source_that_is_not_as_declared_is_not_read_on(small, failed_run):
    bound_ages(small)
    assert failed_run(InputError, r"column 'age': not in the range to 40") == refused_in("ingest")


def test_the_verdict_on_the_source_counts_by_itself(small, failed_run, monkeypatch):
    from sfumato.tasks import ingest

    bound_ages(small)
    let_pass(monkeypatch, ingest)
    assert failed_run(PromiseError, "expect_values_in_range is broken") == refused_in("ingest")


def test_a_promise_that_no_grouping_keeps_is_refused_before_any_is_drawn(small, failed_run):
    small.write(people(), promises=[{"model": "ke-anonymity", "k": 3, "e": 100_000}])
    assert failed_run(PromiseError, "cannot be kept") == refused_in("verify")


def test_a_broken_promise_is_not_validated(failed_run, careless):
    assert failed_run(PromiseError, "ke-anonymity is broken in 3. of 3. groups") == refused_in(
        "validate"
    )


def test_a_broken_promise_that_was_validated_is_not_published(failed_run, careless, monkeypatch):
    from sfumato.tasks.stages import validate

    let_pass(monkeypatch, validate)
    assert failed_run(PromiseError, "ke-anonymity is broken in 3. of 3. groups") == refused_in(
        "publish"
    )


def test_a_candidate_that_was_changed_on_its_way_is_not_published(failed_run, monkeypatch):
    from sfumato.flows.runs import releasing as flow

    validated = flow.validate

    def change_page(candidate, *arguments):
        validated(candidate, *arguments)
        page = candidate / "release" / "index.html"
        page.write_bytes(page.read_bytes() + b" ")
        return candidate

    monkeypatch.setattr(flow, "validate", change_page)
    assert failed_run(PromiseError, r"index\.html: was changed after validation") == refused_in(
        "publish"
    )


def test_a_version_that_excludes_the_truth_is_withdrawn(small, monkeypatch):
    """The evaluated table is not the published one: the bounds cannot contain it."""
    from sfumato.expectations.shared.errors import Fault
    from sfumato.flows.runs import releasing as flow
    from sfumato.tasks.lines.versions import read_record

    published = flow.publish

    def swap_values(candidate, deidentified, *rest, **named):
        version = published(candidate, deidentified, *rest, **named)
        rows = load(deidentified)
        save(rows.take(np.arange(rows.rows) // 2), deidentified)
        return version

    monkeypatch.setattr(flow, "publish", swap_values)
    with pytest.raises(Fault, match="outside"):
        release_here(small.spec)
    record = read_record(small.folder / "public" / "wages")
    assert (record.current, record.versions["0001"].status) == (None, "withdrawn")
