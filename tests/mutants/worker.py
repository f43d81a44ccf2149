"""Run tests against mutants, each in a forked child that has imported all packages but our own.

A mutant is never written to a file: the child imports its module from the mutated source.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

_MEMORY = 8 << 30
QUIET = [
    *("-q", "--tb=line", "-p", "no:cacheprovider", "-p", "no:xdist"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # packages are imported already
]


def import_packages() -> None:
    """Import what takes long and is not ours."""
    import great_expectations  # noqa: F401 - imported to be there
    import matplotlib.figure  # noqa: F401
    import numba  # noqa: F401
    import prefect.main  # noqa: F401
    import pytest  # noqa: F401
    import scipy.stats  # noqa: F401
    import sqlglot.optimizer  # noqa: F401

    if ours := [name for name in sys.modules if name.startswith("sfumato")]:
        raise RuntimeError(f"imported too early: {ours[:3]}")


class _Mutated(importlib.abc.MetaPathFinder):
    def __init__(self, file: str, source: str) -> None:
        self._name = "sfumato." + file.removesuffix(".py").replace("/", ".")
        self._path, self._source = str(Path(file).absolute()), source

    def find_spec(self, name: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        if name != self._name:
            return None
        path, source = self._path, self._source

        class Loader(importlib.machinery.SourceFileLoader):
            def get_code(self, fullname: str) -> Any:
                return compile(source, path, "exec")

        return importlib.util.spec_from_file_location(name, path, loader=Loader(name, path))


def verdict(file: str, source: str, tests: Sequence[str], timeout: float) -> tuple[str, str]:
    """What became of a mutant, `killed`, `survived` or `timeout`, and the test that noticed it."""

    def run() -> int:
        import pytest

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        sys.meta_path.insert(0, _Mutated(file, source))
        return int(pytest.main(["-x", *QUIET, *tests]))

    with tempfile.TemporaryFile() as said:
        code = in_child(run, said, timeout)
        said.seek(0)
        lines = said.read().decode(errors="replace").splitlines()
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    if code is None:
        return "timeout", ""
    if code == 0:
        return "survived", ""
    return "killed", (failed or lines[-1:] or [""])[0][:200]


def in_child(run: Callable[[], int], said: IO[bytes], timeout: float) -> int | None:
    """Run a function in a child; its exit code, None where the time was not enough."""
    if (child := os.fork()) == 0:
        code = 70
        try:
            os.setpgid(0, 0)
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
            code = run()
        except BaseException:  # noqa: BLE001 - the child ends here
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None
