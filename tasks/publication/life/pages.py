"""Writing the pages of a line and of the catalogue, which follow from public records alone.

A file that no page of ours was before is left as it is: a public place may have a start page of its
own. What cannot be written takes back no version: it is said, and written by the next run.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from sfumato.expectations.errors import SfumatoError
from sfumato.tasks.declaration.lines.tombstone import is_tombstone
from sfumato.tasks.declaration.lines.words import read_words, write_words
from sfumato.tasks.declaration.opened import open_release
from sfumato.tasks.private.durable import locked, was_left, write_atomically
from sfumato.tasks.publication.life.public_record import lines_in, read_line_entry
from sfumato.tasks.publication.line import Line
from sfumato.tasks.publication.versions import read_record
from sfumato.tasks.report.lines.entries import LineEntry
from sfumato.tasks.report.lines.pages import GENERATOR, catalogue_files, line_files
from sfumato.tasks.schema.files import open_file, read_bytes
from sfumato.tasks.schema.stated.words import SaidOfLine

_LOCK = ".catalogue.lock"
_PLACE = "published-in"
_HEAD = 1 << 16  # bytes in which a file of ours says so


def refresh_pages(line: Line) -> tuple[str, ...]:
    """Bring the pages of a line, whose locks are held, and of its catalogue up to date.

    Returns:
        What could not be written, in words.
    """
    _note_place(line)
    _declare_title(line)
    _declare_words(line)
    return (*_pages_of_line(line.public), *_pages_of_place(line.public.parent))


def rebuild_pages(place: Path) -> tuple[str, ...]:
    """Write the pages of all lines of a public place, and its catalogue.

    Returns:
        What could not be written, in words.
    """
    said: list[str] = []
    for line in lines_in(place):
        with locked(line / ".lock"):
            said += _pages_of_line(line)
    return (*said, *_pages_of_place(place))


def public_place_of(private: Path) -> Path | None:
    """The directory where a line was last published, None where that is not known."""
    try:
        return Path(os.fsdecode(read_bytes(private / _PLACE)))
    except OSError:
        return None


def _note_place(line: Line) -> None:
    """Remember where a line is published, for whoever knows its work directory alone."""
    public = line.public.resolve()
    if public_place_of(line.private) != public:
        with suppress(OSError):
            write_atomically(line.private / _PLACE, os.fsencode(public))


def _declare_title(line: Line) -> None:
    """Note what the current version is called, for a page of which no version is read."""
    current = read_record(line.public).current
    if current is None or is_tombstone(line.public / current):
        return
    with suppress(SfumatoError, OSError):
        title = open_release(line.public / current).declared.title
        words = read_words(line.public)
        if (words.line, words.declared) != (line.name, title):
            changes = {"line": line.name, "declared": title}
            write_words(line.public, words.model_copy(update=changes))


def _declare_words(line: Line) -> None:
    """Note what the line's spec says of it, where a spec is at hand."""
    if line.words is None:
        return
    said = SaidOfLine(**line.words.model_dump(include=set(SaidOfLine.model_fields)))
    with suppress(SfumatoError, OSError):
        words = read_words(line.public)
        if words.said != said:
            changes = {"line": line.name, "said": said}
            write_words(line.public, words.model_copy(update=changes))


def _pages_of_line(public: Path) -> Iterator[str]:
    entry = _entry(public, with_manifests=True)
    if entry is not None:
        yield from _write(public, line_files(entry))


def _pages_of_place(place: Path) -> list[str]:
    try:
        with locked(place / _LOCK):
            entries = [entry for entry in map(_entry, lines_in(place)) if entry is not None]
            return list(_write(place, catalogue_files(entries))) if entries else []
    except (SfumatoError, OSError):
        return [f"{place}: the catalogue cannot be written (sfumato releases --rebuild)"]


def _entry(public: Path, *, with_manifests: bool = False) -> LineEntry | None:
    """What is public of a line; one that cannot be read is no reason to stop.

    A record of another line, copied here, is no line's: its name leads elsewhere.
    """
    try:
        entry = read_line_entry(public, with_manifests=with_manifests)
    except (SfumatoError, OSError):
        return None
    return entry if entry is not None and entry.name == public.name else None


def _write(directory: Path, files: Mapping[str, str]) -> Iterator[str]:
    for name, text in files.items():
        place, content = directory / name, text.encode()
        try:
            for temporary in filter(was_left, directory.glob(f".{name}.*.tmp")):
                temporary.unlink(missing_ok=True)
            if place.exists() and read_bytes(place) == content:
                continue
            if not _is_ours(place):
                yield f"{place}: is not Sfumato's, and was left as it is"
                continue
            write_atomically(place, content, mode=0o644)
        except OSError as error:
            yield f"{place}: cannot be written ({type(error).__name__})"


def _is_ours(place: Path) -> bool:
    """True where there is no file, or one that says what made it."""
    try:
        with open_file(place) as file:
            return GENERATOR.encode() in file.read(_HEAD)
    except FileNotFoundError:
        return True
