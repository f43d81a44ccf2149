"""A machine of an operator: a Prefect server, a worker, and lines that are deployed on them.

Its worker asks for runs every second, not every ten, and its commands are forked from a process
that has imported everything.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import httpx
import psutil
from prefect.client.orchestration import SyncPrefectClient

from tests.fork_server import ROOT, ForkServer
from tests.prefect_server import free_port

Found = TypeVar("Found")
PATIENCE = 300.0  # seconds
_OURS = ("PREFECT_", "SFUMATO_")


def wait_for(find: Callable[[], Found | None], what: str, patience: float = PATIENCE) -> Found:
    """Return the answer to a question, once there is one."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        if (answer := find()) is not None:
            return answer
        time.sleep(0.2)
    raise AssertionError(f"waited {patience} s for {what}")


@dataclass
class Machine:
    """A server and a worker as processes of their own, with a home, and specs below `specs`."""

    folder: Path
    forks: ForkServer
    database: str | None = None
    port: int = field(default_factory=free_port)
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.port}/api"

    @property
    def specs(self) -> Path:
        return self.folder / "specs"

    @property
    def environment(self) -> dict[str, str]:
        """Those of this process but Prefect's and ours, with places of the machine's own."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith(_OURS)}
        own = {
            "HOME": str(self.folder / "home"),
            "PREFECT_API_URL": self.api,
            "PREFECT_HOME": str(self.folder / "home" / ".prefect"),
            "PREFECT_SERVER_UI_API_URL": self.api,
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
            "PREFECT_WORKER_QUERY_SECONDS": "1",
            "DO_NOT_TRACK": "1",
            "PYTHONPATH": str(ROOT),
            "SFUMATO_WORK": str(self.folder / "work"),
        }
        if self.database is not None:
            own["PREFECT_SERVER_DATABASE_CONNECTION_URL"] = self.database
        return environment | own

    def start(self) -> "Machine":
        """Start the server, which is ready when this returns."""
        (self.folder / "home" / ".prefect").mkdir(parents=True, mode=0o700, exist_ok=True)
        self._start("server", "server", "start", "--host", "127.0.0.1", "--port", str(self.port))
        wait_for(self._is_up, "the server")
        return self

    def start_worker(self, name: str = "worker", pool: str = "sfumato") -> None:
        """Start a worker of a pool: that of releases, unless it is named."""
        self._start(name, "worker", "start", "--pool", pool, "--limit", "4")

    def stop(self, name: str) -> None:
        """Stop the server or the worker as its operator would."""
        process = self.running.pop(name)
        process.send_signal(signal.SIGINT)
        process.wait(60)

    def kill(self, *, worker: bool, name: str = "worker") -> None:
        """End every process of a run at once, and the worker too where that is asked for."""
        parent = psutil.Process(self.running[name].pid)
        for process in [*([parent] if worker else []), *parent.children(recursive=True)]:
            process.kill()
        if worker:
            self.running.pop(name).wait(60)

    def close(self) -> None:
        """End what runs."""
        for name in ("worker", "publisher"):
            if name in self.running:
                self.kill(worker=True, name=name)
        self.asking.close()
        if "server" in self.running:
            self.stop("server")

    def sfumato(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run the command line among the specs."""
        run = self.forks.start(
            list(arguments), self.environment | environment, None, place=self.specs
        )
        out, error = run.communicate(timeout=PATIENCE)
        return subprocess.CompletedProcess(arguments, run.returncode or 0, out, error)

    def run(
        self, line: str, parameters: Mapping[str, Any] | None = None, flow: str = "release"
    ) -> str:
        """Start a run of a line by hand, and return its id.

        Raises:
            PrefectHTTPStatusError: where the server refuses it.
        """
        with self.client() as client:
            deployment = client.read_deployment_by_name(f"{flow}/{line}")
            run = client.create_flow_run_from_deployment(
                deployment.id, parameters=dict(parameters or {})
            )
        return str(run.id)

    def client(self) -> SyncPrefectClient:
        return SyncPrefectClient(self.api)

    def state(self, run: str) -> tuple[str, str, str]:
        """The type, name and message of a run's state."""
        state = self.get(f"flow_runs/{run}")["state"]
        return state["type"], state["name"], state["message"] or ""

    def wait(self, run: str, *names: str, patience: float = PATIENCE) -> tuple[str, str, str]:
        """The state of a run, once its name is one of these."""

        def state_at_end() -> tuple[str, str, str] | None:
            state = self.state(run)
            return state if state[1] in names else None

        try:
            return wait_for(state_at_end, f"{run} in {names}", patience)
        except AssertionError:
            raise AssertionError(f"{run}: {self.state(run)}, not {names}") from None

    @cached_property
    def asking(self) -> httpx.Client:
        """Return the client of the server: a client each time would read all certificates anew."""
        return httpx.Client(base_url=self.api, timeout=PATIENCE)

    def get(self, path: str) -> Any:
        """Return what the server answers."""
        return self.asking.get(path).raise_for_status().json()

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Return what the server answers to a question with a body."""
        answer = self.asking.post(path, json=dict(body or {}))
        return answer.raise_for_status().json() if answer.content else None

    def events(self, kind: str) -> list[dict[str, Any]]:
        """The events of a kind."""
        body = {"filter": {"event": {"name": [kind]}}, "limit": 50}
        return list(self.post("events/filter", body)["events"])

    def log(self, name: str) -> str:
        """Return the log of the server or of the worker."""
        return (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def _start(self, name: str, *arguments: str) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                [sys.executable, "-m", "prefect", *arguments],
                cwd=self.folder,
                env=self.environment,
                stdout=log,
                stderr=log,
            )

    def _is_up(self) -> bool | None:
        try:
            return self.asking.get("health", timeout=2).is_success or None
        except httpx.HTTPError:
            return None
