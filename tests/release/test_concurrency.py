"""Processes that publish at the same time end with whole versions, each of one source."""

import multiprocessing
import os
from multiprocessing.forkserver import ensure_running
from pathlib import Path

import pytest

from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.publication.check import check
from tests.fork_server import THREADLESS
from tests.release.publishing_apart import publish_apart
from tests.release.small import Small, people


@pytest.fixture(scope="module")
def forking():
    """Processes of their own, forked from one that has imported everything and started no thread.

    They share nothing but the disk: each publishes once.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name, value in THREADLESS.items():
            patch.setenv(name, value)
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["tests.release.publishing_apart"])
        ensure_running()
    return context


@pytest.fixture
def publish_together(forking):
    def publish_together(*runs):
        settings = [(*run, os.environ["SFUMATO_WORK"]) for run in runs]
        with forking.Pool(len(runs), maxtasksperchild=1) as pool:
            return pool.starmap(publish_apart, settings, chunksize=1)

    return publish_together


def elsewhere(small, rows, **changes):
    """Another source and spec file of the same line."""
    public = {"uri": str(small.folder / "public")}
    return Small(small.folder.with_name("elsewhere")).write(rows, publish=public, **changes)


def whole_versions(line):
    names = sorted(p.name for p in line.iterdir() if p.name.isdigit())
    record = read_record(line)
    assert names == sorted(record.versions)
    assert not list(line.glob(".staging-*"))
    for name in names:
        assert check(line / name, record.versions[name].digest).verdicts
    return names


def test_one_source_is_one_version(small, publish_together):
    outcomes = publish_together((small.folder, "a"), (small.folder, "bb"))
    assert len(set(outcomes)) == 1
    assert whole_versions(Path(outcomes[0]).parent) == ["0001"]


def test_two_sources_of_accepted_risk_are_two_versions(small, publish_together):
    small.write(people(), versions="accepted-risk")
    other = elsewhere(small, people(seed=5), versions="accepted-risk")
    runs = (small.folder, "a"), (other.folder, "bb")
    outcomes = publish_together(*runs)
    if late := [
        place
        for place, outcome in enumerate(outcomes)
        if outcome.endswith("in the meantime. Run the command again")
    ]:
        assert len(late) == 1  # what versions expose together stands on the page of the second
        (outcomes[late[0]],) = publish_together((runs[late[0]][0], "again"))
    assert sorted(Path(f).name for f in outcomes) == ["0001", "0002"]
    assert whole_versions(Path(outcomes[0]).parent) == ["0001", "0002"]


def test_of_two_sources_about_the_same_units_one_is_refused(small, publish_together):
    other = elsewhere(small, people(seed=5))
    outcomes = publish_together((small.folder, "a"), (other.folder, "bb"))
    assert sum("units are in an earlier version" in f for f in outcomes) == 1
    assert whole_versions(small.folder / "public" / "wages") == ["0001"]
