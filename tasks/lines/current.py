"""The place of a release: a version's own, or the current version's of a line.

A line's directory has no manifest, but a record of its versions, which names the current one.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sfumato.expectations.shared.errors import WAY_OUT, InputError
from sfumato.tasks.lines.versions import RECORD, Record, parse_record, read_record
from sfumato.tasks.microdata.notation.address import local_path, scheme_of
from sfumato.tasks.schema.files import is_there
from sfumato.tasks.terms.opened import MANIFEST
from sfumato.tasks.terms.tombstone import WITHDRAWAL

_VERSION = re.compile(r"[0-9]+")
_NAME = re.compile(r"\w[\w.-]*")


@dataclass(frozen=True)
class ChosenPlace:
    """The place of a release.

    Attributes:
        place: a path or an address of a version's directory.
        line: the name of the line, if the place was found by its record.
        version: the number of its current version, if the place was found by the line's record.
    """

    place: str
    line: str | None = None
    version: str | None = None

    @property
    def remark(self) -> str | None:
        """The version that was chosen, in words; None if the place is as it was given."""
        if self.version is None:
            return None
        return f"version {self.version} is the current one of {self.line}"


def choose_place(place: str, environ: Mapping[str, str]) -> ChosenPlace:
    """Return the place of a release: the given one, or the current version's of a line.

    Args:
        place: a path, file://, or an address on the web or in a store.
        environ: the reader's, which has a store's keys.

    Raises:
        InputError: where a line has no current version, or the place has lines.
        PromiseError: where the record cannot be read.
        SpecError, TransientFault: where an address is none, or cannot be reached.
    """
    from sfumato.tasks.verification.elsewhere.copied import is_elsewhere

    if is_elsewhere(place):
        return _place_elsewhere(place.rstrip("/"), environ)
    path = Path(place) if scheme_of(place) is None else local_path(place, Path(), environ)
    if any(is_there(path / name) for name in (MANIFEST, WITHDRAWAL)):
        return ChosenPlace(place)
    if is_there(path / RECORD):
        return _current(str(path), read_record(path))
    _require_no_lines(path)
    return ChosenPlace(place)


def _place_elsewhere(address: str, environ: Mapping[str, str]) -> ChosenPlace:
    """Return the place by the record at an address; the address itself if there is none.

    An address that ends with a number is that of a version, and nothing is asked for.
    """
    from sfumato.tasks.verification.elsewhere.copied import document_elsewhere

    last = address.rpartition("/")[2]
    if _VERSION.fullmatch(last) or not _NAME.fullmatch(last):
        return ChosenPlace(address)
    content = document_elsewhere(address, RECORD, environ)
    if content is None:
        return ChosenPlace(address)
    return _current(address, parse_record(f"{address}/{RECORD}", content))


def _current(line: str, record: Record) -> ChosenPlace:
    if record.current is None:
        states = ", ".join(f"{n} {v.status}" for n, v in sorted(record.versions.items()))
        listed = f" ({states})" if states else ""
        raise InputError(
            f"{line}: the line has no current version{listed}. Name a version, such as {line}/0001"
        )
    return ChosenPlace(f"{line.rstrip('/')}/{record.current}", record.name, record.current)


def _require_no_lines(path: Path) -> None:
    """Refuse a directory of lines, and name them.

    Raises:
        InputError: if there are some.
    """
    lines: list[str] = []
    with suppress(OSError):  # no directory, or a path that no file can have
        lines = sorted(record.parent.name for record in path.glob(f"[!.]*/{RECORD}"))
    if lines:
        ways = "".join(f"{WAY_OUT}{path / name}" for name in lines)
        raise InputError(f"{path}: has lines of releases, so name one of them:{ways}")
