"""A cluster of scheduler and workers as others run them, which the real command is sent to."""

import os
import signal
import time
from contextlib import contextmanager

import dask
import pytest

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.publication.check import check
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.workers import dask as checked
from sfumato.tasks.workers.registry import open_engine
from tests.parts.divided import SPEC, visits
from tests.prefect_server import database
from tests.workers import jobs
from tests.workers.cluster import cluster

pytestmark = pytest.mark.filterwarnings("default")
PEOPLE = {
    "columns": {"person": {"role": "identifier", "unit": True}, **SPEC["columns"]},
    "unit": "person",
    "remember": "units",
    "parts": {"rows": 100},
}


@contextmanager
def known_cluster(made):
    """A cluster that the environment names, and whose certificates this process reads."""
    with pytest.MonkeyPatch.context() as patch, dask.config.set(made.settings):
        for name, value in made.variables.items():
            patch.setenv(name, value)
        yield made


@pytest.fixture(scope="module")
def remote(tmp_path_factory):
    with (
        cluster(tmp_path_factory.mktemp("apart") / "cluster", workers=2) as made,
        known_cluster(made),
    ):
        yield made


@pytest.fixture
def run(tmp_path):
    (tmp_path / "run").mkdir(mode=0o700)
    return tmp_path / "run"


def test_workers_do_what_is_asked(remote, run):
    with open_engine("local", run, os.environ) as workers:
        assert list(workers.each(jobs.double, [1, 2])) == [2, 4]


def test_other_software_is_refused(remote, run, monkeypatch):
    here = checked.software()
    monkeypatch.setattr(checked, "software", lambda: {**here, "pyarrow": "1.0"})
    with (
        pytest.raises(
            InputError,
            match=r"worker 1 of 2: has pyarrow .*, and this process has 1\.0",
        ),
        open_engine("dask", run, os.environ),
    ):
        pass


def test_another_disk_is_refused(remote, run, monkeypatch):
    monkeypatch.setattr(checked, "_SEEN", "elsewhere/../seen")
    (run / "elsewhere").mkdir()
    (run / "seen").symlink_to("/dev/null")
    with (
        pytest.raises(InputError, match="does not see the work directory"),
        open_engine("dask", run, os.environ),
    ):
        pass


def test_a_cluster_without_workers_is_refused(tmp_path, run):
    with (
        cluster(tmp_path / "cluster", workers=0) as made,
        known_cluster(made),
        pytest.raises(InputError, match="the cluster has no workers"),
        open_engine("dask", run, os.environ),
    ):
        pass


def test_a_scheduler_that_does_not_answer_is_refused(run, monkeypatch):
    monkeypatch.setattr("sfumato.tasks.workers.dask._SECONDS", 2)
    with (
        pytest.raises(InputError, match="SFUMATO_DASK: no scheduler answers"),
        open_engine("dask", run, {"SFUMATO_DASK": "tcp://127.0.0.1:9"}),
    ):
        pass


def test_the_command_publishes_though_a_worker_is_killed(divided_line, start, remote):
    divided_line.write(visits(), **PEOPLE)
    process = start("release", str(divided_line.spec))
    work = divided_line.folder.parent / "work" / "visits"
    end = time.monotonic() + 100
    while not list(work.glob("runs/*/candidate/attempts/*")):
        assert time.monotonic() < end
        time.sleep(0.005)
    remote.processes[1].send_signal(signal.SIGKILL)  # one of its two workers
    out, error = process.communicate(timeout=200)
    assert process.returncode == 0, error
    release = divided_line.folder / "public" / "visits" / "0001"
    assert out.splitlines()[-1] == str(release)
    assert check(release).derived == "equal"
    assert len(open_release(release).declared.made_of) > 4
    assert [path for path in (work / "runs").iterdir() if path.is_dir()] == []
    content = remote.log + out.encode() + error.encode() + database().read_bytes()
    for value in (b"IDENT", "Cé, the long".encode(), jobs.CANARY.encode()):
        assert value not in content
