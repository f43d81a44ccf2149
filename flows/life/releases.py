"""Lists of lines and their versions, and the pages that follow from public records."""

import os
from pathlib import Path

from sfumato.expectations.errors import InputError, SfumatoError
from sfumato.flows.life.places import lines_at
from sfumato.tasks.lines.listing import ListedLine, listed_line
from sfumato.tasks.lines.pages import rebuild_pages
from sfumato.tasks.private.failure import sanitised
from sfumato.tasks.private.state import STATE
from sfumato.tasks.private.workdir import is_private, private_work_directory


def list_lines(places: tuple[Path, ...]) -> list[ListedLine]:
    """The lines of some places, or else those of the work directory.

    Raises:
        SpecError: where a spec is wrong.
        InputError: where a place has no lines.
    """
    work = private_work_directory(os.environ)
    with sanitised("releases"):
        found = [line for place in places or (work,) for line in lines_at(place)]
        return [_listed(name, public, work) for name, public in dict.fromkeys(found)]


def own_lines() -> list[tuple[str, ListedLine | SfumatoError]]:
    """The lines of the work directory by name, each by itself; or why one cannot be listed.

    Raises:
        InputError: where there is none.
    """
    work = private_work_directory(os.environ)
    with sanitised("releases"):
        found = lines_at(work)
    return [(name, _listed_or_why(name, public, work)) for name, public in found]


def rebuild(places: tuple[Path, ...]) -> list[str]:
    """Write the pages of the lines of some places, or of the work directory's, and catalogues.

    Returns:
        What could not be written, in words.

    Raises:
        InputError: where it is not known where a line is published.
    """
    work = private_work_directory(os.environ)
    with sanitised("releases"):
        found = [line for place in places or (work,) for line in lines_at(place)]
        if lost := [name for name, public in found if public is None]:
            raise InputError(f"{lost[0]}: where it is published is not known: name the place")
        roots = dict.fromkeys(public.resolve().parent for _, public in found if public is not None)
        return [said for root in roots for said in rebuild_pages(root)]


def _listed_or_why(name: str, public: Path | None, work: Path) -> ListedLine | SfumatoError:
    try:
        with sanitised("releases"):
            return _listed(name, public, work)
    except SfumatoError as error:
        return error


def _listed(name: str, public: Path | None, work: Path) -> ListedLine:
    private = work / name
    ours = is_private(private) and (private / STATE).is_file()
    return listed_line(name, public, private if ours else None)
