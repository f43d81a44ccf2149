"""Imports that take long, left out of the way of a package that names more than we use of it.

Templates of pages, which are compiled like modules, are kept compiled as modules are, and so are
texts that take long to make.
"""

import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import BytecodeCache

_KEPT = Path(__file__).parent / "__pycache__"
_PROCESS = SimpleNamespace(is_command=False)


def import_as_command() -> None:
    """Note that this process runs a command of ours, and nothing of anyone else's."""
    _PROCESS.is_command = True


def is_command() -> bool:
    """Tell whether this process runs a command of ours, and nothing of anyone else's."""
    return bool(_PROCESS.is_command)


@dataclass(frozen=True)
class Spared:
    """Modules that a package need not import.

    Attributes:
        later: the names of modules that are executed when something in them is first used.
        absent: the names of packages that are said not to be installed, which their importers are
            prepared for.
        hollow: matches the whole names of modules that are replaced: each of their names is an
            empty class.
        replaced: names of modules of which only some content is used, and that content by name.
    """

    later: Collection[str] = field(default=frozenset())
    absent: Collection[str] = field(default=frozenset())
    hollow: re.Pattern[str] = re.compile(r"(?!)")
    replaced: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


class _Hollow(Loader):
    """Makes a module in which every name is an empty class."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = ModuleType(spec.name)

        def make_class(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            made = type(name, (), {"__module__": spec.name})
            setattr(module, name, made)
            return made

        module.__getattr__ = make_class  # type: ignore[method-assign] # of PEP 562
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Execute nothing."""


@dataclass(frozen=True)
class _Replacing(Loader):
    """Makes a module with some content."""

    content: Mapping[str, Any]

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python make it."""

    def exec_module(self, module: ModuleType) -> None:
        """Give it its content."""
        vars(module).update(self.content)


class _Finder(MetaPathFinder):
    """Finds the modules that are spared."""

    def __init__(self, spared: Spared) -> None:
        self._spared = spared

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name in self._spared.absent:
            raise ModuleNotFoundError(f"{name} is not used here", name=name)
        if self._spared.hollow.fullmatch(name):
            return ModuleSpec(name, _Hollow())
        if name in self._spared.replaced:
            return ModuleSpec(name, _Replacing(self._spared.replaced[name]))
        spec = PathFinder.find_spec(name, path, target) if name in self._spared.later else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def import_spared(package: str, spared: Spared) -> None:
    """Import a package without what need not be imported, or whole where that fails.

    It holds for modules that are imported for the first time by this.
    """
    try:
        with _finding(spared):
            import_module(package)
    except Exception:  # noqa: BLE001 - whatever it was, another version needs what was left out
        for name in [name for name in sys.modules if f"{name}.".startswith(f"{package}.")]:
            del sys.modules[name]
        import_module(package)


def import_later(names: Collection[str]) -> None:
    """Let modules of some names be executed when something in them is first used, from now on."""
    sys.meta_path.insert(0, _Finder(Spared(later=names)))


@contextmanager
def _finding(spared: Spared) -> Iterator[None]:
    finder = _Finder(spared)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


@cache
def compiled_templates() -> "BytecodeCache":
    """Return where templates are kept once they are compiled: in memory, and beside our modules.

    Files are kept as Python keeps those of modules: not where that is turned off, or where the
    directory of our modules cannot be written.
    """
    from jinja2 import FileSystemBytecodeCache
    from jinja2.bccache import Bucket

    class CompiledTemplates(FileSystemBytecodeCache):
        code: dict[str, bytes] = {}  # noqa: RUF012 - the only object of the class has it

        def load_bytecode(self, bucket: Bucket) -> None:
            if (code := self.code.get(bucket.key)) is not None:
                bucket.bytecode_from_string(code)
                return
            with suppress(OSError):
                super().load_bytecode(bucket)

        def dump_bytecode(self, bucket: Bucket) -> None:
            self.code[bucket.key] = bucket.bytecode_to_string()
            if not sys.dont_write_bytecode:
                with suppress(OSError):
                    super().dump_bytecode(bucket)

    return CompiledTemplates(str(_KEPT), "template-%s.pyc")


def keep_text(kind: str, sources: Iterable[str], make: Callable[[], str]) -> str:
    """Return a text that is made only of some sources, from the file that keeps it if there is one.

    Files are kept as those of templates are. A file begins with the digest of its text, so that a
    damaged one is made again.

    Args:
        kind: of the text; a part of the file's name.
        sources: all that the text depends on.
        make: makes the text.
    """
    key = sha256("\0".join(map(_digest, sources)).encode()).hexdigest()
    file = _KEPT / f"{kind}-{key}.txt"
    with suppress(OSError, ValueError):
        stated, _, text = file.read_text(encoding="utf-8").partition("\n")
        if stated == _digest(text):
            return text
    text = make()
    if not sys.dont_write_bytecode:
        with suppress(OSError), NamedTemporaryFile("wb", dir=_KEPT, delete=False) as temporary:
            temporary.write(f"{_digest(text)}\n{text}".encode())
            temporary.close()
            Path(temporary.name).replace(file)
    return text


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
