"""Other spellings that texts may have: hints for messages, and for drafts of specs.

Nothing is read by them: a steward says how a source is spelled.
"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.tasks.microdata.notation.spelling import ValueSpelling, iso_texts
from sfumato.tasks.schema.columns import ColumnType

_DAYS: Sequence[str] = (
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%Y/%m/%d",
    "%Y.%m.%d",
)
_CLOCKS: Sequence[str] = ("", " %H:%M", " %H:%M:%S")
_COMMA = ValueSpelling(decimal=",")
_NUMBER = r"\A[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\z"


def date_formats_of(texts: pa.Array) -> list[tuple[str, ColumnType]]:
    """The ways, other than ISO 8601, in which all texts are dates or times, and which of the two.

    >>> date_formats_of(pa.array(["31.1.2024", "1.2.2024"]))
    [('%d.%m.%Y', 'date')]
    >>> [format_ for format_, _ in date_formats_of(pa.array(["1/2/2024"]))]
    ['%d/%m/%Y', '%m/%d/%Y']
    """
    found: list[tuple[str, ColumnType]] = []
    for clock in _CLOCKS:
        type_: ColumnType = "timestamp" if clock else "date"
        target = pa.timestamp("us") if clock else pa.date32()
        for day in _DAYS:
            spelling = ValueSpelling(date_formats={"": day + clock})
            iso = iso_texts(texts, type_, "", spelling)
            if len(texts) and not iso.null_count and _are(iso, target):
                found.append((day + clock, type_))
    return found


def have_decimal_commas(texts: pa.Array) -> bool:
    """True where all texts are numbers once commas are taken for decimal points, and some are not.

    >>> have_decimal_commas(pa.array(["1,5", "2"])), have_decimal_commas(pa.array(["1", "2"]))
    (True, False)
    """
    some = pc.any(pc.match_substring(texts, ",")).as_py()
    points = iso_texts(texts, "decimal", "", _COMMA)
    return bool(some) and bool(pc.all(pc.match_substring_regex(points, _NUMBER)).as_py())


def hint_of(texts: pa.Array, type_: ColumnType, spelling: ValueSpelling, name: str) -> str:
    """What a source may have to say for texts to be of a type, empty where nothing is known."""
    if type_ in ("decimal", "float") and spelling.decimal == "." and have_decimal_commas(texts):
        return " (source.decimal: ','?)"
    if type_ in ("date", "timestamp") and name not in spelling.date_formats:
        formats = [format_ for format_, kind in date_formats_of(texts) if kind == type_]
        if formats:
            return f" (source.date-formats: {' or '.join(formats)}?)"
    return ""


def _are(texts: pa.Array, target: pa.DataType) -> bool:
    try:
        pc.cast(texts, target)
    except pa.ArrowInvalid:
        return False
    return True
