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
            description="a key of its own: the same in every line of the work directory",
        ),
    ]
    beside: Annotated[
        tuple[str, ...],
        Field(description="published columns that are handed over beside it, as they are coded"),
    ] = ()


class Range(BaseModel):
    """The limits of a column's values, each included."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    min: Value | None = None
    max: Value | None = None

    @model_validator(mode="after")
    def _has_a_limit(self) -> Self:
        if self.min is None and self.max is None:
            raise ValueError("min or max is needed")
        return self


_BUILT_OF: Mapping[type[BaseModel], str] = {Intervals: "integer", Dates: "date", Prefixes: "string"}


class ColumnSpec(CodedColumn, Part):
    """A column's role, type, null policy, accepted values, codings and hierarchy."""

    role: Annotated[
        Role,
        Field(
            description="identifier and drop: nowhere in a release; sensitive: protected; weight: "
            "how many people of the population a row stands for"
        ),
    ]
    type: Annotated[ColumnType, Field(description="of the values; nothing is guessed")] = "string"
    nulls: Annotated[
        NullPolicy | None, Field(description="the policy of this column; otherwise the spec's")
    ] = None
    values: Annotated[
        tuple[Value, ...] | None,
        Field(min_length=1, description="the values that the source may have"),
    ] = None
    range: Annotated[
        Range | None, Field(description="between which values those of the source are")
    ] = None
    hierarchy: Annotated[
        Written | None,
        Field(
            description="a CSV file with one row per leaf, intervals, dates, prefixes or an order"
        ),
    ] = None
    unit: Annotated[bool, Field(description="whether it says whom a row is about")] = False
    generated: Annotated[
        Literal["row-number"] | None,
        Field(description="made where the source is read, and not among its columns"),
    ] = None
    repeat: Annotated[
        Literal["refuse", "keep-one", "all"],
        Field(description="when a unit occurs twice; all: people have several rows"),
    ] = "refuse"
    unprotected: Annotated[
        str | None, Field(min_length=1, description="why a column needs no promise")
    ] = None
    description: Annotated[
        OneLine | None, Field(description="of its values, for readers; no term of a release")
    ] = None
    labels: Annotated[
        dict[Code, OneLine] | None,
        Field(
            min_length=1,
            max_length=10_000,
            description="what its codes mean, for readers; no term of a release",
        ),
    ] = None
    code_list: Annotated[
        Literal["published", "whole"],
        Field(description="which codes have their labels published: those that are, or all"),
    ] = "published"
    spelling: Annotated[
        Literal["as-written"] | None,
        Field(description="sensitive texts that differ in spaces, case or Unicode form differ"),
    ] = None
    all_different: Annotated[
        OneLine | None,
        Field(description="why nobody is known by a sensitive text that nearly all rows differ in"),
    ] = None
    same_as: Annotated[
        str | None,
        Field(min_length=1, description="its name in another line of the same people, or banded"),
    ] = None
    pseudonym: Annotated[
        Pseudonym | None,
        Field(description="under which it is handed over privately; in no published table"),
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
            raise ValueError(f"{key}: is about a sensitive column of type string")
        return self

    @model_validator(mode="after")
    def _values_fit_the_type(self) -> Self:
        if self.range is not None and self.type not in ORDERED:
            raise ValueError(f"range: values of type {self.type} have no order")
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
            raise ValueError(f"unit: only an identifier can be the unit, not a {self.role}")
        if self.generated is not None and (self.role, self.type) != ("identifier", "integer"):
            raise ValueError("generated: row numbers are identifiers of type integer")
        if self.repeat != "refuse" and not self.unit:
            raise ValueError("repeat: only a unit can repeat")
        if self.hierarchy is not None and self.role not in ("quasi-identifier", "sensitive"):
            raise ValueError(f"hierarchy: means nothing for a column with role {self.role}")
        for builder, type_ in _BUILT_OF.items():
            if isinstance(self.hierarchy, builder) and self.type != type_:
                raise ValueError(f"hierarchy: {builder.__name__.lower()} need type {type_}")
        return self

    @model_validator(mode="after")
    def _codings_fit(self) -> Self:
        if (self.codings or self.free_text) and self.role in ("identifier", "drop"):
            key = next(iter(self.codings), "free-text")
            raise ValueError(f"{key}: a column with role {self.role} is in no published table")
        if fault := fault_of_codings(self, self.type):
            raise ValueError(fault)
        words = [key for key in ("description", "labels") if getattr(self, key) is not None]
        if words and self.role in ("identifier", "drop"):
            raise ValueError(f"{words[0]}: a column with role {self.role} is in no published table")
        if self.pseudonym is not None and self.role != "identifier":
            raise ValueError(f"pseudonym: only an identifier has one, not a {self.role}")
        return self

    @model_validator(mode="after")
    def _labels_are_of_codes(self) -> Self:
        if self.labels is None:
            if self.code_list != "published":
                raise ValueError("code-list: labels of which codes? There are none (labels)")
            return self
        if self.type not in ("string", "integer"):
            raise ValueError(f"labels: codes are texts or whole numbers, not of type {self.type}")
        for number, code in enumerate(self.labels):
            if self.type == "integer" and not _WHOLE.fullmatch(code):
                raise ValueError(f"labels: code {number + 1} of the list is no whole number")
        if self.computed_keys and self.code_list != "whole":
            raise ValueError(
                f"code-list: {self.computed_keys[0]} is computed from people's values, which the "
                "codes that are left would tell: say whole, or leave labels out"
            )
        return self

    @model_validator(mode="after")
    def _weights_are_numbers(self) -> Self:
        if self.role != "weight":
            return self
        if self.type not in ("integer", "decimal"):
            raise ValueError(f"type: a weight is an integer or a decimal, not of type {self.type}")
        if self.nulls == "category":
            raise ValueError("nulls: a weight is a number: refuse, or drop-row")
        if self.unprotected is None:
            raise ValueError(
                "unprotected: a weight tells how people were drawn, and so may tell who they are: "
                "say why nobody is known by it, or round it or leave it out (role: drop)"
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
                "unprotected: only a sensitive or insensitive column needs a reason, or an "
                "identifier that is no unit"
            )
        if self.same_as is not None and self.role != "sensitive":
            raise ValueError("same-as: only a sensitive column is compared with another line's")
        return self
