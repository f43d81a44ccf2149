"""Attacks on the server of the workbench: each is refused."""

import asyncio
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from sfumato.expectations.shared.errors import InputError
from sfumato.flows.workbench import jobs, start
from sfumato.flows.workbench.desk import ChangedOutsideError
from sfumato.flows.workbench.guard import Guard, Keys
from sfumato.flows.workbench.serve import open_workbench
from sfumato.flows.workbench.server import Activity, open_port, opening_file
from tests.workbench.conftest import Visitor


class TestTheDoor:
    def test_a_browser_with_the_token_gets_in(self, workbench):
        visitor = Visitor(workbench).enter()
        answer = visitor.get("/")
        assert answer.status_code == 200
        assert "patients.csv" in answer.text

    def test_a_token_is_used_once(self, workbench):
        visitor = Visitor(workbench)
        entrance = visitor.entrance()
        visitor.enter()
        assert visitor.client.get(entrance).status_code == 404
        assert visitor.client.get("/enter?token=").status_code == 404

    def test_a_wrong_token_does_not_use_up_the_right_one(self, workbench):
        visitor = Visitor(workbench)
        assert visitor.client.get("/enter?token=guess").status_code == 404
        assert visitor.client.get("/enter").status_code == 404
        assert visitor.client.post(visitor.entrance()).status_code in (403, 404)
        visitor.enter()

    def test_the_cookie_is_strict_and_for_a_secret_path(self, workbench):
        visitor = Visitor(workbench)
        header = visitor.client.get(visitor.entrance()).headers["set-cookie"]
        value, *attributes = [part.strip() for part in header.split(";")]
        assert set(attributes) == {f"Path={visitor.place}/", "HttpOnly", "SameSite=Strict"}
        assert len(visitor.place) == len(value.partition("=")[2]) + 1 == 44

    @pytest.mark.parametrize(
        "cookie", ["", "sfumato-workbench=guess", "a=b; sfumato-workbench", "\"'"]
    )
    def test_who_has_no_cookie_learns_nothing_of_the_path(self, visitor, cookie):
        headers = {"cookie": cookie}
        placed = visitor.client.get(f"{visitor.place}/", headers=headers)
        elsewhere = visitor.client.get("/guess/", headers=headers)
        assert (placed.status_code, placed.content) == (elsewhere.status_code, elsewhere.content)
        assert placed.status_code == 404

    def test_the_cookie_does_not_open_another_path(self, visitor):
        for path in ("/", "/guess/", f"{visitor.place}x/", "/../", f"/x{visitor.place}/"):
            answer = visitor.client.get(path, headers={"cookie": visitor.cookie})
            assert answer.status_code == 404, path

    @pytest.mark.parametrize(
        "order", [("own", "other"), ("other", "own"), ("other", "own", "other")]
    )
    def test_a_cookie_of_another_server_does_not_shut_the_steward_out(self, visitor, order):
        """Browsers send the cookies that any server of this machine has set for the path /."""
        cookies = {"own": visitor.cookie, "other": "sfumato-workbench=evil"}
        header = "; ".join(cookies[name] for name in order)
        answer = visitor.client.get(f"{visitor.place}/", headers={"cookie": header})
        assert answer.status_code == 200

    def test_a_huge_cookie_takes_no_time(self):
        """The library's parser took time by the square of the length for quoted backslashes."""
        started = time.process_time()
        assert not Keys().has_cookie('a="' + "\\012" * 500_000 + '"; ' * 1000)
        assert time.process_time() - started < 2

    def test_two_runs_have_other_secrets(self):
        first, second = Keys(), Keys()
        assert first.place != second.place
        assert not second.has_cookie(first.cookie.partition(";")[0])
        assert not second.use_token(first.entrance.partition("=")[2])


