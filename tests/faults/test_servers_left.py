"""Servers of killed commands: health says so, and sweep ends them and nothing else."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from sfumato.flows.operation import servers
from sfumato.flows.operation.servers import end_left_servers, left_servers

pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.timeout(240)]
PROGRAM = "prefect.server.api.server:create_app"


@pytest.fixture
def start_server():
    """Starts processes that wait, and ends them; arguments are the program's, as far as seen."""
    processes = []

    def start(*arguments, home):
        code = "import time; print(flush=True); time.sleep(200)"
        environ = {**os.environ, "HOME": str(home)}
        environ.pop("PREFECT_HOME", None)
        process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments], env=environ, stdout=subprocess.PIPE
        )
        processes.append(process)
        process.stdout.readline()
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def server_left(start_server, tmp_path, monkeypatch):
    """A server, its record and the command that started it; the environment of both."""
    command = start_server(home=tmp_path)
    server = start_server(PROGRAM, home=tmp_path)
    environ = {"SFUMATO_WORK": str(tmp_path / "work"), "HOME": str(tmp_path)}
    with monkeypatch.context() as patch:
        patch.setenv("HOME", str(tmp_path))
        patch.delenv("PREFECT_HOME", raising=False)
        patch.setattr(os, "getpid", lambda: command.pid)
        servers._write_record(tmp_path / "work", server.pid)
    return server, command, environ


def record_of(environ):
    [(path, record)] = servers._records(servers.work_directory(environ))
    return path, record


def kill(process):
    process.kill()
    process.wait()


def test_the_server_of_a_killed_command_is_ended(server_left):
    server, command, environ = server_left
    assert left_servers(environ) == []
    kill(command)
    [records] = left_servers(environ)
    assert (records.pid, records.bytes_of_memory > 1 << 20) == (server.pid, True)
    assert end_left_servers(environ) == 1
    assert server.wait(5) == -signal.SIGTERM
    assert servers._records(servers.work_directory(environ)) == []


def test_the_server_of_a_live_command_is_left_alone(server_left):
    server, _, environ = server_left
    assert end_left_servers(environ) == 0
    assert server.poll() is None
    assert record_of(environ)[1].pid == server.pid


@pytest.mark.parametrize("key", ["start", "home", "pid"])
def test_a_process_that_does_not_match_its_record_is_left_alone(
    server_left, key, start_server, tmp_path
):
    server, command, environ = server_left
    kill(command)
    path, record = record_of(environ)
    other = start_server(home=tmp_path)  # no server of Prefect's
    changed = {"start": f"{record.start}1", "home": str(tmp_path / "other"), "pid": other.pid}
    record = replace(record, **{key: changed[key]})
    path.write_text(json.dumps(vars(record)))
    assert left_servers(environ) == []
    assert end_left_servers(environ) == 0
    assert (server.poll(), other.poll()) == (None, None)
    assert not path.exists()  # it is of no process


@pytest.mark.parametrize("content", ["", "[]", '{"pid": 1}', "{", '{"pid": "x"}'])
def test_a_record_that_is_none_ends_nothing(server_left, content):
    server, command, environ = server_left
    kill(command)
    path, _ = record_of(environ)
    path.write_text(content)
    assert end_left_servers(environ) == 0
    assert server.poll() is None


def test_a_record_in_a_place_of_others_ends_nothing(server_left):
    server, command, environ = server_left
    kill(command)
    path, _ = record_of(environ)
    path.parent.chmod(0o777)
    assert end_left_servers(environ) == 0
    assert server.poll() is None


def test_a_killed_release_is_said_by_health_and_ended_by_sweep(small, forks, call, tmp_path):
    from sfumato.tasks.private.workdir import work_directory

    (tmp_path / "home").mkdir()
    environ = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")}
    run = forks.start(
        ["release", str(small.spec), "--prefect"], {**environ, "HOME": str(tmp_path / "home")}, None
    )
    until = time.monotonic() + 120
    while not (records := servers._records(work_directory(os.environ))):
        assert time.monotonic() < until
        time.sleep(0.02)
    os.kill(run.pid, signal.SIGKILL)
    run.communicate(60)
    pid = records[0][1].pid
    code, out, _ = call("health")
    assert code == 1
    assert "NOT  servers of killed runs: 1 still run, with " in out
    assert f"of memory (pid {pid}). To stop them, run sfumato sweep" in out
    code, out, output = call("sweep", "--json")
    assert (code, json.loads(out)["servers"]) == (0, 1)
    assert "1 server of killed runs stopped" in output
    assert servers.start_of_process(pid) == ""
    assert "ok   servers of killed runs: none" in call("health")[1]
