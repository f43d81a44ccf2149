"""The log of a line: what enters it, together with the record, and what readers are told."""

import json
import shutil
import urllib.parse

import pytest

import sfumato
from sfumato.expectations.shared.errors import PromiseError
from sfumato.flows.life.withdrawal import plan_withdrawal
from sfumato.tasks.lines import line as lines
from sfumato.tasks.lines.left_over import find_left_over
from sfumato.tasks.lines.line import Line, hold
from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.publication import publish as publication
from sfumato.tasks.publication.publish import recover
from sfumato.tasks.publication.withdrawal import withdraw
from sfumato.tasks.verification.line_log import listing_beside, read_log
from sfumato.tasks.verification.log_writing import NEXT_LOG, LogPlace
from sfumato.tasks.verification.signing_keys import PASSPHRASE
from tests.api.elsewhere import serve_directory
from tests.corpus.lines import CONTINUED, frozen_lines
from tests.corpus.lines import PASSPHRASE as CORPUS_PASSPHRASE
from tests.lines import TIME, publish_prepared
from tests.release.small import SPEC, people

SIGNED = {"publish": {**SPEC["publish"], "signed-by": "town"}}
REASON = "the wrong table"


class Killed(BaseException):
    """The end of a process: nothing catches it."""


def kill(*_, **__):
    raise Killed


def kill_with_next(place, _):
    """End the process where a log is about to get its place."""
    if (place.public / NEXT_LOG).exists():
        raise Killed


@pytest.fixture(autouse=True)
def reader(tmp_path, monkeypatch):
    """A reader who trusts nobody and has no heads yet, and the publisher's passphrase."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv(PASSPHRASE, "correct horse")
    monkeypatch.setattr("sfumato.tasks.verification.log_check._PAUSE", 0)


@pytest.fixture
def grow(small):
    """Publishes the line's next version, of other people; returns its directory."""
    names = iter(("first", "second", "third"))

    def publish(**changes):
        name = next(names)
        small.write(people(100 * len(name) + ord(name[0])), **changes)
        return small.publish(name).directory

    return publish


def kinds(public):
    return [entry.kind for entry in read_log(public).entries]


def agrees(public):
    """Decide whether log and files beside it list the same, and nothing is left over."""
    log, beside = read_log(public), listing_beside(public)
    return log.listing == beside and find_left_over(public) == ()


def test_every_release_enters_with_the_digest_and_time_of_the_record(grow):
    public = grow().parent
    grow()
    log, record = read_log(public), read_record(public)
    assert kinds(public) == ["release", "release"]
    for number, version in record.versions.items():
        listed = log.listing.versions[number]
        assert (listed.digest, listed.time) == (version.digest, version.time)
    assert (log.head.size, log.head.line, log.head.key) == (2, "wages", None)
    assert (public / "log.json").stat().st_mode & 0o777 == 0o644
    assert agrees(public)


def test_an_unsigned_line_has_an_unsigned_head_and_it_is_said(grow, call):
    code, out, _ = call("check", grow())
    assert (code, "its head is not signed" in out) == (0, True)


def test_a_signed_line_has_a_signed_head_and_its_key_enters(grow, call):
    call("keys", "generate", "town")
    version = grow(**SIGNED)
    assert kinds(version.parent) == ["key", "release"]
    code, out, _ = call("check", version)
    assert (code, "its head is signed by town (" in out) == (0, True)
    call("keys", "trust", version.parent)
    assert "you do not trust yet" not in call("check", version)[1]


def test_withdrawals_enter(grow):
    version = grow()
    grow()
    line = Line("wages", version.parent, version.parents[2].parent / "work" / "wages")
    withdraw(line, "0001", REASON, "2026-02-03T04:05:06+00:00")
    entry = read_log(line.public).entries[-1]
    assert (entry.kind, entry.version, entry.time) == (
        "withdrawal",
        "0001",
        "2026-02-03T04:05:06+00:00",
    )
    assert agrees(line.public)