class TestRequestsFromElsewhere:
    @pytest.mark.parametrize(
        "host", ["evil.example", "localhost:{port}", "127.0.0.1", "[::1]:{port}"]
    )
    def test_a_name_that_points_here_is_refused(self, visitor, host):
        """DNS rebinding: the browser names the host that it believes to ask."""
        answer = visitor.get("/", host=host.format(port=visitor.port))
        assert answer.status_code == 403

    @pytest.mark.parametrize(
        "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://{own}"]
    )
    def test_a_form_of_another_page_is_refused(self, visitor, folder, origin):
        before = (folder / "patients.yaml").read_bytes()
        headers = {"origin": origin.format(own=visitor.own.removeprefix("http://"))}
        page = visitor.get("/columns/patients.yaml").text
        digest = re.search(r'name="digest" value="(\w+)"', page)[1]
        fields = {"action": "unit", "digest": digest, "unit": "row"}
        assert visitor.post("/columns/patients.yaml", fields, **headers).status_code == 403
        assert (folder / "patients.yaml").read_bytes() == before
        assert visitor.post("/columns/patients.yaml", fields).status_code == 303

    def test_a_form_without_origin_is_refused(self, visitor):
        headers = {"cookie": visitor.cookie}
        answer = visitor.client.post(f"{visitor.place}/draft", data={"a": "b"}, headers=headers)
        assert answer.status_code == 403

    def test_a_form_of_ours_whose_origin_is_withheld_is_taken(self, visitor):
        headers = {"origin": "null", "sec-fetch-site": "same-origin"}
        assert visitor.post("/draft", {"spec": "x"}, **headers).status_code == 422

    @pytest.mark.parametrize("site", ["cross-site", "same-site", "evil"])
    def test_a_link_of_another_page_is_refused(self, visitor, site):
        """A same-site page is one of another port of this machine."""
        assert visitor.get("/", **{"sec-fetch-site": site}).status_code == 403
        assert visitor.get("/", **{"sec-fetch-site": "none"}).status_code == 200

    def test_a_script_of_another_page_cannot_read(self, visitor):
        assert visitor.get("/", origin="http://evil.example").status_code == 403
        headers = visitor.get("/").headers
        assert "access-control-allow-origin" not in headers
        assert headers["cross-origin-resource-policy"] == "same-origin"

    def test_only_forms_are_taken(self, visitor):
        headers = {"cookie": visitor.cookie, "origin": visitor.own}
        for kind in ("application/json", "text/plain", "multipart/form-data; boundary=x"):
            answer = visitor.client.post(
                f"{visitor.place}/draft", content=b"x", headers={**headers, "content-type": kind}
            )
            assert answer.status_code == 422


class TestAnswers:
    @pytest.mark.parametrize(
        "path", ["/", "/columns/patients.yaml", "/missing/x", "/static/htmx.js"]
    )
    def test_nothing_is_stored_and_nothing_is_fetched_from_elsewhere(self, visitor, path):
        headers = visitor.get(path).headers
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert not re.search(r"https?:|\*", policy)
        assert "server" not in headers

    def test_the_entrance_is_not_stored_either(self, workbench):
        visitor = Visitor(workbench)
        headers = visitor.client.get(visitor.entrance()).headers
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"

    @pytest.mark.parametrize(
        "path",
        [
            "%2e%2e/secret.yaml",
            "..%2Fsecret.yaml",
            "hierarchies/%2e%2e/%2e%2e/secret.yaml",
            "%2Fetc%2Fpasswd",
            "out.yaml",
        ],
    )
    def test_no_path_leads_out_of_the_folder(self, visitor, folder, path):
        secret = folder.parent / "secret.yaml"
        secret.write_text("source: CANARY\ncolumns: CANARY\n", encoding="utf-8")
        (folder / "out.yaml").symlink_to(secret)
        for step in ("columns", "release"):
            answer = visitor.get(f"/{step}/{path}")
            assert answer.status_code in (404, 422)
            assert "CANARY" not in answer.text
        assert "CANARY" not in visitor.get(f"/table?file={path}").text
        assert "out.yaml" not in visitor.get("/").text

    def test_errors_of_others_are_not_quoted(self, visitor, monkeypatch):
        from sfumato.flows.workbench import start

        def fail(*_):
            raise RuntimeError("CANARY")

        monkeypatch.setattr(start, "home", fail)
        answer = visitor.get("/")
        assert answer.status_code == 422
        assert "CANARY" not in answer.text


