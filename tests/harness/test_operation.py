"""A server, a worker and four lines: what is scheduled, started, refused, cancelled and killed."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import ClassVar

import httpx
import pytest
from prefect.blocks.notifications import CustomWebhookNotificationBlock
from prefect.settings import PREFECT_API_URL, temporary_settings

from sfumato.tasks.outcomes import identify
from sfumato.tasks.publication.check import check
from sfumato.tasks.verification.signing_keys import PASSPHRASE
from tests.harness.lines import list_versions, write_line, write_lines
from tests.harness.machine import Machine, wait_for
from tests.harness.pictures import picture_folder, take_pictures

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("default"),
    pytest.mark.timeout(900),
]
EVERY_MINUTE, EVERY_YEAR = {"cron": "* * * * *"}, {"cron": "0 0 1 1 *"}
HARD = [{"model": "ke-anonymity", "k": 3, "e": 100_000}]
CANARIES = ("IDENT-", "NOTE-", "Cé, the long")
LINES = {
    "timed": {"schedule": EVERY_MINUTE},
    "manual": {},
    "hard": {"promises": HARD, "notifications": {"block": "custom-webhook/on-call"}},
    "lost": {"notifications": {"block": "custom-webhook/on-call", "on": ["crashed"]}},
    "stopped": {},
    "kept": {},
    "reviewed": {"approval": {"reviewers": 2}},
}


class Receiver(BaseHTTPRequestHandler):
    """Notes what a notification block says."""

    said: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        self.said.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def receiver():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def save_block(machine, address):
    """Save a notification block, as `prefect block create` or the server's pages do."""
    message = {"said": "{{subject}}: {{body}}"}
    block = CustomWebhookNotificationBlock(name="on-call", url=address, json_data=message)
    with temporary_settings({PREFECT_API_URL: machine.api}):
        block.save("on-call")


@pytest.fixture(scope="module")
def machine(forks, tmp_path_factory):
    made = Machine(tmp_path_factory.mktemp("machine"), forks)
    write_lines(made, LINES)
    made.start()
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def first_runs(machine, receiver):
    """Runs, and states in which they ended, by what they were about; what a refusal's log said.

    One whose process and worker are gone goes on until it is known that nobody hears of it.
    """
    missing = machine.sfumato("deploy", "hard")
    assert missing.returncode == 2
    assert "the server has no block custom-webhook/on-call" in missing.stderr
    save_block(machine, receiver)
    deployed = machine.sfumato("deploy", *(line for line in LINES if line != "timed"))
    assert deployed.returncode == 0, deployed.stderr
    machine.start_worker()
    runs, ended = {}, {}

    runs["lost"] = begin(machine, "lost")
    machine.kill(worker=True)
    machine.start_worker()
    runs["killed"] = begin(machine, "manual")
    machine.kill(worker=False)
    ended["killed"] = machine.wait(runs["killed"], "Crashed")
    timed = machine.sfumato("deploy", "timed")
    assert timed.stderr.splitlines() == ["release/timed: * * * * * UTC"]
    runs["stopped"] = begin(machine, "stopped")
    cancel = {"state": {"type": "CANCELLING"}, "force": True}
    machine.post(f"flow_runs/{runs['stopped']}/set_state", cancel)
    ended["stopped"] = machine.wait(runs["stopped"], "Cancelled", "Crashed")
    before = len(machine.log("worker"))
    runs["refused"] = begin(machine, "hard")
    ended["refused"] = machine.wait(runs["refused"], "Refused", "Crashed")
    said_of_refusal = machine.log("worker")[before:]
    wait_for(lambda: ended_well(machine), "a scheduled run that ended well")
    write_line(machine, "timed", {"schedule": EVERY_YEAR})  # a slow machine would do nothing else
    assert machine.sfumato("deploy", "timed").stderr == "release/timed: 0 0 1 1 * UTC\n"
    runs |= {name: machine.run("manual") for name in ("first", "second")}
    runs["pending"] = machine.run("reviewed")
    for name in ("first", "second"):
        ended[name] = machine.wait(runs[name], "Published", "Stands", "Crashed")
    return runs, ended, said_of_refusal