def test_a_withdrawal_of_a_signed_line_signs_the_head(grow, call):
    call("keys", "generate", "town")
    version = grow(**SIGNED)
    other = grow(**SIGNED)
    call("keys", "trust", version.parent)
    assert plan_withdrawal(version, REASON).carry_out().notices == ()
    assert read_log(version.parent).head.key.name == "town"
    assert call("check", other)[0] == 0


def test_a_head_without_signature_is_signed_again_by_keys_sign(grow, call):
    call("keys", "generate", "town")
    version = grow(**SIGNED)
    other = grow(**SIGNED)
    call("keys", "trust", version.parent)
    plan_withdrawal(version, REASON, unsigned=True).carry_out()
    assert read_log(version.parent).head.key is None
    assert call("check", other)[0] == 3
    assert call("keys", "sign", "town", other)[0] == 0
    assert read_log(version.parent).head.key.name == "town"
    assert call("check", other)[0] == 0


def test_changes_of_keys_enter_and_the_head_is_signed_by_who_made_them(grow, call):
    call("keys", "generate", "town")
    call("keys", "generate", "next")
    version = grow(**SIGNED)
    public = version.parent
    call("keys", "trust", public)
    assert call("keys", "rotate", "town", "next", public)[0] == 0
    assert kinds(public)[2:] == ["key", "rotation"]
    assert read_log(public).head.key.name == "town"
    assert call("check", version)[0] == 0
    assert call("keys", "sign", "next", version)[0] == 0
    assert call("keys", "revoke", "town", public, "--by", "next")[0] == 0
    assert kinds(public)[-1] == "revocation"
    assert read_log(public).head.key.name == "next"
    assert call("check", version)[0] == 0
    assert agrees(public)


def test_a_revocation_that_was_deleted_is_noticed(grow, call):
    """Whoever can write in the directory can delete it, but not its entry."""
    call("keys", "generate", "town")
    version = grow(**SIGNED)
    before = (version.parent / "keys.json").read_bytes()
    call("check", version)
    call("keys", "revoke", "town", version.parent)
    assert read_log(version.parent).head.key is None  # a revoked key signs no head
    (version.parent / "keys.json").write_bytes(before)
    code, _, error = call("check", version)
    assert (code, "leaves out a revocation" in error) == (3, True)


def test_a_line_that_is_signed_later_has_a_signed_head(grow, call):
    call("keys", "generate", "town")
    version = grow()
    assert read_log(version.parent).head.key is None
    assert call("keys", "sign", "town", version)[0] == 0
    log = read_log(version.parent)
    assert (log.head.key.name, [entry.kind for entry in log.entries]) == (
        "town",
        ["release", "key"],
    )


POINTS = {  # where a process is killed: the entries that readers see then
    "appear": 1,
    "_open_to_all": 1,
    "_record": 1,
    "_write_record": 1,
    "install": 1,
    "_settle": 2,
}


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_publication_is_mended_without_a_key(point, grow, small, call, monkeypatch):
    call("keys", "generate", "town")
    first = grow(**SIGNED)
    public = first.parent
    small.write(people(900), **SIGNED)
    plan, run = small.prepare_run("killed")

    place = {"_write_record": lines, "install": LogPlace}.get(point, publication)
    with monkeypatch.context() as patched:
        patched.setattr(place, point, kill_with_next if point == "install" else kill)
        with pytest.raises(Killed):
            publish_prepared(plan, run)
    releases = [entry for entry in read_log(public).entries if entry.kind == "release"]
    assert len(releases) == POINTS[point]
    monkeypatch.delenv(PASSPHRASE)
    with hold(plan.line):
        recover(plan.line)
    appeared = point != "appear"
    assert sorted(read_record(public).versions) == ["0001", "0002"][: 1 + appeared]
    assert agrees(public)
    assert not (public / NEXT_LOG).exists()
    log = read_log(public)
    assert log.head.key.name == "town"
    if appeared:
        assert log.entries[-1].time == TIME
        call("keys", "trust", public)
        assert call("check", public)[0] == 0


