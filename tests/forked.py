"""Commands in forked children, with limits, by a process that has imported everything.

It never starts a thread, and leaves the server of Prefect out: a run takes about a second.
"""

import os
import resource
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from select import POLLIN, poll

_THREADLESS = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
_WALL_SECONDS, _CPU_SECONDS, _BYTES = 60.0, 20, 6 << 30


@dataclass(frozen=True)
class Ran:
    """The end of a child: its code, what it used, and what it printed."""

    code: int | None
    seconds: float
    megabytes: float
    out: str
    err: str


def import_everything() -> None:
    """Import what commands need, and leave Prefect's server out; begins again without threads."""
    import warnings

    if not os.environ.items() >= _THREADLESS.items():
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], os.environ | _THREADLESS)

    from sfumato.flows.inputs.environment import quiet

    quiet()
    os.environ["PREFECT_LOGGING_LEVEL"] = "ERROR"
    import great_expectations  # noqa: F401 - imported to be there
    import pyarrow.csv
    import pyarrow.dataset
    import pyarrow.parquet  # noqa: F401
    import sqlglot.optimizer  # noqa: F401

    import sfumato.expectations
    import sfumato.flows
    import sfumato.tasks
    from tests.made_once import make_once, make_ready

    for package in (sfumato.expectations, sfumato.tasks, sfumato.flows):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    make_once()
    warnings.simplefilter("default")
    make_ready()
    threads = list(Path("/proc/self/task").iterdir())
    if len(threads) != 1:
        raise RuntimeError(f"the process that forks has {len(threads)} threads")


def in_child(run: Callable[[], int], folder: Path) -> Ran:
    """Run a function in a child, in a folder and with a work directory of its own there."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started, ended = os.pipe()
        if (child := os.fork()) == 0:
            code = 70
            try:
                os.close(started)
                os.chdir(folder)
                os.environ["SFUMATO_WORK"] = str(folder / "work")
                os.environ["XDG_CONFIG_HOME"] = str(folder / "config")
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                os.write(ended, str(_resident()).encode())
                os.close(ended)
                resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
                resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
                code = run()
            except BaseException:  # noqa: BLE001 - the child ends here
                traceback.print_exc()
            finally:
                os._exit(code)
        os.close(ended)
        code, used = _wait(child)
        with os.fdopen(started, "rb") as pipe:
            start = int(pipe.read() or 0)
        out.seek(0)
        err.seek(0)
        return Ran(
            code,
            used.ru_utime + used.ru_stime,
            max(0.0, used.ru_maxrss / 1024 - start / 2**20),
            out.read().decode(errors="replace"),
            err.read().decode(errors="replace"),
        )


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def _wait(child: int) -> tuple[int | None, resource.struct_rusage]:
    descriptor, polled = os.pidfd_open(child), poll()
    polled.register(descriptor, POLLIN)
    ended = polled.poll(1000 * _WALL_SECONDS)
    os.close(descriptor)
    if not ended:
        os.kill(child, signal.SIGKILL)
    _, status, used = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status) if ended else None, used