@pytest.fixture(scope="module")
def reviewed_runs(machine, first_runs):
    """Runs of a line that has to be approved, their ends, and the digest of its candidate."""
    runs = {"pending": first_runs[0]["pending"]}
    ended = {"pending": machine.wait(runs["pending"], "Pending approval", "Crashed")}
    (candidate,) = json.loads(machine.sfumato("review", "list", "--json").stdout)["candidates"]
    machine.start_worker("publisher", "sfumato-publication")

    def publish(name, *signatures):
        parameters = {"digest": candidate["digest"], "signatures": signatures}
        runs[name] = machine.run("reviewed", parameters, "publish")
        ended[name] = machine.wait(runs[name], "Published", "Refused", "Crashed")

    publish("early")
    signatures = [approve(machine, name, candidate["place"]) for name in ("ann", "ben")]
    publish("published", *signatures)
    return runs, ended, candidate["digest"]


@pytest.fixture(scope="module")
def ran(machine, first_runs, reviewed_runs):
    """The same once all have ended, and a server that was started again in the middle of one."""
    runs, ended, said_of_refusal = first_runs
    ended["lost"] = machine.wait(runs["lost"], "Crashed")
    runs["found"] = machine.run("lost")
    ended["found"] = machine.wait(runs["found"], "Published")
    runs["outlasting"] = begin(machine, "kept")
    machine.stop("server")
    machine.start()
    ended["outlasting"] = machine.wait(runs["outlasting"], "Published", "Crashed")
    return runs, ended, said_of_refusal


def begin(machine, line):
    """Start a run of a line by hand, and wait until it has begun."""
    begun = f"Beginning flow run '{line} "
    before = machine.log("worker").count(begun)
    run = machine.run(line)
    wait_for(lambda: machine.log("worker").count(begun) > before or None, line)
    return run


def ended_well(machine):
    """Names of states of scheduled runs that released what was due, if there are any."""
    runs = machine.post("flow_runs/filter", {"limit": 200})
    states = {run["state"]["name"] for run in runs if run["auto_scheduled"]}
    return states & {"Published", "Stands"} or None


def approve(machine, name, place):
    """Have a reviewer, who has a work directory of their own, approve a candidate."""
    own = {"SFUMATO_WORK": str(machine.folder / name), PASSPHRASE: "correct horse"}
    assert machine.sfumato("keys", "generate", name, **own).returncode == 0
    key = machine.folder / f"{name}.json"
    key.write_text(machine.sfumato("keys", "export", name, **own).stdout, encoding="utf-8")
    assert machine.sfumato("review", "trust", str(key), "--line", "reviewed").returncode == 0
    options = ("--key", name, "--reason", "as agreed")
    done = machine.sfumato("review", "approve", place, *options, **own)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def names(ended):
    return {name: state[1] for name, state in ended.items()}


def test_runs_end_as_they_should(ran):
    _, ended, _ = ran
    both = {ended.pop("first")[1], ended.pop("second")[1]}
    assert both == {"Published", "Stands"}
    assert names(ended) == {
        "lost": "Crashed",
        "killed": "Crashed",
        "stopped": "Cancelled",
        "refused": "Refused",
        "outlasting": "Published",
        "found": "Published",
    }
    assert ended["lost"][2].startswith("no sign of life for 90 s")


def test_what_was_not_killed_is_published_once(machine, ran):
    for line in ("manual", "lost", "kept"):
        (version,) = list_versions(machine, line)
        assert check(version).verdicts
    assert list_versions(machine, "hard") == list_versions(machine, "stopped") == []


def test_a_state_says_which_version_there_is(machine, ran):
    _, ended, _ = ran
    (version,) = list_versions(machine, "lost")
    assert ended["found"][0] == "COMPLETED"
    assert ended["found"][2].startswith(f"version {version.name}, digest ")


def test_a_refusal_is_one_line_without_a_traceback(machine, ran):
    _, ended, worker_log = ran
    type_, _, message = ended["refused"]
    assert type_ == "FAILED"
    assert message.startswith("ke-anonymity cannot be kept: required k=3, e=100000")
    assert 'Finished in state Refused("ke-anonymity cannot be kept' in worker_log
    assert "Traceback" not in worker_log
    assert "NoneType: None" not in worker_log


