"""Files that are whole when they are synced, and as private as they are said to be."""

import os
import stat

import pytest

from sfumato.tasks.private import durable
from sfumato.tasks.private.durable import (
    copy_atomically,
    hold_lock,
    hold_lock_if_free,
    write_atomically,
)

CONTENT = bytes(range(256)) * 12_345


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def lengths(monkeypatch):
    """The bytes of each file at the moment when it was synced."""
    lengths_found, fsync = [], os.fsync

    def note_length(descriptor):
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            lengths_found.append(os.fstat(descriptor).st_size)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note_length)
    return lengths_found


@pytest.mark.parametrize("content", [b"a few", CONTENT])
def test_all_bytes_are_written_before_they_are_synced(content, tmp_path, lengths):
    write_atomically(tmp_path / "made", content)
    assert lengths == [len(content)]
    copy_atomically(tmp_path / "made", tmp_path / "copy")
    assert lengths == [len(content), len(content)]
    assert (tmp_path / "copy").read_bytes() == content


@pytest.mark.parametrize(("mode_expected", "mode"), [(None, 0o600), (0o644, 0o644)])
def test_a_file_has_the_mode_that_it_is_to_have(mode_expected, mode, tmp_path):
    write_atomically(tmp_path / "made", b"a few", mode_expected)
    copy_atomically(tmp_path / "made", tmp_path / "copy", mode_expected)
    assert [mode_of(tmp_path / name) for name in ("made", "copy")] == [mode, mode]


def test_nobody_can_open_a_file_while_it_is_written(tmp_path, monkeypatch):
    modes, replace = [], durable.shutil.copyfileobj

    def note_mode(content, file, *more):
        modes.append(stat.S_IMODE(os.fstat(file.fileno()).st_mode))
        replace(content, file, *more)

    monkeypatch.setattr(durable.shutil, "copyfileobj", note_mode)
    (tmp_path / "source").write_bytes(CONTENT)
    before = os.umask(0)
    try:
        copy_atomically(tmp_path / "source", tmp_path / "copy", 0o644)
    finally:
        os.umask(before)
    assert modes == [0o600]


def test_a_link_is_not_copied(tmp_path):
    (tmp_path / "source").write_bytes(CONTENT)
    (tmp_path / "link").symlink_to(tmp_path / "source")
    with pytest.raises(OSError, match="symbolic"):
        copy_atomically(tmp_path / "link", tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("lock", [hold_lock, hold_lock_if_free])
def test_our_lock_is_private_whatever_it_was_and_anothers_is_left_alone(
    lock, tmp_path, monkeypatch
):
    path = tmp_path / "lock"
    for before in (None, 0o644):
        if before is not None:
            path.chmod(before)
        with lock(path):
            assert mode_of(path) == 0o600
    path.chmod(0o660)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    with lock(path):
        assert mode_of(path) == 0o660


def test_a_new_lock_is_nobody_elses_from_its_first_moment(tmp_path, monkeypatch):
    modes, fstat = [], os.fstat
    monkeypatch.setattr(
        os, "fstat", lambda fd: modes.append(fstat(fd).st_mode & 0o777) or fstat(fd)
    )
    before = os.umask(0)
    try:
        with hold_lock(tmp_path / "lock"):
            pass
    finally:
        os.umask(before)
    assert modes[0] == 0o600
