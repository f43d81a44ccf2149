"""The columns of a source as a steward declares them, for ingestion to read."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from sfumato.expectations.shared.arrow import NUMBERS, ORDERED, Value, as_number
from sfumato.tasks.schema.codings import CodedColumn, fault_of_codings
from sfumato.tasks.schema.hierarchy_rules import Dates, Intervals, Prefixes, Written
from sfumato.tasks.schema.names import Part
from sfumato.tasks.schema.stated import Code, OneLine

Role = Literal["identifier", "quasi-identifier", "sensitive", "insensitive", "weight", "drop"]
ColumnType = Literal["integer", "decimal", "float", "date", "timestamp", "string", "boolean"]
NullPolicy = Literal["refuse", "drop-row", "category"]
__all__ = ["NUMBERS", "ORDERED", "TYPES", "ColumnSpec", "ColumnType", "NullPolicy", "Range", "Role"]

TYPES: tuple[str, ...] = get_args(ColumnType)


_WHOLE = re.compile(r"0|-?[1-9][0-9]*")


class Pseudonym(Part):
    """Keyed pseudonyms of an identifier, for joining and private hand-over."""

    purpose: Annotated[
        str,
        Field(
            pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$",
            max_length=63,
            description=(
                "the purpose, which has its own key; the key is the same in all lines of "
                "the work directory"
            ),
        ),
    ]
    beside: Annotated[
        tuple[str, ...],
        Field(
            description=(
                "published columns that are handed over beside the pseudonym, coded as in the "
                "release"
            )
        ),
    ] = ()


class Range(BaseModel):
    """The limits of a column's values, each included."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    min: Value | None = None
    max: Value | None = None

    @model_validator(mode="after")
    def _has_a_limit(self) -> Self:
        if self.min is None and self.max is None:
            raise ValueError("has no limit. Write min, max or both")
        return self


_BUILT_OF: Mapping[type[BaseModel], str] = {Intervals: "integer", Dates: "date", Prefixes: "string"}


