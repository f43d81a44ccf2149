"""Lists of lines and versions, and where lines are found."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from sfumato.expectations.machine.fault import with_remedies
from sfumato.expectations.shared.errors import InputError, PromiseError, SfumatoError
from sfumato.tasks.lines.line import Line
from sfumato.tasks.lines.listing import ListedLine, listed_line
from sfumato.tasks.lines.pages import public_place_of, rebuild_pages
from sfumato.tasks.lines.public_record import lines_in
from sfumato.tasks.lines.versions import RECORD
from sfumato.tasks.private.failure import sanitise_errors
from sfumato.tasks.private.people.backup import finish_restoring
from sfumato.tasks.private.state import STATE
from sfumato.tasks.private.workdir import is_private, private_directory, private_work_directory
from sfumato.tasks.schema.files import is_there


def own_line(public: Path, environ: Mapping[str, str] = os.environ) -> Line:
    """Return the line of a public directory, with its private state.

    Raises:
        InputError: where nothing was published there, or it cannot be read.
        PromiseError: where the work directory has no such line.
    """
    place, work = public.resolve(), private_work_directory(environ)
    if not is_there(place / RECORD):
        raise InputError(f"{public}: is not a line's public directory: {RECORD} is missing")
    private = work / place.name
    if not _is_file(private / STATE):
        raise PromiseError(
            f"{public}: was not published by a line {place.name} in {work}. Set "
            "SFUMATO_WORK to the work directory of its line"
        )
    finish_restoring(private_directory(private))
    return Line(place.name, place, private)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError as error:
        raise InputError(with_remedies(f"{path.parent}: cannot be read", error)) from None


def line_at(place: Path) -> Line:
    """Return the line that a spec or a public directory names.

    Raises:
        SpecError: where the spec is wrong.
        InputError: where nothing was published there.
        PromiseError: where the work directory has no such line.
    """
    return own_line(_public_directory(place) if place.is_file() else place)


def lines_at(place: Path) -> list[tuple[str, Path | None]]:
    """Return the lines that a spec, a line's directory, a public place or a work directory names.

    Returns:
        Their names and public directories; None where a work directory does not know where one
        is published.

    Raises:
        SpecError: where the spec is wrong.
        InputError: where there is none.
    """
    if place.is_file():
        line = _public_directory(place)
        return [(line.name, line)]
    lines: list[tuple[str, Path | None]]
    if is_there(place / RECORD):
        line = place.resolve()
        lines = [(line.name, line)]
    else:
        lines = [(line.name, line) for line in lines_in(place)] or list(_lines_of_work(place))
    if not lines:
        raise InputError(
            f"{place}: has no lines. Name a public place, a line in it, a spec, or a "
            "private work directory (SFUMATO_WORK)"
        )
    return lines


def _lines_of_work(work: Path) -> Iterator[tuple[str, Path | None]]:
    for state in sorted(work.glob(f"*/{STATE}")):
        private = state.parent
        if is_private(private):
            yield private.name, public_place_of(private)


def _public_directory(path: Path) -> Path:
    from sfumato.flows.inputs.spec import read_spec
    from sfumato.tasks.microdata.notation.address import local_path

    spec = read_spec(path, None)
    return local_path(spec.publish.uri, path.absolute().parent, os.environ) / spec.name


def list_lines(places: tuple[Path, ...]) -> list[ListedLine]:
    """List the lines of some places, or of the work directory.

    Raises:
        SpecError: where a spec is wrong.
        InputError: where a place has no lines.
    """
    work = private_work_directory(os.environ)
    with sanitise_errors("releases"):
        lines = [line for place in places or (work,) for line in lines_at(place)]
        return [_list_line(name, public, work) for name, public in dict.fromkeys(lines)]


def own_lines() -> list[tuple[str, ListedLine | SfumatoError]]:
    """Return the lines of the work directory by name, or the error that keeps one from the list.

    Raises:
        InputError: where there is none.
    """
    work = private_work_directory(os.environ)
    with sanitise_errors("releases"):
        lines = lines_at(work)
    return [(name, _list_line_or_error(name, public, work)) for name, public in lines]


def rebuild(places: tuple[Path, ...]) -> list[str]:
    """Write the pages of the lines of some places, or of the work directory's, and catalogues.

    Returns:
        What could not be written, in words.

    Raises:
        InputError: where it is not known where a line is published.
    """
    work = private_work_directory(os.environ)
    with sanitise_errors("releases"):
        lines = [line for place in places or (work,) for line in lines_at(place)]
        if lost := [name for name, public in lines if public is None]:
            raise InputError(f"{lost[0]}: its public place is not known. Name the place")
        roots = dict.fromkeys(public.resolve().parent for _, public in lines if public is not None)
        return [message for root in roots for message in rebuild_pages(root)]


def _list_line_or_error(name: str, public: Path | None, work: Path) -> ListedLine | SfumatoError:
    try:
        with sanitise_errors("releases"):
            return _list_line(name, public, work)
    except SfumatoError as error:
        return error


def _list_line(name: str, public: Path | None, work: Path) -> ListedLine:
    private = work / name
    ours = is_private(private) and (private / STATE).is_file()
    return listed_line(name, public, private if ours else None)
