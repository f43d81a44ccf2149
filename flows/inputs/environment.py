"""Set-up of a process: fast start of libraries, a quiet and offline Prefect, memory.

Settings that the operator made stay as they are.
"""

import gc
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from sfumato.expectations.machine.fault import with_remedies
from sfumato.expectations.machine.imports import import_as_command, import_later
from sfumato.expectations.shared.errors import Fault
from sfumato.tasks.private.durable import name_in_errors

_QUIET = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    "GX_ANALYTICS_ENABLED": "false",
}

_LEAN = {
    "OPENBLAS_NUM_THREADS": "1",  # our matrices are small: its threads would only wait, spinning
    "PYDANTIC_DISABLE_PLUGINS": "__all__",  # they are looked for in every package's metadata
}
# SciPy copies the names of all modules of NumPy, these as well, which no command uses
_LATER = frozenset({"numpy.ctypeslib", "numpy.f2py", "numpy.polynomial", "numpy.testing"})
_DATABASE = 1 << 21  # bytes of a new database of Prefect's, and of its journal
_OBJECTS = 200_000  # between collections of garbage, of which imports make little


def lean() -> None:
    """Make libraries of a command start fast; must run before NumPy and pydantic are imported."""
    import_as_command()
    import_later(_LATER)
    for name, value in _LEAN.items():
        os.environ.setdefault(name, value)
    gc.set_threshold(_OBJECTS)


class WithoutPandas:
    """Finds modules, and says of pandas that there is none.

    PyArrow imports pandas to test whether an array is a series, which takes 0.2 seconds at each
    start, and works without it if it is not installed. Only Great Expectations' suites need it.
    """

    @staticmethod
    def find_spec(name: str, *_: Any) -> None:
        """Leave all modules to other finders.

        Raises:
            ModuleNotFoundError: for pandas.
        """
        if name == "pandas":
            raise ModuleNotFoundError("this command does not use pandas", name=name)


def without_pandas() -> None:
    """Keep everything in this process from importing pandas."""
    sys.meta_path.insert(0, WithoutPandas)


def quiet() -> None:
    """Set what is not set; must run before the embedded server starts."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)


@contextmanager
def imports_apart() -> Iterator[None]:
    """Let the garbage collector pass over all that was imported before.

    A run makes millions of small objects, and each full collection would go through those of
    hundreds of modules again.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def require_home(environ: Mapping[str, str]) -> None:
    """Write as much in Prefect's directory as its database needs, and delete it again.

    The server of a command, which would fail there, would print pages about it.

    Raises:
        Fault: where that cannot be written.
    """
    home = _home(environ)
    try:
        with name_in_errors(home), TemporaryFile(dir=home) as file:
            file.write(bytes(_DATABASE))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise Fault(
            with_remedies(f"PREFECT_HOME: files in {home} cannot be written", error)
        ) from None


def _home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("PREFECT_HOME") or "~/.prefect").expanduser()


def open_home(environ: Mapping[str, str]) -> str | None:
    """Return a warning if others can read Prefect's directory, or None.

    Prefect's database there has counts of the source's rows and every run's messages.

    Raises:
        Fault: where it is missing and cannot be made.
    """
    home = _home(environ)
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = stat.S_IMODE(home.stat().st_mode)
    except OSError as error:
        raise Fault(with_remedies(f"PREFECT_HOME: {home} cannot be used", error)) from None
    if not mode & 0o077:
        return None
    return (
        f"other users can read {home} (mode {mode:04o}), and it has counts of rows "
        f"that are not published. To close it, run chmod 700 {home}"
    )
