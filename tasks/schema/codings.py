"""Codings as a spec declares them and a release states them, and the columns each fits.

The codings themselves are computed in `tasks.microdata.codings`.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from sfumato.expectations.shared.arrow import ORDERED, Value, as_number
from sfumato.expectations.shared.exact import INT64_MAX
from sfumato.tasks.schema.formats import field_since

KEYS = ("shift", "bottom", "top", "round", "unite", "prefix", "fold")
"""The keys of codings, in the order in which they act on a column."""
_LARGEST = 400  # digits: more than a floating-point number has
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


_FORMAT, _OF_SPELLINGS = 4, 10


def _short(text: str) -> str:
    """Refuse a number with more digits than memory has room for; a short text may mean one."""
    with suppress(ArithmeticError):
        number = Decimal(text)
        if number.is_finite() and abs(number.adjusted()) > _LARGEST:
            raise ValueError("has too many digits. Write fewer")
    return text


Parameter = Annotated[Value, Field(min_length=1, max_length=64), AfterValidator(_short)]
"""A number or a date as a coding names it."""


class _Coding(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class DateShift(_Coding):
    """Dates moved by as many days as their unit is, the same in all columns and versions."""

    days: Annotated[
        int, Field(ge=1, le=36_500, description="the largest number of days, earlier or later")
    ]


class TailShare(_Coding):
    """A threshold beyond which a share of the first version's rows lies; computed once."""

    share: Annotated[Decimal, Field(gt=0, lt=Decimal("0.5"), max_digits=12)]


class Rounding(_Coding):
    """Numbers replaced by the nearest multiple of one."""

    to: Annotated[Parameter, Field(description="the step; values become multiples of it")]
    ties: Annotated[
        Literal["even", "up", "down"],
        Field(
            description=(
                "the multiple that is chosen if two are equally near: the even one, the larger "
                "or the smaller"
            )
        ),
    ] = "even"


class RareFold(_Coding):
    """Values that few rows of the first version have, all replaced by one; computed once."""

    below: Annotated[
        int, Field(ge=2, description="the number of rows that a value needs, to be kept")
    ]
    into: Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]+$")]


Threshold = Parameter | TailShare


class CodedColumn(BaseModel):
    """The codings of a column; where a key is at its default, the column is as it was read."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)

    shift: DateShift | None = field_since(
        _FORMAT,
        None,
        (
            "dates are moved by a number of days that each unit has of its own; only for "
            "forms with labels"
        ),
    )
    bottom: Threshold | None = field_since(
        _FORMAT,
        None,
        "smaller values become this, or a threshold that a share of rows reaches",
    )
    top: Threshold | None = field_since(
        _FORMAT,
        None,
        "larger values become this, or a threshold that a share of rows reaches",
    )
    round: Rounding | None = field_since(_FORMAT, None, "exact numbers become multiples")
    unite: Literal["spellings"] | None = field_since(
        _OF_SPELLINGS,
        None,
        "texts that differ only in spaces, case or Unicode form become one text, in lower case",
    )
    prefix: Annotated[int, Field(ge=1, le=1_000)] | None = field_since(
        _FORMAT, None, "how many characters of a text are kept"
    )
    fold: RareFold | None = field_since(_FORMAT, None, "values that few rows have become one")
    free_text: Annotated[str, Field(min_length=1)] | None = field_since(
        _FORMAT, None, "why a column of free text may be published"
    )

    @property
    def codings(self) -> dict[str, Any]:
        """The declared codings of the column by key, in the order in which they act."""
        declared = {key: getattr(self, key) for key in KEYS}
        return {key: wish for key, wish in declared.items() if wish is not None}

    @property
    def computed_keys(self) -> tuple[str, ...]:
        """The keys of codings that are computed from rows, once for all versions of a line."""
        kinds = TailShare | RareFold
        return tuple(key for key, wish in self.codings.items() if isinstance(wish, kinds))

    def coding_keys(self) -> dict[str, Any]:
        """Return the codings as they are handed from a spec to a declaration."""
        return {name: getattr(self, name) for name in CodedColumn.model_fields}


def document_of(column: CodedColumn) -> Mapping[str, Any]:
    """Return a column's codings for JSON."""
    return column.model_dump(mode="json", include=set(KEYS), exclude_none=True)


_DIGITS, _ALL_DIGITS = 18, 38  # of decimals, behind the point and in all


def fault_of_codings(column: CodedColumn, type_: str) -> str | None:
    """Name a coding that does not fit a column of that type, and the rule; None where all do."""
    for key in column.codings:
        if type_ not in TYPES[key]:
            return f"{key}: needs type {' or '.join(sorted(TYPES[key]))}, not {type_}"
    if column.free_text is not None and type_ != "string":
        return f"free-text: is for columns of texts, and this column has type {type_}. Leave it out"
    faults = (fault(column, type_) for fault in _FAULTS)
    return next((fault for fault in faults if fault is not None), None)


def threshold_texts(column: CodedColumn) -> dict[str, str]:
    """Return the thresholds that are declared as values."""
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
            return f"{key}: is not an integer of 64 bits"
        if type_ == "decimal" and -int(number.as_tuple().exponent) > _DIGITS:
            return f"{key}: has more than {_DIGITS} decimals"
        if type_ == "decimal" and number.adjusted() >= _ALL_DIGITS - _DIGITS:
            return f"{key}: has more than {_ALL_DIGITS - _DIGITS} digits before the point"
    return None


def _fault_of_order(column: CodedColumn, type_: str) -> str | None:
    ends = {key: as_number(text, type_) for key, text in threshold_texts(column).items()}
    if len(ends) == len(("bottom", "top")) and ends["bottom"] >= ends["top"]:
        return "bottom: is not below top. Write a smaller one"
    return None


def _fault_of_rounding(column: CodedColumn, type_: str) -> str | None:
    if column.round is None:
        return None
    step = as_number(column.round.to, type_)
    if step <= 0:
        return "round.to: must be more than 0"
    for key, text in threshold_texts(column).items():
        if not _is_multiple(as_number(text, type_), step):
            return (
                f"{key}: is not a multiple of round.to, and would be rounded to another "
                "threshold. Write a multiple"
            )
    return None


def _is_multiple(number: Decimal, step: Decimal) -> bool:
    (numerator, denominator), (step_numerator, step_denominator) = (
        number.as_integer_ratio(),
        step.as_integer_ratio(),
    )
    return (numerator * step_denominator) % (denominator * step_numerator) == 0


_FAULTS: tuple[Callable[[CodedColumn, str], str | None], ...] = (
    _fault_of_numbers,
    _fault_of_order,
    _fault_of_rounding,
)
