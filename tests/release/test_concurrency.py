"""Processes that publish at the same time end with whole versions, each of one source."""

import multiprocessing
import sys
from pathlib import Path

import pytest

from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.versions import read_record
from tests.release.small import Small, people


@pytest.fixture
def publish_together(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    import publishing_apart

    def publish_together(*runs):
        with multiprocessing.get_context("spawn").Pool(len(runs)) as pool:
            return pool.starmap(publishing_apart.publish_apart, runs, chunksize=1)

    yield publish_together
    sys.modules.pop("publishing_apart", None)


def elsewhere(small, rows, **changes):
    """Another source and spec file of the same line."""
    public = {"uri": str(small.folder / "public")}
    return Small(small.folder.with_name("elsewhere")).write(rows, publish=public, **changes)


def whole_versions(line):
    found = sorted(p.name for p in line.iterdir() if p.is_dir())
    record = read_record(line)
    assert found == sorted(record.versions)
    assert not list(line.glob(".staging-*"))
    for name in found:
        assert check(line / name, record.versions[name].digest).verdicts
    return found


def test_one_source_is_one_version(small, publish_together):
    found = publish_together((small.folder, "a"), (small.folder, "bb"))
    assert len(set(found)) == 1
    assert whole_versions(Path(found[0]).parent) == ["0001"]


def test_two_sources_of_accepted_risk_are_two_versions(small, publish_together):
    small.write(people(), versions="accepted-risk")
    other = elsewhere(small, people(seed=5), versions="accepted-risk")
    runs = (small.folder, "a"), (other.folder, "bb")
    found = publish_together(*runs)
    if late := [place for place, said in enumerate(found) if said.endswith("meanwhile: run again")]:
        assert len(late) == 1  # what versions expose together stands on the page of the second
        (found[late[0]],) = publish_together((runs[late[0]][0], "again"))
    assert sorted(Path(f).name for f in found) == ["0001", "0002"]
    assert whole_versions(Path(found[0]).parent) == ["0001", "0002"]


def test_of_two_sources_about_the_same_units_one_is_refused(small, publish_together):
    other = elsewhere(small, people(seed=5))
    found = publish_together((small.folder, "a"), (other.folder, "bb"))
    assert sum("units are in an earlier version" in f for f in found) == 1
    assert whole_versions(small.folder / "public" / "wages") == ["0001"]
