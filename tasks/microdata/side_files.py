"""Small CSV files of the owner's, such as hierarchies and targets, line by line as text."""

import csv
from pathlib import Path

from sfumato.tasks.microdata.input_error import input_error
from sfumato.tasks.schema.files import read_text, unreadable


def read_side_file(path: Path, file: str) -> list[list[str]]:
    """The fields of every line, none of a blank one; row n of errors is line n.

    `;` separates where the first line has one, else `,`.

    Args:
        path: the file, in UTF-8.
        file: what to call it in errors.

    Raises:
        InputError: where it cannot be read, or a line is no CSV.
    """
    if reason := unreadable(path):
        raise input_error(file, reason)
    try:
        lines = read_text(path, encoding="utf-8-sig").rstrip("\n").split("\n")
    except UnicodeDecodeError:
        raise input_error(file, "not UTF-8") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no path"
        raise input_error(file, f"cannot be read ({reason})") from None
    delimiter = ";" if ";" in lines[0] else ","
    return [_fields(line, delimiter, file, row) for row, line in enumerate(lines)]


def _fields(line: str, delimiter: str, file: str, row: int) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error:
        raise input_error(file, "cannot be parsed as CSV", row=row) from None
