"""Writing the pages of a line and of the catalogue, which follow from public records only.

The second verifier, to which the page of a line links, is written beside it in the same way.

A file that was never a page of ours is not replaced: a public place may have a start page of its
own. A page that cannot be written takes back no version: it is reported, and written by the next
run.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sfumato.expectations.machine.fault import reason_of
from sfumato.expectations.shared.errors import SfumatoError
from sfumato.tasks.lines.line import LOCK, Line, end_change
from sfumato.tasks.lines.public_record import lines_in, read_line_entry
from sfumato.tasks.lines.versions import read_record
from sfumato.tasks.private.durable import hold_lock, write_atomically
from sfumato.tasks.report.line_entries import LineEntry
from sfumato.tasks.report.line_pages import GENERATOR, catalogue_files, line_files
from sfumato.tasks.report.verifier_folder import (
    VERIFIER,
    is_verifier_ours,
    is_verifier_written,
    write_verifier,
)
from sfumato.tasks.schema.files import open_file, read_bytes
from sfumato.tasks.schema.stated import SaidOfLine
from sfumato.tasks.terms.line_words import WORDS, read_words, write_words
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tombstone import is_tombstone

_LOCK = ".catalogue.lock"
_PLACE = "published-in"
_HEAD = 1 << 16  # bytes in which a file of ours says so


@dataclass(frozen=True)
class PageNotice:
    """A message about a page that was not written, and whether the next command is to write it."""

    text: str
    due: bool = True


def refresh_pages(line: Line) -> tuple[str, ...]:
    """Bring the pages of a line, whose locks are held, and of its catalogue up to date.

    The mark of a change that was begun goes once all that is due is written.

    Returns:
        What could not be written, in words.
    """
    notices = (
        *_note_place(line),
        *_declare_title(line),
        *_declare_words(line),
        *_pages_of_line(line.public),
        *_pages_of_place(line.public.parent),
    )
    if not any(notice.due for notice in notices):
        end_change(line.public)
    return tuple(notice.text for notice in notices)


def rebuild_pages(place: Path) -> tuple[str, ...]:
    """Write the pages of all lines of a public place, and its catalogue.

    Returns:
        What could not be written, in words.
    """
    notices: list[PageNotice] = []
    for line in lines_in(place):
        with hold_lock(line / LOCK):
            notices += _pages_of_line(line)
    return tuple(notice.text for notice in (*notices, *_pages_of_place(place)))


def pages_behind(public: Path) -> list[str]:
    """Return the names of the pages of a line and its catalogue that do not follow the records."""
    entry = _entry(public, with_manifests=True)
    pages = {} if entry is None else line_files(entry)
    behind = [name for name, text in pages.items() if _is_behind(public / name, text)]
    if pages and is_verifier_ours(public) and not is_verifier_written(public):
        behind.append(f"{VERIFIER}/")
    place = public.parent
    entries = [entry for entry in map(_entry, lines_in(place)) if entry is not None]
    pages = catalogue_files(entries) if entries else {}
    return behind + [f"../{name}" for name, text in pages.items() if _is_behind(place / name, text)]


def _is_behind(place: Path, text: str) -> bool:
    return _is_ours(place) and not _is_written(place, text.encode())


def public_place_of(private: Path) -> Path | None:
    """Return the directory where a line was last published, or None if that is not known."""
    try:
        return Path(os.fsdecode(read_bytes(private / _PLACE)))
    except OSError:
        return None


def note_place(line: Line) -> None:
    """Remember where a line is published, for commands that know only its work directory.

    Raises:
        OSError: where the line's private directory cannot be written.
    """
    public = line.public.resolve()
    if public_place_of(line.private) != public:
        write_atomically(line.private / _PLACE, os.fsencode(public))


def _note_place(line: Line) -> Iterator[PageNotice]:
    try:
        note_place(line)
    except OSError as error:
        yield _unwritten(line.private / _PLACE, error)


def _declare_title(line: Line) -> Iterator[PageNotice]:
    """Note the title of the current version, for a page that reads no version."""
    current = read_record(line.public).current
    if current is None or is_tombstone(line.public / current):
        return
    with suppress(SfumatoError):
        title = open_release(line.public / current).declared.title
        yield from _write_words(line, declared=title)


def _declare_words(line: Line) -> Iterator[PageNotice]:
    """Note the words of the line's spec about it, if a spec is at hand."""
    if line.words is not None:
        words = SaidOfLine(**line.words.model_dump(include=set(SaidOfLine.model_fields)))
        with suppress(SfumatoError):
            yield from _write_words(line, said=words)


def _write_words(line: Line, **changes: object) -> Iterator[PageNotice]:
    """Change the words of a line if they differ."""
    words = read_words(line.public)
    changed = words.model_copy(update={"line": line.name, **changes})
    if changed != words:
        try:
            write_words(line.public, changed)
        except OSError as error:
            yield _unwritten(line.public / WORDS, error)


def _pages_of_line(public: Path) -> Iterator[PageNotice]:
    entry = _entry(public, with_manifests=True)
    if entry is not None:
        yield from _write_verifier(public)
        yield from _write(public, line_files(entry))


def _write_verifier(public: Path) -> Iterator[PageNotice]:
    """Write the verifier before the page that links to it."""
    try:
        if not write_verifier(public):
            yield _foreign(public / VERIFIER)
    except OSError as error:
        yield _unwritten(public / VERIFIER, error)


def _pages_of_place(place: Path) -> list[PageNotice]:
    try:
        with hold_lock(place / _LOCK):
            entries = [entry for entry in map(_entry, lines_in(place)) if entry is not None]
            return list(_write(place, catalogue_files(entries))) if entries else []
    except (SfumatoError, OSError):
        message = (
            f"{place}: the catalogue cannot be written. Once it can be: sfumato releases --rebuild"
        )
        return [PageNotice(message)]


def _entry(public: Path, *, with_manifests: bool = False) -> LineEntry | None:
    """Return the public entry of a line, or None if it cannot be read.

    A record of another line that was copied here belongs to no line: its name leads elsewhere.
    """
    try:
        entry = read_line_entry(public, with_manifests=with_manifests)
    except (SfumatoError, OSError):
        return None
    return entry if entry is not None and entry.name == public.name else None


def _write(directory: Path, files: Mapping[str, str]) -> Iterator[PageNotice]:
    for name, text in files.items():
        place, content = directory / name, text.encode()
        try:
            for temporary in directory.glob(f".{name}.*.tmp"):  # the lock is held: nobody's
                temporary.unlink(missing_ok=True)
            if _is_written(place, content):
                continue
            if not _is_ours(place):
                yield _foreign(place)
                continue
            write_atomically(place, content, mode=0o644)
        except OSError as error:
            yield _unwritten(place, error)


def _foreign(place: Path) -> PageNotice:
    return PageNotice(f"{place}: was not written by Sfumato, so it was not changed", due=False)


def _unwritten(place: Path, error: OSError) -> PageNotice:
    message = f"warning: {place}: is out of date and cannot be written ({reason_of(error)})"
    return PageNotice(message)


def _is_written(place: Path, content: bytes) -> bool:
    return place.exists() and read_bytes(place) == content


def _is_ours(place: Path) -> bool:
    """Decide whether there is no file, or a page that names Sfumato as its maker."""
    try:
        with open_file(place) as file:
            return GENERATOR.encode() in file.read(_HEAD)
    except FileNotFoundError:
        return True
