"""Rows that numbers of promises are about, counted in the table as it is.

A promise is decided on the groups of equal quasi-identifiers by the model itself, as a check of a
release decides it on published groups.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import floor, log10
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ValidationError

from sfumato.expectations.models.promises import PROMISE
from sfumato.expectations.shared.errors import SfumatoError
from sfumato.flows.workbench.counts import CountedTable
from sfumato.tasks.report.numbers import percent

_DIGITS = 9  # of a number that is counted with, before and behind its point
_STEPS = 2  # powers of ten between a range and a step of its slider
_OF_GROUPS = (
    *("l-diversity", "t-closeness", "beta-likeness", "delta-disclosure", "ke-anonymity"),
    "p-privacy",
)
"""The models that counts of a sensitive column in groups decide; others need labels as well."""
Keys = Mapping[str, Any]
Worth = tuple[str, str, int, str]
"""A promise, words, a number of rows, and their share."""
Count = Callable[[CountedTable, str, Any], tuple[str, int]]


def _rows_below(table: CountedTable, _column: str, value: Any) -> tuple[str, int]:
    return f"rows in groups of fewer than {value} now", table.groups().rows_below(int(float(value)))


def _fewer(table: CountedTable, column: str, value: Any) -> tuple[str, int]:
    words = f"rows in groups with fewer than {value} values of {column} now"
    return words, table.values(column).rows_with_fewer(int(float(value)))


def _share(value: Any) -> Fraction:
    """Return a share as written; one with more decimals than a slider has is rounded."""
    return Fraction(str(value)).limit_denominator(10**6)


def _frequent(table: CountedTable, column: str, value: Any) -> tuple[str, int]:
    words = f"rows in groups in which a value of {column} is more frequent than {value} now"
    return words, table.values(column).rows_above(_share(value))


_WORTH: Mapping[tuple[str, str], Count] = {
    ("k-anonymity", "k"): _rows_below,
    ("alpha-k", "k"): _rows_below,
    ("alpha-k", "alpha"): _frequent,
    ("alpha-beta", "beta"): _frequent,
    ("l-diversity", "l"): _fewer,
    ("ke-anonymity", "k"): _fewer,
}
"""What a number of a promise alone is about."""


def worth_of(
    table: CountedTable,
    promise: Keys,
    numbers: Mapping[str, Any],
    columns: Sequence[str],
) -> Iterator[Worth]:
    """Yield what the numbers of a promise are worth.

    Args:
        table: the table.
        promise: the promise as the spec has it.
        numbers: its numbers, as they are or as sliders have them.
        columns: the sensitive columns that it is about.
    """
    if not all(map(reads_as_number, numbers.values())):
        return
    rows = max(table.rows.rows, 1)
    for name, value in numbers.items():
        count = _WORTH.get((promise["model"], name))
        if count is not None and promise.get("variant", "distinct") == "distinct":
            for column in columns if count is not _rows_below else [""]:
                words, number = count(table, column, value)
                yield promise["model"], words, number, percent(number / rows)
    if promise["model"] in _OF_GROUPS and len(numbers) > len(_alone(promise, numbers)):
        for column in columns:
            broken = rows_breaking(table, {**promise, **_read(numbers)}, column)
            if broken is not None:
                written = ", ".join(f"{name} {value}" for name, value in numbers.items())
                words = f"rows in groups that break it by their values of {column} now ({written})"
                yield promise["model"], words, broken, percent(broken / rows)


def _alone(promise: Keys, numbers: Mapping[str, Any]) -> list[str]:
    """Return the numbers that are counted alone, of a variant by which this decides the promise."""
    is_distinct = promise.get("variant", "distinct") == "distinct"
    return [name for name in numbers if is_distinct and (promise["model"], name) in _WORTH]


def is_counted(promise: Keys, name: str) -> bool:
    """Return True if what a number is worth is counted at once."""
    return promise["model"] in _OF_GROUPS or (promise["model"], name) in _WORTH


def rows_breaking(table: CountedTable, promise: Keys, column: str) -> int | None:
    """Return the number of rows in groups that break a promise; None if that cannot be decided."""
    try:
        model = PROMISE.validate_python({**promise, "sensitive": column})
        names = model.quasi_identifiers or ()
        if not all(map(table.rows.has, (*names, column))):
            return None
        groups = table.groups_of(column, names)
        return int(groups.sizes[model.failing(groups)].sum())
    except (SfumatoError, ValidationError, ValueError):
        return None


def _read(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Return numbers as a spec has them: whole ones as such, others as they are written."""
    read = {name: Decimal(str(value)) for name, value in numbers.items()}
    return {n: int(v) if v == v.to_integral_value() else str(v) for n, v in read.items()}


def reads_as_number(value: Any) -> bool:
    """Return True for a number, or its text, of so many digits that counting with it is quick."""
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return False
    return number.is_finite() and (not number or abs(number.adjusted()) <= _DIGITS)


def range_of(table: CountedTable | None, column: str) -> float | None:
    """Return the length of a column's range; None if it has none, or is not counted yet."""
    facts = None if table is None else table.facts.get(column)
    if facts is None or not facts.is_number or facts.distinct < 2:
        return None
    ends = pc.min_max(pc.cast(facts.column.values, pa.float64())).as_py()
    return float(ends["max"] - ends["min"])


def step_of(length: float | None) -> float:
    """Return the step of a slider over a range: a power of ten.

    >>> step_of(80_000.0), step_of(25.0), step_of(None)
    (100.0, 0.1, 1.0)
    """
    return 1.0 if length is None else float(10.0 ** (floor(log10(length)) - _STEPS))
