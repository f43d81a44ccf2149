"""The one Prefect server of a test run, and lines that run against it."""

import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.settings import (
    PREFECT_API_URL,
    PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
    PREFECT_SERVER_DATABASE_CONNECTION_URL,
    temporary_settings,
)
from prefect.testing.utilities import prefect_test_harness

from sfumato.flows.inputs.environment import quiet
from tests.fork_server import ROOT, ForkServer, Run

# As our own deployments say it: else each run copies the whole repository.
_FROM_HERE = [{"prefect.deployments.steps.set_working_directory": {"directory": str(ROOT)}}]


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@contextmanager
def server() -> Iterator[str]:
    """A temporary server with a database of its own, which tells nobody; yields its address."""
    quiet()
    with (
        prefect_test_harness(server_startup_timeout=120),
        temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}),
    ):
        yield str(PREFECT_API_URL.value())


def save_secret(name: str, value: Any) -> None:
    """Save a block of the run's server; what Prefect's decorator takes is not in its types."""
    from prefect.blocks.system import Secret

    block: Any = Secret(value=value)
    block.save(name, overwrite=True, _sync=True)


def start(
    forks: ForkServer, address: str, work: Path, *arguments: str, stop: str | None = None
) -> Run:
    """Start the command in a process of its own; with `stop` it kills itself at that point."""
    return forks.start(list(arguments), _environment(address, work), stop)


def _environment(address: str, work: Path) -> dict[str, str]:
    """Those of this process but Prefect's own, with a home and a work directory in `work`."""
    home = work / "home"
    home.mkdir(parents=True, exist_ok=True)
    return {
        **{k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")},
        "HOME": str(home),
        "PREFECT_API_URL": address,
        "PYTHONPATH": str(ROOT),
        "SFUMATO_WORK": str(work / "work"),
    }


def database() -> Path:
    """The file in which the server keeps what it is told."""
    return Path(str(PREFECT_SERVER_DATABASE_CONNECTION_URL.value()).partition("///")[2])


@dataclass(frozen=True)
class Deployed:
    """A deployment that a worker runs: an entrypoint, its parameters, and its work directory.

    `variables` are those of its environment that the deployment names in its job variables.
    """

    entrypoint: str
    parameters: Mapping[str, Any]
    work: Path
    variables: Mapping[str, str] = field(default_factory=dict)


def run_on_worker(
    address: str, work: Path, deployed: Mapping[str, Deployed]
) -> tuple[Mapping[str, str], str]:
    """Deploy flows by their entrypoints and run each once, all on one worker.

    Returns:
        The type of the last state of each run by its name, and what the worker said.
    """
    pool = f"pool-{secrets.token_hex(4)}"
    with get_client(sync_client=True) as client:
        client.create_work_pool(WorkPoolCreate(name=pool, type="process"))
        flow, runs = client.create_flow_from_name("release"), {}
        for number, (name, settings) in enumerate(deployed.items()):
            deployment = client.create_deployment(
                flow,
                name=f"{pool}-{number}",
                work_pool_name=pool,
                entrypoint=settings.entrypoint,
                pull_steps=_FROM_HERE,
                job_variables={"env": {"SFUMATO_WORK": str(settings.work), **settings.variables}},
            )
            run = client.create_flow_run_from_deployment(
                deployment, parameters=dict(settings.parameters)
            )
            runs[name] = run.id
        command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", pool, "--run-once"]
        worker = subprocess.run(
            command,
            cwd=ROOT,
            env=_environment(address, work),
            capture_output=True,
            text=True,
            timeout=600,
        )
        states = {name: client.read_flow_run(run).state for name, run in runs.items()}
    types = {name: state.type.value if state else "" for name, state in states.items()}
    return types, worker.stdout + worker.stderr
