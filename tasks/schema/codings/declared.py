"""Codings as a spec declares them and as a release says them, in the order in which they act."""

from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from sfumato.expectations.texts import Value
from sfumato.tasks.schema.formats import since

KEYS = ("shift", "bottom", "top", "round", "unite", "prefix", "fold")
"""The keys of codings, in the order in which they act on a column."""

_FORMAT, _OF_SPELLINGS = 4, 10
_LARGEST = 400  # digits: more than a floating-point number has


def _short(text: str) -> str:
    """A number that is written in few letters may have more digits than a machine has room for."""
    with suppress(ArithmeticError):
        number = Decimal(text)
        if number.is_finite() and abs(number.adjusted()) > _LARGEST:
            raise ValueError("has too many digits")
    return text


Parameter = Annotated[Value, Field(min_length=1, max_length=64), AfterValidator(_short)]
"""A number or a date as a coding names it."""


class _Coding(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DateShift(_Coding):
    """Dates moved by as many days as their unit is, the same in all columns and versions."""

    days: Annotated[int, Field(ge=1, le=36_500, description="at most, earlier or later")]


class TailShare(_Coding):
    """A threshold beyond which a share of the first version's rows lies; computed once."""

    share: Annotated[Decimal, Field(gt=0, lt=Decimal("0.5"), max_digits=12)]


class Rounding(_Coding):
    """Numbers replaced by the nearest multiple of one."""

    to: Annotated[Parameter, Field(description="values become multiples of it")]
    ties: Annotated[
        Literal["even", "up", "down"],
        Field(description="where two are as near: the even multiple, the larger, the smaller"),
    ] = "even"


class RareFold(_Coding):
    """Values that few rows of the first version have, all replaced by one; computed once."""

    below: Annotated[int, Field(ge=2, description="rows that a value needs to stay")]
    into: Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]+$")]


Threshold = Parameter | TailShare


class CodedColumn(BaseModel):
    """The codings of a column; where a key is at its default, the column is as it was read."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    shift: DateShift | None = since(
        _FORMAT, None, "dates moved by days that are the unit's own, in labels alone"
    )
    bottom: Threshold | None = since(
        _FORMAT,
        None,
        "smaller values become this, or a threshold that a share of rows reaches",
    )
    top: Threshold | None = since(
        _FORMAT,
        None,
        "larger values become this, or a threshold that a share of rows reaches",
    )
    round: Rounding | None = since(_FORMAT, None, "exact numbers become multiples")
    unite: Literal["spellings"] | None = since(
        _OF_SPELLINGS,
        None,
        "texts that differ in spaces, case or Unicode form alone become one, in lower case",
    )
    prefix: Annotated[int, Field(ge=1, le=1_000)] | None = since(
        _FORMAT, None, "how many characters of a text are kept"
    )
    fold: RareFold | None = since(_FORMAT, None, "values that few rows have become one")
    free_text: Annotated[str, Field(min_length=1)] | None = since(
        _FORMAT, None, "why a column of free text may be published"
    )

    @property
    def codings(self) -> dict[str, Any]:
        """What is declared of the column, by key, in the order in which it acts."""
        declared = {key: getattr(self, key) for key in KEYS}
        return {key: wish for key, wish in declared.items() if wish is not None}

    @property
    def computed(self) -> tuple[str, ...]:
        """The keys of what is computed from rows, once for all versions of a line."""
        kinds = TailShare | RareFold
        return tuple(key for key, wish in self.codings.items() if isinstance(wish, kinds))

    def coding_keys(self) -> dict[str, Any]:
        """The codings as they are handed from a spec to a declaration."""
        return {name: getattr(self, name) for name in CodedColumn.model_fields}


def document_of(column: CodedColumn) -> Mapping[str, Any]:
    """A column's codings for JSON."""
    return column.model_dump(mode="json", include=set(KEYS), exclude_none=True)
