"""Mending what stopped commands left in the public directories of lines."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sfumato.expectations.machine.prefect_in_use import in_prefect_run
from sfumato.expectations.shared.errors import SfumatoError
from sfumato.flows.inputs.environment import open_home
from sfumato.flows.inputs.passphrases import passphrases
from sfumato.tasks.lines.left_over import find_left_over
from sfumato.tasks.lines.line import LOCK, Line, hold
from sfumato.tasks.lines.pages import public_place_of
from sfumato.tasks.lines.versions import RECORD
from sfumato.tasks.private.failure import sanitise_errors
from sfumato.tasks.private.scratch import sweep
from sfumato.tasks.private.workdir import is_private, work_directory


@dataclass(frozen=True)
class LeftOver:
    """Traces of stopped commands in a line's public directory, in words."""

    public: Path
    traces: tuple[str, ...]

    @property
    def warning(self) -> str:
        """The traces and the way out, in one line."""
        return (
            f"warning: {self.public}: a command was stopped, or had no space left: "
            f"{'; '.join(self.traces)}. The owner of the line can mend this: sfumato "
            "sweep"
        )


def find_left_over_in(publics: Iterable[Path]) -> list[LeftOver]:
    """Return what is left over in public directories of lines, without writing anything."""
    all_left_over = (LeftOver(public, find_left_over(public)) for public in dict.fromkeys(publics))
    return [left_over for left_over in all_left_over if left_over.traces]


def find_left_over_at(places: tuple[Path, ...]) -> list[LeftOver]:
    """Return what is left over in places of lines: specs, directories of lines, public places.

    Without a place it is the work directory's lines. Nothing is written.
    """
    lines = (public for place in places for public in _lines_at(place))
    own = (line.public for line in _own_lines(work_directory(os.environ)))
    return find_left_over_in(lines if places else own)


def mend_lines(environ: Mapping[str, str] = os.environ) -> tuple[int, list[str]]:
    """Mend the lines of the work directory; lines that a live run holds are not touched.

    Returns:
        The number of mended lines, and what could not be done, in words.
    """
    mended, messages = 0, list[str]()
    for line in _own_lines(work_directory(environ)):
        if find_left_over(line.public) and os.access(line.public, os.W_OK):
            undone = _mend(line, environ)
            messages += undone
            mended += not undone
    return mended, messages


def tidy_up(environ: Mapping[str, str], warn: Callable[[str], None]) -> None:
    """Do at the start of a worker's run what every command does when it starts.

    Deletes what killed runs left as far as possible, and passes each warning to `warn`.

    Raises:
        Fault: where Prefect's directory is missing and cannot be made.
    """
    if in_prefect_run() and (warning := open_home(environ)):
        warn(warning)
    with suppress(SfumatoError, OSError):
        sweep()
        for undone in mend_lines(environ)[1]:
            warn(undone)


def _mend(line: Line, environ: Mapping[str, str]) -> list[str]:
    from sfumato.tasks.publication.publish import recover  # imports much, and is rarely needed

    try:
        with passphrases(environ), sanitise_errors("mend"), hold(line):
            return list(recover(line))
    except SfumatoError as error:
        return [f"warning: {line.public}: cannot be mended: {error}"]


def _own_lines(work: Path) -> Iterator[Line]:
    """Yield the lines of a work directory whose public directories are known and exist."""
    if not is_private(work):
        return
    for private in sorted(filter(is_private, work.iterdir())):
        public = public_place_of(private)
        if public is not None and public.name == private.name and public.is_dir():
            yield Line(private.name, public, private)


def _lines_at(place: Path) -> Iterator[Path]:
    """Yield the public directories that a place names, even of lines without a version."""
    if place.is_file():
        from sfumato.flows.life.releases import lines_at

        yield from (public for _, public in lines_at(place) if public is not None)
    elif (place / RECORD).exists() or (place / LOCK).exists():
        yield place.resolve()
    else:
        marked = [*place.glob(f"[!.]*/{RECORD}"), *place.glob(f"[!.]*/{LOCK}")]
        yield from sorted({path.parent.resolve() for path in marked})
