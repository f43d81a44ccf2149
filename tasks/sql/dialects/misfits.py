"""Values that several databases cannot hold, found in columns that have some."""

import pyarrow as pa
import pyarrow.compute as pc

_YEARS = (-719162, 2932896)  # the first and the last day that four digits of a year can name
_MICROSECONDS = 86_400_000_000


def misfitting_zeros(column: pa.ChunkedArray, kind: str) -> str | None:
    """A text with a zero character."""
    found = kind == "string" and pc.any(pc.match_substring(column, "\0")).as_py()
    return "a text with a zero character" if found else None


def misfitting_floats(column: pa.ChunkedArray, kind: str) -> str | None:
    """A float that is none of the finite ones."""
    found = kind == "float" and not pc.all(pc.is_finite(column)).as_py()
    return "a float that is infinite or no number" if found else None


def misfitting_moments(column: pa.ChunkedArray, kind: str) -> str | None:
    """A date or timestamp beyond four digits of a year."""
    if kind not in ("date", "timestamp"):
        return None
    scale = 1 if kind == "date" else _MICROSECONDS
    days = column.cast(pa.int32() if kind == "date" else pa.int64())
    low, high = pc.min(days).as_py(), pc.max(days).as_py()
    fits = _YEARS[0] * scale <= low <= high < (_YEARS[1] + 1) * scale
    return None if fits else "a year outside of 1 to 9999"
