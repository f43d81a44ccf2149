"""Programs that stop to read: commands end quietly, and a run goes on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.flows.cli import show
from tests.fork_server import ROOT

pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.timeout(120)]


def run_in_pipe(tmp_path, *arguments, stdout=None, stderr=None):
    """Run a command; a stream that is None is a pipe that nobody reads."""
    code = "from sfumato.flows.cli.main import main; main()"
    reading, writing = os.pipe()
    os.close(reading)
    try:
        return subprocess.run(
            [sys.executable, "-c", code, *map(str, arguments)],
            cwd=ROOT,
            env={**os.environ, "SFUMATO_WORK": str(tmp_path / "work")},
            stdout=writing if stdout is None else stdout,
            stderr=writing if stderr is None else stderr,
            text=True,
            timeout=100,
        )
    finally:
        os.close(writing)


@pytest.mark.parametrize("command", ["text", "csv", "json", "check", "schema", "--help"])
def test_answers_that_nobody_reads_end_a_command_quietly(small, tmp_path, command):
    version = small.publish("one").directory
    query = ["query", version, "SELECT town, COUNT(*) FROM microdata GROUP BY town"]
    arguments = {
        **{format_: [*query, "--format", format_] for format_ in ("text", "csv", "json")},
        "check": ["check", version],
    }
    done = run_in_pipe(tmp_path, *arguments.get(command, [command]), stderr=subprocess.PIPE)
    assert done.returncode == show.CLOSED_PIPE
    assert not {"Traceback", "Error", "Broken pipe", "a bug"} & set(done.stderr.split())
    assert "sfumato: " not in done.stderr


def test_messages_that_nobody_reads_end_no_command(small, tmp_path):
    version = small.publish("one").directory
    query = ("query", version, "SELECT COUNT(*) FROM microdata", "--format", "csv")
    done = run_in_pipe(tmp_path, *query, stdout=subprocess.PIPE)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 2


@pytest.mark.parametrize("format_", ["text", "csv", "json"])
def test_answers_that_find_no_room_are_a_fault(small, tmp_path, format_):
    version = small.publish("one").directory
    query = ("query", version, "SELECT COUNT(*) FROM microdata", "--format", format_)
    with Path("/dev/full").open("w") as full:
        done = run_in_pipe(tmp_path, *query, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert "sfumato: no space is left on the disk of /dev" in done.stderr


def test_a_second_stream_is_read_on(capsys, monkeypatch):
    class Gone:
        def write(self, _):
            raise BrokenPipeError

        def flush(self):
            pass

        def fileno(self):
            raise ValueError

    monkeypatch.setattr(sys, "stderr", Gone())
    show.say("CANARY")
    show.echo("an answer")
    assert capsys.readouterr().out == "an answer\n"
    monkeypatch.setattr(sys, "stdout", Gone())
    with pytest.raises(show.ClosedPipeError):
        show.echo("an answer")
