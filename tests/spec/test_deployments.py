"""Deployments are made from specs, and from nothing else."""

from pathlib import Path

import httpx
import pytest
import yaml

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.cli.main import run
from sfumato.flows.operation.automations import zombie_automation
from sfumato.flows.operation.deployments import document, prefect_yaml, read_lines
from sfumato.tasks.outcomes import FAULTED, PUBLISHED, REFUSED, STANDS
from tests.fork_server import ROOT
from tests.release.small import Small, people

SHIPPED = ROOT / "deployments"


@pytest.fixture
def lines(tmp_path):
    """Writes specs, and returns their directory."""

    def write(**changes):
        for name, change in changes.items():
            Small(tmp_path / name).write(people(), **{"name": name, **change})
        return tmp_path

    return write


def test_what_is_committed_is_what_the_specs_say():
    written = (SHIPPED / "prefect.yaml").read_text(encoding="utf-8")
    assert written == prefect_yaml(read_lines([SHIPPED / "releases"], ROOT))


def test_a_deployment_says_what_its_spec_says(lines):
    root = lines(one={"schedule": {"cron": "0 3 1 * *", "timezone": "Europe/Paris"}}, two={})
    first, second = document(read_lines([root / "two", root / "one"], root))["deployments"]
    assert (first["name"], second["name"]) == ("one", "two")
    assert first["parameters"] == {"spec": "one/wages.yaml"}
    assert first["tags"] == ["release", "line:one", "form:permuted"]
    assert first["schedules"] == [{"cron": "0 3 1 * *", "timezone": "Europe/Paris", "active": True}]
    assert second["schedules"] == []


def test_operation_does_not_identify_a_version(lines):
    """Whoever reschedules a line, or moves its pages, has no new version of it."""
    changes = {
        "schedule": {"cron": "0 3 1 * *"},
        "notifications": {"block": "slack-webhook/on-call"},
        "publish": {"uri": "public", "page-url": "https://data.example/releases"},
    }
    root = lines(plain={}, moved={"name": "plain", **changes})
    plain, moved = (read_lines([root / name], root)[0] for name in ("plain", "moved"))
    terms = [line.spec.terms(root / line.path.parent) for line in (plain, moved)]
    assert terms[0].digest() == terms[1].digest()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schedule": {"cron": "daily"}}, "schedule.cron"),
        ({"schedule": {"cron": "0 3 * * 1", "timezone": "Mars/Olympus"}}, "schedule.timezone"),
        ({"notifications": {"block": "on-call"}}, "notifications.block"),
        (
            {"notifications": {"block": "slack-webhook/on-call", "on": ["lunch"]}},
            "notifications.on.0",
        ),
        ({"publish": {"uri": "public", "page-url": "ftp://there"}}, "publish.page-url"),
        ({"publish": {"uri": "public", "page-url": "https://a/b?c=d"}}, "publish.page-url"),
    ],
    ids=str,
)
def test_wrong_operation_is_refused(lines, change, message):
    root = lines(one=change)
    with pytest.raises(SpecError, match=message):
        read_lines([root / "one"], root)


def test_keys_are_texts_as_they_are_written(lines):
    """YAML takes a bare `on` for true, and nobody writes it in quotes."""
    root = lines(one={})
    spec = root / "one" / "wages.yaml"
    notifications = "notifications: {block: slack-webhook/on-call, on: [refused, late]}\n"
    spec.write_text(spec.read_text(encoding="utf-8") + notifications, encoding="utf-8")
    (line,) = read_lines([spec], root)
    assert line.spec.notifications.on == ("refused", "late")


def test_specs_of_the_same_line_are_refused(lines):
    root = lines(one={}, two={"name": "one"})
    with pytest.raises(
        SpecError, match=(r"two/wages\.yaml: name: one is also the line of one/wages")
    ):
        read_lines([root / "one", root / "two"], root)


