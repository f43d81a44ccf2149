"""Whoever shares a private directory can put links into it, and gains nothing by that."""

import json
import os

import pytest

from sfumato.expectations.shared.errors import Fault, InputError
from sfumato.tasks.private.durable import copy_atomically, hold_lock, write_atomically
from sfumato.tasks.private.workdir import private_directory


@pytest.fixture
def secret(tmp_path):
    """A directory of the publisher's that nobody else can read."""
    place = tmp_path / "secret"
    place.mkdir()
    (place / "page.html").write_text("a secret")
    return place


def test_a_shared_directory_is_no_link(tmp_path, secret, monkeypatch):
    monkeypatch.setenv("SFUMATO_GROUP", str(os.getegid()))
    secret.chmod(0o700)
    private_directory(tmp_path / "shared")
    (tmp_path / "shared" / "reports").symlink_to(secret)
    with pytest.raises(InputError, match=r"reports: is a link"):
        private_directory(tmp_path / "shared" / "reports")


def test_what_is_written_follows_no_link(tmp_path, secret):
    (tmp_path / f".a.json.{os.getpid()}.tmp").symlink_to(secret / "page.html")
    write_atomically(tmp_path / "a.json", b"{}")
    assert json.loads((tmp_path / "a.json").read_bytes()) == {}
    assert (secret / "page.html").read_text() == "a secret"


def test_what_is_copied_is_no_link(tmp_path, secret):
    (tmp_path / "page.html").symlink_to(secret / "page.html")
    with pytest.raises(OSError, match="symbolic links"):
        copy_atomically(tmp_path / "page.html", tmp_path / "copy.html")


def test_a_lock_is_no_link(tmp_path, secret):
    (tmp_path / ".publishing").symlink_to(secret / "page.html")
    before = (secret / "page.html").stat().st_mode
    with pytest.raises(Fault, match="cannot be locked"), hold_lock(tmp_path / ".publishing"):
        pass
    assert (secret / "page.html").stat().st_mode == before
