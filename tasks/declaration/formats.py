"""The formats in which releases are published: each ever published can be read.

A release is written in the lowest format that can say its declaration, so that lines which use
nothing new stay readable by older software. Format 0 writes no number.

    0   every release before formats had numbers
    1   publish.csv.formulas: quote
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.expectations.errors import InputError

NEWEST = 1


def require_readable(place: Path, document: Mapping[str, Any], newest: int = NEWEST) -> None:
    """Refuse a document of a format that came after this software.

    Args:
        place: the file, for the message.
        document: has its number under `format`; 0 where it has none.
        newest: the newest format that is read here.

    Raises:
        InputError: in one line.
    """
    found = document.get("format", 0)
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise InputError(f"{place}: format is not a number of a format")
    if found > newest:
        raise InputError(
            f"{place}: format {found} was made by newer software; this one reads formats up to "
            f"{newest}: install a newer sfumato"
        )
