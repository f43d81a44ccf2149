"""The dialect of a CSV file, as a steward declares it."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class CsvDialect(BaseModel):
    """The dialect of a CSV file (RFC 4180 unless said otherwise)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    header: Annotated[
        tuple[str, ...] | None,
        Field(min_length=1, description="names of the columns, where the file has no header line"),
    ] = None
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    null_values: Annotated[
        tuple[str, ...], Field(description="texts that mean a missing value")
    ] = ("",)
    skip_initial_space: Annotated[
        bool, Field(description="whether blanks after a delimiter are no part of the value")
    ] = False
    encoding: Annotated[str, Field(min_length=1)] = "utf-8"

    @model_validator(mode="after")
    def _names_are_distinct(self) -> Self:
        if self.header is not None and len(set(self.header)) < len(self.header):
            raise ValueError("the header names a column twice")
        return self
