"""Releases that are signed, by whom, and what readers who trust somebody are told."""

import json
import shutil
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path

import pytest

from sfumato.expectations.shared.errors import InputError, PromiseError, SpecError
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.publish import existing_version
from sfumato.tasks.stages.deidentify import identity
from sfumato.tasks.terms.opened import SIGNATURE, open_release
from sfumato.tasks.verification.signing import sign_release
from sfumato.tasks.verification.signing_keys import PASSPHRASE, fingerprint, open_signer
from tests.release.small import SPEC, people

AVERAGE = "SELECT AVG(wage) FROM microdata"
SIGNED = {"publish": {**SPEC["publish"], "signed-by": "town"}}


@pytest.fixture(autouse=True)
def reader(tmp_path, monkeypatch):
    """A reader who trusts nobody yet, and the publisher's passphrase."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    monkeypatch.setenv(PASSPHRASE, "correct horse")


@dataclass
class Published:
    """A signed release of a line, and another key."""

    directory: Path

    @property
    def line(self):
        return self.directory.parent

    def keys(self):
        return json.loads((self.line / "keys.json").read_bytes())

    def edit_keys(self, change):
        document = self.keys()
        change(document)
        (self.line / "keys.json").write_text(json.dumps(document))

    def public(self, name):
        return next(key["public"] for key in self.keys()["keys"] if key["name"] == name)


@pytest.fixture
def signed_release(small, call):
    assert call("keys", "generate", "town")[0] == 0
    assert call("keys", "generate", "next")[0] == 0
    small.write(people(), **SIGNED)
    published = small.publish("one").directory
    copy = small.folder / "copied"
    shutil.copytree(published.parent, copy, copy_function=shutil.copyfile)
    return Published(copy / "0001")


def ask(call, signed):
    code, out, error = call("query", signed.directory, AVERAGE, "--format", "json")
    return code, json.loads(out)["verified"] if code == 0 else None, error


def test_the_version_and_the_line_name_the_key_and_the_signature(signed_release, small):
    key = fingerprint(signed_release.public("town"))
    page = (signed_release.directory / "index.html").read_text(encoding="utf-8")
    assert f"<code>{key}</code>" in page
    assert open_release(signed_release.directory).declared.words.key == key
    assert check(signed_release.directory).derived == "equal"
    line = next((small.folder / "public").glob("*/releases.json")).parent
    assert f"0001 by town ({key})" in (line / "index.html").read_text(encoding="utf-8")


def test_who_builds_a_version_without_the_key_names_none(
    signed_release, small, tmp_path, monkeypatch
):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "elsewhere"))
    assert small.plan().line.published_words.key is None


def test_a_key_beside_the_line_is_an_offer(call, signed_release):
    code, out, _ = call("check", signed_release.directory)
    assert code == 0
    assert "signed by town" in out
    assert "you do not trust yet" in out


def test_a_signature_alone_verifies_nothing(call, signed_release):
    assert ask(call, signed_release)[:2] == (0, False)


def test_a_trusted_key_verifies(call, signed_release):
    code, out, _ = call("keys", "trust", signed_release.line)
    assert code == 0
    assert out.startswith("wages: town (")
    code, verified, error = ask(call, signed_release)
    assert (code, verified) == (0, True)
    assert error == f"verified; signed by town ({fingerprint(signed_release.public('town'))})\n"
    assert "signed by town" in call("check", signed_release.directory)[1]
    assert "you do not trust yet" not in call("check", signed_release.directory)[1]


def test_an_exported_key_is_trusted_for_the_lines_that_the_reader_says(
    call, signed_release, tmp_path
):
    file = tmp_path / "town.json"
    file.write_text(call("keys", "export", "town")[1])
    assert call("keys", "trust", file)[0] == 2
    assert call("keys", "trust", file, "--line", "wag*")[0] == 0
    assert ask(call, signed_release)[:2] == (0, True)
    listed = call("keys", "list")[1]
    assert "wag*: town (" in listed
    assert "own: next (" in listed


def test_a_line_that_is_not_listed_may_be_unsigned(call, signed_release):
    (signed_release.directory / SIGNATURE).unlink()
    code, out, _ = call("check", signed_release.directory)
    assert (code, "not signed" in out) == (0, True)
    code, verified, error = ask(call, signed_release)
    assert (code, verified, error) == (0, True, "verified; not signed\n")


@pytest.mark.parametrize("command", ["check", "query", "load"])
def test_a_listed_line_must_be_signed(call, signed_release, command, tmp_path):
    call("check", signed_release.directory)
    call("keys", "trust", signed_release.line)
    (signed_release.directory / SIGNATURE).unlink()
    more = {"query": [AVERAGE], "load": [f"sqlite:///{tmp_path}/x.db"]}.get(command, [])
    code, out, error = call(command, signed_release.directory, *more)
    assert (code, out, len(error.splitlines())) == (3, "", 1)
    assert "is not signed" in error


def other_digest(signature):
    signature["signature"] = "0" * 128


def other_key(signature):
    signature["key"]["public"] = "0" * 64


def no_signature(signature):
    signature["signature"] = "x"


def more_in_it(signature):
    signature["more"] = 1


@pytest.mark.parametrize("change", [other_digest, other_key, no_signature, more_in_it])
@pytest.mark.parametrize("trusting", [True, False])
def test_a_wrong_signature_is_refused(call, signed_release, change, trusting):
    if trusting:
        call("keys", "trust", signed_release.line)
    path = signed_release.directory / SIGNATURE
    document = json.loads(path.read_bytes())
    change(document)
    path.write_text(json.dumps(document))
    for arguments in (
        ["check", signed_release.directory],
        ["query", signed_release.directory, AVERAGE],
    ):
        code, _, error = call(*arguments)
        assert (code, len(error.splitlines())) == (3, 1)


@pytest.mark.parametrize("content", ["", "[" * 100_000, "null", "{}"])
def test_what_is_no_signature_is_refused(call, signed_release, content):
    (signed_release.directory / SIGNATURE).write_text(content)
    assert call("check", signed_release.directory)[0] == 3


def test_the_signature_of_another_release_is_refused(call, signed_release, small):
    small.write(people(first=100, seed=2), **SIGNED)
    other = small.publish("two").directory
    (signed_release.directory / SIGNATURE).unlink()
    shutil.copyfile(other / SIGNATURE, signed_release.directory / SIGNATURE)
    code, _, error = call("check", signed_release.directory)
    assert (code, "does not match this release" in error) == (3, True)


def test_another_key_than_the_trusted_one_is_refused(call, signed_release, tmp_path):
    file = tmp_path / "next.json"
    file.write_text(call("keys", "export", "next")[1])
    call("keys", "trust", file, "--line", "wages")
    code, _, error = ask(call, signed_release)
    assert (code, "lists other keys for wages" in error) == (3, True)
    assert call("check", signed_release.directory)[0] == 3


def test_the_one_key_of_a_fingerprint(call, signed_release):
    assert call("keys", "trust", signed_release.line, "--fingerprint", "0" * 32)[0] == 2
    expected = fingerprint(signed_release.public("town"))
    assert call("keys", "trust", signed_release.line, "--fingerprint", expected)[0] == 0


@pytest.fixture
def trusting_next(call, signed_release, tmp_path):
    """The reader trusts `next` alone; the release is signed by `town`."""
    file = tmp_path / "next.json"
    file.write_text(call("keys", "export", "next")[1])
    call("keys", "trust", file, "--line", "wages")
    return signed_release


class TestRotation:
    def test_who_trusts_the_old_key_trusts_the_new_one(self, call, signed_release, small):
        assert call("keys", "trust", signed_release.line)[0] == 0
        public = small.plan().line.public
        code, out, _ = call("keys", "rotate", "town", "next", public)
        assert (code, "next (" in out) == (0, True)
        publish = {**SPEC["publish"], "signed-by": "next"}
        small.write(people(first=100, seed=2), publish=publish)
        newer = small.publish("two").directory
        code, verified, error = ask(call, Published(newer))
        assert (code, verified) == (0, True)
        assert "signed by next (" in error
        assert ask(call, Published(newer.parent / "0001"))[1] is True

    def test_who_trusts_the_new_key_does_not_trust_the_old_one(self, call, trusting_next):
        call("keys", "rotate", "town", "next", trusting_next.line)
        assert ask(call, trusting_next)[0] == 3

    def test_a_rotation_that_the_old_key_did_not_sign(self, call, trusting_next):
        """Somebody says that `town` took the place of `next`."""
        call("keys", "rotate", "town", "next", trusting_next.line)

        def turn(document):
            (rotation,) = document["rotations"]
            rotation["old"], rotation["new"] = rotation["new"], rotation["old"]

        trusting_next.edit_keys(turn)
        assert ask(call, trusting_next)[0] == 3

    def test_a_key_has_one_successor(self, call, signed_release):
        call("keys", "generate", "third")
        assert call("keys", "rotate", "town", "next", signed_release.line)[0] == 0
        assert call("keys", "rotate", "town", "third", signed_release.line)[0] == 2
        assert call("keys", "rotate", "town", "town", signed_release.line)[0] == 2

    def test_of_two_successors_none_is_trusted(self, call, trusting_next):
        """A thief of `next` cannot say that his key took its place, where another did."""
        line = trusting_next.line
        call("keys", "generate", "third")
        trusting_next.edit_keys(lambda d: d["keys"].append(_export_key(call, "next")))
        before = trusting_next.keys()
        assert call("keys", "rotate", "next", "town", line)[0] == 0
        assert ask(call, trusting_next)[1] is True
        (thiefs,) = trusting_next.keys()["rotations"]
        (line / "keys.json").write_text(json.dumps(before))
        code, _, error = call("keys", "rotate", "next", "third", line)
        assert (code, "keys.json has other rotations than the log" in error) == (3, True)
        (line / "log.json").unlink()  # a thief can do that, too
        assert call("keys", "rotate", "next", "third", line)[0] == 0
        trusting_next.edit_keys(lambda d: d["rotations"].append(thiefs))
        assert ask(call, trusting_next)[0] == 3

    def test_one_of_a_key_that_is_not_there(self, call, signed_release):
        call("keys", "generate", "third")
        code, _, error = call("keys", "rotate", "third", "next", signed_release.line)
        assert (code, "does not offer key third" in error) == (2, True)


def _export_key(call, name):
    return json.loads(call("keys", "export", name)[1])


class TestRevocation:
    @pytest.mark.parametrize("trusting", [True, False])
    def test_a_revocation_is_found_from_inside_the_release(
        self, call, signed_release, trusting, monkeypatch
    ):
        """The parent of `.` is `.`, where no keys lie."""
        if trusting:
            call("keys", "trust", signed_release.line)
        assert call("keys", "revoke", "town", signed_release.line)[0] == 0
        monkeypatch.chdir(signed_release.directory)
        code, _, error = call("query", ".", AVERAGE)
        assert (code, "was revoked" in error) == (3, True)

    @pytest.mark.parametrize("trusting", [True, False])
    def test_what_a_revoked_key_signed_is_refused(self, call, signed_release, trusting):
        call("check", signed_release.directory)
        if trusting:
            call("keys", "trust", signed_release.line)
        assert call("keys", "revoke", "town", signed_release.line)[0] == 0
        for arguments in (
            ["check", signed_release.directory],
            ["query", signed_release.directory, AVERAGE],
        ):
            code, _, error = call(*arguments)
            assert (code, "was revoked" in error) == (3, True)

    def test_it_signs_no_other_version(self, call, signed_release, small):
        line = small.plan().line.public
        assert call("keys", "revoke", "town", line)[0] == 0
        small.write(people(first=1000, seed=2), **SIGNED)
        with pytest.raises(InputError, match=r"key town .* was revoked"):
            small.publish("two")
        assert [path.name for path in line.glob("[0-9]*")] == ["0001"]

    def test_by_the_key_that_took_its_place(self, call, signed_release):
        work = signed_release.line.parents[1] / "work"
        call("keys", "rotate", "town", "next", signed_release.line)
        (work / "keys" / "town").unlink()
        assert call("keys", "revoke", "town", signed_release.line)[0] == 2
        assert call("keys", "revoke", "town", signed_release.line, "--by", "next")[0] == 0
        assert call("check", signed_release.directory)[0] == 3

    def test_by_another_key(self, call, signed_release):
        call("keys", "generate", "third")
        code, _, error = call("keys", "revoke", "town", signed_release.line, "--by", "third")
        assert (code, "has not replaced" in error) == (2, True)

    def test_a_revocation_that_nobody_signed_is_none(self, call, signed_release):
        call("keys", "revoke", "town", signed_release.line)
        signed_release.edit_keys(lambda d: d["revocations"][0].update(signature="0" * 128))
        assert ask(call, signed_release)[0] == 0

    def test_a_stranger_revokes_nothing(self, call, signed_release):
        """A record that a key signed of another that it did not follow."""
        call("keys", "rotate", "town", "next", signed_release.line)
        call("keys", "revoke", "town", signed_release.line, "--by", "next")
        signed_release.edit_keys(lambda d: d.update(rotations=[]))
        assert ask(call, signed_release)[0] == 0

    def test_readers_remember_it(self, call, signed_release):
        call("keys", "trust", signed_release.line)
        before = signed_release.keys()
        call("keys", "rotate", "town", "next", signed_release.line)
        call("keys", "revoke", "town", signed_release.line)
        call("keys", "trust", signed_release.line)
        assert "town" in call("keys", "list")[1]
        assert ", revoked" in call("keys", "list")[1]
        (signed_release.line / "keys.json").write_text(json.dumps(before))
        code, _, error = ask(call, signed_release)
        assert (code, "was revoked" in error) == (3, True)

    def test_a_thief_of_a_key_that_readers_know_as_revoked_names_no_successor(
        self, call, signed_release, tmp_path
    ):
        call("keys", "trust", signed_release.line)
        before = signed_release.keys()
        call("keys", "revoke", "town", signed_release.line)
        call("keys", "generate", "third")
        call("keys", "rotate", "town", "third", signed_release.line)
        call(
            "keys",
            "trust",
            signed_release.line,
            "--fingerprint",
            fingerprint(signed_release.public("third")),
        )
        (tmp_path / "config" / "sfumato" / "trust.json").write_text(
            (tmp_path / "config" / "sfumato" / "trust.json")
            .read_text()
            .replace(signed_release.public("third"), "0" * 64)
        )
        (signed_release.line / "keys.json").write_text(json.dumps(before))
        call("keys", "rotate", "town", "third", signed_release.line)
        thief = open_signer(tmp_path / "work" / "keys" / "third")
        (signed_release.directory / SIGNATURE).unlink()
        digest = open_release(signed_release.directory).manifest["sfumato"]["digest"]
        sign_release(signed_release.directory, digest, thief)
        code, _, error = ask(call, signed_release)
        assert (code, "lists other keys for wages" in error) == (3, True)

    def test_whom_a_key_did_not_name_cannot_revoke_it(self, call, signed_release, tmp_path):
        call("keys", "generate", "third")
        stranger = open_signer(tmp_path / "work" / "keys" / "third")
        town = signed_release.public("town")
        pair = {"key": town, "by": stranger.key.public}
        named = {"old": town, "new": stranger.key.public, "signature": "0" * 128}
        revocation = {**pair, "signature": stranger.sign("revocation", pair)}
        signed_release.edit_keys(lambda d: d.update(rotations=[named], revocations=[revocation]))
        assert ask(call, signed_release)[0] == 0
        named["signature"] = open_signer(tmp_path / "work" / "keys" / "town").sign(
            "rotation", {"old": town, "new": stranger.key.public}
        )
        signed_release.edit_keys(lambda d: d.update(rotations=[named]))
        assert ask(call, signed_release)[0] == 3

    def test_a_revoked_key_is_not_trusted_anew(self, call, signed_release):
        call("keys", "revoke", "town", signed_release.line)
        assert call("keys", "trust", signed_release.line)[0] == 2


class TestPublishing:
    def test_without_its_passphrase_nothing_is_published(self, call, small, monkeypatch):
        call("keys", "generate", "town")
        monkeypatch.delenv(PASSPHRASE)
        small.write(people(), **SIGNED)
        with pytest.raises(InputError, match=PASSPHRASE):
            small.publish("one")
        assert not small.plan().line.public.exists()
        with pytest.raises(InputError, match=PASSPHRASE):
            existing_version(small.plan().line, identity(small.folder / "one/deidentified"), "")

    @pytest.mark.parametrize("passphrase", ["wrong", ""])
    def test_another_passphrase(self, call, small, monkeypatch, passphrase):
        call("keys", "generate", "town")
        monkeypatch.setenv(PASSPHRASE, passphrase)
        small.write(people(), **SIGNED)
        with pytest.raises(InputError, match=PASSPHRASE):
            small.publish("one")

    def test_without_its_key(self, small):
        small.write(people(), **SIGNED)
        with pytest.raises(InputError, match="no such signing key"):
            small.publish("one")

    def test_a_signature_draws_nothing_anew(self, call, small, monkeypatch):
        first = small.publish("one")
        call("keys", "generate", "town")
        small.write(people(), **SIGNED)
        monkeypatch.delenv(PASSPHRASE)
        again = small.publish("two")
        assert (again.existed, again.directory) == (True, first.directory)
        assert not (again.directory / SIGNATURE).exists()

    def test_the_signature_and_the_keys_are_readable_by_all(self, signed_release, small):
        public = small.plan().line.public
        assert (public / "0001" / SIGNATURE).stat().st_mode & 0o777 == 0o444
        assert (public / "keys.json").stat().st_mode & 0o777 == 0o644

    def test_the_secret_is_nowhere_in_the_clear(self, small, call, signed_release):
        path = small.folder.parent / "work" / "keys" / "town"
        secret = open_signer(path, {PASSPHRASE: "correct horse"}).secret.private_bytes_raw()
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
        content = path.read_bytes()
        for written in (secret, secret.hex().encode(), b64encode(secret)):
            assert written not in content


class TestKeys:
    def test_a_key_is_not_drawn_over(self, call):
        assert call("keys", "generate", "town")[0] == 0
        code, _, error = call("keys", "generate", "town")
        assert (code, "already" in error) == (2, True)

    @pytest.mark.parametrize("name", ["../key", "a/b", "", "Town", "-", "x" * 64, "a\nb"])
    @pytest.mark.parametrize("command", ["generate", "export", "revoke"])
    def test_names(self, call, name, command, tmp_path):
        code, _, error = call("keys", command, "--", name, *([tmp_path] * (command == "revoke")))
        assert (code, len(error.splitlines())) == (2, 1)

    def test_a_key_needs_a_passphrase(self, call, monkeypatch, tmp_path):
        monkeypatch.delenv(PASSPHRASE)
        code, _, error = call("keys", "generate", "lone")
        assert (code, PASSPHRASE in error) == (2, True)
        assert not (tmp_path / "work" / "keys" / "lone").exists()

    @pytest.mark.parametrize(
        ("field", "value"),
        [("public", "0" * 64), ("cost", 2**40), ("cost", "x"), ("salt", 1), ("name", "../a")],
    )
    def test_a_damaged_signing_key(self, call, field, value, tmp_path):
        call("keys", "generate", "town")
        path = tmp_path / "work" / "keys" / "town"
        path.write_text(json.dumps({**json.loads(path.read_bytes()), field: value}))
        with pytest.raises(PromiseError):
            open_signer(path)

    @pytest.mark.parametrize("content", ["", "{}", "[" * 10_000, '{"name": "a", "public": 1}'])
    def test_a_damaged_trust_file_is_not_nobody(self, call, signed_release, content, tmp_path):
        place = tmp_path / "config" / "sfumato" / "trust.json"
        place.parent.mkdir(parents=True)
        place.write_text(content)
        if content == "{}":
            assert ask(call, signed_release)[0] == 0
            return
        for arguments in (["check", signed_release.directory], ["keys", "list"]):
            code, _, error = call(*arguments)
            assert (code, "trust.json" in error, len(error.splitlines())) == (2, True, 1)

    @pytest.mark.parametrize(
        "content",
        ["", "[" * 10_000, "{}", '{"line": "wages", "keys": 1}', '{"line": "wages", "more": 1}'],
    )
    def test_damaged_offers(self, call, signed_release, content):
        (signed_release.line / "keys.json").write_text(content)
        assert call("check", signed_release.directory)[0] == 3
        assert call("keys", "trust", signed_release.line)[0] == 3

    def test_places_without_keys(self, call, tmp_path):
        assert call("keys", "trust", tmp_path, "--line", "x")[0] == 2
        assert call("keys", "trust", tmp_path / "nowhere", "--line", "x")[0] == 2

    @pytest.mark.parametrize("pattern", ["a b", "../x", "[a]", "x" * 64, "\x1b"])
    def test_patterns(self, call, signed_release, pattern):
        assert call("keys", "trust", signed_release.line, "--line", pattern)[0] == 2

    def test_no_line_is_called_as_the_directory_of_keys(self, small):
        small.write(people(), name="keys")
        with pytest.raises(SpecError, match="signing keys"):
            small.plan()