def test_a_scheduled_run_comes_due(machine, ran):
    assert len(list_versions(machine, "timed")) == 1
    assert ended_well(machine)


def test_runs_of_an_earlier_schedule_are_no_longer_due(machine, ran):
    runs = machine.post("flow_runs/filter", {"limit": 200})
    due = {run["expected_start_time"][4:16] for run in runs if run["state"]["name"] == "Scheduled"}
    assert due <= {"-01-01T00:00"}


def test_runs_are_named_by_line_and_month(machine, ran):
    runs, *_ = ran
    run_found = machine.get(f"flow_runs/{runs['found']}")
    assert run_found["name"].startswith("lost 20")
    assert {"line:lost", "form:permuted", "release"} <= set(run_found["tags"])


@pytest.mark.parametrize(
    "parameters",
    [
        {"spec": "other.yaml"},
        {"spec": "../elsewhere/wages.yaml"},
        {"overrides": {"source": {"sha256": "0" * 64}}},
        {"overrides": {"source": {"where": "age > 30"}}},
        {"overrides": {"source.where": "age > 30"}},
        {"overrides": {"approval": "none"}},
        {"overrides": {"as_of": "yesterday"}},
        {"overrides": {"promises": []}},
        {"more": 1},
    ],
    ids=str,
)
def test_wrong_parameters_are_refused_before_a_run_exists(machine, ran, parameters):
    def number():
        return machine.post("flow_runs/count")

    before = number()
    with pytest.raises(httpx.HTTPStatusError, match=r"409|422"):
        machine.run("hard", parameters)
    assert number() <= before + 1  # a scheduled run may have come in between
    parameters_of_runs = [
        run["parameters"] for run in machine.post("flow_runs/filter", {"limit": 200})
    ]
    assert not [
        parameters_of_run
        for parameters_of_run in parameters_of_runs
        if parameters_of_run | parameters == parameters_of_run
    ]


def test_a_candidate_is_published_once_its_reviewers_approve(machine, reviewed_runs):
    _, ended, digest = reviewed_runs
    assert ended["pending"][0] == "COMPLETED"
    assert ended["pending"][2].startswith(f"digest {digest}, 2 to approve it until ")
    assert ended["early"][1] == "Refused"
    assert ended["early"][2].startswith("approval: 0 of 2 reviewers approve candidate ")
    assert ended["published"][1] == "Published"
    (version,) = list_versions(machine, "reviewed")
    assert identify(version)["digest"] == digest
    assert check(version).verdicts
    pending = wait_for(lambda: machine.events("sfumato.release.pending") or None, "the event")
    assert pending[0]["payload"]["digest"] == digest


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"digest": "1234"},
        {"digest": "0" * 64, "signatures": ["not a signature"]},
        {"digest": "0" * 64, "spec": "other.yaml"},
        {"digest": "0" * 64, "passphrase": "correct horse"},
    ],
    ids=str,
)
def test_wrong_forms_of_approval_are_refused_before_a_run_exists(
    machine, reviewed_runs, parameters
):
    with pytest.raises(httpx.HTTPStatusError, match=r"409|422"):
        machine.run("reviewed", parameters, "publish")


def test_what_happened_is_an_event(machine, ran):
    def lines(kind):
        events = machine.events(f"sfumato.release.{kind}")
        return {event["resource"]["prefect.resource.id"]: event["payload"] for event in events}

    published = wait_for(
        lambda: events if len(events := lines("published")) >= 2 else None, "events"
    )
    digest = identify(list_versions(machine, "lost")[0])["digest"]
    assert published["sfumato.line.lost"] == {"version": "0001", "digest": digest}
    assert lines("refused")["sfumato.line.hard"]["reason"].startswith("ke-anonymity")


def test_the_machine_is_well(machine, ran):
    done = machine.sfumato("health", "--json")
    checks = {check["about"]: check for check in json.loads(done.stdout)["checks"]}
    assert {"server", "worker", "late runs", "runs going", "watch", "line kept"} <= set(checks)
    for about in ("server", "worker", "watch", "line kept", "line timed"):
        assert checks[about]["well"], checks[about]


