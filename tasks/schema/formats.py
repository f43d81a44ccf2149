"""The formats in which releases are published, and the software that makes their bytes.

A release is written in the lowest format that can say its declaration, so that lines which use
nothing new stay readable by older software. Format 0 has no number, and every key of it is written
at any value. A later key is marked where it is declared, and left out wherever it is at its
default: what does not use it is written, and digested, as it always was.

    0   every release before formats had numbers
    1   publish.csv.formulas: quote; the promise delta-disclosure
    2   versions: composed, with the tables `lineage` and `vacant`; what versions that may be
        combined expose together; partition.draw of anatomy: round-robin; the groups of another line
        in place of a partition
    3   parts: a release in parts, each in a directory of its own
    4   columns: shift, bottom, top, round, prefix, fold, free_text: values that were coded before
        anything else was done with them
    5   columns: leaves: published: those leaves of a hierarchy alone that stand under a published
        label; partitions aimed at a workload: hybrid, contiguous; strata by levels of hierarchies;
        intervals: the factors of calibrated ones
    6   the promises delta-presence and bayes-optimal, about a reference that has a keyed digest;
        beta-likeness; p-privacy whose target is the nearest to each group's own distribution, and
        form.rows;
        form.label-tables of generalized and suppressed; form.single-values of generalized;
        form.protects: identities of both, for tables without sensitive columns; sensitive
        columns whose nulls are a category; words: what is said of publisher, contact, licence,
        columns and their codes, and the key of signed ones; columns: weight, and the promise
        k-map, about the sums of weights;
        bars: on attacks, which are stated to be kept; window: the width of small ranges;
        rows_apart: why rows count as people in
        which an identifier repeats; rows_per_unit: several, and households:
        promises that are kept over people, or over households, too; partition.leave of mondrian,
        partition.alike of anatomy; intervals.grid: more factors than there were at first
    7   releases in parts whose form is redistributed: where targets of each part begin;
        k-anonymity.members: promises over whole households; aims of hybrid and contiguous at
        counts and at cells of a GROUP BY
    8   intervals.families of standard deviations and variances, medians and other quantiles
    9   releases in parts whose versions are composed: ids of groups run on in every table, and rows
        of parts that are not shown are counted
    10  columns: unite: spellings of a text that were made one
    11  rounds: columns of ambiguous releases in which estimates take values to occur equally often,
        or nearly so
    12  policy: a policy by name, date and SHA-256, with the rules that a machine decides
    13  the promise delta-disclosure about declared distributions; p-privacy whose targets have the
        least sum of ranges; form.fakes-by: width
    14  form.marginals of ambiguous: the published rows with each value of some quasi-identifiers
    15  form: apart, people and the rows of a second table that belong to their groups; the promises
        people, related-l-diversity and related-alpha; related_rows: what became of these rows;
        form.cap
    16  the promise people in permuted and split, which show one table; columns: derive, facts of
        people computed from the rows of a second table; form.sensitive of apart; facts of the
        promise related-l-diversity; an insensitive column that is the number of rows of a person
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field, ValidationError

from sfumato.expectations.machine.fault import reason_of
from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.expectations.shared.numbers import SINCE
from sfumato.tasks.schema.files import DOCUMENT, parse_json, read_bytes

NEWEST = 16
COMPOSED_IN_PARTS = 9
"""The format of composed versions in parts: older software would merge groups of two parts."""
LAYOUT = "sfumato-page"
"""The key of the layout of a release's page, files and ready SQL."""
_LAYOUT = "12"
_FIRST = "1"  # that of releases which say none
ToldByPages = Literal[
    "codebook",  # what columns have
    "guesses",  # what can be guessed from the files alone
    "tool",  # how to get the software
    "schemas",  # of all tables, in the manifest
    "little left",  # a warning that little is left
    "learning",  # what all groups teach
    "references",  # what would be guessed of values that are dealt at random
    "answers",  # to three questions, with their bounds
    "at a glance",  # the publisher's description, files and licence, on the first screen
    "asks",  # a line for questions, with the tables and a script that answers them
    "asks likely",  # the factors of likely intervals, for that script
    "outward bounds",  # of means in ready SQL, which were rounded to the nearest float
    "separators",  # between thousands, in the codebook and in promises; no number has an exponent
    "targets",  # that equal ones are not apart, and that the number of fakes depends on values
    "spans",  # the accuracy over ranges of a column, by their length, as a chart
    "two tables",  # answers about people and their rows, and how many rows there are
    "row numbers",  # that exact rows show how many a person has
    "keys",  # by which two related tables name groups, in the manifest
]
"""Content of pages, or of files beside them, that came after the first layout."""
_SINCE: Mapping[ToldByPages, int] = {
    "codebook": 2,
    "guesses": 3,
    "tool": 4,
    "schemas": 5,
    "little left": 5,
    "learning": 5,
    "references": 5,
    "outward bounds": 6,
    "answers": 7,
    "at a glance": 7,
    "asks": 8,
    "asks likely": 9,
    "separators": 9,
    "targets": 10,
    "spans": 10,
    "two tables": 11,
    "row numbers": 11,
    "keys": 12,
}