def test_between_record_and_log_readers_are_not_shown_half_of_it(grow, small, call, monkeypatch):
    """The version is refused until the next command has finished it."""
    public = grow().parent
    small.write(people(900))
    plan, run = small.prepare_run("killed")

    with monkeypatch.context() as patched:
        patched.setattr(LogPlace, "install", kill_with_next)
        with pytest.raises(Killed):
            publish_prepared(plan, run)
    code, _, error = call("check", public / "0002")
    assert (code, "releases.json lists it, and the log does not" in error) == (3, True)
    assert "unfinished entry of the log" in error
    assert call("sweep")[0] == 0
    assert call("check", public / "0002")[0] == 0


def test_a_killed_withdrawal_is_mended(grow, monkeypatch):
    version = grow()
    public = version.parent
    line = Line("wages", public, public.parents[1].parent / "work" / "wages")

    for name, place, killer, entries in (
        ("_write_record", lines, kill, 1),
        ("install", LogPlace, kill_with_next, 2),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(place, name, killer)
            with pytest.raises(Killed):
                withdraw(line, "0001", REASON)
        with hold(line):
            recover(line)
        assert len(read_log(public).entries) == entries
        assert agrees(public)


SIGNED_LINES = [line for line in frozen_lines() if (line.public / "keys.json").exists()]
PLAIN = [
    line
    for line in frozen_lines()
    if line.folder.name == "format-0" and not (line.public / "keys.json").exists()
]


@pytest.mark.parametrize("frozen", [SIGNED_LINES[0], PLAIN[0]], ids=["signed", "unsigned"])
def test_a_line_published_before_enters_as_a_whole(
    frozen, few_queries, call, tmp_path, monkeypatch
):
    """Its versions read and check as they did, and its next version begins the log."""
    copy = frozen.copy(tmp_path)
    monkeypatch.setenv("SFUMATO_WORK", str(copy.folder / "private"))
    monkeypatch.setenv(PASSPHRASE, CORPUS_PASSPHRASE)
    code, out, _ = call("check", copy.public / "0001")
    assert (code, "no log.json beside it, and no earlier head" in out) == (0, True)
    record = read_record(copy.public)
    copy.run(CONTINUED, tmp_path / "next", seeded_keys(3))
    log = read_log(copy.public)
    assert [entry.kind for entry in log.entries] == ["adopted", "release"]
    adopted = log.entries[0]
    assert {n: v.digest for n, v in adopted.versions.items()} == {
        n: v.digest for n, v in record.versions.items()
    }
    assert (log.head.key is None) == (frozen is PLAIN[0])
    assert agrees(copy.public)
    for number, entry in (("0001", 0), ("0002", 0), ("0003", 1)):
        code, out, _ = call("check", copy.public / number, "--json")
        assert (code, json.loads(out)["log"]["entry"]) == (0, entry)


def test_a_signed_line_begins_no_log_without_its_key(tmp_path, monkeypatch):
    """Readers who trust its key would refuse the unsigned head."""
    copy = SIGNED_LINES[0].copy(tmp_path)
    monkeypatch.setenv("SFUMATO_WORK", str(copy.folder / "private"))
    line = Line(copy.name, copy.public, copy.private)
    with hold(line):
        lines.replace_record(line, read_record(line.public))
    assert read_log(line.public) is None


class TestReaders:
    def test_a_head_is_remembered_and_compared(self, grow, call):
        version = grow()
        code, out, _ = call("check", version, "--json")
        log = json.loads(out)["log"]
        assert (code, log["size"], log["earlier"]) == (0, 1, [])
        grow()
        code, out, _ = call("check", version.parent, "--json")
        log = json.loads(out)["log"]
        assert (code, log["size"], [head["size"] for head in log["earlier"]]) == (0, 2, [1])

    def test_heads_are_exchanged(self, grow, call, tmp_path, monkeypatch):
        first, head = grow(), tmp_path / "head.json"
        code, _, error = call("check", first, "--write-head", head)
        assert (code, "Give it to other readers" in error) == (0, True)
        second = grow()
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "another-reader"))
        code, out, _ = call("check", second, "--head", head)
        assert (code, f"continues the head of 1 entry in {head}" in out) == (0, True)
        shutil.copytree(second.parent, tmp_path / "wages")
        document = json.loads(head.read_bytes())
        document["root"] = "0" * 64
        head.write_text(json.dumps(document))
        code, out, error = call("check", tmp_path / "wages" / "0002", "--head", head, "--json")
        assert (code, out) == (3, "")
        assert "readers are shown different logs" in error

    def test_a_line_put_back_is_refused(self, grow, call, tmp_path):
        public = grow().parent
        shutil.copytree(public, tmp_path / "before")
        grow()
        assert call("check", public)[0] == 0
        shutil.rmtree(public)
        shutil.copytree(tmp_path / "before", public)
        code, _, error = call("check", public)
        assert (code, "was rolled back: it has 1 entry" in error) == (3, True)
        (head,) = (tmp_path / "config" / "sfumato" / "heads").glob("wages-*.json")
        assert f"delete {head}" in error
        head.unlink()
        assert call("check", public)[0] == 0

    def test_a_release_without_its_line_is_shown_by_a_head_alone(self, grow, call, tmp_path):
        grow()
        version, head = grow(), tmp_path / "head.json"
        assert call("check", version, "--write-head", head)[0] == 0
        alone = tmp_path / "alone" / "0002"
        shutil.copytree(version, alone)
        code, out, _ = call("check", alone, "--head", head)
        assert (code, "includes this release" in out) == (0, True)
        other = tmp_path / "alone" / "0001"
        shutil.copytree(version.parent / "0001", other)
        code, _, error = call("check", other, "--head", head)
        assert (code, "log.json: is missing" in error) == (3, True)

    def test_a_head_of_another_line_is_an_error_of_the_caller(self, grow, call, tmp_path):
        version, head = grow(), tmp_path / "head.json"
        call("check", version, "--write-head", head)
        document = {**json.loads(head.read_bytes()), "line": "other"}
        head.write_text(json.dumps(document))
        code, _, error = call("check", version, "--head", head)
        assert (code, "belongs to the line other" in error) == (2, True)
        head.write_text("{}")
        code, _, error = call("check", version, "--head", head)
        assert (code, "cannot be read as a head" in error) == (2, True)

    def test_no_head_of_no_log(self, grow, call, tmp_path):
        version = grow()
        (version.parent / "log.json").unlink()
        code, _, error = call("check", version, "--write-head", tmp_path / "head.json")
        assert (code, "there is no log" in error) == (2, True)

    def test_a_memory_that_cannot_be_read_is_not_an_empty_one(self, grow, call, tmp_path):
        version = grow()
        call("check", version)
        (head,) = (tmp_path / "config" / "sfumato" / "heads").glob("wages-*.json")
        head.write_text("{}")
        code, _, error = call("check", version)
        assert (code, "cannot be read as a head that you have seen" in error) == (2, True)

    def test_a_place_without_room_for_heads_is_said(self, grow, call, tmp_path):
        version = grow()
        (tmp_path / "config" / "sfumato").mkdir(parents=True)
        (tmp_path / "config" / "sfumato" / "heads").write_text("a file in the way")
        code, _, error = call("check", version)
        assert (code, "the head cannot be remembered" in error) == (0, True)

    def test_an_unsigned_head_is_refused_by_who_trusts_a_key(self, grow, call):
        call("keys", "generate", "town")
        version = grow(**SIGNED)
        call("keys", "trust", version.parent)
        document = json.loads((version.parent / "log.json").read_bytes())
        for name in ("key", "signature"):
            del document["head"][name]
        (version.parent / "log.json").write_text(json.dumps(document, separators=(",", ":")))
        code, _, error = call("check", version)
        assert (code, "its head is not signed" in error) == (3, True)

    def test_python_compares_with_what_was_seen_too(self, grow, tmp_path):
        version = grow()
        shutil.copytree(version.parent, tmp_path / "before")
        assert "no earlier head of this line was at hand" in sfumato.open(version).check()[-1]
        second = grow()
        assert "continues the head of 1 entry" in sfumato.open(second).check()[-1]
        shutil.rmtree(version.parent)
        shutil.copytree(tmp_path / "before", version.parent)
        with pytest.raises(PromiseError, match="was rolled back"):
            sfumato.open(version).check()

    def test_a_line_on_the_web(self, grow, call, tmp_path):
        version = grow()
        with serve_directory(version.parents[1]) as served:
            address = f"{served.address}/{urllib.parse.quote('wages')}"
            assert call("check", address)[0] == 0
            grow()
            code, out, _ = call("check", address)
            assert (code, "continues the head of 1 entry" in out) == (0, True)
            served.instead["log.json"] = 404
            code, _, error = call("check", address)
            assert (code, "log.json: is missing" in error) == (3, True)

    def test_files_that_change_while_they_are_copied_are_asked_for_again(self, grow, call):
        version = grow()
        old = (version.parent / "log.json").read_bytes()
        grow()
        with serve_directory(version.parents[1]) as served:
            handed_out = []

            class Once(dict):
                """The log is the old one the first time it is asked for."""

                def get(self, name, default=None):
                    if name != "log.json" or handed_out:
                        return default
                    handed_out.append(name)
                    return old

            served.instead = Once()
            code, out, _ = call("check", f"{served.address}/wages/0002")
        assert (code, "log has 2 entries" in out) == (0, True)


