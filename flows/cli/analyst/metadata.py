"""`sfumato metadata`: a release in the standards that catalogues, archives and tools read."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.flows.cli import show
from sfumato.flows.cli.analyst.way_in import ReleasePlace, tell, with_way_in
from sfumato.flows.cli.options import as_document
from sfumato.flows.cli.show import echo, echo_json

if TYPE_CHECKING:
    from sfumato.tasks.metadata.description import Document, Missing
    from sfumato.tasks.report.line_entries import LineEntry
    from sfumato.tasks.terms.opened import Release
    from sfumato.tasks.verification.way_in import WayIn

_MANIFEST = "datapackage.json"
_RECORD = "releases.json"
_OF_LINES = {
    *(_RECORD, "keys.json", "line.json", "index.html", "feed.atom", "dcat.jsonld", "CITATION.cff"),
}
_WEB = ("http://", "https://")
_NAMES = ("croissant", "csvw", "ddi", "healthdcat")


@click.command()
@click.argument("place", metavar="RELEASE")
@click.option(
    "--as", "standard", required=True, type=click.Choice(_NAMES), help="the standard to write"
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="a file, best beside the version; otherwise the text is printed",
)
@as_document
@with_way_in
def metadata(
    place: str, standard: str, output: Path | None, as_json: bool, way_in: "WayIn"
) -> None:
    """Write what a release states of itself in another standard, for catalogues and tools.

    croissant: Croissant 1.1, for machine learning. csvw: CSV on the Web. ddi: DDI-Codebook 2.5, for
    archives. healthdcat: HealthDCAT-AP, for catalogues of health data. Addresses of files lead
    from the line's directory, or are complete if RELEASE is an address on the web. What the
    standard requires and the release does not state is left out, and named.
    """
    from sfumato.tasks.metadata.description import ReleaseDescription
    from sfumato.tasks.metadata.registry import STANDARDS

    if output is not None:
        _require_outside(output)
        _require_own_name(output)
    directory = Path(ReleasePlace().convert(place, None, None))
    release = way_in.open(directory)
    description = ReleaseDescription(release, _address(place, directory), _line_beside(release))
    document = STANDARDS[standard](description)
    if output is not None:
        _write(output, document.text)
    if as_json:
        echo_json(_summary(standard, output, document))
    elif output is None:
        echo(document.text.removesuffix("\n"))
    if document.missing and not as_json:
        here = description.line is not None and not place.startswith(_WEB)
        line = str(directory.parent) if here else "LINE"
        show.say(f"note: {_left_out(document.missing, line)}")
    tell(release)


def _summary(standard: str, output: Path | None, document: "Document") -> dict[str, Any]:
    """Return what was written and what was left out; the text itself if no file has it."""
    missing = {"missing": [entry.field for entry in document.missing]}
    place = {"text": document.text} if output is None else {"file": str(output)}
    return {"standard": standard, **place, **missing}


def _address(place: str, directory: Path) -> str:
    """Return the address of a release, with a slash: on the web, or from its line's directory."""
    number = directory.resolve().name
    if not place.startswith(_WEB):
        return f"{number}/"
    return f"{place.rstrip('/').removesuffix(f'/{number}')}/{number}/"


def _line_beside(release: "Release") -> "LineEntry | None":
    """Return the line of a release by the record beside it, if that lists the release."""
    from sfumato.expectations.shared.errors import SfumatoError
    from sfumato.tasks.lines.public_record import read_line_entry

    digest = release.manifest["sfumato"]["digest"]
    line = None
    with suppress(SfumatoError, OSError):  # a warning names a record that cannot be read
        line = read_line_entry(release.directory.resolve().parent)
    if line is None or line.name != release.declared.name:
        return None
    return line if any(version.digest == digest for version in line.versions) else None


def _require_outside(output: Path) -> None:
    """Refuse a file inside a version, whose files never change.

    Raises:
        InputError: if the file would be inside one.
    """
    from sfumato.expectations.shared.errors import InputError

    for folder in output.absolute().resolve().parents:
        if (folder / _MANIFEST).exists():
            raise InputError(
                f"{output}: is inside the version {folder.name}, and its files never change. "
                f"Write it beside the version: --output {folder.parent / output.name}"
            )


def _require_own_name(output: Path) -> None:
    """Refuse a file that a line already has, such as its record of versions.

    Raises:
        InputError: if the file would replace it.
    """
    from sfumato.expectations.shared.errors import InputError

    if output.name in _OF_LINES and (output.absolute().parent / _RECORD).exists():
        raise InputError(
            f"{output}: is a file of the line itself. Give another name: "
            f"--output {output.with_name('metadata' + output.suffix)}"
        )


def _write(output: Path, text: str) -> None:
    from sfumato.tasks.private.durable import write_atomically

    write_atomically(output, text.encode(), mode=0o644)


def _left_out(missing: "Sequence[Missing]", line: str) -> str:
    """Return what is left out, in one line, with the ways to state it."""
    fields = ", ".join(dict.fromkeys(entry.field for entry in missing))
    ways = "; ".join(_ways({entry.source for entry in missing}, line))
    return f"left out, because the release does not state it: {fields} ({ways})"


def _ways(sources: set[str], line: str) -> Iterator[str]:
    from sfumato.tasks.metadata.description import DESCRIBE

    words = [word for word in DESCRIBE if word in sources]
    if words:
        options = " ".join(f"--{word} TEXT" for word in words)
        yield f"state it with: sfumato describe {line} {options}"
    if "releases.json" in sources:
        yield "releases.json beside the release has it"
    if "" in sources:
        yield "the keeper of the catalogue adds what no release can state"