def test_the_same_spec_twice_is_one_deployment(lines):
    root = lines(one={})
    assert len(read_lines([root / "one", root / "one" / "wages.yaml"], root)) == 1


def test_specs_elsewhere_are_refused(lines, tmp_path_factory):
    root = lines(one={})
    with pytest.raises(SpecError, match="is not below"):
        read_lines([root / "one"], tmp_path_factory.mktemp("root"))


def test_a_login_in_the_address_is_said_to_nobody(lines, monkeypatch, capsys):
    def refuse_connection(*_):
        raise httpx.ConnectError("none")

    root = str(lines(one={}) / "one")
    monkeypatch.setenv("PREFECT_API_URL", "http://me:CANARY@127.0.0.1:1/api")
    monkeypatch.setattr("sfumato.flows.operation.register.register", refuse_connection)
    monkeypatch.setattr("sfumato.flows.operation.servers.require_server", lambda: None)
    assert run(["deploy", root, "--root", root]) == 1
    error = capsys.readouterr().err
    server = "Prefect's server at http://127.0.0.1:1/api (PREFECT_API_URL) "
    assert error.startswith(f"sfumato: {server}")
    assert "CANARY" not in error


@pytest.mark.parametrize(("status", "failures", "code"), [(500, 2, 0), (500, 3, 1), (404, 1, 1)])
def test_a_busy_server_is_asked_again(lines, monkeypatch, capsys, status, failures, code):
    calls = []

    def register(*_):
        calls.append(status)
        if len(calls) <= failures:
            request = httpx.Request("POST", "http://127.0.0.1:1/api/automations/")
            response = httpx.Response(status, request=request)
            raise httpx.HTTPStatusError("none", request=request, response=response)

    root = str(lines(one={}) / "one")
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:1/api")
    monkeypatch.setattr("sfumato.flows.operation.register.register", register)
    monkeypatch.setattr("sfumato.flows.operation.servers.require_server", lambda: None)
    monkeypatch.setattr("sfumato.flows.cli.steward.deploy.sleep", lambda _: None)
    assert run(["deploy", root, "--root", root]) == code
    assert len(calls) == min(failures + 1, 3) if status == 500 else 1
    words = f"failed (HTTP status {status})" if status == 500 else "not as Prefect's API does"
    assert (words in capsys.readouterr().err) == (code == 1)


def test_the_command_writes_a_file(lines, tmp_path):
    root = lines(one={})
    file = tmp_path / "prefect.yaml"
    assert run(["deploy", str(root / "one"), "--root", str(root), "--file", str(file)]) == 0
    written = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert [deployment["name"] for deployment in written["deployments"]] == ["one"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["deploy", "nowhere"], "nowhere: "),
        (["deploy", "."], "has no spec (*.yaml)"),
        (["deploy", "one"], "PREFECT_API_URL: is not set"),
        (["deploy", "one", "--file", "no/such/place"], "no/such/place: cannot be written"),
    ],
)
def test_the_command_says_what_is_wrong(lines, arguments, message, monkeypatch, capsys):
    monkeypatch.chdir(lines(one={}))
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    assert run(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_the_page_is_linked_where_it_is_served(small):
    small.write(people(), publish={"uri": "public", "page-url": "https://data.example/releases/"})
    version = Path("public/wages/0001")
    assert small.plan().page_of(version) == ("https://data.example/releases/wages/0001/index.html")


def test_the_watch_knows_every_state_in_which_a_run_ends():
    """Prefect names events after states: one it does not wait for would end a run that ended."""
    expected = zombie_automation().trigger.expect
    ends = ("Completed", "Failed", "Cancelled", "Crashed", PUBLISHED, STANDS, REFUSED, FAULTED)
    assert {f"prefect.flow-run.{name}" for name in ends} <= expected


def test_the_watch_begins_before_the_first_heartbeat():
    after = zombie_automation().trigger.after
    assert {"prefect.flow-run.Pending", "prefect.flow-run.Running"} <= after
