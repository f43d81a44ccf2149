"""Directories that go with what they are for, and are swept where that was killed."""

import json
import os
import time
from contextlib import suppress

import pytest

from sfumato.flows.cli.main import run
from sfumato.tasks.private import scratch
from sfumato.tasks.private.durable import hold_lock
from sfumato.tasks.private.workdir import line_directory, work_directory
from tests.flow_here import release_here

RUN = "0123456789abcdef"


@pytest.fixture
def line(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    return line_directory(work_directory(os.environ), "some-line")


@pytest.fixture
def abandoned_folders(line):
    """A run's and a command's directory, left by processes that were killed."""
    folders = []
    for place in (line / "runs", line.parent / ".scratch"):
        (place / RUN).mkdir(mode=0o700, parents=True)
        place.chmod(0o700)
        (place / ".lock").touch()
        (place / RUN / "rows.parquet").write_bytes(b"people")
        (place / RUN / "alive").touch()
        folders.append(place / RUN)
    return folders


def names(place):
    return sorted(entry.name for entry in place.iterdir() if entry.is_dir())


@pytest.mark.parametrize("fails", [False, True])
def test_a_run_leaves_nothing(line, fails):
    with suppress(KeyboardInterrupt), scratch.run_directory(line) as directory:
        assert directory.stat().st_mode & 0o777 == 0o700
        (directory / "rows").write_bytes(b"people")
        if fails:
            raise KeyboardInterrupt
    assert names(line / "runs") == []


def test_what_is_running_is_not_swept(line, abandoned_folders):
    with scratch.run_directory(line) as running, scratch.scratch_directory() as comparing:
        assert scratch.sweep() == 2
        assert running.is_dir()
        assert comparing.is_dir()
    assert not any(folder.exists() for folder in abandoned_folders)


@pytest.mark.parametrize(
    "arguments", [["sweep"], ["schema"], ["query", "nowhere", "SELECT 1"], ["--version"], ["no"]]
)
def test_any_command_sweeps_when_it_starts(abandoned_folders, arguments, capsys):
    run(arguments)
    assert not any(folder.exists() for folder in abandoned_folders)


def test_a_run_of_the_flow_sweeps_when_it_starts(small, abandoned_folders, monkeypatch):
    """Also on a worker, which runs no command."""
    release_here(small.spec)
    assert not any(folder.exists() for folder in abandoned_folders)


def test_what_was_killed_before_it_was_marked_is_swept(line):
    (line / "runs").mkdir(mode=0o700)
    (line / "runs" / ".lock").touch()
    (line / "runs" / RUN).mkdir(mode=0o700)
    assert scratch.sweep() == 1
    assert names(line / "runs") == []


def test_sweep_says_how_many(abandoned_folders, capsys):
    assert run(["sweep"]) == 0
    assert run(["sweep"]) == 0
    assert capsys.readouterr().err == "0 directories deleted\n0 directories deleted\n"


def test_what_is_retained_stays_for_its_time(line, monkeypatch):
    with scratch.run_directory(line, retain_hours=2) as directory:
        (directory / "rows").write_bytes(b"people")
    assert scratch.sweep() == 0
    assert (directory / "rows").exists()
    now = time.time()
    monkeypatch.setattr(scratch.time, "time", lambda: now + 3 * 3600)
    assert scratch.sweep() == 1
    assert not directory.exists()


@pytest.mark.parametrize("content", ["", "[]", "{}", json.dumps({"until": "x"})])
def test_a_damaged_term_retains_nothing(line, abandoned_folders, content):
    (abandoned_folders[0] / "retain.json").write_text(content)
    scratch.sweep()
    assert not abandoned_folders[0].exists()


def test_sweeping_makes_no_work_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "none"))
    assert scratch.sweep() == 0
    assert not (tmp_path / "none").exists()


def test_a_sweep_waits_for_a_run_that_is_starting(line, abandoned_folders):
    """A new directory is not taken for an abandoned one before it is marked as alive."""
    from threading import Thread

    with hold_lock(line / "runs" / ".lock"):
        sweeping = Thread(target=scratch.sweep)
        sweeping.start()
        sweeping.join(0.2)
        assert abandoned_folders[0].exists()
    sweeping.join()
    assert not abandoned_folders[0].exists()


@pytest.fixture
def ended_line(line):
    """The line of a run that has ended."""
    (line / "runs").mkdir(mode=0o700)
    (line / "runs" / ".lock").touch()
    return line


def test_half_written_files_of_dead_processes_are_swept(ended_line):
    (ended_line / "units").mkdir(mode=0o700)
    dead, own = 2**22 + 1, os.getpid()  # no process has as large a number
    leftovers = [ended_line / f".state.json.{dead}.tmp", ended_line / "units" / f".0001.{dead}.tmp"]
    writing = ended_line / f".lines.json.{own}.tmp"
    for path in (*leftovers, writing):
        path.write_bytes(b"half")
    scratch.sweep()
    assert not any(path.exists() for path in leftovers)
    assert writing.exists()


def test_half_written_files_of_somebody_elses_processes_stay(ended_line, monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    writing = ended_line / ".state.json.4194304.tmp"
    writing.write_bytes(b"half")
    scratch.sweep()
    assert writing.exists()


def test_nothing_is_swept_where_others_can_write(line, abandoned_folders):
    line.parent.chmod(0o777)
    assert scratch.sweep() == 0
    assert all(folder.exists() for folder in abandoned_folders)


def other_name(folder):
    return folder.rename(folder.with_name("thesis"))


def without_mark(folder):
    (folder / "alive").unlink()
    return folder


def open_to_others(folder):
    folder.chmod(0o755)
    return folder


@pytest.mark.parametrize("change", [other_name, without_mark, open_to_others])
def test_what_was_not_made_here_is_never_deleted(abandoned_folders, change):
    """The work directory may be set to one that holds a user's other work."""
    changed_folders = [change(folder) for folder in abandoned_folders]
    assert scratch.sweep() == 0
    assert all((place / "rows.parquet").exists() for place in changed_folders)


@pytest.mark.parametrize("level", ["line", "runs", "run"])
def test_links_are_not_followed(line, abandoned_folders, tmp_path, level):
    place = {"line": line, "runs": line / "runs", "run": line / "runs" / RUN}[level]
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    scratch.sweep()
    assert list((tmp_path / "elsewhere").rglob("rows.parquet"))