Document = TypeVar("Document", bound=BaseModel)


def field_since(format_: int, default: Any, description: str) -> Any:
    """Return a pydantic field that came with a format: it is written only if not at its default."""
    return Field(
        default,
        description=description,
        exclude_if=lambda value: value == default,
        json_schema_extra={SINCE: format_},
    )


def lowest_format(part: Any) -> int:
    """Return the lowest format that can state a declaration, a part, or parts in containers.

    A kind of part that came later (a promise, partition or form) says so by an attribute `since`,
    and so does a part with a value that an earlier key could not have.
    """
    return max([getattr(part, "since", 0), *_formats_within(part)], default=0)


def _formats_within(part: Any) -> Iterator[int]:
    if isinstance(part, Mapping):
        yield from map(lowest_format, part.values())
    elif isinstance(part, Sequence) and not isinstance(part, str | bytes):
        yield from map(lowest_format, part)
    else:
        for name, field in getattr(type(part), "__pydantic_fields__", {}).items():
            value = getattr(part, name)
            if value != field.default:
                extra = field.json_schema_extra
                yield extra.get(SINCE, 0) if isinstance(extra, dict) else 0
                yield lowest_format(value)


def read_document(place: Path, kind: type[Document], newest: int, what: str) -> Document | None:
    """Read a small document of ours that states its format; return None if there is no file.

    Args:
        place: the file.
        kind: what it is to be.
        newest: the newest format that is read here.
        what: what it should have been, for the message: `the words of a line`.

    Raises:
        InputError: where newer software wrote it.
        PromiseError: where it cannot be read.
    """
    content = read_content(place, what)
    return None if content is None else parse_document(place, content, kind, newest, what)


def read_content(place: Path, what: str, most: int | None = DOCUMENT) -> bytes | None:
    """Return the bytes of a file of ours, or None if nothing is there; see `open_file`.

    Raises:
        PromiseError: where something is there and cannot be read: nobody knows what it says.
    """
    try:
        return read_bytes(place, most)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise PromiseError(f"{place}: cannot be read as {what} ({reason_of(error)})") from None


def parse_document(
    place: Path | str, content: bytes, kind: type[Document], newest: int, what: str
) -> Document:
    """Parse and validate the content of a document of ours; `place` is for messages.

    Raises:
        InputError: where newer software wrote it.
        PromiseError: where it is none.
    """
    try:
        document = parse_json(content)
        if isinstance(document, dict):
            require_readable(place, document, newest)
        return kind.model_validate(document)
    except (ValidationError, ValueError):
        raise PromiseError(f"{place}: cannot be read as {what}") from None


def require_readable(place: Path | str, document: Mapping[str, Any], newest: int = NEWEST) -> None:
    """Refuse a document of a format that came after this software.

    Args:
        place: the file, for the message.
        document: has its number under `format`; 0 where it has none.
        newest: the newest format that is read here.

    Raises:
        InputError: in one line.
        PromiseError: where the number is none: something changed or damaged the document.
    """
    number = document.get("format", 0)
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise PromiseError(
            f"{place}: format must be a whole number. The file is damaged or was changed"
        )
    if number > newest:
        raise InputError(
            f"{place}: format {number} is newer than this software, which reads "
            f"formats up to {newest}. Install a newer sfumato"
        )


def software() -> dict[str, str]:
    """Return the versions of software on which a release's bytes depend."""
    return {
        "sfumato": _version_of("sfumato"),
        LAYOUT: _LAYOUT,
        "pyarrow": _version_of("pyarrow"),
        "sqlglot": _version_of("sqlglot"),
    }


@cache
def _version_of(package: str) -> str:
    """Return the version of a package, whose metadata are read once."""
    return version(package)


def other_software(stated: Mapping[str, str]) -> dict[str, str]:
    """Return the versions of software that made a release, if another version runs here.

    Args:
        stated: the versions that the release names.
    """
    here = software()
    made = {LAYOUT: _FIRST, **stated}
    return {name: version for name, version in made.items() if here.get(name) != version}


def tells(what: ToldByPages, stated: Mapping[str, str]) -> bool:
    """Return True if the page or manifest of a release by such versions contains something."""
    return stated.get(LAYOUT, _FIRST) not in map(str, range(1, _SINCE[what]))