class TestTwoTabsAndAnEditor:
    """Pages that are older than the spec decide nothing."""

    NAME = "patients.yaml"

    def test_an_older_page_does_not_undo_what_it_has_not_seen(self, visitor, folder):
        visitor.act("columns", self.NAME, "unit", unit="row")
        seen = visitor.digest("columns", self.NAME)
        visitor.act("lines", self.NAME, "rule", rule="composed")
        before = (folder / self.NAME).read_bytes()
        for digest in (seen, "", "guess"):
            answer = visitor.post(f"/undo/columns/{self.NAME}", {"digest": digest})
            assert answer.status_code == 409
        assert (folder / self.NAME).read_bytes() == before

    def test_a_spec_that_changed_outside_is_not_released_unseen(self, visitor, folder, monkeypatch):
        started = []
        monkeypatch.setattr(jobs.Jobs, "start", lambda *arguments, **_: started.append(arguments))
        seen = visitor.digest("release", self.NAME)
        path = folder / self.NAME
        path.write_text(path.read_text(encoding="utf-8").replace("k: 5", "k: 1"), encoding="utf-8")
        fields = {"action": "release", "digest": seen}
        answer = visitor.post(f"/release/{self.NAME}", fields)
        assert answer.status_code == 409
        assert "Nothing was started" in answer.text
        assert started == []

    def test_many_tabs_at_once_lose_no_change(self, visitor, workbench, folder):
        """Of changes that are made from the same state, one is written; each can be undone."""
        desk, path = workbench.bench.desk, folder / self.NAME
        first = path.read_text(encoding="utf-8")
        digest, outcomes = desk.open(self.NAME).digest, []

        def change(number):
            try:
                desk.change(self.NAME, digest, {path: f"{first}# {number}\n"}, str(number))
                outcomes.append(number)
            except ChangedOutsideError:
                pass

        tabs = [Thread(target=change, args=(number,)) for number in range(8)]
        for tab in tabs:
            tab.start()
        for tab in tabs:
            tab.join()
        (number,) = outcomes
        assert path.read_text(encoding="utf-8") == f"{first}# {number}\n"
        assert desk.undo(self.NAME, desk.open(self.NAME).digest) == str(number)
        assert path.read_text(encoding="utf-8") == first


