"""Run tests against mutants, each in a forked child that has imported all that does not need it.

A mutant is never written to a file: the child imports its module from the mutated source.
"""

import gc
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
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from pkgutil import walk_packages
from typing import IO, Any, ClassVar

import pytest

_MEMORY = 8 << 30
QUIET = [
    *("-q", "--tb=line", "-p", "no:cacheprovider", "-p", "no:xdist"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # packages are imported already
]


def import_packages(more: Sequence[str] = ()) -> None:
    """Import what takes long and is not ours: what is known to, and `more` that tests loaded."""
    import great_expectations  # noqa: F401 - imported to be there
    import numba  # noqa: F401
    import prefect.main  # noqa: F401
    import scipy.stats  # noqa: F401
    import sqlglot.optimizer  # noqa: F401

    for name in more:
        with suppress(Exception):  # whoever needs it is told so
            importlib.import_module(name)
    if ours := [name for name in sys.modules if name.startswith("sfumato")]:
        raise RuntimeError(f"imported too early: {ours[:3]}")


def foreign_modules() -> list[str]:
    """Return the modules that are imported here, and are neither ours nor a test."""
    ours = ("sfumato", "tests", "conftest", "__main__", "_pytest", "pytest")
    return [name for name in sys.modules if name.partition(".")[0] not in ours]


class _InOrder:
    """Runs tests in the order in which they were given, and not those first that take longest."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._places = {test: place for place, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items.sort(key=lambda item: self._places.get(item.nodeid, -1))


def _name(file: str) -> str:
    return "sfumato." + file.removesuffix(".py").replace("/", ".")


class _Mutated(importlib.abc.MetaPathFinder):
    def __init__(self, file: str, source: str) -> None:
        self._name = _name(file)
        self._path, self._source = str(Path(file).absolute()), source

    def find_spec(self, name: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        if name != self._name:
            return None
        path, source = self._path, self._source

        class Loader(importlib.machinery.SourceFileLoader):
            def get_code(self, fullname: str) -> Any:
                return compile(source, path, "exec")

        return importlib.util.spec_from_file_location(name, path, loader=Loader(name, path))


class Forks:
    """A process for the mutants of one file: it has imported what of ours does not need that file.

    To import it all for each mutant would take longer than most tests that notice one.
    """

    _ours: ClassVar[list[Connection]] = []  # a child that keeps one open keeps its process alive

    def __init__(self, file: str) -> None:
        self._here, there = Pipe()
        self._ours.append(self._here)
        if os.fork() == 0:
            for connection in self._ours:
                connection.close()
            try:
                _serve(file, there)
            finally:
                os._exit(0)
        there.close()

    def verdict(self, source: str, tests: Sequence[str], timeout: float) -> tuple[str, str]:
        """Return a mutant's fate (`killed`, `survived`, `timeout`) and who noticed it."""
        self._here.send((source, tests, timeout))
        verdict: tuple[str, str] = self._here.recv()
        return verdict


def _serve(file: str, connection: Connection) -> None:
    _import_ours(file)
    gc.collect()
    gc.freeze()  # else every child walks through, and so copies, all that was imported
    with suppress(EOFError):
        while True:
            connection.send(_verdict(file, *connection.recv()))


def _import_ours(file: str) -> None:
    """Import our modules; those that need `file` fail, and are left to be imported with it."""
    without = _Absent(_name(file))
    sys.meta_path.insert(0, without)
    for package in ("expectations", "tasks", "flows"):
        for module_info in walk_packages([package], f"sfumato.{package}.", onerror=lambda _: None):
            with suppress(ImportError):
                importlib.import_module(module_info.name)
    sys.meta_path.remove(without)


class _Absent(importlib.abc.MetaPathFinder):
    def __init__(self, name: str) -> None:
        self._name = name

    def find_spec(self, name: str, *_: Any) -> None:
        if name == self._name:
            raise ModuleNotFoundError(f"{name} is mutated")


def _verdict(file: str, source: str, tests: Sequence[str], timeout: float) -> tuple[str, str]:
    def run() -> int:
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        sys.meta_path.insert(0, _Mutated(file, source))
        return int(pytest.main(["-x", *QUIET, *tests], plugins=[_InOrder(tests)]))

    with tempfile.TemporaryFile() as output:
        code = in_child(run, output, timeout)
        output.seek(0)
        lines = output.read().decode(errors="replace").splitlines()
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    if code is None:
        return "timeout", ""
    if code == 0:
        return "survived", ""
    return "killed", (failed or lines[-1:] or [""])[0][:200]


def in_child(run: Callable[[], int], output: IO[bytes], timeout: float) -> int | None:
    """Run a function in a child; its exit code, None where the time was not enough."""
    if (child := os.fork()) == 0:
        code = 70
        try:
            os.setpgid(0, 0)
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
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
