"""Traces of commands that were killed, or ran out of space, in a line's public directory.

    <line>/.unfinished         a change that was begun: deleted once the pages follow it
    <line>/.staging-<id>/      a release on its way to its place
    <line>/.withdrawal-<n>/    a tombstone on its way to its place, or the version it replaced
    <line>/.log-next.json      a log whose record was not replaced yet, or is now
    <line>/.<name>.<pid>.tmp   a file that was being written
    <line>/<n>/                a version that releases.json does not list

Files of a live run, which holds the line's lock, are no traces. Looking for traces writes nothing;
the next command of the line's owner mends them (`publish.recover`).
"""

from collections.abc import Iterator
from pathlib import Path

from sfumato.expectations.shared.errors import SfumatoError
from sfumato.tasks.lines.line import LOCK, UNFINISHED, has_published_nothing
from sfumato.tasks.lines.versions import RECORD, read_record
from sfumato.tasks.private.durable import share_lock, was_left
from sfumato.tasks.report.line_pages import FEED, METADATA, PAGE
from sfumato.tasks.terms.opened import MANIFEST
from sfumato.tasks.verification.log_writing import NEXT_LOG

STAGING, STAGED_WITHDRAWAL, REPLACED = ".staging-", ".withdrawal-", ".withdrawn-"
TEMPORARY = ".*.tmp"


def find_left_over(public: Path) -> tuple[str, ...]:
    """Return descriptions of traces in a line's public directory; () while a run is live.

    >>> find_left_over(Path("no such line"))
    ()
    """
    with share_lock(public / LOCK) as unlocked:
        if not (unlocked and public.is_dir() and _is_of_a_line(public)):
            return ()
        try:
            return tuple(_traces(public))
        except OSError:  # this user may not look
            return ()


def _is_of_a_line(public: Path) -> bool:
    """Return False for a directory of releases that no command of ours looks after."""
    return any((public / name).exists() for name in (LOCK, RECORD))


def _traces(public: Path) -> Iterator[str]:
    if has_published_nothing(public):
        yield "an empty directory"
    yield from (f"{number} is not listed in {RECORD}" for number in _unlisted_versions(public))
    yield from _pages_out_of_date(public)
    for pattern, what in (
        (f"{STAGED_WITHDRAWAL}*", "an unfinished withdrawal"),
        (f"{REPLACED}*", "a withdrawn version"),
        (f"{STAGING}*", "an unfinished release"),
        (NEXT_LOG, "an unfinished entry of the log"),
        (TEMPORARY, "an unfinished file"),
    ):
        yield from (f"{path.name}: {what}" for path in sorted(public.glob(pattern)))
    for path in filter(was_left, _temporaries_of_catalogue(public.parent)):
        yield f"../{path.name}: an unfinished file"


def _temporaries_of_catalogue(place: Path) -> list[Path]:
    """Return the temporary files of our own pages; other files of a public place are not ours."""
    return sorted(path for name in (PAGE, FEED, METADATA) for path in place.glob(f".{name}.*.tmp"))


def _unlisted_versions(public: Path) -> list[str]:
    """Return the versions that no record lists, or [] if the record cannot be read."""
    try:
        listed = read_record(public).versions
    except SfumatoError:
        return []
    there = (place.parent.name for place in public.glob(f"[0-9]*/{MANIFEST}"))
    return sorted(number for number in there if number.isdigit() and number not in listed)


def _pages_out_of_date(public: Path) -> Iterator[str]:
    """Yield a description of pages that do not follow the record, if a change was begun."""
    if not (public / UNFINISHED).exists():
        return
    from sfumato.tasks.lines.pages import pages_behind  # renders them: rarely needed

    names = pages_behind(public)
    yield f"out of date: {', '.join(names)}" if names else "an unfinished change"
