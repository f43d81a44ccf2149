"""Hierarchies as ARX writes and reads them: CSV without a header, one row per leaf.

Source: `CSVDataOutput` and `CSVHierarchyInput` of ARX 3.9. Fields are separated by `;` and may be
in quotes; the first is the value, each further one a label of the next level. ARX asks for no root;
here the last label is `*`.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from sfumato.expectations.machine.fault import reason_of
from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.other_tools.hostile import MOST_OF_ENTRY, read_foreign_text
from sfumato.tasks.other_tools.setup import ForeignColumn, ForeignSetup, Omission, Rows, is_name
from sfumato.tasks.schema.hierarchy import ROOT, Hierarchy

MOST_FILES = 1_000
"""Files of a folder of hierarchies."""
_ROWS, _LEVELS, _LABEL = 200_000, 30, 1_000
_DELIMITERS = ";,\t|"
_TOOL = "ARX hierarchies"
_ROLE = "ARX has a hierarchy for it, so it is something that others may know"


def read_rows(text: str, file: str, delimiter: str | None = None) -> tuple[Rows, list[str]]:
    """Return the rows of a hierarchy of ARX, the root last, and what had to be changed.

    Args:
        text: the content of the file.
        file: its name in errors.
        delimiter: of its fields; None for the first of `;`, `,`, tab and `|` in its first line.

    Raises:
        InputError: if it is too large, is no CSV, or its labels do not nest.
    """
    first, _, _ = text.partition("\n")
    mark = delimiter or next((mark for mark in _DELIMITERS if mark in first), ";")
    rows = list(_records(text, file, mark))
    changes = []
    with_values = [row for row in rows if row and row[0]]
    if len(with_values) < sum(map(bool, rows)):
        changes.append(
            "a row without a value is left out, and `nulls` decides what happens to such rows"
        )
    if not with_values:
        raise InputError(f"{file}: has no row. Write a value and its labels")
    rooted, change = _with_root(with_values)
    return Hierarchy(file, rooted).rows, [*changes, *filter(None, [change])]


def _records(text: str, file: str, delimiter: str) -> Iterable[tuple[str, ...]]:
    """Yield the fields of each row.

    Raises:
        InputError: if a row is no CSV, or there are too many rows, levels or characters.
    """
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    try:
        for number, fields in enumerate(reader, start=1):
            if number > _ROWS:
                raise InputError(f"{file}: has more than {_ROWS:,} rows")
            if len(fields) > _LEVELS:
                raise InputError(f"{file}: row {number}: more than {_LEVELS} levels")
            if any(len(field) > _LABEL for field in fields):
                raise InputError(f"{file}: row {number}: a label of more than {_LABEL} characters")
            yield tuple(fields)
    except csv.Error:
        row = reader.line_num
        raise InputError(f"{file}: cannot be parsed as CSV (line {row})") from None


def _with_root(rows: Sequence[tuple[str, ...]]) -> tuple[Rows, str | None]:
    """Return rows that end with the root, and what was changed; None if they had one."""
    last = {row[-1] for row in rows}
    if last == {ROOT} and all(len(row) > 1 for row in rows):
        return tuple(rows), None
    if len(last) == 1 and all(len(row) > 1 for row in rows):
        return tuple((*row[:-1], ROOT) for row in rows), "the label of its last level became *"
    return tuple((*row, ROOT) for row in rows), "a last level * was added"


def read_hierarchies(path: Path, file: str) -> ForeignSetup:
    """Return the hierarchies of a CSV file, or of the CSV files of a folder, by column.

    Each file has the name of its column: `age.csv`.

    Raises:
        InputError: if the path cannot be read, no file has a hierarchy, or there are too many.
    """
    paths = _csv_files(path, file) if path.is_dir() else [path]
    columns: dict[str, ForeignColumn] = {}
    changes: list[str] = []
    omissions: list[Omission] = []
    for place in paths:
        name, called = place.stem, f"{file}/{place.name}" if path.is_dir() else file
        try:
            if place != path and place.is_symlink():
                raise InputError(f"{called}: is a link, and links in a folder are not followed")
            column, words = _column(place, called)
        except InputError as error:
            if len(paths) == 1:
                raise
            omissions.append(Omission("a hierarchy", f"{error}"))
            continue
        columns[name] = column
        changes.append(f"the hierarchy of {name!r}{words}")
    if not columns:
        raise InputError(f"{omissions[0].why}; no file of the folder is a hierarchy")
    return ForeignSetup(
        _TOOL, columns, changes=tuple(changes), omissions=(*omissions, *_NOT_IN_HIERARCHIES)
    )


_NOT_IN_HIERARCHIES = (
    Omission(
        "roles of the other columns, k and suppression",
        "files of hierarchies do not contain them; the draft proposes its own",
    ),
)


def _column(path: Path, called: str) -> tuple[ForeignColumn, str]:
    if not is_name(path.stem):
        raise InputError(f"{called}: its name cannot be the name of a column. Rename the file")
    rows, changes = read_rows(read_foreign_text(path, called, MOST_OF_ENTRY), called)
    words = f" ({'; '.join(changes)})" if changes else ""
    column = ForeignColumn("quasi-identifier", _ROLE, rows=rows, words="the one of ARX")
    return column, words


def _csv_files(folder: Path, file: str) -> list[Path]:
    """Return the CSV files of a folder by name; other files are not looked at.

    Raises:
        InputError: if there is none, or there are too many.
    """
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".csv")
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({reason_of(error)})") from None
    if not paths:
        raise InputError(f"{file}: has no CSV file. Hierarchies of ARX are files such as age.csv")
    if len(paths) > MOST_FILES:
        raise InputError(f"{file}: has more than {MOST_FILES:,} CSV files")
    return paths


def written_for_arx(hierarchy: Hierarchy) -> bytes:
    """Return a hierarchy as a CSV file that ARX imports: `;` between labels, no header, UTF-8.

    >>> written_for_arx(Hierarchy("sex", (("F", "*"), ("M", "*")))).split()
    [b'F;*', b'M;*']
    """
    text = io.StringIO()
    csv.writer(text, delimiter=";", lineterminator="\n").writerows(hierarchy.rows)
    return text.getvalue().encode()
