"""The owner's own rules: expectations of Great Expectations that a spec may ask of a table.

This module lists them with their parameters, without importing Great Expectations. Keep out
everything that reveals a value: an expectation is listed only if its result is a count. Parameters
and defaults are those of Great Expectations.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from sfumato.expectations.rules.verdicts import Expectation

_TEXT = frozenset({"string"})
_NUMBER = frozenset({"integer", "decimal", "float"})
_NAMED = frozenset({"string", "integer", "boolean"})
ColumnName = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=0, strict=True)]
Limit = Annotated[float, Field(strict=True, ge=-(2**53), le=2**53)]  # exact, where it is whole


def _compiles(regex: str) -> str:
    try:
        re.compile(regex)
    except re.error:
        raise ValueError("is not a valid regular expression") from None
    return regex


def _require_limits(low: float | None, high: float | None) -> None:
    if low is None and high is None:
        raise ValueError("min_value and max_value are missing; give one of them, or both")
    if low is not None and high is not None and low > high:
        raise ValueError("min_value: must not be larger than max_value")


class OwnedParameters(BaseModel):
    """Parameters of an expectation: the columns that it is about, and their types."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    kinds: ClassVar[frozenset[str]] = frozenset()  # any, where there is none

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are judged; none if the rule is about the table."""
        named = [value for key, value in self if key.startswith("column")]
        return tuple(
            name for entry in named for name in ([entry] if isinstance(entry, str) else entry)
        )


class _OfColumn(OwnedParameters):
    column: ColumnName


class OfValues(_OfColumn):
    """Of all values of a column, or of most of them."""

    mostly: Annotated[float, Field(gt=0, le=1)] = 1


class _Between(OwnedParameters):
    min_value: Count | None = None
    max_value: Count | None = None

    @model_validator(mode="after")
    def _limits(self) -> Self:
        _require_limits(self.min_value, self.max_value)
        return self


class RowsBetween(_Between):
    """The number of rows."""


class RowsEqual(OwnedParameters):
    """The number of rows, or of columns."""

    value: Count


class DifferentValues(_OfColumn, _Between):
    """The number of different values."""


class LengthsBetween(OfValues, _Between):
    """The characters of texts."""

    kinds = _TEXT


class ValuesBetween(OfValues):
    """Numbers between two, which belong to it where it is not strict."""

    kinds = _NUMBER
    min_value: Limit | None = None
    max_value: Limit | None = None
    strict_min: bool = False
    strict_max: bool = False

    @model_validator(mode="after")
    def _some_limit(self) -> Self:
        _require_limits(self.min_value, self.max_value)
        return self


class ValuesInSet(OfValues):
    """Some values."""

    kinds = _NAMED
    value_set: Annotated[tuple[str | bool | int, ...], Field(min_length=1)]


class TextsMatching(OfValues):
    """A regular expression."""

    kinds = _TEXT
    regex: Annotated[str, AfterValidator(_compiles)]


class ColumnsTogether(OwnedParameters):
    """Columns that are looked at together."""

    column_list: Annotated[tuple[ColumnName, ...], Field(min_length=2)]


class Larger(OwnedParameters):
    """A column whose numbers are larger than those of another."""

    kinds = _NUMBER
    column_A: ColumnName
    column_B: ColumnName
    or_equal: bool | None = None


class OwnedRule(BaseModel):
    """An expectation of a table, by its name in Great Expectations: one in each."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    expect_table_row_count_to_be_between: RowsBetween | None = None
    expect_table_row_count_to_equal: RowsEqual | None = None
    expect_table_column_count_to_equal: RowsEqual | None = None
    expect_column_to_exist: _OfColumn | None = None
    expect_column_values_to_not_be_null: OfValues | None = None
    expect_column_values_to_be_null: OfValues | None = None
    expect_column_values_to_be_unique: OfValues | None = None
    expect_column_values_to_be_between: ValuesBetween | None = None
    expect_column_values_to_be_in_set: ValuesInSet | None = None
    expect_column_values_to_not_be_in_set: ValuesInSet | None = None
    expect_column_values_to_match_regex: TextsMatching | None = None
    expect_column_values_to_not_match_regex: TextsMatching | None = None
    expect_column_value_lengths_to_be_between: LengthsBetween | None = None
    expect_column_unique_value_count_to_be_between: DifferentValues | None = None
    expect_compound_columns_to_be_unique: ColumnsTogether | None = None
    expect_column_pair_values_a_to_be_greater_than_b: Larger | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if len(self._arguments_by_name) != 1:
            raise ValueError("must be one expectation with its parameters")
        return self

    @property
    def type(self) -> str:
        """The name of the expectation."""
        return next(iter(self._arguments_by_name))

    @property
    def arguments(self) -> OwnedParameters:
        """The parameters of the expectation."""
        (arguments,) = self._arguments_by_name.values()
        return arguments

    @property
    def expectation(self) -> Expectation:
        """The rule as an expectation, without parameters that have their defaults."""
        parameters = self.arguments.model_dump(
            mode="json", exclude_defaults=True, exclude_none=True
        )
        return Expectation(self.type, parameters)

    @cached_property
    def _arguments_by_name(self) -> dict[str, OwnedParameters]:
        return {name: value for name, value in self if value is not None}


class OwnedRules(BaseModel):
    """Expectations of a line's owner about the source and about the published tables."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    source: Annotated[
        tuple[OwnedRule, ...], Field(description="judged on all rows of the source, as declared")
    ] = ()
    release: Annotated[
        tuple[OwnedRule, ...],
        Field(description="judged on each published table that has the named columns"),
    ] = ()


def columns_of_rules(rules: Sequence[OwnedRule], columns: Iterable[str]) -> set[str]:
    """Return the columns of a table that rules judge: all if a rule counts the columns."""
    if any(rule.expect_table_column_count_to_equal is not None for rule in rules):
        return set(columns)
    return {name for rule in rules for name in rule.arguments.columns}