class TestFilesOfOthers:
    def test_a_link_that_appears_after_the_page_leads_nowhere(self, visitor, folder):
        """A file of the folder becomes a link to a secret between two requests."""
        secret = folder.parent / "secret.csv"
        secret.write_text("CANARY,x\n1,2\n", encoding="utf-8")
        (folder / "june.csv").write_text("a,b\n1,2\n", encoding="utf-8")
        assert visitor.get("/table?file=june.csv").status_code == 200
        (folder / "june.csv").unlink()
        (folder / "june.csv").symlink_to(secret)
        assert "CANARY" not in visitor.get("/table?file=june.csv").text
        (folder / "patients.yaml").unlink()
        (folder / "patients.yaml").symlink_to(secret)
        assert "CANARY" not in visitor.get("/columns/patients.yaml").text

    def test_a_hierarchy_that_became_a_link_is_not_written_through(self, visitor, folder):
        secret = folder.parent / "secret.csv"
        secret.write_text("secret\n", encoding="utf-8")
        towns = folder / "hierarchies" / "town.csv"
        towns.unlink()
        towns.symlink_to(secret)
        text = "Breda,s,*\nDelft,w,*\nGouda,w,*\nLeiden,w,*\nUtrecht,m,*\n"
        visitor.act("hierarchies", "patients.yaml", "text", column="town", text=text)
        assert secret.read_text(encoding="utf-8") == "secret\n"

    def test_a_bomb_of_aliases_is_refused_at_once(self, visitor, folder):
        levels = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
        text = f"a0: &a0 [x, x]\n{levels}source: *a11\ncolumns: *a11\n"
        (folder / "bomb.yaml").write_text(text, encoding="utf-8")
        deep = "[" * 100_000
        started = time.monotonic()
        assert "bomb.yaml" not in visitor.get("/").text
        assert visitor.get("/columns/bomb.yaml").status_code == 422
        answer = visitor.act("columns", "patients.yaml", "keys", column="age", keys=deep)
        assert answer.status_code == 422
        assert visitor.act("release", "patients.yaml", "text", text=deep).status_code == 422
        assert time.monotonic() - started < 30

    def test_a_form_with_very_many_fields_is_refused(self, visitor):
        answer = visitor.post("/draft", {"a": ["b"] * 60_000})
        assert answer.status_code == 422
        assert "too many fields" in answer.text

    def test_an_upload_that_breaks_off_leaves_no_table(self, workbench, monkeypatch):
        async def pieces(ends):
            yield b"a,b\n1,2\n"
            if ends is not None:
                raise ends
            yield b"3,4\n"

        bench = workbench.bench
        with pytest.raises(ConnectionError):
            asyncio.run(start.receive(bench, "june.csv", pieces(ConnectionError())))
        assert start.dropped_files(bench) == []
        monkeypatch.setattr(start, "_LARGEST", 10)
        with pytest.raises(InputError, match="too large"):
            asyncio.run(start.receive(bench, "june.csv", pieces(None)))
        assert start.dropped_files(bench) == []

    def test_what_a_killed_upload_left_is_no_table(self, workbench, visitor, folder):
        place = workbench.bench.desk.private / "dropped"
        visitor.get("/")
        (place / "june.csv.part").write_text("a,b\n1,", encoding="utf-8")
        fields = {"name": "june.csv.part", "target": "june.csv"}
        answer = visitor.post("/place", fields)
        assert answer.status_code == 422
        assert "not copied completely" in answer.text
        assert not (folder / "june.csv").exists()
        assert visitor.post("/place", {**fields, "remove": "yes"}).status_code == 303
        assert start.dropped_files(workbench.bench) == []

    def test_a_slow_upload_keeps_no_one_waiting(self, workbench):
        visitor = Visitor(workbench).enter()
        head = (
            f"PUT {visitor.place}/dropped/june.csv HTTP/1.1\r\nHost: 127.0.0.1:{visitor.port}\r\n"
        )
        head += f"Origin: {visitor.own}\r\nCookie: {visitor.cookie}\r\nContent-Length: 99\r\n\r\n"
        with serving(workbench):
            slow = socket.create_connection(("127.0.0.1", visitor.port))
            slow.sendall(f"{head}a,b".encode())
            connection = HTTPConnection("127.0.0.1", visitor.port, timeout=10)
            connection.request("GET", f"{visitor.place}/", headers={"cookie": visitor.cookie})
            assert connection.getresponse().status == 200
            connection.close()
            slow.close()


