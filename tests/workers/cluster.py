"""A scheduler and workers as processes of their own, behind TLS."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep

from distributed import Security

from tests.fork_server import ROOT


@dataclass
class Cluster:
    """Processes of a cluster, its settings, and what it says."""

    folder: Path
    settings: dict[str, str]
    address: str = ""
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def variables(self) -> dict[str, str]:
        """Return the variables that a client's environment needs."""
        named = {
            "DASK_" + name.replace(".", "__").replace("-", "_").upper(): value
            for name, value in self.settings.items()
        }
        return {**named, "SFUMATO_DASK": self.address}

    @property
    def log(self) -> bytes:
        return b"".join(path.read_bytes() for path in self.folder.glob("*.log"))

    def start(self, *arguments: str) -> None:
        name = f"{len(self.processes)}-{arguments[0]}"
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *arguments, "--no-dashboard", "--host", "127.0.0.1"],
                env={**os.environ, **self.variables, "PYTHONPATH": str(ROOT)},
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)

    def start_scheduler(self) -> None:
        file = self.folder / "scheduler.json"
        self.start(
            "scheduler", "--port", "0", "--protocol", "tls", "--scheduler-file", str(file)
        )  # fmt: skip
        _wait(file.exists)
        self.address = json.loads(file.read_text())["address"]

    def start_worker(self) -> None:
        place = self.folder / f"worker-{len(self.processes)}"
        place.mkdir(mode=0o700)
        self.start(
            "worker", self.address, "--no-nanny", "--nthreads", "1",
            "--local-directory", str(place),
        )  # fmt: skip


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[Cluster]:
    """A cluster with certificates of its own; ends with its processes."""
    folder.mkdir(mode=0o700)
    made = Cluster(folder, _certificates(folder))
    try:
        made.start_scheduler()
        for _ in range(workers):
            made.start_worker()
        _wait(lambda: made.log.count(b"Registered to:") >= workers)
        yield made
    finally:
        for process in made.processes:
            process.send_signal(signal.SIGKILL)
            process.wait()


def _certificates(folder: Path) -> dict[str, str]:
    own = Security.temporary()
    for name, content in (("key", own.tls_client_key), ("cert", own.tls_client_cert)):
        (folder / name).write_text(content)
    files = {"ca-file": str(folder / "cert")}
    for role in ("client", "scheduler", "worker"):
        files |= {f"{role}.{name}": str(folder / name) for name in ("cert", "key")}
    files = {f"distributed.comm.tls.{name}": value for name, value in files.items()}
    return files | {"distributed.comm.require-encryption": "true"}


def _wait(until) -> None:
    end = monotonic() + 60
    while not until():
        assert monotonic() < end
        sleep(0.05)