class ColumnSpec(CodedColumn, Part):
    """A column's role, type, null policy, accepted values, codings and hierarchy."""

    role: Annotated[
        Role,
        Field(
            description=(
                "the column's role. A release never contains identifier and drop, and "
                "it protects sensitive; weight is the number of people in the "
                "population that a row represents"
            )
        ),
    ]
    type: Annotated[ColumnType, Field(description="the type of the values; nothing is guessed")] = (
        "string"
    )
    nulls: Annotated[
        NullPolicy | None,
        Field(description="the policy for missing values in this column; otherwise the spec's"),
    ] = None
    values: Annotated[
        tuple[Value, ...] | None,
        Field(min_length=1, description="the values that the source may have"),
    ] = None
    range: Annotated[Range | None, Field(description="the limits of the source's values")] = None
    hierarchy: Annotated[
        Written | None,
        Field(
            description="a CSV file with one row per leaf, intervals, dates, prefixes or an order"
        ),
    ] = None
    unit: Annotated[
        bool, Field(description="true if the identifier identifies whom a row is about")
    ] = False
    generated: Annotated[
        Literal["row-number"] | None,
        Field(description="the column is not in the source; it is made when the source is read"),
    ] = None
    repeat: Annotated[
        Literal["refuse", "keep-one", "all"],
        Field(
            description="what happens if a unit occurs twice; with `all`, people have several rows"
        ),
    ] = "refuse"
    unprotected: Annotated[
        str | None, Field(min_length=1, description="why a column needs no promise")
    ] = None
    description: Annotated[
        OneLine | None,
        Field(description="the unit of its values, for readers; it does not change the release"),
    ] = None
    labels: Annotated[
        dict[Code, OneLine] | None,
        Field(
            min_length=1,
            max_length=10_000,
            description="the meaning of its codes, for readers; it does not change the release",
        ),
    ] = None
    code_list: Annotated[
        Literal["published", "whole"],
        Field(description="the codes that are published with their labels: published ones, or all"),
    ] = "published"
    spelling: Annotated[
        Literal["as-written"] | None,
        Field(
            description=(
                "sensitive texts that differ only in spaces, case or Unicode form are "
                "different values"
            )
        ),
    ] = None
    all_different: Annotated[
        OneLine | None,
        Field(
            description=(
                "why a sensitive text identifies no person, although nearly all rows have "
                "different texts"
            )
        ),
    ] = None
    same_as: Annotated[
        str | None,
        Field(min_length=1, description="its name in another line of the same people, or banded"),
    ] = None
    derive: Annotated[
        str | None,
        Field(
            min_length=1,
            description=(
                "SQL over the related rows of one person, for the person's value in the table of "
                "people, such as COUNT(*)"
            ),
        ),
    ] = None
    pseudonym: Annotated[
        Pseudonym | None,
        Field(description="how the column is handed over in private; it is in no published table"),
    ] = None

    @property
    def shown_as(self) -> Role:
        """The role of the column in tables: a weight is published unchanged, as insensitive."""
        return "insensitive" if self.role == "weight" else self.role

    @model_validator(mode="after")
    def _texts_are_sensitive(self) -> Self:
        keys = {"spelling": self.spelling, "all-different": self.all_different}
        key = next((key for key, value in keys.items() if value is not None), None)
        if key is not None and (self.role != "sensitive" or self.type != "string"):
            raise ValueError(f"{key}: is only for sensitive columns of type string. Leave it out")
        return self

    @model_validator(mode="after")
    def _values_fit_the_type(self) -> Self:
        if self.range is not None and self.type not in ORDERED:
            raise ValueError(f"range: values of type {self.type} have no order. Leave range out")
        for number, text in enumerate(self.values or ()):
            if not self._can_be(text):
                raise ValueError(f"values.{number}: not of type {self.type}")
        limits = (self.range.min, self.range.max) if self.range else ()
        if not all(self._can_be(limit) for limit in limits if limit is not None):
            raise ValueError(f"range: a limit is not of type {self.type}")
        return self

    def _can_be(self, text: str) -> bool:
        if self.type not in ORDERED:
            return self.type == "string" or text in ("true", "false")
        try:
            as_number(text, self.type)
        except ValueError:
            return False
        return True

    @model_validator(mode="after")
    def _keys_fit_the_role(self) -> Self:
        if self.unit and self.role != "identifier":
            raise ValueError(
                f"unit: only an identifier can be the unit, and this column has role {self.role}"
            )
        if self.generated is not None and (self.role, self.type) != ("identifier", "integer"):
            raise ValueError("generated: row numbers need `role: identifier` and `type: integer`")
        if self.repeat != "refuse" and not self.unit:
            raise ValueError(
                "repeat: only the unit can repeat. Write `unit: true`, or leave repeat out"
            )
        if self.hierarchy is not None and self.role not in ("quasi-identifier", "sensitive"):
            raise ValueError(
                f"hierarchy: has no effect on a column with role {self.role}. Leave it out"
            )
        for builder, type_ in _BUILT_OF.items():
            if isinstance(self.hierarchy, builder) and self.type != type_:
                raise ValueError(f"hierarchy: {builder.__name__.lower()} need type {type_}")
        return self

    @model_validator(mode="after")
    def _codings_fit(self) -> Self:
        if (self.codings or self.free_text) and self.role in ("identifier", "drop"):
            key = next(iter(self.codings), "free-text")
            raise ValueError(
                f"{key}: a column with role {self.role} is in no published table. Leave "
                "this key out"
            )
        if fault := fault_of_codings(self, self.type):
            raise ValueError(fault)
        words = [key for key in ("description", "labels") if getattr(self, key) is not None]
        if words and self.role in ("identifier", "drop"):
            raise ValueError(
                f"{words[0]}: a column with role {self.role} is in no published table. "
                "Leave this key out"
            )
        if self.pseudonym is not None and self.role != "identifier":
            raise ValueError(
                f"pseudonym: only an identifier can have one, and this column has role {self.role}"
            )
        return self

    @model_validator(mode="after")
    def _labels_are_of_codes(self) -> Self:
        if self.labels is None:
            if self.code_list != "published":
                raise ValueError(
                    "code-list: needs labels, and the column has no labels. Write labels, "
                    "or leave code-list out"
                )
            return self
        if self.type not in ("string", "integer"):
            raise ValueError(
                f"labels: codes must be texts or whole numbers, and the column has type {self.type}"
            )
        for number, code in enumerate(self.labels):
            if self.type == "integer" and not _WHOLE.fullmatch(code):
                raise ValueError(f"labels: code {number + 1} of the list is not a whole number")
        if self.computed_keys and self.code_list != "whole":
            raise ValueError(
                f"code-list: {self.computed_keys[0]} is computed from people's values, "
                "and the published codes would reveal them. Write `code-list: whole`, "
                "or leave labels out"
            )
        return self

    @model_validator(mode="after")
    def _weights_are_numbers(self) -> Self:
        if self.role != "weight":
            return self
        if self.type not in ("integer", "decimal"):
            raise ValueError(
                "type: a weight must be an integer or a decimal, and this column has type "
                f"{self.type}"
            )
        if self.nulls == "category":
            raise ValueError("nulls: a weight must be a number. Use refuse or drop-row")
        if self.unprotected is None:
            raise ValueError(
                "unprotected: is missing. A weight shows how people were sampled, and "
                "so may identify them. Write why it identifies no person, or round it, "
                "or leave it out (role: drop)"
            )
        return self

    @model_validator(mode="after")
    def _keys_of_sensitive_columns(self) -> Self:
        is_shown = self.shown_as in ("sensitive", "insensitive")
        if (
            self.unprotected is not None
            and not is_shown
            and (self.role != "identifier" or self.unit)
        ):
            raise ValueError(
                "unprotected: only a sensitive or insensitive column, or an identifier "
                "that is not the unit, needs this reason. Leave it out"
            )
        if self.same_as is not None and self.role != "sensitive":
            raise ValueError(
                "same-as: only sensitive columns are compared with those of another line. "
                "Leave it out"
            )
        return self
