"""The private work directory: what may be known of a line and of a run, by nobody else.

    <work>/<line>/key            the line's secret, from the operating system
    <work>/<line>/state.json     what was published of which source
    <work>/<line>/units/         whom each version was about, as keyed hashes
    <work>/<line>/left-out/      which rows a version does not represent
    <work>/<line>/runs/<id>/     one run's stages, deleted when it ends
    <work>/<line>/reports/       accuracy reports

Every directory has mode 0700. Runs that were killed are swept by the next one.
"""

import json
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sfumato.tasks.private.durable import locked, locked_if_free, write_atomically

_ALIVE = "alive"
_RETAIN = "retain.json"


def work_directory(environ: Mapping[str, str]) -> Path:
    """`$SFUMATO_WORK`, or `sfumato` in the user's state directory (XDG)."""
    if given := environ.get("SFUMATO_WORK"):
        return Path(given).absolute()
    state = environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state).absolute() / "sfumato"


def line_directory(work: Path, name: str) -> Path:
    """The private directory of a release line, made where it is missing."""
    return private_directory(private_directory(work) / name)


def private_directory(path: Path) -> Path:
    """A directory that its owner alone can enter."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.chmod(0o700)
    return path


@contextmanager
def state_lock(line: Path) -> Iterator[None]:
    """Hold the lock under which a line's private state is changed."""
    with locked(line / ".publishing"):
        yield


@contextmanager
def run_directory(line: Path, retain_hours: int = 0) -> Iterator[Path]:
    """A new directory for one run's stages; it goes when the run ends, however it ends.

    With `retain_hours` the stages stay that long, until a later run of the line sweeps them.
    """
    runs = private_directory(line / "runs")
    with locked(runs / ".lock"):
        sweep(runs)
        run = private_directory(runs / secrets.token_hex(8))
        alive = locked(run / _ALIVE)
        alive.__enter__()
    try:
        yield run
    finally:
        if retain_hours:
            until = json.dumps({"until": time.time() + 3600 * retain_hours})
            write_atomically(run / _RETAIN, until.encode())
        else:
            shutil.rmtree(run, ignore_errors=True)
        alive.__exit__(None, None, None)


def sweep(runs: Path) -> None:
    """Delete what killed runs left, and what need no longer be retained."""
    for run in (entry for entry in runs.iterdir() if entry.is_dir()):
        with locked_if_free(run / _ALIVE) as free:
            if free and not _retained(run):
                shutil.rmtree(run, ignore_errors=True)


def _retained(run: Path) -> bool:
    try:
        until = json.loads((run / _RETAIN).read_text(encoding="utf-8"))["until"]
    except FileNotFoundError:
        return False
    return time.time() < float(until)
