"""Remains of stopped commands in a public directory: said at once, and mended by the next one."""

import fcntl
import json
import os
import shutil

import pytest

from sfumato.expectations.shared.errors import Fault
from sfumato.flows.life.mending import mend_lines
from sfumato.tasks.lines import pages
from sfumato.tasks.lines.left_over import find_left_over
from sfumato.tasks.lines.versions import RECORD, Approval, read_record
from sfumato.tasks.private.durable import hold_lock, share_lock, write_atomically
from sfumato.tasks.publication import amendments
from sfumato.tasks.publication import publish as publication
from sfumato.tasks.publication.amendments import record_accuracy, record_approvals
from sfumato.tasks.query.accuracy.usefulness import MeasuredBounds, Usefulness
from tests.lines import publish_prepared
from tests.release.small import people

SWEEP = "The owner of the line can mend this: sfumato sweep"
FULL = OSError(28, "No space left on device")


class Killed(BaseException):
    """The exception that stands for a process that is killed."""


def content(folder):
    return {
        path: (path.stat().st_mtime_ns, path.is_file() and path.read_bytes())
        for path in [folder, *folder.rglob("*")]
    }


@pytest.fixture
def line(small, monkeypatch):
    """A line with a version, whose next one was killed once it had appeared."""
    line = small.publish("one").directory.parent
    kill_publication(small.write(people(first=1000, seed=2)), monkeypatch, "_record")
    return line


def kill_publication(small, monkeypatch, point):
    def kill(*_, **__):
        raise Killed

    prepared = small.prepare_run(point)
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(publication, point, kill)
        publish_prepared(*prepared)


def litter(line):
    (line / ".staging-0123456789abcdef").mkdir()
    (line / ".releases.json.4194305.tmp").write_bytes(b"half")
    (line / ".withdrawal-0001").mkdir()


class TestSaid:
    def test_by_check_and_releases_which_write_nothing(self, line, call):
        litter(line)
        before = content(line)
        for command in (["check", line / "0001"], ["releases", line], ["releases"]):
            code, _, error = call(*command)
            (warning,) = [text for text in error.splitlines() if text.startswith("warning: ")]
            assert code == 0
            for trace in ("0002 is not listed in releases.json", ".staging-", ".releases.json."):
                assert trace in warning, command
            assert warning.endswith(SWEEP)
            assert content(line) == before

    def test_to_machines(self, line, call):
        for command in (["check", "--json", line / "0001"], ["releases", "--json", line]):
            document = json.loads(call(*command)[1])
            (document,) = document.get("lines", [document])
            assert document["left_over"][0] == "0002 is not listed in releases.json"

    def test_of_the_unlisted_version_itself(self, line, call):
        assert "0002 is not listed" in call("check", line / "0002")[2]

    def test_of_pages_that_do_not_follow(self, small, line, call, monkeypatch):
        mend_lines()
        kill_publication(small.write(people(first=2000, seed=3)), monkeypatch, "_prune")
        assert (
            "out of date: index.html, feed.atom, dcat.jsonld, CITATION.cff"
            in call("check", line / "0003")[2]
        )

    def test_of_a_line_that_lists_nothing_yet(self, small, monkeypatch, call):
        kill_publication(small, monkeypatch, "_record")
        place = small.plan().line.public
        assert f"{place}: a command" in call("check", place / "0001")[2]
        assert "0001 is not listed in releases.json" in call("releases", place.parent)[2]

    def test_nothing_where_nothing_is_left(self, small, call):
        version = small.publish("one").directory
        assert "warning" not in call("check", version)[2]
        assert json.loads(call("check", "--json", version)[1])["left_over"] == []

    def test_nothing_of_releases_that_nobody_publishes_there(self, small, tmp_path, call):
        shutil.copytree(small.publish("one").directory, tmp_path / "copies" / "0001")
        assert "warning" not in call("check", tmp_path / "copies" / "0001")[2]


