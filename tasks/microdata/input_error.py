"""Errors that give the file, row and column of a fault in a source, and never the value.

Rows are data records, numbered from 1: a header line and blank lines are not counted.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from sfumato.expectations.errors import InputError


def input_error(
    file: str, rule: str, *, row: int | None = None, column: str | None = None
) -> InputError:
    """The one clear line for a fault at a place; `row` counts from 0.

    >>> print(input_error("people.csv", "not an integer", row=0, column="age"))
    people.csv: row 1: column 'age': not an integer
    """
    place = "" if row is None else f" row {row + 1}:"
    named = "" if column is None else f" column {column!r}:"
    return InputError(f"{file}:{place}{named} {rule}")


def require_distinct_names(names: Sequence[str], file: str) -> None:
    """Make sure that no two columns of a file have one name.

    Raises:
        InputError: with the column's number; its name may be a value, where a header is missing.
    """
    for number, name in enumerate(names, start=1):
        earlier = names.index(name) + 1
        if earlier < number:
            raise input_error(file, f"column {number} has the name of column {earlier}")


def import_extra(module: str, extra: str, file: str) -> Any:
    """A module that one of the package's extras installs.

    Raises:
        InputError: where it is not installed, with what installs it.
    """
    try:
        return import_module(module)
    except ImportError:
        missing = f"needs a package that is not installed: pip install 'sfumato[{extra}]'"
        raise input_error(file, missing) from None
