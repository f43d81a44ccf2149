"""The catalogue above the lines of a destination: of those that are there, as they stand here."""

from collections.abc import Collection

from sfumato.expectations.errors import SfumatoError
from sfumato.tasks.publication.life.public_record import lines_in, read_line_entry
from sfumato.tasks.publication.life.snapshot import LineSnapshot
from sfumato.tasks.report.lines.entries import LineEntry
from sfumato.tasks.report.lines.pages import catalogue_files


def catalogue_of(line: LineSnapshot, there: Collection[str]) -> dict[str, str]:
    """The files of the catalogue of a destination, by their names.

    None where a line is there that is not published beside this one: another machine, which knows
    what belongs in the catalogue, writes it.

    Args:
        line: which was copied there.
        there: the names of the lines that are there.
    """
    found = {place.name: place for place in lines_in(line.public.parent)}
    if set(there) - found.keys():
        return {}
    try:
        entries = [read_line_entry(found[name]) for name in sorted(there)]
    except SfumatoError:
        return {}
    listed: list[LineEntry] = [entry for entry in entries if entry is not None]
    return catalogue_files(listed)
