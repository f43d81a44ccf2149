"""Files of other tools that a draft can come from, by the endings of their names."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.other_tools.setup import ForeignSetup

_ROOM = "sfumato.tasks.other_tools"


@dataclass(frozen=True)
class ForeignFile:
    """A kind of file that can be imported.

    Attributes:
        title: the kind in words.
        endings: of the names of such files, in lower case.
        module: the module of its reader.
        function: the reader: it takes the path and the name in errors.
    """

    title: str
    endings: tuple[str, ...]
    module: str
    function: str

    def read(self, path: Path, file: str) -> ForeignSetup:
        """Return the set-up of a file; errors are those of its reader."""
        reader: Callable[[Path, str], ForeignSetup] = getattr(
            import_module(f"{_ROOM}.{self.module}"), self.function
        )
        return reader(path, file)


FOREIGN_FILES: Mapping[str, ForeignFile] = {
    "arx": ForeignFile("a project of ARX", (".deid",), "arx_project", "read_project"),
    "arx-hierarchies": ForeignFile(
        "a hierarchy of ARX, or a folder of them", (".csv",), "arx_hierarchies", "read_hierarchies"
    ),
    "sdcmicro": ForeignFile("an R script with sdcMicro", (".r",), "sdcmicro", "read_script"),
    "sdcmicro-report": ForeignFile(
        "a report of sdcMicro", (".html", ".htm", ".md"), "sdcmicro_report", "read_report"
    ),
    "tau-argus": ForeignFile("metadata of tau-Argus", (".rda",), "argus", "read_metadata"),
}
"""The kinds of files by name."""


def read_setup(path: Path) -> ForeignSetup:
    """Return the set-up in a file of another tool, or in a folder of hierarchies.

    Raises:
        InputError: if the file is not there, is of no known kind, or cannot be read within limits.
    """
    file = path.name or str(path)
    if not path.exists():
        raise InputError(f"{path}: does not exist. Correct the path behind --from")
    if path.is_dir():
        return FOREIGN_FILES["arx-hierarchies"].read(path, file)
    ending = path.suffix.lower()
    kind = next((kind for kind in FOREIGN_FILES.values() if ending in kind.endings), None)
    if kind is None:
        kinds = ", ".join(f"{'/'.join(k.endings)} ({k.title})" for k in FOREIGN_FILES.values())
        raise InputError(f"{file}: cannot be imported. These can: {kinds}")
    return kind.read(path, file)
