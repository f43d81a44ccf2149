"""Prefect's server is not there, closed, silent or another one: commands say so in words."""

import http.server
import os
import socket
import threading
from contextlib import contextmanager

import httpx
import pytest

from sfumato.expectations.machine.fault import explain
from sfumato.expectations.shared.errors import Fault, TransientFault
from tests.prefect_server import free_port
from tests.release.small import Small, people

pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.timeout(120)]
COMMANDS = {
    "release": ("release", "{line}/wages.yaml"),
    "publish": ("publish", "{line}/wages.yaml", "--digest", "0" * 64),
    "deploy": ("deploy", "{line}/wages.yaml", "--root", "{line}"),
    "sweep": ("sweep", "--runs-older-than", "90"),
}
STATUSES = {
    401: "needs a login (HTTP status 401): PREFECT_API_AUTH_STRING is not set",
    403: "needs a login (HTTP status 403): PREFECT_API_AUTH_STRING is not set",
    404: "answers, but not as Prefect's API does",
    200: "answers, but not as Prefect's API does",  # a page, as every web server has some
}


@contextmanager
def answering(status):
    """A server that answers everything with a status and a page."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.end_headers()
            self.wfile.write(b"<html>CANARY</html>")

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{running.server_port}/api"
        finally:
            running.shutdown()
            thread.join()


@pytest.fixture
def ask(forks, tmp_path):
    """Runs a command against a server at an address; its exit code and what it says."""
    line = Small(tmp_path / "line").write(people()).folder

    def request(address, command, **variables):
        arguments = [part.format(line=line) for part in COMMANDS[command]]
        (tmp_path / "home").mkdir(exist_ok=True)
        environ = {**os.environ, "HOME": str(tmp_path / "home")}
        environ |= {"SFUMATO_WORK": str(tmp_path / "work"), "PREFECT_API_URL": address, **variables}
        run = forks.start(arguments, environ, None)
        _, message = run.communicate(timeout=90)
        assert not (line / "public").exists()
        return run.returncode, message

    return request


@pytest.mark.parametrize("command", COMMANDS)
def test_no_server_listens(ask, command):
    place = f"127.0.0.1:{free_port()}/api"
    code, message = ask(f"http://me:CANARY@{place}", command)
    *_, reason, start, name, without = message.splitlines()
    assert code == 1
    assert reason == (
        f"sfumato: Prefect's server at http://{place} (PREFECT_API_URL) refuses connections: "
        "no server listens there"
    )
    assert start == "  - start a server: prefect server start"
    assert "export PREFECT_API_URL=http://" in name
    assert "unset PREFECT_API_URL" in without
    assert "CANARY" not in message


@pytest.mark.parametrize("status", STATUSES)
def test_a_server_that_is_closed_or_another(ask, status):
    with answering(status) as place:
        code, message = ask(f"http://me:CANARY@{place}", "release")
    assert code == 1
    assert f"Prefect's server at http://{place} (PREFECT_API_URL) {STATUSES[status]}" in message
    assert "CANARY" not in message


@pytest.mark.parametrize("command", ["deploy", "sweep"])
def test_a_page_is_no_answer(ask, command):
    with answering(200) as place:
        code, message = ask(f"http://{place}", command)
    assert (code, STATUSES[200] in message) == (1, True)


def test_a_login_that_does_not_fit(ask):
    with answering(401) as place:
        _, message = ask(f"http://{place}", "release", PREFECT_API_KEY="CANARY")
    assert "PREFECT_API_KEY is wrong" in message
    assert "CANARY" not in message


def test_a_server_that_says_nothing(ask):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        code, message = ask(f"http://127.0.0.1:{silent.getsockname()[1]}/api", "release")
    assert (code, "does not answer in time" in message) == (1, True)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("http://nobody.invalid:4200/api", "is not known: no machine has this name"),
        ("127.0.0.1:4200/api", "begins neither with http:// nor with https://"),
    ],
)
def test_an_address_that_is_none(ask, address, words):
    code, message = ask(address, "release")
    assert (code, words in message) == (1, True)


def answer(status, **headers):
    request = httpx.Request("GET", "http://127.0.0.1:4200/api/flow_runs/CANARY")
    response = httpx.Response(status, request=request, headers=headers)
    return httpx.HTTPStatusError("CANARY", request=request, response=response)


class TestAServerThatFailsInTheMidstOfARun:
    @pytest.mark.parametrize(
        ("error", "kind", "words"),
        [
            (httpx.ConnectError("[Errno 111] Connection refused"), TransientFault, "refuses"),
            (httpx.ReadError(""), TransientFault, "broke the connection off"),
            (httpx.ReadTimeout("CANARY"), TransientFault, "does not answer in time"),
            (answer(500), TransientFault, "failed (HTTP status 500)"),
            (answer(429), TransientFault, "failed (HTTP status 429)"),
            (answer(422, **{"content-type": "application/json"}), Fault, "refused the request"),
            (httpx.InvalidURL("CANARY"), TransientFault, "is not an address"),
            (RuntimeError("Found incompatible versions: CANARY"), Fault, "has another version"),
        ],
    )
    def test_what_is_said_of_it(self, monkeypatch, error, kind, words):
        monkeypatch.setenv("PREFECT_API_URL", "http://me:CANARY@127.0.0.1:4200/api")
        fault = explain(error)
        assert fault.kind is kind
        assert words in fault.reason
        assert "http://127.0.0.1:4200/api" in fault.reason
        assert "CANARY" not in str(fault.error("publish"))

    def test_the_one_that_a_command_started_is_named_by_its_home(self, monkeypatch, tmp_path):
        from prefect.settings import PREFECT_API_URL, temporary_settings

        monkeypatch.delenv("PREFECT_API_URL", raising=False)
        monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
        with temporary_settings({PREFECT_API_URL: None}):
            fault = explain(answer(500))
            lost = explain(
                RuntimeError(
                    "Timed out while attempting to connect to ephemeral Prefect API server"
                )
            )
        for words in (fault, lost):
            assert f"its database is in {tmp_path}" in words.reason
            assert "free on its disk" in str(words.error())

    def test_any_other_error_is_none_of_a_server(self):
        assert explain(RuntimeError("CANARY")) is None
