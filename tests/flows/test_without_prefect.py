"""Runs without Prefect do what runs under it do: the same files, messages, refusals and retries."""

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from importlib import import_module
from types import SimpleNamespace

import pytest

from sfumato.expectations.machine import prefect_in_use
from sfumato.expectations.machine.prefect_in_use import in_prefect_run, named_server
from sfumato.expectations.shared.errors import Fault, InputError, SfumatoError, TransientFault
from sfumato.flows.cli.runs import run_here
from sfumato.flows.inputs.server_in_use import known_server, note_server, server_in_use
from sfumato.flows.life.withdrawal import plan_withdrawal
from sfumato.flows.runs.records import (
    KEPT,
    RecordedStage,
    RunRecord,
    begin_record,
    keep_record,
    read_runs,
)
from sfumato.flows.runs.releasing import RELEASE
from sfumato.flows.runs.without_prefect import run_without_prefect
from sfumato.tasks.outcomes import RunOutcome
from sfumato.tasks.policy import private_task
from sfumato.tasks.private.failure import caught_failures, listening
from sfumato.tasks.private.scratch import start_of_process
from tests.fork_server import ROOT
from tests.prefect_server import free_port
from tests.release.small import SPEC, Small, people

pytestmark = pytest.mark.filterwarnings("default")
PROGRAM = "from sfumato.flows.cli.main import main; main()"
STAGES = ["ingest", "deidentify", "verify", "find_candidate", "anonymize", "validate", "attack"]
STAGES += ["publish", "evaluate"]
LINES = {
    "a line in the exact form": {},
    "labels": {
        "columns": {
            **SPEC["columns"],
            "age": {"role": "quasi-identifier", "type": "integer", "hierarchy": {"intervals": [5]}},
            "town": {"role": "quasi-identifier", "nulls": "drop-row"},
        },
        "form": {"method": "generalized"},
        "partition": {"method": "mondrian"},
        "promises": [{"model": "k-anonymity", "k": 3}],
    },
    "a candidate that waits": {"approval": {"reviewers": 1}},
    "a promise that cannot be kept": {"promises": [{"model": "ke-anonymity", "k": 3, "e": 9000}]},
    "no source": {"source": {"uri": "nowhere.csv"}},
    "a workload that cannot be asked": {
        "evaluate": {
            "workloads": [
                {"kind": "arbitrary", "aggregate": "sum", "selected": [4000], "queries": 5}
            ]
        }
    },
}


def run_plainly(spec):
    return run_without_prefect(RELEASE, str(spec))


def run_under_prefect(spec):
    from prefect.exceptions import FailedRun

    from sfumato.flows.release import release

    with caught_failures() as failures:
        try:
            return release(str(spec))
        except FailedRun:
            raise failures[-1] from None


def heard_in(run, small, runs=1):
    """The events of a run, its results or refusals, and the files that it left."""
    heard, ends = [], []
    with listening(lambda text, event, counts: heard.append((text, event, dict(counts)))):
        for _ in range(runs):
            try:
                ends.append(os.path.relpath(run(small.spec), small.folder))
            except SfumatoError as error:
                ends.append((type(error).__name__, str(error).replace(str(small.folder), "HERE")))
    folder = small.folder
    files = sorted(
        without_drawn(f"{path.relative_to(folder)} {path.stat().st_mode:o}")
        for path in folder.rglob("*")
        if ".runs" not in path.parts
    )
    return [(without_drawn(text), *rest) for text, *rest in heard], ends, files


@pytest.mark.parametrize("changes", LINES.values(), ids=LINES.keys())
def test_both_ways_are_the_same(changes, prefect_api, tmp_path, monkeypatch):
    ways = []
    for run in (run_plainly, run_under_prefect):
        small = Small(tmp_path / run.__name__).write(people(), **changes)
        monkeypatch.setenv("SFUMATO_WORK", str(small.folder / "work"))
        heard, ends, files = heard_in(run, small, runs=2)
        ways.append((heard, ends, files))
    (heard, ends, files), under_prefect = ways
    assert (heard, ends) == under_prefect[:2]
    assert set(files) ^ set(under_prefect[2]) <= {"work 40700"}  # which has the record of the run


def without_drawn(text):
    """A text without what differs between any two runs: times, and random names and digests."""
    return re.sub(r"\d{8}T\d{6}\.\d+Z|[0-9a-f]{12,64}|\d{4}-\d\d-\d\d \d\d:\d\d", "*", text)


@pytest.mark.parametrize("under_prefect", [False, True])
def test_a_stage_is_tried_again_where_a_fault_may_pass(prefect_api, monkeypatch, under_prefect):
    from prefect import flow

    monkeypatch.setattr("sfumato.tasks.policy._BETWEEN", 0.0)
    tried = []

    @private_task(retries=2)
    def reads():
        tried.append(in_prefect_run())
        if len(tried) < 3:
            raise TransientFault("busy")
        return "read"

    assert (flow(reads)() if under_prefect else reads()) == "read"
    assert tried == [under_prefect] * 3