class TestALiveRun:
    def test_what_it_holds_is_neither_said_nor_mended(self, line, call):
        litter(line)
        with (line / ".lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            before = content(line)
            assert find_left_over(line) == ()
            assert mend_lines() == (0, [])
            assert "warning" not in call("check", line / "0001")[2]
            assert content(line) == before
        assert find_left_over(line)

    def test_a_lock_that_another_user_holds(self, tmp_path, monkeypatch):
        place = tmp_path / ".lock"

        def refuse_access(*_, **__):
            raise PermissionError(13, "Permission denied")

        with hold_lock(place), monkeypatch.context() as patch:
            patch.setattr(os, "open", refuse_access)
            with share_lock(place) as unlocked:
                assert not unlocked
        with monkeypatch.context() as patch:
            patch.setattr(os, "open", refuse_access)
            with share_lock(place) as unlocked:
                assert unlocked


class TestMended:
    @pytest.mark.parametrize(
        "command",
        [
            ["sweep"],
            ["describe", "line"],
            ["keys", "list"],
            ["review", "list"],
            ["line", "backup", "spec", "file"],
            ["releases", "line", "--rebuild"],
        ],
        ids=" ".join,
    )
    def test_by_any_command_of_the_owner(self, small, line, call, tmp_path, command):
        litter(line)
        places = {"line": line, "spec": small.spec, "file": tmp_path / "backup"}
        code, _, error = call(
            *(places.get(word, word) if n else word for n, word in enumerate(command))
        )
        assert code == 0, error
        assert find_left_over(line) == ()
        assert sorted(read_record(line).versions) == ["0001", "0002"]
        assert b"0002" in (line / "CITATION.cff").read_bytes() + (line / "index.html").read_bytes()
        assert not [path for path in line.glob(".*") if path.name != ".lock"]

    def test_what_cannot_be_mended_is_said(self, line, call, monkeypatch):
        def full(*_, **__):
            raise FULL

        monkeypatch.setattr(publication, "replace_record", full)
        _, _, error = call("sweep")
        assert "releases.json does not list it (no space is left on the disk of" in error
        assert find_left_over(line)

    def test_a_line_that_never_published_leaves_no_directory(self, small, monkeypatch):
        kill_publication(small, monkeypatch, "appear")
        line = small.plan().line
        (line.public / ".staging-0123456789abcdef").mkdir(parents=True)
        (line.public / ".lock").touch()
        assert find_left_over(line.public)
        assert mend_lines() == (1, [])
        assert not line.public.exists()

    def test_a_directory_that_others_made_stays(self, small, monkeypatch):
        public = small.plan().line.public
        public.mkdir(parents=True)

        def fail(*_, **__):
            raise Fault("no")

        with monkeypatch.context() as patch, pytest.raises(Fault):
            patch.setattr(publication, "stage", fail)
            small.publish("one")
        assert list(public.iterdir()) == []


class TestTold:
    """Messages about what could not be written once a version stands, returned to who says them."""

    @pytest.fixture
    def full_for_pages(self, small, line, monkeypatch):
        mend_lines()

        def full(*_, **__):
            raise FULL

        monkeypatch.setattr(pages, "write_atomically", full)
        return small.plan().line

    def test_of_accuracy(self, full_for_pages):
        measured = MeasuredBounds([], Usefulness(("all rows are in one group",)))
        message = record_accuracy(full_for_pages, "0002", measured)
        assert any("index.html: is out of date" in text for text in message)
        assert find_left_over(full_for_pages.public)

    def test_of_approvals(self, full_for_pages):
        approval = Approval(by="a", time="2026-01-01T00:00:00+00:00", reason="r")
        message = record_approvals(full_for_pages, "0002", (approval,), None)
        assert any("index.html: is out of date" in text for text in message)

    def test_of_signatures(self, full_for_pages, call, monkeypatch):
        monkeypatch.setenv("SFUMATO_SIGNING_PASSPHRASE", "a passphrase for tests")
        assert call("keys", "generate", "town")[0] == 0
        code, out, error = call("keys", "sign", "town", full_for_pages.public / "0002")
        assert (code, "is signed by town" in out) == (0, True)
        assert "index.html: is out of date and cannot be written (no space is left on" in error

    def test_of_a_record_that_cannot_be_written(self, small, line, monkeypatch):
        mend_lines()

        def full(*_, **__):
            raise FULL

        monkeypatch.setattr(amendments, "replace_record", full)
        with pytest.raises(Fault, match=r"version 0002 is published in .*no space is left on"):
            record_accuracy(small.plan().line, "0002", MeasuredBounds([]))


def test_a_write_that_fails_leaves_no_temporary_file(tmp_path, monkeypatch):
    def full(*_, **__):
        raise FULL

    with monkeypatch.context() as patch, pytest.raises(OSError, match=RECORD):
        patch.setattr(os, "fsync", full)
        write_atomically(tmp_path / RECORD, b"{}")
    assert list(tmp_path.iterdir()) == []
