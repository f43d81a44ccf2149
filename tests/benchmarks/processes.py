"""Commands as users run them: fresh processes with homes of their own, and what they take."""

import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import perf_counter

ROOT = Path(__file__).parents[2]
COMMAND = "from sfumato.flows.cli.main import main; main()"


@dataclass(frozen=True)
class Taken:
    """The CPU and wall seconds and peak megabytes of a process and those that it waited for."""

    cpu: float
    wall: float
    peak: float


def environment(place: Path) -> dict[str, str]:
    """This process's, with the user's homes replaced by folders below a place.

    Byte code is kept, as it is for users.
    """
    names = {"PREFECT_HOME": "prefect", "XDG_CACHE_HOME": "cache", "SFUMATO_WORK": "work"}
    quiet = {"PREFECT_LOGGING_LEVEL": "ERROR", "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "true"}
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return own | {name: str(place / folder) for name, folder in names.items()} | quiet


def release(into: Path, spec: Path, code: str = COMMAND) -> list[str]:
    """The command that releases a spec into a folder."""
    return [sys.executable, "-c", code, "release", str(spec), "--set", f"publish.uri={into}"]


def run(command: Sequence[str], environ: Mapping[str, str]) -> Taken:
    """Run a command to its end and return what it took.

    Raises:
        SystemExit: if the command fails, with what it said.
    """
    begun = perf_counter()
    with subprocess.Popen(
        command, env=dict(environ), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        words = process.stderr.read().decode(errors="replace")
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"a command of the benchmark failed: {words}")
    cpu = usage.ru_utime + usage.ru_stime
    return Taken(cpu, perf_counter() - begun, usage.ru_maxrss / 1024)


def of_code(code: str, environ: Mapping[str, str], arguments: Sequence[str] = ()) -> float:
    """The median CPU seconds of a process that runs some code, which it ran before."""
    command = [sys.executable, "-c", code, *arguments]
    run(command, environ)
    return median(run(command, environ).cpu for _ in range(7))


def with_spread(figures: Sequence[float], decimals: int = 1) -> str:
    """The median of some figures, with the least and the most."""
    low, middle, high = (
        f"{figure:.{decimals}f}" for figure in (min(figures), median(figures), max(figures))
    )
    return f"{middle} ({low}–{high})" if len(figures) > 1 else middle


def peak_megabytes() -> float:
    """The most memory this process held; what it was forked from does not count."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return float(status.partition("VmHWM:")[2].split()[0]) / 1024


def describe_machine() -> str:
    """The day, the processor, its cores, what else runs on it, Python, and the commit."""
    info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    names = [line.partition(": ")[2] for line in info.splitlines() if line.startswith("model name")]
    git = ["git", "-C", str(ROOT)]
    commit = subprocess.check_output([*git, "rev-parse", "--short=10", "HEAD"], text=True).strip()
    changed = subprocess.check_output([*git, "status", "--porcelain", "-uno"], text=True).strip()
    return ", ".join(
        [
            f"{datetime.now(UTC):%-d %B %Y %H:%M UTC}",
            f"{os.cpu_count()} cores of {names[0] if names else platform.machine()}",
            f"load {os.getloadavg()[0]:.1f}",
            f"Python {platform.python_version()}",
            f"commit {commit}{' with changes' if changed else ''}",
        ]
    )
