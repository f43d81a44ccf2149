"""Deletion of old runs on a real server, and what is left alone."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
import yaml
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import ArtifactCreate, LogCreate
from prefect.client.schemas.filters import LogFilter, LogFilterFlowRunId
from prefect.settings import get_current_settings
from prefect.states import Completed, Running

from sfumato.flows.operation import retention
from tests.fork_server import ROOT
from tests.prefect_server import database, free_port

pytestmark = pytest.mark.filterwarnings("default")
OLD = datetime.now(UTC) - timedelta(days=100)


@pytest.fixture(scope="module")
def client(prefect_api):
    with get_client(sync_client=True) as prefect_client:
        yield prefect_client


def make_run(client, name, tags, ended=None, state=None):
    """A run with a log line and an artifact; it ended now, or whenever its database is told."""

    @flow(name=name)
    def nothing():
        """Do nothing."""

    run = client.create_flow_run(nothing, tags=tags)
    client.set_flow_run_state(run.id, state or Completed(), force=True)
    log = LogCreate(
        name="l", level=20, message="rows", timestamp=datetime.now(UTC), flow_run_id=run.id
    )
    client.create_logs([log])
    client.create_artifact(ArtifactCreate(key=f"k-{uuid4().hex}", data="5", flow_run_id=run.id))
    if ended is not None:
        with closing(sqlite3.connect(database(), timeout=60)) as connection, connection:
            text = ended.strftime("%Y-%m-%d %H:%M:%S.%f")
            connection.execute("UPDATE flow_run SET end_time = ? WHERE id = ?", (text, str(run.id)))
    return run.id


def rows_of(run):
    """Count the rows that the database has of a run: itself, logs, artifacts, their latest."""
    with closing(sqlite3.connect(database(), timeout=60)) as connection:
        return {
            table: connection.execute(
                f"SELECT COUNT(*) FROM {table} WHERE {column} = ?", (str(run),)
            ).fetchone()[0]
            for table, column in (
                ("flow_run", "id"),
                ("log", "flow_run_id"),
                ("artifact", "flow_run_id"),
                ("artifact_collection", "flow_run_id"),
            )
        }


WHOLE = {"flow_run": 1, "log": 1, "artifact": 1, "artifact_collection": 1}
GONE = dict.fromkeys(WHOLE, 0)


@pytest.fixture
def runs(client):
    """Runs that are ours and old, and those beside them."""
    ours = ["release", "line:wages"]
    return {
        "released": make_run(client, "release", ours, OLD),
        "published": make_run(client, "publish", ["publish", "line:wages"], OLD),
        "young": make_run(client, "release", ours),
        "going": make_run(client, "release", ours, OLD, Running()),
        "of another flow": make_run(client, "nightly", ours, OLD),
        "called as ours": make_run(client, "release", ["production"], OLD),
    }


def test_old_runs_of_lines_are_deleted_and_nothing_else(runs, call):
    ended, others = ("released", "published"), ("young", "going", "of another flow")
    code, _, error = call("sweep", "--runs-older-than", "90", "--dry")
    assert (code, error) == (0, "2 runs of lines ended more than 90 days ago\n")
    assert all(rows_of(run) == WHOLE for run in runs.values())
    code, _, error = call("sweep", "--runs-older-than", "90")
    assert code == 0
    assert error.splitlines()[-1] == "2 runs of lines ended more than 90 days ago: deleted"
    assert {name: rows_of(runs[name]) for name in ended} == dict.fromkeys(ended, GONE)
    for name in (*others, "called as ours"):
        assert rows_of(runs[name]) == WHOLE, name
    _, _, error = call("sweep", "--runs-older-than", "90", "--dry")
    assert error == "0 runs of lines ended more than 90 days ago\n"


def test_runs_that_are_asked_for_one_by_one(client, call, monkeypatch):
    monkeypatch.setattr(retention, "_PAGE", 1)
    foreign = [make_run(client, "release", [], OLD) for _ in range(3)]
    ours = [make_run(client, "release", ["line:wages"], OLD) for _ in range(3)]
    assert call("sweep", "--runs-older-than", "90")[0] == 0
    assert [rows_of(run) for run in ours] == [GONE] * 3
    assert [rows_of(run) for run in foreign] == [WHOLE] * 3


def test_logs_that_stay_are_told(client, call, monkeypatch):
    run = make_run(client, "release", ["line:wages"], OLD)
    monkeypatch.setattr(retention, "_PATIENCE", 0)
    monkeypatch.setattr(type(client), "delete_flow_run", lambda *_: None)
    code, _, error = call("sweep", "--runs-older-than", "90")
    assert code == 1
    assert "the runs are deleted, but the server did not delete their" in error
    monkeypatch.undo()
    assert call("sweep", "--runs-older-than", "90")[0] == 0
    assert rows_of(run) == GONE
    log_filter = LogFilter(flow_run_id=LogFilterFlowRunId(any_=[run]))
    assert client.read_logs(log_filter=log_filter) == []


def test_a_dry_sweep_is_of_runs(call):
    assert call("sweep", "--dry")[0] == 2


def test_a_server_that_is_gone(call, monkeypatch):
    from prefect.settings import PREFECT_API_URL, temporary_settings

    address = f"http://127.0.0.1:{free_port()}/api"
    with temporary_settings({PREFECT_API_URL: address}):
        code, _, error = call("sweep", "--runs-older-than", "90")
    assert code == 1
    assert f"sfumato: Prefect's server at {address} (PREFECT_API_URL) refuses connections" in error


def _of_compose():
    services = yaml.safe_load((ROOT / "deployments" / "compose.yaml").read_text())["services"]
    return services["server"]["environment"]


def _of_make():
    lines = (ROOT / "Makefile").read_text().splitlines()
    mine = [line.removeprefix("server: export ") for line in lines if "server: export" in line]
    return dict(line.split(" ?= ") for line in mine)


@pytest.mark.parametrize("settings", [_of_compose, _of_make])
def test_our_servers_delete_old_runs_by_themselves(settings, monkeypatch):
    """Prefect reads the settings of our servers as they are meant."""
    name = "PREFECT_SERVER_SERVICES_DB_VACUUM"
    for key, value in settings().items():
        if key.startswith((name, "PREFECT_SERVER_EVENTS")):
            monkeypatch.setenv(key, str(value))
    server = type(get_current_settings())().server
    vacuum = server.services.db_vacuum
    assert vacuum.enabled_vacuum_types == {"events", "flow_runs", "orphans"}
    assert (vacuum.retention_period, server.events.retention_period) == (
        timedelta(days=90),
        timedelta(days=7),
    )
