"""Dask's workers on this machine: in order, discreet, and nothing lost with one of them."""

import sys
import time

import pytest

from sfumato.expectations.shared.errors import Fault, MissingPackageError, PromiseError
from sfumato.tasks.publication.check import check
from sfumato.tasks.workers import dask
from sfumato.tasks.workers.registry import open_engine
from sfumato.tasks.workers.workers import InTurn, keep_attempt, open_attempts
from tests.parts.composed_line import ComposedLine
from tests.parts.divided import Divided, visits
from tests.workers import jobs

pytestmark = pytest.mark.filterwarnings("default")


CLOSE = {
    "partition": {"method": "mondrian"},
    "form": {"method": "generalized"},
    "promises": [
        {"model": "k-anonymity", "k": 5},
        {"model": "t-closeness", "t": 0.6, "distance": "ordered", "sensitive": "cost"},
    ],
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    directory = tmp_path_factory.mktemp("run")
    directory.chmod(0o700)
    return directory


@pytest.fixture(scope="module")
def cluster(run):
    with open_engine("dask", run, {}) as workers:
        yield workers


@pytest.fixture(params=["in turn", "dask"])
def workers(request):
    return InTurn() if request.param == "in turn" else request.getfixturevalue("cluster")


def test_results_come_in_order(workers, monkeypatch):
    monkeypatch.setattr("sfumato.tasks.workers.dask._AHEAD", 3)
    assert list(workers.each(jobs.double, range(20))) == [2 * n for n in range(20)]
    assert list(workers.each(jobs.double, [])) == []


def test_what_may_be_shown_is_raised_as_it_was(workers):
    results = workers.each(jobs.refuse, range(10))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(PromiseError, match="part 3: k=2 where 5 was promised"):
        next(results)


def test_no_other_text_leaves_a_worker(cluster, run, capfd):
    with pytest.raises(Fault, match=r"^quote: ValueError at ") as raised:
        list(cluster.each(jobs.quote, [1]))
    client = cluster._client
    logs = (
        str(client.get_worker_logs()) + str(client.get_scheduler_logs()) + str(capfd.readouterr())
    )
    files = [path.read_bytes() for path in run.rglob("*") if path.is_file()]
    assert jobs.CANARY not in str(raised.value) + logs
    assert all(jobs.CANARY.encode() not in content for content in files)
    assert raised.value.__cause__ is None


def test_a_killed_worker_loses_nothing(cluster, run):
    """Dask blames parts that wait for a worker for its death, too; a part survives three."""
    names = [f"{n:04d}" for n in range(3)]
    with open_attempts(run) as attempts:
        task_arguments = [(str(attempts), name) for name in names]
        for name, made in zip(names, cluster.each(jobs.die_once, task_arguments), strict=True):
            keep_attempt(attempts, made, run / name)
        assert len(list(attempts.iterdir())) >= len(names)  # of those that died
    assert [(run / name / "rows").read_text() for name in names] == names
    assert not list(run.glob("attempts*"))


def test_what_kills_every_worker_is_a_fault_in_one_line(cluster):
    with pytest.raises(Fault, match=r"die: 4 workers died on the same part, .*parts\.rows"):
        list(cluster.each(jobs.die, [1]))


def test_parts_do_not_wait_for_ever_where_no_worker_comes_back(tmp_path, monkeypatch):
    """As on a machine that takes longer to start a worker than Dask waits for it."""
    for setting in ("distributed.deploy.lost-worker", "distributed.scheduler.no-workers"):
        monkeypatch.setitem(dask._SETTINGS, f"{setting}-timeout", "0.1s")
    tmp_path.chmod(0o700)
    with open_engine("dask", tmp_path, {}) as workers:
        with pytest.raises(Fault, match=r"^die: "):
            list(workers.each(jobs.die, [1]))
        while workers._client.scheduler_info()["workers"]:
            time.sleep(0.1)
        with pytest.raises(Fault, match=r"^double: no worker was there for 0 s"):
            list(workers.each(jobs.double, [1]))


def test_workers_are_waited_for_longer_than_a_busy_machine_takes_to_start_one(cluster):
    from dask import config

    lost, none = (
        config.get(f"distributed.{setting}-timeout")
        for setting in ("deploy.lost-worker", "scheduler.no-workers")
    )
    assert lost == none == f"{dask._UNTIL_WORKERS}s"
    assert cluster._client.cluster.scheduler.no_workers_timeout == dask._UNTIL_WORKERS > 60


def test_nobody_else_is_let_in(cluster):
    from distributed import Client, Security

    address = cluster._client.scheduler.address
    assert address.startswith("tls://127.0.0.1:")
    for other, security in ((address, Security.temporary()), (address.replace("tls", "tcp"), None)):
        with pytest.raises(OSError, match=r"closed|certificate|Timed out|connect"):
            Client(other, security=security, timeout=2)


def test_a_release_keeps_what_it_promises_without_dask(cluster, tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / "work"))
    made = []
    for name, workers in (("alone", InTurn()), ("by workers", cluster)):
        monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / name / "work"))
        line = Divided(tmp_path / name).write(visits(), **CLOSE)
        made.append(check(line.publish("one", workers).directory))
    assert made[0].derived == made[1].derived == "equal"
    assert made[0].verdicts == made[1].verdicts


def test_composed_parts_go_on_by_workers_as_they_do_alone(cluster, tmp_path, monkeypatch):
    made = []
    for name, workers in (("alone", InTurn()), ("by workers", cluster)):
        monkeypatch.setenv("SFUMATO_WORK", str(tmp_path / name / "work"))
        line = ComposedLine(tmp_path / name / "line", "generalized")
        line.publish(workers=workers)
        line.move(join=36)
        line.people[3] = line.person(3, year=2021)
        made.append(line.publish(workers=workers))
        assert check(made[-1].directory).derived == "equal"
    assert made[0].declared.rows == made[1].declared.rows
    assert made[0].declared.rows.not_represented_versions > 0
    sizes = [[part.groups for part in version.declared.made_of] for version in made]
    assert sizes[0] == sizes[1]


def test_a_worker_of_prefect_has_workers_of_dask(divided_line, prefect_api, tmp_path):
    from tests.prefect_server import Deployed, run_on_worker

    divided_line.write(visits(), engine="dask")
    parameters = {"spec": str(divided_line.spec)}
    deployments = {"dask": Deployed("flows/release.py:release", parameters, tmp_path / "work")}
    states, worker_log = run_on_worker(prefect_api, tmp_path, deployments)
    assert states == {"dask": "COMPLETED"}, worker_log
    assert check(divided_line.folder / "public" / "visits" / "0001").derived == "equal"
    assert "distributed" not in worker_log


def test_without_dask_it_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    with (
        pytest.raises(MissingPackageError, match=r"pip install 'sfumato\[dask\]'"),
        open_engine("dask", tmp_path, {}),
    ):
        pass
