"""Names that are safe for files and SQL, and what all parts of a spec have in common."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

GROUP_ID, COUNT = "group_id", "count"


AIMS, TARGETS, TARGET = "aims", "targets", "target"
"""The tables of distributions that groups are declared to have, and the column of their numbers."""


def safe_name(column: str) -> str:
    """Return the name of a column within the names of files and tables.

    >>> safe_name("capital-loss")
    'capital_loss'
    """
    return re.sub("[^a-z0-9]", "_", column.lower())


@dataclass(frozen=True, eq=False)
class RegisteredName:
    """A pydantic annotation: the text is a key of a registry at the time of validation.

    Errors are those of a literal with these values.

    Attributes:
        registry: of the names.
        admits: which entries are meant.
    """

    registry: Mapping[str, Any]
    admits: Callable[[Any], bool] = lambda _: True

    def __get_pydantic_core_schema__(
        self, _source: Any, _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._read)

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, _handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"enum": self._names(), "type": "string"}

    def _read(self, value: Any) -> str:
        if isinstance(value, str) and value in self._names():
            return value
        *first, last = map(repr, self._names())
        expected = f"{', '.join(first)} or {last}" if first else last
        raise PydanticKnownError("literal_error", {"expected": expected})

    def _names(self) -> list[str]:
        return [name for name, entry in self.registry.items() if self.admits(entry)]


class Part(BaseModel):
    """A part of a spec: frozen, unknown keys refused, `some-key` in YAML is `some_key` here."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        populate_by_name=True,
        alias_generator=lambda name: name.replace("_", "-"),
        defer_build=True,
    )


Place = Annotated[int, Field(ge=1, le=1_000_000, strict=True)]
"""A position in a line, or a number of characters."""


class CsvDialect(BaseModel):
    """The dialect of a CSV file (RFC 4180 unless said otherwise)."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    skip: Annotated[
        int,
        Field(
            ge=0,
            strict=True,
            description="lines above the header, such as titles; with `header`, above the rows",
        ),
    ] = 0
    header: Annotated[
        tuple[str, ...] | None,
        Field(
            min_length=1,
            description=(
                "names of the columns, if the file has no header line, or in place of a "
                "header that `skip` leaves out"
            ),
        ),
    ] = None
    widths: Annotated[
        tuple[tuple[Place, Place], ...] | None,
        Field(
            min_length=1,
            description=(
                "for files of fixed width: the first character of each column of `header`, and "
                "its number of characters"
            ),
        ),
    ] = None
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    null_values: Annotated[
        tuple[str, ...], Field(description="texts that mean a missing value")
    ] = ("",)
    skip_initial_space: Annotated[
        bool, Field(description="true if blanks after a delimiter do not belong to the value")
    ] = False
    encoding: Annotated[str, Field(min_length=1)] = "utf-8"
    thousands: Annotated[
        Literal[",", ".", "'", " "] | None,
        Field(description="the mark between thousands; ' ' is a blank of any kind"),
    ] = None

    @model_validator(mode="after")
    def _names_are_distinct(self) -> Self:
        if self.header is not None and len(set(self.header)) < len(self.header):
            raise ValueError("the header names a column twice. Give each column its own name")
        return self

    @model_validator(mode="after")
    def _widths_have_names(self) -> Self:
        if self.widths is not None and len(self.header or ()) != len(self.widths):
            raise ValueError(
                "widths: files of fixed width have no header line. Write `header` with as many "
                "names as there are widths"
            )
        return self
