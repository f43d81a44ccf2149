"""A version that stands is signed afterwards, where this line's private state published it."""

import json
import os
import shutil

import pytest

from sfumato.tasks.publication.withdrawal import withdraw
from sfumato.tasks.terms.opened import SIGNATURE
from sfumato.tasks.verification.signing_keys import PASSPHRASE
from tests.corpus.lines import frozen_lines
from tests.release.small import SPEC, people


@pytest.fixture(autouse=True)
def publisher(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    monkeypatch.setenv(PASSPHRASE, "correct horse")


@pytest.fixture
def unsigned_version(small, call):
    """A version that was published unsigned, and two keys."""
    assert call("keys", "generate", "town")[0] == 0
    assert call("keys", "generate", "next")[0] == 0
    return small.publish("one").directory


def files(release):
    return {
        path.relative_to(release).as_posix(): (path.read_bytes(), path.stat().st_mode & 0o777)
        for path in release.rglob("*")
        if path.is_file()
    }


def test_an_unsigned_version_is_signed(call, unsigned_version):
    before = files(unsigned_version)
    code, out, _ = call("keys", "sign", "town", unsigned_version)
    assert (code, "is signed by town (" in out) == (0, True)
    after = files(unsigned_version)
    assert after.pop(SIGNATURE)[1] == 0o444
    assert after == before
    assert call("keys", "trust", unsigned_version.parent)[0] == 0
    code, out, _ = call("check", unsigned_version)
    assert (code, "signed by town" in out, "you do not trust yet" in out) == (0, True, False)
    assert not list(unsigned_version.parent.glob(".*.tmp"))


def test_it_is_signed_once(call, unsigned_version):
    call("keys", "sign", "town", unsigned_version)
    before = files(unsigned_version)
    code, out, _ = call("keys", "sign", "town", unsigned_version)
    assert (code, "was signed already" in out) == (0, True)
    assert files(unsigned_version) == before


def test_the_key_that_took_its_place_signs_it_anew(call, unsigned_version):
    call("keys", "sign", "town", unsigned_version)
    code, _, error = call("keys", "sign", "next", unsigned_version)
    assert (code, "has not replaced town" in error) == (2, True)
    call("keys", "rotate", "town", "next", unsigned_version.parent)
    assert call("keys", "sign", "next", unsigned_version)[0] == 0
    assert "signed by next (" in call("check", unsigned_version)[1]
    code, _, error = call("keys", "sign", "town", unsigned_version)
    assert (code, "another key replaced it" in error) == (2, True)


def test_after_a_revocation_another_key_signs_it(call, unsigned_version):
    call("keys", "sign", "town", unsigned_version)
    call("keys", "revoke", "town", unsigned_version.parent)
    assert call("check", unsigned_version)[0] == 3
    code, _, error = call("keys", "sign", "town", unsigned_version)
    assert (code, "was revoked" in error) == (2, True)
    assert call("keys", "sign", "next", unsigned_version)[0] == 0
    assert call("check", unsigned_version)[0] == 0


def other_work_directory(release, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    shutil.copytree(tmp_path / "work" / "keys", tmp_path / "elsewhere" / "keys")
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "elsewhere"))


def other_line(release, tmp_path, monkeypatch):
    """The state of another line of that name."""
    other_work_directory(release, tmp_path, monkeypatch)
    shutil.copytree(tmp_path / "work" / "wages", tmp_path / "elsewhere" / "wages")
    (tmp_path / "elsewhere" / "wages" / "key").write_bytes(os.urandom(32))


def old_state(release, tmp_path, monkeypatch):
    place = tmp_path / "work" / "wages" / "state.json"
    place.write_text(json.dumps({**json.loads(place.read_bytes()), "counter": 0}))


def unknown_number(release, tmp_path, monkeypatch):
    place = tmp_path / "work" / "wages" / "state.json"
    place.write_text(json.dumps({**json.loads(place.read_bytes()), "versions": {}}))


def other_digest(release, tmp_path, monkeypatch):
    """Somebody's release in the place of the version."""
    place = tmp_path / "work" / "wages" / "state.json"
    state = json.loads(place.read_bytes())
    state["versions"]["0001"]["digest"] = "0" * 64
    place.write_text(json.dumps(state))


def other_record(release, tmp_path, monkeypatch):
    place = release.parent / "releases.json"
    record = json.loads(place.read_bytes())
    record["versions"]["0001"]["digest"] = "0" * 64
    place.write_text(json.dumps(record))


def other_manifest(release, tmp_path, monkeypatch):
    """A manifest whose digest is its own, but not the published one."""
    place = release / "datapackage.json"
    place.chmod(0o644)
    document = json.loads(place.read_bytes())
    document["sfumato"]["digest"] = "0" * 64
    place.write_text(json.dumps(document))


def changed_table(release, tmp_path, monkeypatch):
    place = release / "data" / "microdata.csv"
    place.chmod(0o644)
    place.write_text(place.read_text() + "1,2,3\n")


@pytest.mark.parametrize(
    "change",
    [
        other_work_directory,
        other_line,
        old_state,
        unknown_number,
        other_digest,
        other_record,
        other_manifest,
        changed_table,
    ],
)
def test_what_this_state_did_not_publish_as_it_stands_is_not_signed(
    call, unsigned_version, change, tmp_path, monkeypatch
):
    change(unsigned_version, tmp_path, monkeypatch)
    code, out, error = call("keys", "sign", "town", unsigned_version)
    assert (code, out, len(error.splitlines())) == (3, "", 1)
    assert not (unsigned_version / SIGNATURE).exists()
    assert not (unsigned_version.parent / "keys.json").exists()


def test_a_withdrawn_version_is_not_signed(call, unsigned_version, small):
    withdraw(small.plan().line, "0001", "a test")
    code, _, error = call("keys", "sign", "town", unsigned_version)
    assert (code, "was withdrawn" in error) == (3, True)


def test_a_wrong_signature_is_told_not_replaced(call, unsigned_version):
    (unsigned_version / SIGNATURE).write_text("{}")
    assert call("keys", "sign", "town", unsigned_version)[0] == 3
    assert (unsigned_version / SIGNATURE).read_text() == "{}"


def test_a_key_that_cannot_be_opened(call, unsigned_version, monkeypatch):
    assert call("keys", "sign", "third", unsigned_version)[0] == 2
    monkeypatch.setenv(PASSPHRASE, "wrong")
    code, _, error = call("keys", "sign", "town", unsigned_version)
    assert (code, PASSPHRASE in error) == (2, True)
    assert call("keys", "sign", "town", unsigned_version.parent)[0] == 2


def test_a_version_of_the_first_format_is_signed(call, tmp_path, monkeypatch):
    frozen = next(line for line in frozen_lines() if line.folder.name == "format-0")
    copy = frozen.copy(tmp_path)
    monkeypatch.setenv("SFUMATO_WORK", str(copy.folder / "private"))
    assert call("keys", "generate", "town")[0] == 0
    assert call("keys", "sign", "town", copy.public / "0001", copy.public / "0002")[0] == 0
    assert "signed by town" in call("check", copy.public / "0001")[1]


def test_a_signed_line_goes_on(call, unsigned_version, small):
    call("keys", "sign", "town", unsigned_version)
    publish = {**SPEC["publish"], "signed-by": "town"}
    small.write(people(), publish=publish)
    again = small.publish("again")
    assert (again.existed, again.directory) == (True, unsigned_version)
    small.write(people(first=100, seed=2), publish=publish)
    assert "signed by town" in call("check", small.publish("two").directory)[1]