def test_a_fault_that_stays_is_told_after_all_tries(monkeypatch):
    monkeypatch.setattr("sfumato.tasks.policy._BETWEEN", 0.0)
    tried = []

    @private_task(retries=2)
    def reads():
        tried.append(1)
        raise ConnectionError("of 10.0.0.7, which is nobody's business")

    with pytest.raises(TransientFault) as fault:
        reads()
    assert len(tried) == 3
    assert str(fault.value).startswith("reads: ConnectionError at ")


class TestRecords:
    @pytest.fixture
    def record_run(self, small):
        """Runs a line, and returns the record of that run."""

        def run():
            try:
                run_plainly(small.spec)
            except SfumatoError as error:
                return read_runs(os.environ)[0], error
            return read_runs(os.environ)[0], None

        return run

    def test_of_a_version(self, record_run):
        record, error = record_run()
        assert error is None
        assert (record.flow, record.line, record.state) == ("release", "wages", "Published")
        assert record.run == f"wages {datetime.now(UTC):%Y-%m}"
        assert [stage.name for stage in record.stages] == STAGES
        assert {stage.ended for stage in record.stages} == {"finished"}
        assert record.began <= record.ended
        assert record.message.startswith("version 0001, digest ")
        assert not record.needs_attention

    def test_of_a_refusal(self, small, record_run):
        small.write(people(), promises=[{"model": "ke-anonymity", "k": 3, "e": 9000}])
        record, error = record_run()
        assert (record.state, record.message) == ("Refused", str(error))
        assert record.stages[-1].ended == "failed"
        assert not record.needs_attention  # a refusal is the pipeline at work

    def test_of_a_fault_which_quotes_nothing(self, small, record_run, monkeypatch):
        def fail(*_, **__):
            raise KeyError("IDENT-7")

        monkeypatch.setattr(import_module("sfumato.tasks.validate"), "assess_candidate", fail)
        record, error = record_run()
        assert isinstance(error, Fault)
        assert (record.state, record.needs_attention) == ("Faulted", True)
        (path,) = (small.folder.parent / "work" / ".runs").iterdir()
        assert path.stat().st_mode & 0o077 == 0
        assert "IDENT" not in path.read_text(encoding="utf-8")

    def test_of_an_interrupted_run(self, small, monkeypatch):
        def interrupt(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(import_module("sfumato.tasks.validate"), "assess_candidate", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run_plainly(small.spec)
        (record,) = read_runs(os.environ)
        assert (record.state, record.stages[-1]) == (
            "Interrupted",
            RecordedStage(name="validate", seconds=record.stages[-1].seconds, ended="failed"),
        )

    def test_of_a_killed_run_and_of_one_that_runs(self):
        pid, process = os.getpid(), start_of_process(os.getpid())
        facts = {"flow": "release", "run": "wages", "line": "wages", "began": datetime.now(UTC)}
        assert RunRecord(pid=pid, process=process, **facts).state == "Running"
        killed = RunRecord(pid=pid, process="another", **facts)
        assert (killed.state, killed.needs_attention) == ("Killed", True)

    def test_of_names_that_are_no_unicode(self, tmp_path, monkeypatch):
        monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
        record = begin_record("release", "wages\udcff 2026-11", "wages\udcff")
        with keep_record(record, os.environ):
            record.end(RunOutcome("Refused", "wages\udcff.yaml: is not there"))
        (written,) = read_runs(os.environ)
        assert (written.line, written.state, written.message) == (
            "wages?",
            "Refused",
            "wages?.yaml: is not there",
        )

    def test_the_newest_are_kept(self, small, tmp_path):
        place = tmp_path / "work" / ".runs"
        place.mkdir(parents=True, mode=0o700)
        place.parent.chmod(0o700)
        for number in range(KEPT + 5):
            (place / f"2020-{number:05}.json").write_text("{}", encoding="utf-8")
        run_plainly(small.spec)
        names = sorted(path.name for path in place.iterdir())
        assert len(names) == KEPT
        assert names[0] == "2020-00006.json"
        assert len(read_runs(os.environ)) == 1  # the others are no records

    def test_a_run_does_not_fail_for_them(self, small, monkeypatch):
        def fail(*_, **__):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("sfumato.flows.runs.records.write_atomically", fail)
        assert run_plainly(small.spec).endswith("0001")


def test_a_command_without_a_server_does_not_import_prefect(small, tmp_path):
    code = (
        "import sys; from sfumato.flows.cli.main import run; "
        f"code = run(['release', {str(small.spec)!r}]); "
        "print([m for m in sys.modules if m.partition('.')[0] in ('prefect', 'httpx')], code)"
    )
    environ = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**environ, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[] 0", done.stderr
    assert not (tmp_path / ".prefect").exists()


class TestServer:
    """The address of a configured server, found without Prefect."""

    @pytest.fixture(autouse=True)
    def nowhere(self, tmp_path, monkeypatch):
        for name in [name for name in os.environ if name.startswith("PREFECT_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "home"))
        # Threads of Prefect's import its settings anew while another test's server runs.
        monkeypatch.setattr(prefect_in_use, "sys", SimpleNamespace(modules={}))
        monkeypatch.chdir(tmp_path)
        (tmp_path / "home").mkdir()

    def test_nowhere(self):
        assert named_server() is None

    def test_in_the_environment(self, monkeypatch):
        monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:1/api")
        assert named_server() == "http://127.0.0.1:1/api"

    @pytest.mark.parametrize("chosen", ["file", "environment"])
    def test_in_the_active_profile(self, tmp_path, monkeypatch, chosen):
        active = "away" if chosen == "file" else "ephemeral"
        (tmp_path / "home" / "profiles.toml").write_text(
            f'active = "{active}"\n[profiles.ephemeral]\n'
            '[profiles.away]\nPREFECT_API_URL = "http://away/api"\n',
            encoding="utf-8",
        )
        if chosen == "environment":
            assert named_server() is None
            monkeypatch.setenv("PREFECT_PROFILE", "away")
        assert named_server() == "http://away/api"

    def test_in_the_settings_of_a_project(self, tmp_path):
        (tmp_path / "pyproject.toml").write_text("[tool.prefect.api]\nurl = 'http://p/api'\n")
        assert named_server() == "http://p/api"
        (tmp_path / "prefect.toml").write_text("[api]\nurl = 'http://q/api'\n", encoding="utf-8")
        assert named_server() == "http://q/api"

    @pytest.mark.parametrize("text", ["active = ", "active = 3", "profiles = 7", "\x00"])
    def test_files_that_are_garbled_name_none(self, tmp_path, text):
        (tmp_path / "home" / "profiles.toml").write_text(text, encoding="utf-8")
        assert named_server() is None


def test_another_wish_is_refused(small, monkeypatch):
    monkeypatch.setenv("SFUMATO_PREFECT", "sometimes")
    with pytest.raises(InputError, match="SFUMATO_PREFECT: is not always"):
        run_here("release", {"spec": str(small.spec)}, list)


def test_lines_of_json_name_the_run(small, tmp_path):
    environ = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "release", str(small.spec)],
        env={**environ, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "SFUMATO_LOG": "json"},
        capture_output=True,
        text=True,
        check=True,
    )
    entries = [json.loads(line) for line in done.stderr.splitlines()]
    (record,) = read_runs(os.environ)
    of_run = [entry for entry in entries if "run" in entry]
    assert {(entry["line"], entry["id"]) for entry in of_run} == {("wages", record.id)}
    assert [e["stage"] for e in of_run if e["level"] == "info" and "stage" in e] == STAGES


def test_a_withdrawal_is_told_to_the_server_in_use(small, prefect_api, monkeypatch):
    """The remembered server hears of it, as it hears of runs."""
    monkeypatch.setenv("PREFECT_API_URL", "")
    monkeypatch.setattr("sfumato.flows.inputs.server_in_use.named_server", lambda: None)
    note_server(prefect_api, os.environ)
    assert server_in_use() == prefect_api
    assert os.environ["PREFECT_API_URL"] == prefect_api
    monkeypatch.setattr("sfumato.flows.life.withdrawal.server_in_use", lambda: prefect_api)
    events = []
    monkeypatch.setattr("sfumato.tasks.events.tell_at_once", lambda *facts: events.append(facts))
    version = small.publish("one").directory
    plan_withdrawal(version, "r").carry_out()
    ((happened, line, facts),) = events
    assert (happened, line, facts["version"]) == ("withdrawn", "wages", "0001")


class TestKnownServer:
    """A server that deployments were registered with is used by later commands, if it answers."""

    @pytest.fixture
    def environ(self, tmp_path):
        return {"SFUMATO_WORK": str(tmp_path / "work")}

    def test_one_that_answers(self, prefect_api, environ, tmp_path):
        note_server(prefect_api.replace("://", "://me:secret@"), environ)
        assert known_server(environ) == prefect_api
        text = (tmp_path / "work" / ".servers" / "address.json").read_text(encoding="utf-8")
        assert "secret" not in text

    def test_one_that_does_not(self, environ):
        assert known_server(environ) is None
        for address in (
            f"http://127.0.0.1:{free_port()}/api",
            "http://127.0.0.1:x/api",
            "nonsense",
        ):
            note_server(address, environ)
            assert known_server(environ) is None

    def test_a_place_that_others_can_change_is_not_believed(self, prefect_api, environ, tmp_path):
        note_server(prefect_api, environ)
        (tmp_path / "work").chmod(0o777)
        assert known_server(environ) is None

    @pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"address": null}', b"\xff"])
    def test_a_garbled_note_names_none(self, environ, tmp_path, content):
        note_server("http://127.0.0.1:1/api", environ)
        (tmp_path / "work" / ".servers" / "address.json").write_bytes(content)
        assert known_server(environ) is None


def test_the_latest_run_is_listed(small, call):
    run_plainly(small.spec)
    _, out, _ = call("releases", "--json")
    (line,) = json.loads(out)["lines"]
    assert line["latest_run"]["state"] == "Published"
    assert "latest run without Prefect: wages" in call("releases")[1]
    _, out, _ = call("health", "--json")
    assert any(answer["about"] == "run of wages" for answer in json.loads(out)["checks"])
