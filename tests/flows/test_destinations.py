"""Destinations of real runs: one is down, its line is published, and the next run completes it."""

import httpx
import pytest

from sfumato.tasks.lines.known_destinations import read_destinations
from tests.destinations.places import DatabasePlace, store_server
from tests.faults.foreign import NOWHERE
from tests.flows.test_worker import deployment, readings
from tests.release.small import Small, people
from tests.sources.simulator import SECRET

PASSWORD = "hunter2-of-the-open-database"
AWAY = "http://127.0.0.1:1"
pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.timeout(900),
    pytest.mark.postgres,
]


def publish(place, database, **changes):
    """The key of a spec with a store and a database, whose password stands in a variable."""
    address = database.address.replace("//tests@", "//tests:${OPEN_PASSWORD}@")
    return {
        "uri": "public",
        "destinations": [{"uri": place.declared.uri, **changes}],
        "database": {"uri": address},
    }


@pytest.fixture(scope="module")
def ran(prefect_api, forks, tmp_path_factory):
    """A run whose store is down, and one on a worker that has its secrets in blocks."""
    from tests.prefect_server import Deployed, run_on_worker, save_secret, start

    save_secret("store-key", SECRET)
    save_secret("open-password", PASSWORD)
    folder, database = tmp_path_factory.mktemp("copied"), DatabasePlace()
    with store_server() as bucket, pytest.MonkeyPatch.context() as patch:
        store = bucket()
        environ = {**store.environ, "OPEN_PASSWORD": PASSWORD}
        for name, text in environ.items():
            patch.setenv(name, text)
        line = Small(folder / "line").write(
            people(), publish=publish(store, database, endpoint=AWAY)
        )
        first = start(forks, prefect_api, folder, "release", str(line.spec))
        error = first.communicate(300)
        patch.setenv("SFUMATO_WORK", str(folder / "work"))
        noted = read_destinations(line.plan().line.private).destinations
        for name in environ:
            patch.delenv(name)
        line.write(people(), publish=publish(store, database))
        blocks = {
            "AWS_SECRET_ACCESS_KEY_BLOCK": "store-key",
            "OPEN_PASSWORD_BLOCK": "open-password",
        }
        variables = {name: environ[name] for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID")}
        entrypoint = deployment()["entrypoint"]
        second = Deployed(
            entrypoint, {"spec": str(line.spec)}, folder / "work", {**variables, **blocks}
        )
        states, worker = run_on_worker(prefect_api, folder, {"second": second})
        yield line, first.returncode, error, noted, states, worker, store, database


def test_a_release_whose_store_is_down_is_published(ran, prefect_api):
    line, code, (out, error), noted, _, _, store, _ = ran
    assert (code, out.splitlines()[-1]) == (0, str(line.folder / "public" / "wages" / "0001")), (
        error
    )
    assert f"{store.declared.uri} is behind: the store cannot be" in error
    assert [destination.behind is None for destination in noted] == [False, True]
    runs = httpx.post(f"{prefect_api}/flow_runs/filter", json={"limit": 200}, timeout=120).json()
    messages = [
        run["state"]["message"] or "" for run in runs if run["state"]["name"] == "Published"
    ]
    warning = (
        f"; not yet complete in {store.declared.uri} (the next run or sfumato deliver completes it)"
    )
    assert any(message.endswith(warning) for message in messages)


def test_the_next_run_completes_it_with_secrets_in_blocks(ran):
    line, _, _, _, states, worker, store, database = ran
    assert states["second"] == "COMPLETED", worker
    place = line.folder.parent / "work" / "wages"
    assert [destination.behind for destination in read_destinations(place).destinations] == [
        None,
        None,
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_WORK", str(place.parent))
        store.require_as(line.plan().line)
        database.require_as(line.plan().line)


def test_it_is_an_event_that_it_was_behind(ran, prefect_api):
    filters = {"filter": {"event": {"name": ["sfumato.release.behind"]}}}
    events = httpx.post(f"{prefect_api}/events/filter", json=filters, timeout=120).json()["events"]
    destinations = {event["payload"]["destination"] for event in events}
    assert destinations - {NOWHERE} == {ran[6].declared.uri}


def test_no_secret_is_anywhere(ran, prefect_api):
    from tests.flows.test_release_flow import stored_texts
    from tests.prefect_server import database

    line, _, error, _, _, worker, store, _ = ran
    home, paths = database().parent, list(line.folder.parent.rglob("*"))
    contents = [worker.encode(), "".join(error).encode(), stored_texts(prefect_api).encode()]
    contents += [path.read_bytes() for path in [*paths, *home.rglob("*")] if path.is_file()]
    contents += store.objects().values()
    canaries = (SECRET.encode(), PASSWORD.encode())
    canaries_found = [
        c for content in contents for r in readings(content) for c in canaries if c in r
    ]
    assert canaries_found == []
