"""Nobody but the owner can enter or read what is private, whatever the process's umask says."""

import os
import stat

import pytest

from sfumato.flows.life import lines
from tests.flow_here import release_here
from tests.release.small import people

SUPPRESSING = {
    "partition": {"method": "full-domain", "suppression": 0.1},
    "form": {"method": "generalized"},
    "promises": [
        {"model": "k-anonymity", "k": 3},
        {"model": "l-diversity", "variant": "distinct", "l": 2},
    ],
    "evaluate": {"workloads": []},
    "retain": 1,
}


@pytest.fixture
def open_to_all():
    """A process that lets everyone in unless it is told not to."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_every_private_path_is_the_owners_alone(small, monkeypatch, open_to_all):
    rows = people()
    rows[0]["town"] = "Alone"  # and so suppressed
    small.write(rows, **SUPPRESSING)
    version = release_here(small.spec)
    line = small.plan().line.private
    lines.back_up(small.spec, small.folder / "backup")
    (run,) = (path for path in (line / "runs").iterdir() if path.is_dir())
    folders = [
        *(line.parent, line, line / "runs", run, line / "units", line / "left-out"),
        *(line / "reports", line / "reports" / version.name),
        *(run / stage for stage in ("ingested", "deidentified", "candidate")),
        *(run / judged for judged in ("great-expectations", "great-expectations-source")),
    ]
    assert [path for path in folders if mode(path) != 0o700] == []
    files = [
        *(line / name for name in ("key", "state.json", ".lock", ".publishing", "runs/.lock")),
        *(line / folder / version.name for folder in ("units", "left-out")),
        *(run / "alive", run / "retain.json", small.folder / "backup"),
    ]
    assert [path for path in files if mode(path) != 0o600] == []
    # all else lies where nobody else can go
    for path in line.rglob("*"):
        assert path in [*folders, *files] or any(parent in folders for parent in path.parents[:-1])


def test_a_published_version_can_be_read_and_not_written(small, monkeypatch):
    before = os.umask(0o077)
    try:
        version = small.publish("one").directory
    finally:
        os.umask(before)
    for path in [version, *version.rglob("*")]:
        assert mode(path) == (0o755 if path.is_dir() else 0o444)
    assert mode(version.parent / "releases.json") == 0o644
