"""A server whose database is PostgreSQL: a version, a refusal, a run that is killed."""

import psycopg
import pytest

from sfumato.tasks.publication.check import check
from tests.harness.lines import list_versions, write_lines
from tests.harness.machine import Machine, wait_for
from tests.query.databases import postgres

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.filterwarnings("default"),
    pytest.mark.timeout(900),
]
HARD = [{"model": "ke-anonymity", "k": 3, "e": 100_000}]


@pytest.fixture(scope="module")
def machine(forks, tmp_path_factory):
    address = postgres()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE DATABASE prefect")
    own = address.replace("postgresql://", "postgresql+asyncpg://").replace(
        "/postgres?", "/prefect?"
    )
    made = Machine(tmp_path_factory.mktemp("machine"), forks, database=own)
    write_lines(made, {"manual": {}, "hard": {"promises": HARD}})
    made.start()
    try:
        yield made
    finally:
        made.close()


def test_lines_are_released_refused_and_recovered(machine):
    assert machine.sfumato("deploy", "manual", "hard").returncode == 0
    machine.start_worker()
    killed = machine.run("manual")
    wait_for(lambda: "Beginning flow run 'manual" in machine.log("worker") or None, "a run")
    machine.kill(worker=False)
    assert machine.wait(killed, "Crashed")[0] == "CRASHED"
    assert list_versions(machine, "manual") == []
    manual_run, refused = machine.run("manual"), machine.run("hard")
    assert machine.wait(manual_run, "Published", "Crashed")[1] == "Published"
    assert machine.wait(refused, "Refused", "Crashed")[1] == "Refused"
    (version,) = list_versions(machine, "manual")
    assert check(version).verdicts
    assert [event["payload"]["version"] for event in machine.events("sfumato.release.published")]
