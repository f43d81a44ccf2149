"""Knowledge of a worker and the server behind it about a run that fails."""

import base64
import gzip
import json
import re
import zlib
from importlib import import_module

import pytest
import yaml

from sfumato.tasks.policy import Stage
from sfumato.tasks.publication.check import check
from tests.faults.foreign import BEHIND, CANARY, OTHERS, STAGES
from tests.fork_server import ROOT
from tests.release.small import Small, people

FOREIGN, OLD = "tests.faults.foreign.every_stage", "flows.release:release"
LOGS = {"PREFECT_LOGGING_SETTINGS_PATH": str(ROOT / "deployments" / "logging.yaml")}
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.timeout(900)]


def deployment():
    content = yaml.safe_load((ROOT / "deployments" / "prefect.yaml").read_text(encoding="utf-8"))
    return content["deployments"][0]


@pytest.fixture(scope="module")
def ran(prefect_api, tmp_path_factory):
    """Return a worker's folder, its lines, the last state of each run, and its log."""
    from tests.prefect_server import Deployed, run_on_worker

    folder = tmp_path_factory.mktemp("worker")
    lines = {name: Small(folder / name).write(people()) for name in (*STAGES, "old", "deployed")}
    specs = {stage: str(lines[stage].spec) for stage in STAGES}
    states = {"specs": specs, "states": str(folder / "states.json")}
    deployed = {
        name: Deployed(
            entrypoint, {"spec": str(lines[name].spec)}, lines[name].folder / "work", LOGS
        )
        for name, entrypoint in {"old": OLD, "deployed": deployment()["entrypoint"]}.items()
    }
    deployed["foreign"] = Deployed(FOREIGN, states, folder / "work", LOGS)
    return folder, lines, *run_on_worker(prefect_api, folder, deployed)


