"""A toy destination: a directory of this machine, which nobody else writes."""

import shutil
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel

from sfumato.tasks.destinations.destination import (
    DestinationKind,
    require_same_line,
    withdrawn_there,
)
from sfumato.tasks.lines.versions import RECORD, read_record
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tombstone import is_tombstone
from sfumato.tasks.verification.integrity import require_intact


class ShelfDestination(BaseModel):
    """A directory."""

    uri: str

    @property
    def variables(self):
        return []


class Shelf:
    """A directory, open for a line."""

    def __init__(self, place, line):
        self.notices, self._root = [], place / line.name
        self._root.mkdir(parents=True, exist_ok=True)
        if (self._root / RECORD).exists():
            require_same_line(str(place), read_record(self._root), line)

    def withdraw(self, version):
        place = self._root / version.number
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        for name, content in version.tombstone().items():
            (place / name).write_bytes(content)

    def put(self, version):
        version.manifest()
        place = self._root / version.number
        if is_tombstone(place):
            raise withdrawn_there(str(self._root), version.number)
        if place.exists():
            return False
        require_intact(open_release(version.directory))
        shutil.copytree(version.directory, place, copy_function=shutil.copyfile)
        return True

    def tell(self, line):
        for name, content in {**line.verifier, **line.beside, RECORD: line.content}.items():
            (self._root / name).parent.mkdir(parents=True, exist_ok=True)
            (self._root / name).write_bytes(content)


@contextmanager
def open_shelf(declared, line, _environ):
    yield Shelf(Path(declared.uri), line)


SHELF = DestinationKind(ShelfDestination, open_shelf)
