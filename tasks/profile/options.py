"""What a steward says of a source beforehand, where it does not tell."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

from pydantic import ValidationError

from sfumato.expectations.errors import SpecError
from sfumato.tasks.microdata.notation.spelling import ValueSpelling
from sfumato.tasks.microdata.readers.registry import READERS
from sfumato.tasks.schema.columns import Role


@dataclass(frozen=True)
class DraftOptions:
    """What is said of a source; None where the source is to tell.

    Attributes:
        format: of its files.
        sheet: of a workbook.
        query: of a database.
        encoding: of CSV files.
        delimiter: of CSV files.
        header: whether the first line of a CSV file names the columns.
        decimal: what stands before the decimals of numbers.
        date_formats: of columns, by name.
        roles: of columns, by name.
    """

    format: str | None = None
    sheet: str | None = None
    query: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    header: Literal["yes", "no"] | None = None
    decimal: Literal[".", ","] | None = None
    date_formats: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, Role] = field(default_factory=dict)


def read_options(
    roles: Mapping[str, str], date_formats: Mapping[str, str], **known: Any
) -> DraftOptions:
    """Options as a command line says them.

    Raises:
        SpecError: for a role, format or spelling that there is not.
    """
    for name, role in roles.items():
        if role not in get_args(Role):
            raise SpecError(f"--role {name}: {role!r} is none of {', '.join(get_args(Role))}")
    if known.get("format") not in (None, *READERS):
        raise SpecError(f"--format: {known['format']!r} is none of {', '.join(READERS)}")
    if len(known.get("delimiter") or ",") != 1:
        raise SpecError("--delimiter: is one character")
    try:
        ValueSpelling(date_formats=dict(date_formats))
    except ValidationError as error:
        raise SpecError(f"--{error.errors()[0]['msg'].removeprefix('Value error, ')}") from None
    return DraftOptions(roles=cast(Any, dict(roles)), date_formats=dict(date_formats), **known)