class TestPublisher:
    def test_a_log_that_was_lost_is_not_begun_again(self, grow, small):
        public = grow().parent
        (public / "log.json").unlink()
        with pytest.raises(PromiseError, match="Put back the private copy") as refused:
            grow()
        source, target = str(refused.value).rpartition("cp ")[2].split()
        shutil.copy(source, target)
        assert small.publish("again").directory.name == "0002"
        assert agrees(public)

    def test_a_withdrawal_waits_for_no_log(self, grow, call):
        public = grow().parent
        (public / "log.json").write_text("damaged")
        code, _, error = call("withdraw", public / "0001", "--reason", REASON, "--yes")
        assert (code, "the log of the line has no entry of the withdrawal" in error) == (0, True)
        assert read_record(public).versions["0001"].status == "withdrawn"

    def test_a_prepared_log_of_no_version_is_never_put_in_place(self, grow, small, monkeypatch):
        """A killed run left it, and the next command adds nothing to the log."""
        public = grow().parent
        small.write(people(900))
        plan, run = small.prepare_run("killed")
        with monkeypatch.context() as patched:
            patched.setattr(publication, "appear", kill)
            patched.setattr(LogPlace, "discard", lambda _: None)
            with pytest.raises(Killed):
                publish_prepared(plan, run)
        assert (public / NEXT_LOG).exists()
        before = (public / "log.json").read_bytes()
        with hold(plan.line):
            lines.replace_record(plan.line, read_record(public))
        assert (public / "log.json").read_bytes() == before

    def test_what_other_software_left_out_is_added(self, grow, small):
        """Older software knows no log, and publishes beside it."""
        public = grow().parent
        before = (public / "log.json").read_bytes()
        grow()
        (public / "log.json").write_bytes(before)
        private = small.folder.parent / "work" / "wages"
        (private / "log.json").write_bytes(before)
        line = Line("wages", public, private)
        with hold(line):
            recover(line)
        assert agrees(public)
