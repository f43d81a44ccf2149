"""A year of a scheduled deployment: a version a month of people who move, fall ill and leave.

    python -m tests.benchmarks.year --months 12 --seconds 30

A Prefect server, a worker and a deployment with a schedule, all real; every version is checked, and
held against all versions before it. A month is over when its version has appeared.
"""

import argparse
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from tests.benchmarks.comers import ID, Pace, versions_of
from tests.benchmarks.rereleased import PLACES, spec_of
from tests.fork_server import ROOT

LINE, ILL, ZIP = "town", "illness", "zip"
PEOPLE, JOINING, MOVING, PATIENCE = 2_000, 2_000, 0.01, 300
COLUMNS = {
    "age": {"role": "quasi-identifier", "type": "integer"},
    ZIP: {"role": "quasi-identifier", "type": "integer"},
    ILL: {"role": "sensitive", "type": "string"},
}
COMMAND = "import sys; from sfumato.flows.cli.main import run; sys.exit(run(sys.argv[1:]))"
METHOD = (
    {"method": "split"},
    {"method": "anatomy"},
    [{"model": "l-diversity", "variant": "distinct", "l": 3}],
)


def main() -> None:
    """Let the months pass, and say of each what was published and found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--months", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=30, help="from one run to the next")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        place = Path(folder)
        months = _months(np.random.default_rng(7))
        _write(place, next(months))
        environment = stack.enter_context(_server(place))
        stack.enter_context(_deploy_flow(place, environment, options.seconds))
        for month in range(1, options.months + 1):
            version = place / "public" / LINE / f"{month:04}"
            _wait(version.exists, f"version {month}")
            _write(place, next(months))
            print(f"month {month}: {_check_version(version)}", flush=True)


def _months(rng: np.random.Generator) -> Iterator[pa.Table]:
    """Everybody in town, month by month."""
    everybody = PEOPLE + JOINING
    ill = [f"illness {n}" for n in np.minimum(rng.geometric(0.2, everybody), 12)]
    people = pa.table({"age": rng.integers(18, 90, everybody), ZIP: rng.integers(0, 50, everybody)})
    people = people.append_column(ILL, pa.array(ill))
    zips = people[ZIP].to_numpy().copy()
    for month in versions_of(people, PEOPLE, ILL, Pace(), rng):
        moving = rng.random(everybody) < MOVING
        zips[moving] = rng.integers(0, 50, moving.sum())
        where = month.column_names.index(ZIP)
        yield month.set_column(where, ZIP, pa.array(zips[month[ID].to_numpy()]))


def _write(place: Path, people: pa.Table) -> None:
    """Put the source in place at once: a run reads this month's people, or last month's."""
    pq.write_table(people, place / "next.parquet")
    (place / "next.parquet").replace(place / "people.parquet")
    spec = {**spec_of(LINE, COLUMNS, METHOD, "composed"), **PLACES}
    (place / "spec.yaml").write_text(yaml.safe_dump(spec), encoding="utf-8")


@contextmanager
def _server(place: Path) -> Iterator[dict[str, str]]:
    """A server with its schedules; yields the environment of what talks to it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")},
        "HOME": str(place),
        "PREFECT_HOME": str(place / "prefect"),
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_UI_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "SFUMATO_WORK": str(place / "work"),
    }
    command = ["server", "start", "--host", "127.0.0.1", "--port", str(port)]
    with _running(place, environment, "server", command):
        yield environment


@contextmanager
def _running(
    place: Path, environment: dict[str, str], name: str, command: list[str]
) -> Iterator[None]:
    """A Prefect command that goes on until it is no longer needed; what it says is in a file."""
    with (place / f"{name}.log").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "prefect", *command],
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            yield
        except BaseException:
            print((place / f"{name}.log").read_text(errors="replace")[-3000:])
            raise
        finally:
            process.terminate()
            process.wait(60)


@contextmanager
def _deploy_flow(place: Path, environment: dict[str, str], seconds: float) -> Iterator[None]:
    """The flow on a schedule, and a worker that runs it."""
    from prefect.settings import PREFECT_API_URL, temporary_settings

    pool = f"pool-{secrets.token_hex(4)}"
    with temporary_settings({PREFECT_API_URL: environment["PREFECT_API_URL"]}):
        _wait(_answers, "the server")
        _deploy(place, pool, seconds)
    with _running(place, environment, "worker", ["worker", "start", "--pool", pool]):
        yield


def _answers() -> bool:
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        return client.api_healthcheck() is None


def _deploy(place: Path, pool: str, seconds: float) -> None:
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.actions import DeploymentScheduleCreate, WorkPoolCreate
    from prefect.client.schemas.schedules import IntervalSchedule

    every = IntervalSchedule(interval=timedelta(seconds=seconds))
    step = "prefect.deployments.steps.set_working_directory"
    with get_client(sync_client=True) as client:
        client.create_work_pool(WorkPoolCreate(name=pool, type="process"))
        client.create_deployment(
            client.create_flow_from_name("release"),
            name=LINE,
            schedules=[DeploymentScheduleCreate(schedule=every, active=True)],
            concurrency_limit=1,
            work_pool_name=pool,
            entrypoint="sfumato.flows.release:release",
            parameters={"spec": str(place / "spec.yaml")},
            pull_steps=[{step: {"directory": str(ROOT)}}],
            job_variables={"env": {"SFUMATO_WORK": str(place / "work")}},
        )


def _wait(for_: Callable[[], bool], what: str) -> None:
    """Ask again and again."""
    end = time.monotonic() + PATIENCE
    while not for_():
        if time.monotonic() > end:
            raise TimeoutError(f"waited in vain for {what}")
        time.sleep(0.5)


def _check_version(version: Path) -> str:
    """Check a version and hold it against all before it; the last line of each is told."""
    before = [str(d) for d in sorted(version.parent.glob("[0-9]*")) if d.name < version.name]
    options = [part for directory in before for part in ("--previous", directory)]
    command = [sys.executable, "-c", COMMAND, "check", str(version), *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode:
        raise AssertionError(done.stdout + done.stderr)
    steps = [line for line in done.stdout.splitlines() if f"{version} continues " in line]
    if bool(before) != bool(steps):
        raise AssertionError(f"not held against those before it: {done.stdout}")
    summary = steps[-1].partition(": ")[2] if steps else "the first"
    return f"checked, held against {len(before)}: {summary}"


if __name__ == "__main__":
    main()
