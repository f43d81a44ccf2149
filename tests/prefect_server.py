"""The one Prefect server of a test run, and lines that run against it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prefect.settings import PREFECT_API_URL, PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings
from prefect.testing.utilities import prefect_test_harness

ROOT = Path(__file__).parents[1]


@contextmanager
def server() -> Iterator[str]:
    """A temporary server with a database of its own; yields its address."""
    with (
        prefect_test_harness(server_startup_timeout=120),
        temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}),
    ):
        yield str(PREFECT_API_URL.value())


def start(address: str, work: Path, *arguments: str, stop: str | None = None) -> subprocess.Popen:
    """Start the command apart; with `stop` it kills itself at that point."""
    home = work / "home"
    home.mkdir(parents=True, exist_ok=True)
    driver = (
        ["tests/faults/stop_at.py", stop] if stop else ["-c", "import flows.cli as c; c.main()"]
    )
    command = [sys.executable, *driver, *arguments]
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")},
        "HOME": str(home),
        "PREFECT_API_URL": address,
        "PYTHONPATH": str(ROOT),
        "SFUMATO_WORK": str(work / "work"),
    }
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
