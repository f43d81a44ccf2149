"""What a steward declares of a source and its columns: what ingestion reads of a spec."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from expectations.hierarchy import PERIODS
from expectations.texts import Value, as_number

Role = Literal["identifier", "quasi-identifier", "sensitive", "insensitive", "drop"]
ColumnType = Literal["integer", "decimal", "float", "date", "timestamp", "string", "boolean"]
NullPolicy = Literal["refuse", "drop-row", "category"]
TYPES: tuple[str, ...] = get_args(ColumnType)


class Part(BaseModel):
    """A part of a spec: frozen, unknown keys refused, `some-key` in YAML is `some_key` here."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        populate_by_name=True,
        alias_generator=lambda name: name.replace("_", "-"),
    )


class CsvDialect(BaseModel):
    """How a CSV file is written (RFC 4180 unless said otherwise)."""

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


class Source(BaseModel):
    """Where the microdata come from. Paths are relative to the spec; `${NAME}` is environment."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    uri: Annotated[str, Field(min_length=1, description="a path or file:// address")]
    format: Literal["csv", "parquet"] = "csv"
    csv: CsvDialect = CsvDialect()
    sha256: Annotated[
        str | None, Field(pattern="^[0-9a-f]{64}$", description="digest the file must have")
    ] = None
    where: Annotated[
        str | None, Field(min_length=1, description="SQL predicate: which rows to represent")
    ] = None


class Intervals(BaseModel):
    """A hierarchy of intervals: each width one level, every width a multiple of the one before."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    intervals: Annotated[tuple[Annotated[int, Field(gt=0)], ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _widths_nest(self) -> Self:
        for narrow, wide in zip(self.intervals, self.intervals[1:], strict=False):
            if wide <= narrow or wide % narrow:
                raise ValueError(f"interval {wide} is not a proper multiple of {narrow}")
        return self


class Dates(BaseModel):
    """A hierarchy of dates: each period one level, from the shortest to the longest."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dates: Annotated[
        tuple[Literal["month", "quarter", "year", "decade", "century"], ...], Field(min_length=1)
    ]

    @model_validator(mode="after")
    def _periods_nest(self) -> Self:
        places = [tuple(PERIODS).index(period) for period in self.dates]
        if places != sorted(set(places)):
            raise ValueError("periods are named from the shortest to the longest, each once")
        return self


class Prefixes(BaseModel):
    """A hierarchy of codes, such as postcodes: how many leading characters each level keeps."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prefixes: Annotated[tuple[Annotated[int, Field(gt=0)], ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _lengths_descend(self) -> Self:
        for longer, shorter in zip(self.prefixes, self.prefixes[1:], strict=False):
            if shorter >= longer:
                raise ValueError(f"prefix {shorter} is not shorter than {longer}")
        return self


class Ordered(BaseModel):
    """A hierarchy of values in an order: each level joins runs of so many neighbours."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ordered: Annotated[tuple[Value, ...], Field(min_length=2, description="values in their order")]
    runs: Annotated[tuple[Annotated[int, Field(gt=1)], ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _runs_nest(self) -> Self:
        if len(set(self.ordered)) < len(self.ordered):
            raise ValueError("a value stands twice")
        for shorter, longer in zip(self.runs, self.runs[1:], strict=False):
            if longer <= shorter or longer % shorter:
                raise ValueError(f"run {longer} is not a proper multiple of {shorter}")
        return self


ORDERED = frozenset({"integer", "decimal", "float", "date", "timestamp"})


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


Written = str | Intervals | Dates | Prefixes | Ordered
"""A hierarchy as a spec writes it: a file, or what makes it."""

_BUILT_OF: Mapping[type[BaseModel], str] = {Intervals: "integer", Dates: "date", Prefixes: "string"}


class ColumnSpec(Part):
    """What a column is: its role, type, null policy, accepted values and hierarchy."""

    role: Role
    type: ColumnType = "string"
    nulls: NullPolicy | None = None
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
    repeat: Annotated[
        Literal["refuse", "keep-one"], Field(description="when a unit occurs twice")
    ] = "refuse"
    unprotected: Annotated[
        str | None, Field(min_length=1, description="why a sensitive column needs no promise")
    ] = None

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
        if self.repeat != "refuse" and not self.unit:
            raise ValueError("repeat: only a unit can repeat")
        if self.hierarchy is not None and self.role not in ("quasi-identifier", "sensitive"):
            raise ValueError(f"hierarchy: means nothing for a column with role {self.role}")
        for builder, type_ in _BUILT_OF.items():
            if isinstance(self.hierarchy, builder) and self.type != type_:
                raise ValueError(f"hierarchy: {builder.__name__.lower()} need type {type_}")
        if self.unprotected is not None and self.role != "sensitive":
            raise ValueError("unprotected: only a sensitive column needs a reason")
        if self.nulls == "category" and self.role == "sensitive":
            raise ValueError("nulls: a sensitive column cannot publish nulls as a category")
        return self
