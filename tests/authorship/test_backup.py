"""Signing keys are kept elsewhere as they are on disk, and put back where they are missing."""

import io
import json
import shutil
import tarfile

import pytest

from sfumato.tasks.private.people.backup import pack
from sfumato.tasks.verification.key_backup import backup_keys
from sfumato.tasks.verification.signing_keys import PASSPHRASE, open_signer


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    monkeypatch.setenv(PASSPHRASE, "correct horse")
    return tmp_path / "work"


@pytest.fixture
def backup_file(call, work, tmp_path, monkeypatch):
    """A backup of two keys, made without their passphrase."""
    for name in ("town", "next"):
        assert call("keys", "generate", name)[0] == 0
    with monkeypatch.context() as patch:
        patch.delenv(PASSPHRASE)
        assert call("keys", "backup", tmp_path / "keys.backup")[0] == 0
    return tmp_path / "keys.backup"


def test_keys_come_back_as_they_were(call, work, backup_file):
    town, next_ = (work / "keys" / "town").read_bytes(), (work / "keys" / "next").read_bytes()
    shutil.rmtree(work)
    code, out, _ = call("keys", "restore", backup_file)
    assert (code, len(out.splitlines())) == (0, 2)
    assert (work / "keys" / "town").read_bytes() == town
    assert (work / "keys" / "next").read_bytes() == next_
    assert (work / "keys" / "town").stat().st_mode & 0o777 == 0o600
    assert (work / "keys").stat().st_mode & 0o777 == 0o700
    assert open_signer(work / "keys" / "town").key.name == "town"


def test_the_backup_is_the_owners_alone_and_has_no_secret_in_the_clear(backup_file, work):
    secret = open_signer(work / "keys" / "town").secret.private_bytes_raw()
    assert backup_file.stat().st_mode & 0o777 == 0o600
    assert secret not in backup_file.read_bytes()
    assert secret.hex().encode() not in backup_file.read_bytes()


def test_a_key_that_is_there_stays(call, work, backup_file):
    (work / "keys" / "next").unlink()
    before = (work / "keys" / "town").read_bytes()
    code, out, _ = call("keys", "restore", backup_file)
    assert (code, out.startswith("own: next ("), len(out.splitlines())) == (0, True, 1)
    assert (work / "keys" / "town").read_bytes() == before


def test_another_key_of_that_name_is_not_replaced(call, work, backup_file):
    shutil.rmtree(work)
    assert call("keys", "generate", "town")[0] == 0
    code, _, error = call("keys", "restore", backup_file)
    assert (code, "another key has this name" in error) == (2, True)
    assert [path.name for path in (work / "keys").iterdir()] == ["town"]


def test_without_keys_there_is_nothing_to_back_up(call, tmp_path):
    code, _, error = call("keys", "backup", tmp_path / "keys.backup")
    assert (code, "no signing keys" in error) == (2, True)
    assert not (tmp_path / "keys.backup").exists()


def change_cost(content):
    return content.replace(b'"cost": ', b'"cosT": ', 1)


def other_backup(content):
    return pack("wages", {"town": b"{}"})


def no_key(content):
    return pack("keys", {"town": b"{}"})


def key_under_another_name(content):
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        key = tar.extractfile("town").read()
    return pack("keys", {"next": key})


def pack_outside(content):
    key = json.dumps({"name": "../town", "public": "0" * 64}).encode()
    return pack("keys", {"../town": key})


@pytest.mark.parametrize(
    "change",
    [
        change_cost,
        other_backup,
        no_key,
        key_under_another_name,
        pack_outside,
        lambda content: b"",
        None,
    ],
)
def test_what_is_no_whole_backup_is_refused(call, work, backup_file, change):
    if change is None:
        backup_file.unlink()
    else:
        backup_file.write_bytes(change(backup_file.read_bytes()))
    shutil.rmtree(work)
    code, out, error = call("keys", "restore", backup_file)
    assert (code, out, len(error.splitlines())) == (2, "", 1)
    assert not (work / "keys").exists() or not list((work / "keys").iterdir())


def test_nothing_but_keys_is_in_it(backup_file, work):
    (work / "keys" / ".lock").touch()
    with tarfile.open(fileobj=io.BytesIO(backup_keys(work))) as tar:
        assert sorted(tar.getnames()) == ["backup.json", "next", "town"]
