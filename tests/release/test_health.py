"""The report that a steward reads in the morning: private places, lines, and lost servers."""

import base64
import http.server
import json
import shutil
import threading
from types import SimpleNamespace

import pytest

from sfumato.flows.cli.main import run
from sfumato.tasks.lines.versions import read_record, write_record
from tests.prefect_server import free_port
from tests.release.small import Small, people


@pytest.fixture
def machine(small, tmp_path, monkeypatch):
    """A published line, and a private home of Prefect's."""
    small.write(people())
    small.publish("one")
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    return small


def health(capsys, *arguments):
    code = run(["health", "--json", *arguments])
    checks = json.loads(capsys.readouterr().out)["checks"]
    return code, {check["about"]: (check["well"], check["said"]) for check in checks}


def test_a_machine_that_is_well(machine, capsys):
    code, checks_found = health(capsys)
    assert code == 0
    assert checks_found["line wages"] == (True, "current 0001")
    names = {"work directory", "disk", "Prefect's home", "servers of killed runs", "line wages"}
    assert set(checks_found) == names


def test_it_is_said_in_lines(machine, capsys):
    assert run(["health"]) == 0
    assert "ok   line wages: current 0001" in capsys.readouterr().out.splitlines()


def test_a_version_that_is_gone(machine, capsys):
    shutil.rmtree(machine.folder / "public" / "wages" / "0001")
    code, checks_found = health(capsys)
    assert code == 1
    assert checks_found["line wages"] == (False, "0001 gone")


def test_a_work_directory_that_others_can_read(machine, capsys):
    place = machine.plan().line.private.parent
    place.chmod(0o755)
    code, checks_found = health(capsys)
    place.chmod(0o700)
    assert code == 1
    assert not checks_found["work directory"][0]


def test_a_home_that_others_can_read(machine, capsys, tmp_path):
    (tmp_path / "prefect").mkdir(mode=0o755)
    code, checks_found = health(capsys)
    assert code == 1
    assert "other users can read" in checks_found["Prefect's home"][1]


def test_a_disk_that_is_full(machine, capsys, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=5))
    code, checks_found = health(capsys)
    assert code == 1
    assert checks_found["disk"] == (False, "0.0 GiB free (at least 1 is needed)")


def test_a_server_that_is_gone(machine, capsys, monkeypatch):
    address = f"http://127.0.0.1:{free_port()}/api"
    monkeypatch.setenv("PREFECT_API_URL", address)
    code, checks_found = health(capsys)
    assert code == 1
    assert checks_found["server"] == (
        False,
        f"Prefect's server at {address} (PREFECT_API_URL) refuses connections: no server listens "
        "there; start a server: prefect server start",
    )


@pytest.fixture
def server(monkeypatch):
    """A server that wants to know who asks, and has nothing but its health."""
    requests = []

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append((self.path, self.headers["Authorization"]))
            self.send_response(200 if self.path == "/api/health" else 404)
            self.end_headers()
            self.wfile.write(b"true")

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{running.server_port}/api", requests
        finally:
            running.shutdown()
            thread.join()


def test_a_login_in_the_address_is_said_to_nobody(machine, capsys, server, monkeypatch):
    address, requests = server
    monkeypatch.setenv("PREFECT_API_URL", f"http://me:CANARY@{address}")
    assert run(["health"]) == 1
    assert requests[0][1] == f"Basic {base64.b64encode(b'me:CANARY').decode()}"
    assert f"ok   server: http://{address}\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "value", "header"),
    [
        ("PREFECT_API_AUTH_STRING", "me:pw", "Basic bWU6cHc="),
        ("PREFECT_API_KEY", "key", "Bearer key"),
    ],
)
def test_a_server_with_a_login_is_asked_with_it(
    machine, capsys, server, monkeypatch, name, value, header
):
    address, requests = server
    monkeypatch.setenv("PREFECT_API_URL", f"http://{address}")
    monkeypatch.setenv(name, value)
    health(capsys)
    assert {told_of for _, told_of in requests} == {header}


def test_a_record_that_cannot_be_read_hides_no_other_line(machine, capsys, tmp_path):
    other = Small(tmp_path / "other").write(people(first=1000), name="other", people="others")
    other.publish("other")
    (machine.folder / "public" / "wages" / "releases.json").write_text("{")
    code, checks_found = health(capsys, "--metrics", str(tmp_path / "sfumato.prom"))
    assert (code, checks_found["line other"]) == (1, (True, "current 0001"))
    assert checks_found["line wages"][1].endswith("cannot be read as a record of versions")
    assert 'line="other"' in (tmp_path / "sfumato.prom").read_text(encoding="utf-8")


def test_a_time_that_is_none_is_no_fault(machine, capsys, tmp_path):
    record = machine.folder / "public" / "wages" / "releases.json"
    document = json.loads(record.read_bytes())
    document["versions"]["0001"]["time"] = "yesterday"
    record.write_text(json.dumps(document))
    assert health(capsys, "--metrics", str(tmp_path / "sfumato.prom"))[0] == 0


def test_what_is_found_is_written_for_prometheus(machine, capsys, tmp_path):
    from prometheus_client.parser import text_string_to_metric_families

    file = tmp_path / "sfumato.prom"
    assert health(capsys, "--metrics", str(file))[0] == 0
    families = text_string_to_metric_families(file.read_text(encoding="utf-8"))
    samples = {(s.name, *sorted(s.labels.values())): s.value for f in families for s in f.samples}
    assert samples["sfumato_well", "line wages"] == 1
    assert samples["sfumato_versions", "current", "wages"] == 1
    assert samples["sfumato_last_published_timestamp_seconds", "wages"] > 0


def test_metrics_that_cannot_be_written(machine, capsys):
    assert run(["health", "--metrics", "no/such/place"]) == 2
    assert "no/such/place: cannot be written" in capsys.readouterr().err


def test_no_value_of_the_source_is_said(machine, capsys):
    health(capsys)
    run(["health"])
    output = capsys.readouterr()
    assert "IDENT" not in output.out + output.err


def test_a_version_that_was_not_measured_is_told(machine, capsys):
    line = machine.plan().line
    record = read_record(line.public).with_new("0002", "f" * 64, "2026-01-02", pending=True)
    (line.public / "0002").mkdir()
    write_record(line.public, record)
    code, checks_found = health(capsys)
    assert code == 1
    assert checks_found["line wages"] == (False, "0002 pending")
