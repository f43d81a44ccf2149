"""Killed between any two steps, a delivery leaves nothing by halves, and the next completes it."""

import hashlib
import json
import os
import signal

import pytest

from sfumato.tasks.destinations import deliver as delivery
from sfumato.tasks.destinations.bucket import Bucket
from sfumato.tasks.lines.known_destinations import read_destinations
from sfumato.tasks.publication.withdrawal import withdraw
from sfumato.tasks.sql.target import TargetDatabase
from tests.destinations.dying import kill_delivery
from tests.destinations.places import PREFIX, bring
from tests.forked import in_child
from tests.release.small import Small, people

STEPS = ("send", "write", "create", "replace", "delete", "delete_old_versions")
STATEMENTS = ("execute", "end")
pytestmark = pytest.mark.filterwarnings("default")


def behind_of(line):
    return [destination.behind for destination in read_destinations(line.private).destinations]


def require_no_halves(line, store):
    """Require what readers of the bucket can rely on at any moment."""
    objects, root = store.objects(), f"{PREFIX}/{line.name}/"
    for key in [key for key in objects if key.endswith("/datapackage.json")]:
        below = key.removesuffix("datapackage.json")
        if f"{below}withdrawal.json" not in objects:
            for file in json.loads(objects[key])["resources"]:
                content = objects[f"{below}{file['path']}"]
                assert f"sha256:{hashlib.sha256(content).hexdigest()}" == file["hash"]
    if f"{root}releases.json" in objects:
        record = json.loads(objects[f"{root}releases.json"])
        for number, version in record["versions"].items():
            if version["status"] != "withdrawn":
                assert f"{root}{number}/datapackage.json" in objects


def kill_everywhere(line, store):
    """Deliver again and again, each time a step further, until a delivery ends; yield each kill."""
    for steps in range(100):
        if not kill_delivery(line, store, steps, Bucket, STEPS):
            return
        yield steps


def test_a_delivery_to_a_store_that_is_killed_after_every_step(with_versions, store):
    line, kills = with_versions(2), 0
    for _ in kill_everywhere(line, store):
        assert behind_of(line) == ["nothing was delivered there yet"]
        require_no_halves(line, store)
        kills += 1
    assert kills > 5
    assert behind_of(line) == [None]
    store.require_as(line)


@pytest.mark.parametrize("steps", range(0, 27, 3))
def test_a_delivery_to_a_store_that_was_killed_is_completed(with_versions, store, steps):
    line = with_versions(2)
    assert kill_delivery(line, store, steps, Bucket, STEPS)
    require_no_halves(line, store)
    assert bring(line, store).behind is None
    store.require_as(line)


def test_a_withdrawal_from_a_store_that_is_killed_after_every_step(with_versions, store):
    line, kills = with_versions(2), 0
    bring(line, store)
    withdraw(line, "0002", "the wrong table")
    for steps in kill_everywhere(line, store):
        record = json.loads(store.read(f"{PREFIX}/wages/releases.json"))
        is_withdrawn = record["versions"]["0002"]["status"] == "withdrawn"
        assert is_withdrawn == (steps > 0)  # before anything goes
        assert behind_of(line) == ["a delivery was cut short"]
        require_no_halves(line, store)
        kills += 1
    assert kills > 3
    store.require_as(line)


def test_what_was_sent_of_a_version_that_was_withdrawn_meanwhile_goes(with_versions, store):
    line = with_versions(2)
    assert kill_delivery(line, store, 16, Bucket, STEPS)
    assert any("/0002/" in key for key in store.objects())
    withdraw(line, "0002", "the wrong table")
    assert bring(line, store).behind is None
    store.require_as(line)


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("steps", "names"), [*((n, STATEMENTS) for n in range(0, 70, 9)), (0, ["end"])]
)
def test_a_delivery_to_a_database_is_all_or_nothing(with_versions, database, steps, names):
    line = with_versions(2)
    bring(line, database)
    Small(line.public.parents[1]).write(people(first=7000, seed=7)).publish("third")
    withdraw(line, "0002", "the wrong table")
    before = database.schemas()
    assert kill_delivery(line, database, steps, TargetDatabase, names)
    assert behind_of(line) == ["a delivery was cut short"]
    assert database.schemas() == before
    assert bring(line, database).behind is None
    assert sorted(database.schemas()) == ["wages", "wages_0001", "wages_0003"]
    database.require_as(line)


@pytest.mark.postgres
def test_killed_once_the_database_has_it(with_versions, database):
    """Between the end of the transaction and the note that says so."""
    line = with_versions(1)

    def run():
        os.environ["SFUMATO_WORK"] = str(line.work)
        original = delivery._note

        def note(line, written_line, behind=None, delivered=None):
            if delivered is not None:
                os.kill(os.getpid(), signal.SIGKILL)
            original(line, written_line, behind, delivered)

        delivery._note = note
        bring(line, database)
        return 0

    assert in_child(run, line.public).code == -signal.SIGKILL
    assert behind_of(line) == ["nothing was delivered there yet"]
    database.require_as(line)
    outcome = bring(line, database)
    assert (outcome.behind, outcome.copied) == (None, ())
