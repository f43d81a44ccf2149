"""What a coding fits: the type of its column, its parameters, and what stands beside it."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from sfumato.expectations.exact import INT64_MAX
from sfumato.expectations.texts import ORDERED, as_number
from sfumato.tasks.schema.codings.declared import CodedColumn, Rounding

_DATES = frozenset({"date", "timestamp"})
TYPES: Mapping[str, frozenset[str]] = {
    "shift": _DATES,
    "bottom": ORDERED,
    "top": ORDERED,
    "round": frozenset({"integer", "decimal"}),
    "unite": frozenset({"string"}),
    "prefix": frozenset({"string"}),
    "fold": frozenset({"string"}),
}
"""The types of column that each coding is for."""

_DIGITS, _ALL_DIGITS = 18, 38  # of decimals, behind the point and in all


def fault_of_codings(column: CodedColumn, type_: str) -> str | None:
    """Name a coding that does not fit a column of that type, and the rule; None where all do."""
    for key in column.codings:
        if type_ not in TYPES[key]:
            return f"{key}: needs type {' or '.join(sorted(TYPES[key]))}, not {type_}"
    if column.free_text is not None and type_ != "string":
        return f"free-text: a column of type {type_} holds no text"
    faults = (fault(column, type_) for fault in _FAULTS)
    return next((fault for fault in faults if fault is not None), None)


def threshold_texts(column: CodedColumn) -> dict[str, str]:
    """The thresholds that are declared as values."""
    ends = {key: getattr(column, key) for key in ("bottom", "top")}
    return {key: end for key, end in ends.items() if isinstance(end, str)}


def _fault_of_numbers(column: CodedColumn, type_: str) -> str | None:
    texts: dict[str, Any] = threshold_texts(column)
    if isinstance(column.round, Rounding):
        texts["round.to"] = column.round.to
    for key, text in texts.items():
        try:
            number = as_number(text, type_)
        except ValueError:
            return f"{key}: not of type {type_}"
        if type_ == "integer" and abs(number) > INT64_MAX:
            return f"{key}: is no integer of 64 bits"
        if type_ == "decimal" and -int(number.as_tuple().exponent) > _DIGITS:
            return f"{key}: has more than {_DIGITS} decimals"
        if type_ == "decimal" and number.adjusted() >= _ALL_DIGITS - _DIGITS:
            return f"{key}: has more than {_ALL_DIGITS - _DIGITS} digits before the point"
    return None


def _fault_of_order(column: CodedColumn, type_: str) -> str | None:
    ends = {key: as_number(text, type_) for key, text in threshold_texts(column).items()}
    if len(ends) == len(("bottom", "top")) and ends["bottom"] >= ends["top"]:
        return "bottom: is not below top"
    return None


def _fault_of_rounding(column: CodedColumn, type_: str) -> str | None:
    if column.round is None:
        return None
    step = as_number(column.round.to, type_)
    if step <= 0:
        return "round.to: must be more than 0"
    for key, text in threshold_texts(column).items():
        if not _is_multiple(as_number(text, type_), step):
            return f"{key}: is no multiple of round.to, and would be rounded to another threshold"
    return None


def _is_multiple(number: Decimal, step: Decimal) -> bool:
    (above, below), (of, over) = number.as_integer_ratio(), step.as_integer_ratio()
    return (above * over) % (below * of) == 0


_FAULTS: tuple[Callable[[CodedColumn, str], str | None], ...] = (
    _fault_of_numbers,
    _fault_of_order,
    _fault_of_rounding,
)
