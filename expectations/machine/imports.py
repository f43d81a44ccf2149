"""Imports that take long, left out of the way of a package that names more than we use of it."""

import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType


class _Spared(MetaPathFinder):
    """Finds some modules, and lets Python execute them when something in them is first used.

    Of others it says that they are not installed, which their importers are prepared for.
    """

    def __init__(self, later: Collection[str], absent: Collection[str]) -> None:
        self._later, self._absent = later, absent

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name in self._absent:
            raise ModuleNotFoundError(f"{name} is not used here", name=name)
        spec = PathFinder.find_spec(name, path, target) if name in self._later else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


@contextmanager
def spared_imports(later: Collection[str], absent: Collection[str] = ()) -> Iterator[None]:
    """Execute some modules only when something in them is first used, and leave others out.

    It holds for modules that are imported for the first time in this block.

    Args:
        later: the names of modules that are executed when they are used.
        absent: the names of packages that are said not to be installed.
    """
    finder = _Spared(later, absent)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