def test_a_withdrawal_is_an_event(machine, ran):
    (version,) = list_versions(machine, "kept")
    digest = identify(version)["digest"]
    done = machine.sfumato("withdraw", str(version), "--yes", "--reason", "a wrong column")
    assert done.returncode == 0, done.stderr
    (event,) = wait_for(lambda: machine.events("sfumato.release.withdrawn") or None, "the event")
    assert event["resource"]["prefect.resource.id"] == "sfumato.line.kept"
    assert event["payload"] == {"version": "0001", "digest": digest, "reason": "a wrong column"}


def test_who_is_to_be_told_is_told(machine, ran):
    def message_about(subject):
        return wait_for(lambda: next((s for s in Receiver.said if subject in s), None), subject)

    assert "ke-anonymity cannot be kept: required k=3, e=100000" in message_about("hard: refused")
    assert "lost 20" in message_about("lost: crashed")


def test_who_is_no_longer_to_be_told_is_not(machine, ran):
    def watches():
        automations = {automation["name"] for automation in machine.post("automations/filter")}
        return {name for name in automations if name.startswith("sfumato: stopped ")}

    spec = machine.specs / "stopped" / "wages.yaml"
    before = spec.read_text(encoding="utf-8")
    spec.write_text(f"{before}notifications: {{block: custom-webhook/on-call}}\n", encoding="utf-8")
    assert machine.sfumato("deploy", "stopped").returncode == 0
    assert "sfumato: stopped refused" in watches()
    spec.write_text(before, encoding="utf-8")
    assert machine.sfumato("deploy", "stopped").returncode == 0
    assert watches() == set()


def test_promises_come_first_in_their_table(machine, ran):
    artifacts = machine.post("artifacts/filter", {"limit": 200})
    (data,) = [a["data"] for a in artifacts if a["key"] == "lost-promises"]
    first = json.loads(data)[0]
    assert list(first)[:4] == ["expectation", "required", "observed", "holds"]
    assert (first["expectation"], first["required"]) == ("expect_ke_anonymity", "e 10.5, k 3")


def test_no_stage_outlives_its_run(machine, ran):
    """The next run of the line, or any command, sweeps what a killed one left."""

    def swept():
        assert machine.sfumato("sweep").returncode == 0
        leftovers = list((machine.folder / "work").glob("*/runs/*/*"))
        return None if leftovers else True  # the line of every minute may have a run going

    wait_for(swept, "no stage")


def test_nothing_about_people_is_in_the_servers_database_or_logs(machine, ran):
    home = machine.folder / "home"
    paths = [path for path in home.rglob("*") if path.is_file()]
    assert any(path.name == "prefect.db" for path in paths)
    paths += [machine.folder / "worker.log", machine.folder / "server.log"]
    canaries_found = [(p, c) for p in paths for c in CANARIES if c.encode() in p.read_bytes()]
    assert canaries_found == []


def test_pages_of_the_server_can_be_looked_at(machine, ran, reviewed_runs, tmp_path):
    runs, *_ = ran
    waited, *_ = reviewed_runs
    with machine.client() as client:
        form = client.read_deployment_by_name("publish/reviewed").id
    artifacts = machine.post("artifacts/filter", {"limit": 200})
    (promises,) = [a["id"] for a in artifacts if a["key"] == "lost-promises"]
    folder = picture_folder(tmp_path)
    pages = {
        "dashboard": ("/dashboard", "Flow Runs"),
        "published": (f"/runs/flow-run/{runs['found']}", "Published"),
        "refused": (f"/runs/flow-run/{runs['refused']}", "Refused"),
        "pending": (f"/runs/flow-run/{waited['pending']}", "Pending approval"),
        "approval": (f"/deployments/deployment/{form}/run", "of the candidate"),
        "promises": (f"/artifacts/artifact/{promises}", "expect_ke_anonymity"),
    }
    take_pictures(machine, pages, folder)
    assert {path.stem for path in folder.glob("*.png")} >= set(pages)
