"""The second verifier beside a line: its files, when they are written, and when left alone."""

import errno
import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from sfumato.tasks.lines.left_over import find_left_over
from sfumato.tasks.lines.line import begin_change
from sfumato.tasks.lines.pages import pages_behind, rebuild_pages
from sfumato.tasks.lines.snapshot import snapshot
from sfumato.tasks.publication.withdrawal import withdraw
from sfumato.tasks.report import verifier_folder
from tests.release.small import people

SOURCE = Path(__file__).parents[2] / "deployments" / "verifier"


def content(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def verifier(first):
    """The folder beside a line with one version."""
    return first.directory.parent / "verifier"


def test_it_has_the_files_of_the_verifier_byte_for_byte(verifier):
    files = content(verifier)
    sums = files.pop("SHA256SUMS")
    assert files == content(SOURCE)
    assert {"index.html", "verify.mjs", "page.js", "modules/release.js"} <= files.keys()
    listed = dict(line.split("  ")[::-1] for line in sums.decode().splitlines()[1:])
    assert listed == {name: hashlib.sha256(text).hexdigest() for name, text in files.items()}


def test_everyone_may_read_it(verifier):
    for path in [verifier, *verifier.rglob("*")]:
        assert path.stat().st_mode & 0o777 == (0o755 if path.is_dir() else 0o644)


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="no sha256sum")
def test_its_sums_are_those_that_a_tool_reads(verifier):
    def compare():
        command = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
        return subprocess.run(command, cwd=verifier, capture_output=True).returncode

    assert compare() == 0
    (verifier / "page.js").write_text("alert(1)")
    assert compare() == 1


@pytest.mark.node
def test_it_checks_the_line_that_it_lies_beside(verifier):
    done = subprocess.run(
        ["node", "verifier/verify.mjs", "0001", "--json"],
        cwd=verifier.parent,
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout)["verdict"] == "valid"


def test_the_page_of_the_line_links_to_it(verifier):
    page = (verifier.parent / "index.html").read_text(encoding="utf-8")
    assert 'href="./verifier/index.html?version=0001"' in page
    assert (verifier / "index.html").is_file()


def test_no_link_where_no_version_is_current(two):
    for number in ("0001", "0002"):
        withdraw(two, number, "a wrong table")
    assert "./verifier/" not in (two.public / "index.html").read_text(encoding="utf-8")


CHANGES = {
    "changed": lambda folder: (folder / "page.js").write_text("alert(1)"),
    "removed": lambda folder: (folder / "modules" / "merkle.js").unlink(),
    "added": lambda folder: (folder / "modules" / "more.js").write_text("alert(1)"),
    "half written": lambda folder: shutil.rmtree(folder / "modules"),
    "gone": shutil.rmtree,
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_differs_is_written_again(verifier, change):
    before = content(verifier)
    CHANGES[change](verifier)
    assert pages_behind(verifier.parent) == ["verifier/"]
    assert rebuild_pages(verifier.parent.parent) == ()
    assert content(verifier) == before
    assert [path.name for path in verifier.parent.glob(".staging-*")] == []


def test_what_is_up_to_date_is_not_touched(verifier):
    before = {path: path.stat().st_ino for path in verifier.rglob("*")}
    assert rebuild_pages(verifier.parent.parent) == ()
    assert {path: path.stat().st_ino for path in verifier.rglob("*")} == before


def test_another_folder_of_this_name_is_left_as_it_is(verifier):
    (verifier / "SHA256SUMS").write_text("of somebody else\n")
    before = content(verifier)
    (notice,) = rebuild_pages(verifier.parent.parent)
    assert notice == f"{verifier}: was not written by Sfumato, so it was not changed"
    assert content(verifier) == before
    assert pages_behind(verifier.parent) == []
    assert snapshot(verifier.parent).verifier == {}


def test_a_full_disk_leaves_the_old_one_and_takes_back_no_version(small, first, monkeypatch):
    line = first.directory.parent
    (line / "verifier" / "page.js").write_text("of an older version")
    before = content(line / "verifier")

    def refuse(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(verifier_folder, "_write_files", refuse)
        published = small.write(people(first=1000, seed=2)).publish("two")
    assert published.directory.name == "0002"
    assert content(line / "verifier") == before
    assert "out of date: verifier/" in find_left_over(line)
    assert rebuild_pages(line.parent) == ()
    assert pages_behind(line) == []


def test_a_run_that_was_killed_while_it_wrote_it_leaves_what_the_next_one_mends(
    small, first, monkeypatch
):
    line = first.directory.parent
    (line / "verifier" / "page.js").write_text("of an older version")

    class Killed(BaseException):
        pass

    def kill(*_):
        (line / ".staging-verifier").mkdir()
        raise Killed

    begin_change(line)
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(verifier_folder, "_write_files", kill)
        rebuild_pages(line.parent)
    assert ".staging-verifier: an unfinished release" in find_left_over(line)
    small.write(people(first=1000, seed=2)).publish("two")
    assert find_left_over(line) == ()
    assert (line / "verifier" / "page.js").read_bytes() == (SOURCE / "page.js").read_bytes()


def test_copies_of_the_line_have_it_with_the_sums_last(verifier):
    copied = snapshot(verifier.parent).verifier
    assert {name.removeprefix("verifier/"): text for name, text in copied.items()} == content(
        verifier
    )
    assert list(copied)[-1] == "verifier/SHA256SUMS"
