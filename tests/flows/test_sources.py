"""Sources in databases as a worker reads them: secrets from blocks, parameters from the run."""

import re

import psycopg
import pytest

from sfumato.expectations.shared.errors import Fault, InputError, TransientFault
from tests.flows.test_worker import deployment, readings
from tests.query.databases import postgres
from tests.release.small import Small, people

SECRET, CELL = "hunter2-of-the-clinic", "CANARYcell"
SOURCE = {
    "query": "SELECT person, age, town, note, wage FROM clinic WHERE month = :month",
    "parameters": {"month": {"type": "date", "value": "2026-04-30"}},
    "where": "age > 18",
}
MAY = {"source": {"parameters": {"month": {"value": "2026-05-31"}}}}
pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.timeout(900),
    pytest.mark.postgres,
]


def address():
    """The server's, with a user who has a password, which stands in a variable."""
    return re.sub("//tests@", "//clinic:${CLINIC_PASSWORD}@", postgres())


@pytest.fixture(scope="module")
def clinic():
    with psycopg.connect(postgres(), autocommit=True) as connection:
        connection.execute(f"CREATE ROLE clinic LOGIN PASSWORD '{SECRET}'")
        connection.execute(
            "CREATE TABLE clinic (person TEXT, age INTEGER, town TEXT, note TEXT, "
            "wage NUMERIC(8, 2), month DATE)"
        )
        connection.execute("GRANT SELECT ON clinic TO clinic")
        # Tests of other modules make this schema anew, without what everybody has of the first one.
        connection.execute("GRANT USAGE ON SCHEMA public TO clinic")
        insert = "INSERT INTO clinic VALUES (%s, %s, nullif(%s, ''), %s, nullif(%s, '')::numeric"
        for row in people():
            connection.execute(f"{insert}, '2026-05-31')", list(row.values()))
        connection.execute("UPDATE clinic SET note = %s", (CELL,))


@pytest.fixture(scope="module")
def ran(clinic, prefect_api, tmp_path_factory):
    from tests.prefect_server import Deployed, run_on_worker, save_secret

    save_secret("clinic-password", SECRET)
    folder = tmp_path_factory.mktemp("clinic")
    right = {"uri": address(), **SOURCE}
    cast = "SELECT person, age, town, CAST(note AS integer) AS note, wage FROM clinic"
    sources = {
        "right": right,
        "cast": {"uri": address(), "query": cast},
        "away": {"uri": "postgresql://127.0.0.1:1/x", "query": cast},
    }
    lines = {n: Small(folder / n).write(people(), source=s) for n, s in sources.items()}
    entrypoint, environ = deployment()["entrypoint"], {"CLINIC_PASSWORD_BLOCK": "clinic-password"}
    deployed = {
        name: Deployed(
            entrypoint,
            {"spec": str(line.spec), **({"overrides": MAY} if name == "right" else {})},
            folder / f"private-{name}",
            environ,
        )
        for name, line in lines.items()
    }
    return folder, *run_on_worker(prefect_api, folder, deployed)


def test_rows_of_a_month_are_published_with_a_secret_in_a_block(ran):
    folder, states, worker_log = ran
    assert states["right"] == "COMPLETED", worker_log
    assert (folder / "right" / "public" / "wages" / "0001" / "datapackage.json").is_file()


def test_a_failing_cast_is_one_line_without_the_value(ran):
    _, states, worker_log = ran
    assert states["cast"] == "FAILED", worker_log
    assert "such as a text that is not a number (SQLSTATE 22P02)" in worker_log


def test_neither_secret_nor_cell_is_anywhere(ran, prefect_api):
    from tests.flows.test_release_flow import stored_texts
    from tests.prefect_server import database

    folder, _, worker_log = ran
    home, paths = database().parent, list(folder.glob("private-*/**/*"))
    paths += [*home.rglob("*"), *(folder / "home").rglob("*")]
    contents = [worker_log.encode(), stored_texts(prefect_api).encode()]
    contents += [path.read_bytes() for path in paths if path.is_file()]
    canaries = (SECRET.encode(), CELL.encode())
    canaries_found = [
        c for content in contents for r in readings(content) for c in canaries if c in r
    ]
    assert canaries_found == []


def test_a_refusal_is_tried_once_and_a_broken_connection_again(ran, prefect_api):
    import httpx

    runs = httpx.post(f"{prefect_api}/flow_runs/filter", json={"limit": 200}, timeout=120).json()
    messages = {run["id"]: (run.get("state") or {}).get("message") or "" for run in runs}
    attempts = {}
    for run, message in messages.items():
        body = {"flow_runs": {"id": {"any_": [run]}}}
        tasks = httpx.post(f"{prefect_api}/task_runs/filter", json=body, timeout=120).json()
        counts = [task["run_count"] for task in tasks if task["name"].startswith("ingest")]
        for kind in ("SQLSTATE 22P02", "127.0.0.1:1/x"):
            if kind in message:
                attempts[kind] = counts
    assert attempts == {"SQLSTATE 22P02": [1], "127.0.0.1:1/x": [3]}


@pytest.mark.parametrize(
    ("error", "again"), [(TransientFault("x"), True), (Fault("x"), False), (InputError("x"), False)]
)
def test_only_what_may_be_gone_in_a_while_is_tried_again(error, again):
    from prefect.states import Failed

    from sfumato.tasks.in_parts import divide
    from sfumato.tasks.ingest import ingest

    for stage in (ingest, divide):
        assert stage.retries == 2
        task = stage.task
        assert task.retry_condition_fn(task, None, Failed(data=error)) is again
