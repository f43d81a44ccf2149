"""The state that a power cut leaves: content is synced before its name, names before users."""

import json
from pathlib import Path

import pytest

from sfumato.tasks.private.durable import sync_tree, write_atomically
from tests.faults.layer import Recorded


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_a_file_is_whole_before_it_has_its_name(tmp_path, monkeypatch, mode):
    path, content = tmp_path / "state", b"new" * 100_000
    path.write_bytes(b"old")
    path.chmod(0o666)
    recorded = Recorded().install(monkeypatch)
    write_atomically(path, content, mode)
    (_, first, synced), (_, old, new), (_, last, _) = recorded.events
    assert [event[0] for event in recorded.events] == ["sync", "rename", "sync"]
    assert (first, synced) == (old, content)
    assert (old.parent, new, last) == (tmp_path, path, tmp_path)
    assert old != path
    assert path.read_bytes() == content
    assert path.stat().st_mode & 0o777 == mode


def test_every_file_and_name_of_a_tree_is_synced(tmp_path, monkeypatch):
    files = [tmp_path / "a", tmp_path / "b" / "c", tmp_path / "b" / "d" / "e"]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.write_text(file.name)
    recorded = Recorded().install(monkeypatch)
    sync_tree(tmp_path)
    folders = [tmp_path, tmp_path / "b", tmp_path / "b" / "d"]
    assert {event[1] for event in recorded.events} == {*files, *folders}
    assert {event[0] for event in recorded.events} == {"sync"}


@pytest.fixture
def published_files(small, monkeypatch):
    """The line's places, its version, and everything that was synced and renamed for it."""
    prepared = small.prepare_run("one")
    recorded = Recorded().install(monkeypatch)
    from tests.lines import publish_prepared

    version = publish_prepared(*prepared).directory
    monkeypatch.undo()
    return prepared[0].line, version, recorded


def states(recorded, line):
    """The states that were written: where in the order, and what each said."""
    place = line.private / "state.json"
    for number, event in enumerate(recorded.events):
        if event[0] == "rename" and event[2] == place:
            written = next(e[2] for e in reversed(recorded.events[:number]) if e[1] == event[1])
            yield number, json.loads(written)


def test_a_release_is_on_disk_before_readers_see_it(published_files):
    line, version, recorded = published_files
    seen = recorded.place("rename", version)
    staged = recorded.events[seen][1]
    synced = {event[1]: event[2] for event in recorded.events[:seen] if event[0] == "sync"}
    for path in [version, *version.rglob("*")]:
        staged_path = staged / path.relative_to(version)
        assert staged_path in synced
        assert path.is_dir() or synced[staged_path] == path.read_bytes()
    assert recorded.place("sync", line.public, after=seen)


def test_the_line_knows_a_version_before_readers_and_readers_before_the_record(published_files):
    line, version, recorded = published_files
    seen = recorded.place("rename", version)
    (before, intended), (after, settled) = states(recorded, line)
    assert intended["pending"][0] == version.name
    assert version.name not in intended["versions"]
    assert (settled.get("pending"), list(settled["versions"])) == (None, [version.name])
    units = recorded.place("rename", line.private / "units" / version.name)
    record = recorded.place("rename", line.public / "releases.json")
    assert units < before < seen < record < after
    # every name is durable before the next step relies on it
    assert recorded.place("sync", line.private / "units", after=units) < before
    assert recorded.place("sync", line.private, after=before) < seen
    assert recorded.place("sync", line.public, after=seen) < record
    assert recorded.place("sync", line.public, after=record) < after


def test_that_readers_may_open_a_version_is_on_disk_before_it_is_recorded(published_files):
    line, version, recorded = published_files
    seen = recorded.place("rename", version)
    record = recorded.place("rename", line.public / "releases.json")
    assert recorded.place("sync", version, after=seen) < record


def test_every_rename_is_of_a_synced_file_and_is_synced_itself(published_files):
    _, _, recorded = published_files
    renames = [n for n, event in enumerate(recorded.events) if event[0] == "rename"]
    assert len(renames) >= 5
    for number in renames:
        _, old, new = recorded.events[number]
        # synced under this name, or before it got this name
        assert any(old in event[1:] for event in recorded.events[:number])
        following = recorded.events[number + 1]
        assert following[:2] == ("sync", Path(new).parent)