class TestOnARealSocket:
    def test_a_port_is_on_this_machine_and_not_shared(self):
        with open_port() as listener:
            host, port = listener.getsockname()
            assert host == "127.0.0.1"
            with socket.socket() as other:
                other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                with pytest.raises(OSError, match="in use"):
                    other.bind((host, port))

    def test_the_opening_file_is_private_and_goes(self, tmp_path):
        keys = Keys()
        with opening_file(tmp_path, keys, 8801) as path:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert keys.entrance in path.read_text(encoding="utf-8")
        assert not path.exists()

    def test_another_server_of_this_machine_gets_no_cookie(self, workbench):
        """Cookies do not know ports: only the secret path keeps this one back."""
        from http.cookiejar import CookieJar, DefaultCookiePolicy
        from urllib.request import HTTPCookieProcessor, build_opener

        received = []

        class Waiting(BaseHTTPRequestHandler):
            def do_GET(self):
                received.append(self.headers.get("cookie"))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        jar = CookieJar(DefaultCookiePolicy(strict_domain=False))
        opener = build_opener(HTTPCookieProcessor(jar))
        visitor = Visitor(workbench)
        with serving(workbench), HTTPServer(("127.0.0.1", 0), Waiting) as other:
            Thread(target=other.serve_forever, daemon=True).start()
            opener.open(f"{visitor.own}{visitor.entrance()}").close()
            assert opener.open(f"{visitor.own}{visitor.place}/").status == 200
            for path in ("/", "/enter", "/columns/patients.yaml"):
                opener.open(f"http://127.0.0.1:{other.server_port}{path}").close()
            other.shutdown()
        assert received == [None, None, None]

    def test_nothing_is_logged(self, workbench, capfd):
        visitor = Visitor(workbench)
        with serving(workbench):
            connection = HTTPConnection("127.0.0.1", visitor.port)
            for path in (visitor.entrance(), "/guess", f"{visitor.place}/"):
                connection.request("GET", path)
                connection.getresponse().read()
            connection.close()
            with socket.create_connection(("127.0.0.1", visitor.port)) as raw:
                raw.sendall(b"NONSENSE\r\n\r\n")
                raw.recv(100)
        assert capfd.readouterr() == ("", "")


@contextmanager
def serving(workbench):
    """Serve in a thread until the block ends."""
    thread = Thread(target=workbench.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 10
    while not workbench.server._server.started and time.monotonic() < deadline:
        time.sleep(0.02)
    yield
    workbench.server.stop()
    thread.join(10)
    assert not thread.is_alive()


class TestTheEnd:
    def test_a_server_that_works_is_not_idle(self, monkeypatch):
        moment, busy = [100.0], [True]
        monkeypatch.setattr(time, "monotonic", lambda: moment[0])
        activity = Activity(None, lambda: busy[0])
        moment[0] += 5000
        assert activity.idle_seconds() == 0
        busy[0] = False
        moment[0] += 3601
        assert activity.idle_seconds() == 3601

    def test_an_idle_server_ends(self, workbench):
        started = time.monotonic()
        workbench.run(idle_seconds=0.1)
        assert time.monotonic() - started < 10

    def test_it_ends_with_its_terminal_and_leaves_no_way_in(self, folder, tmp_path):
        code = "from sfumato.flows.cli.main import main; main()"
        command = [sys.executable, "-c", code, "workbench", str(folder), "--json"]
        environ = {**os.environ, "SFUMATO_WORK": str(tmp_path / "work")}
        running = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ, text=True
        )
        opening = Path(re.search(r'"open": "([^"]+)"', running.stdout.readline())[1])
        arguments = Path(f"/proc/{running.pid}/cmdline").read_text(encoding="utf-8")
        token = re.search(r"token=([\w-]+)", opening.read_text(encoding="utf-8"))[1]
        assert token not in arguments
        time.sleep(0.5)
        running.send_signal(signal.SIGHUP)
        out, err = running.communicate(timeout=20)
        assert running.returncode == 0
        assert not opening.exists()
        assert token not in out + err


def test_what_is_no_place_is_refused(tmp_path):
    with (
        pytest.raises(InputError, match="neither a file nor a directory"),
        open_workbench(tmp_path / "nothing", {"SFUMATO_WORK": str(tmp_path / "work")}),
    ):
        pass


def test_nothing_but_http_is_spoken():
    calls = []

    async def note(*arguments):
        calls.append(arguments)

    asyncio.run(Guard(note, Keys(), 1)({"type": "websocket", "path": "/"}, note, note))
    assert calls == []  # neither the application nor the browser hears of it