def readings(content):
    """A file's bytes, and what is in them that is compressed or written in base64."""
    yield content
    for match in re.finditer(rb"[A-Za-z0-9+/_-]{24,}={0,2}", content):
        text = match[0].rstrip(b"=").replace(b"-", b"+").replace(b"_", b"/")
        yield base64.b64decode(text[: len(text) // 4 * 4])
    for start in (m.start() for m in re.finditer(rb"\x1f\x8b\x08|\x78[\x01\x5e\x9c\xda]", content)):
        packed = zlib.decompressobj(wbits=47)  # gzip or zlib, as it says
        try:
            yield packed.decompress(content[start:], 1 << 24)
        except zlib.error:
            continue


def test_readings_find_what_is_hidden():
    plain = f"some {CANARY} text".encode()
    hidden = [plain, gzip.compress(plain), zlib.compress(plain), base64.b64encode(plain * 3)]
    for content in hidden:
        assert any(CANARY.encode() in reading for reading in readings(b"..." + content + b"..."))
    assert not any(CANARY.encode() in reading for reading in readings(b"nothing" * 99))


@pytest.mark.parametrize("stage", STAGES)
def test_a_foreign_exception_fails_the_run_in_one_line(ran, stage):
    folder, _, states, worker_log = ran
    assert states["foreign"] == "COMPLETED", worker_log
    assert json.loads((folder / "states.json").read_text())[stage] == "FAILED", worker_log
    assert f"{stage}: Foreign at tasks/{stage}.py:" in worker_log


@pytest.mark.parametrize("name", [*sorted(OTHERS.keys() - {BEHIND}), "flows.publish"])
def test_so_it_does_in_every_other_task(ran, name):
    folder, _, states, worker_log = ran
    assert states["foreign"] == "COMPLETED", worker_log
    assert json.loads((folder / "states.json").read_text())[name] == "FAILED", worker_log
    place, task = name.split(".")
    file = "flows/runs/publishing.py" if place == "flows" else f"tasks/{place}.py"
    assert f"{task}: Foreign at {file}:" in worker_log


def test_one_in_a_copy_fails_no_run(ran):
    folder, _, _, worker_log = ran
    assert json.loads((folder / "states.json").read_text())[BEHIND] == "COMPLETED", worker_log
    assert "deliver: s3://nowhere is behind" in worker_log


def test_no_task_is_passed_over():
    modules = {path.stem for path in (ROOT / "tasks").glob("*.py")} - {"__init__"}
    tasks = {
        f"{item.__module__.rpartition('.')[2]}.{item.name}"
        for module in modules
        for item in vars(import_module(f"sfumato.tasks.{module}")).values()
        if isinstance(item, Stage)
    }
    assert tasks == {*(f"{stage}.{stage}" for stage in STAGES), *OTHERS}


def test_foreign_exceptions_leave_no_trace(ran):
    """Not in the database, the storage, a log or what is said, also where it is packed."""
    from tests.prefect_server import database

    folder, _, _, worker_log = ran
    paths = [path for path in (folder / "home").rglob("*") if path.is_file()]
    paths += [path for path in database().parent.rglob("*") if path.is_file()]
    paths += [path for path in (folder / "work").rglob("*") if path.is_file()]
    assert (folder / "work" / "wages" / "state.json") in paths  # of the run that evaluates
    assert database() in paths
    assert CANARY not in worker_log
    paths_found = [
        path for path in paths for r in readings(path.read_bytes()) if CANARY.encode() in r
    ]
    assert paths_found == []


def test_lines_of_runs_are_json_where_their_logging_is_ours(ran):
    """Each says when, how grave, of which line, run and stage; our own say how many and how long.

    The worker's own lines are text here: it was started without that logging.
    """
    *_, worker_log = ran
    lines = [json.loads(line) for line in worker_log.splitlines() if line.startswith('{"time"')]
    assert all({"time", "level", "message", "logger"} <= line.keys() for line in lines)
    ours = [line for line in lines if line.get("line") == "wages"]
    assert {line["run"].partition(" ")[0] for line in ours} == {"wages"}
    timed = {line["stage"] for line in ours if "seconds" in line}
    assert timed >= {"ingest", "publish", "evaluate"}
    counted = {line["stage"]: line["counts"] for line in ours if "counts" in line}
    assert counted["ingest"] == {"read": 62, "to-be-represented": 60}
    assert any("exception" in line for line in lines)  # of the entrypoint that is no more
    assert "Traceback" not in "".join(line["message"] for line in ours)


def test_bindings_say_nothing_at_the_end_of_a_run(ran):
    """DuckDB's print a page about what they find left over, while their own objects are."""
    *_, text = ran
    assert "nanobind" not in text
    assert "leaked" not in text


def test_no_exception_of_a_run_is_stored(ran):
    folder, *_ = ran
    assert not [path for path in (folder / "home").rglob("storage/*") if path.is_file()]


def test_no_stage_is_left_of_a_run_that_failed(ran):
    folder, *_ = ran
    assert [path.name for path in (folder / "work" / "wages" / "runs").glob("*/*")] == []


def test_a_deployment_of_an_old_entrypoint_says_what_to_do(ran):
    _, lines, states, worker_log = ran
    assert states["old"] == "CRASHED", worker_log
    assert "this package is sfumato.flows" in worker_log
    assert not (lines["old"].folder / "public").exists()


def test_the_entrypoint_that_is_deployed_publishes(ran):
    _, lines, states, worker_log = ran
    assert (ROOT / deployment()["parameters"]["spec"]).is_file()
    assert states["deployed"] == "COMPLETED", worker_log
    assert check(lines["deployed"].folder / "public" / "wages" / "0001").verdicts


@pytest.mark.parametrize("hidden", ["where", "sha256"])
def test_a_deployment_takes_no_secret_as_a_parameter(prefect_api, hidden):
    """The server refuses the run: nothing of it is stored."""
    from prefect.client.orchestration import get_client
    from prefect.exceptions import PrefectHTTPStatusError
    from prefect.utilities.callables import parameter_schema

    from sfumato.flows.release import release

    with get_client(sync_client=True) as client:
        flow = client.create_flow_from_name("release")
        made = client.create_deployment(
            flow,
            name=f"refuses-{hidden}",
            parameter_openapi_schema=parameter_schema(release).model_dump_for_openapi(),
            enforce_parameter_schema=True,
        )
        before = len(client.read_flow_runs(limit=200))
        parameters = {"spec": "a.yaml", "overrides": {"source": {hidden: CANARY}}}
        with pytest.raises(PrefectHTTPStatusError):
            client.create_flow_run_from_deployment(made, parameters=parameters)
        assert len(client.read_flow_runs(limit=200)) == before


@pytest.mark.parametrize("overrides", [{"source.uri": "june.csv"}, {"source": {"uri": "june.csv"}}])
def test_a_deployment_takes_an_address_in_both_ways(prefect_api, overrides):
    from prefect.client.orchestration import get_client

    from sfumato.flows.operation.deployments import RELEASE
    from sfumato.flows.operation.register import _parameters

    with get_client(sync_client=True) as client:
        made = client.create_deployment(
            client.create_flow_from_name("release"),
            name="takes",
            parameter_openapi_schema=_parameters(RELEASE, "a.yaml"),
            enforce_parameter_schema=True,
        )
        parameters = {"spec": "a.yaml", "overrides": overrides}
        run = client.create_flow_run_from_deployment(made, parameters=parameters)
        assert run.parameters == parameters
        client.delete_flow_run(run.id)
