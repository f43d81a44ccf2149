"""Hierarchies and strata as a spec declares them."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from sfumato.expectations.shared.arrow import Value
from sfumato.expectations.shared.numbers import ExactNumber, plain
from sfumato.tasks.schema.hierarchy import PERIODS
from sfumato.tasks.schema.names import Part


class Intervals(BaseModel):
    """A hierarchy of intervals: each width one level, every width a multiple of the one before."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    intervals: Annotated[tuple[Annotated[int, Field(gt=0)], ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _widths_nest(self) -> Self:
        for narrow, wide in zip(self.intervals, self.intervals[1:], strict=False):
            if wide <= narrow or wide % narrow:
                raise ValueError(
                    f"interval {wide} must be larger than {narrow}, and a multiple of it"
                )
        return self


class Dates(BaseModel):
    """A hierarchy of dates: each period one level, from the shortest to the longest."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    dates: Annotated[
        tuple[Literal["month", "quarter", "year", "decade", "century"], ...], Field(min_length=1)
    ]

    @model_validator(mode="after")
    def _periods_nest(self) -> Self:
        places = [tuple(PERIODS).index(period) for period in self.dates]
        if places != sorted(set(places)):
            raise ValueError("periods must be named from the shortest to the longest, each once")
        return self


class Prefixes(BaseModel):
    """A hierarchy of codes, such as postcodes: how many leading characters each level keeps."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    prefixes: Annotated[tuple[Annotated[int, Field(gt=0)], ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _lengths_descend(self) -> Self:
        for longer, shorter in zip(self.prefixes, self.prefixes[1:], strict=False):
            if shorter >= longer:
                raise ValueError(f"prefix {shorter} is not shorter than {longer}")
        return self


class Ordered(BaseModel):
    """A hierarchy of values in an order: each level joins runs of so many neighbours."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    ordered: Annotated[tuple[Value, ...], Field(min_length=2, description="values in their order")]
    runs: Annotated[tuple[Annotated[int, Field(gt=1)], ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _runs_nest(self) -> Self:
        if len(set(self.ordered)) < len(self.ordered):
            raise ValueError("a value occurs twice. Write each value once")
        for shorter, longer in zip(self.runs, self.runs[1:], strict=False):
            if longer <= shorter or longer % shorter:
                raise ValueError(
                    f"run {longer} must be larger than {shorter}, and a multiple of it"
                )
        return self


class HierarchyFile(BaseModel):
    """A hierarchy in a CSV file, and whether all its leaves may be published."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    file: Annotated[str, Field(min_length=1, description="one row per leaf, the root last")]
    public: Annotated[
        bool,
        Field(description="true publishes all leaves, and not only those under a published label"),
    ] = False


Written = str | HierarchyFile | Intervals | Dates | Prefixes | Ordered
"""A hierarchy as a spec writes it: a file, or a rule."""


HierarchyRule = tuple[tuple[str, ...], ...] | Intervals | Dates | Prefixes
"""A hierarchy by its rows, or by a rule that makes them from a column's values."""


class Bands(Part):
    """Bands of a column of numbers: one begins at each of these, and one lies below the first.

    >>> str(Bands(column="age", bands=(30, 50)))
    'age in bands from 30, 50'
    """

    column: str
    bands: Annotated[
        tuple[ExactNumber, ...],
        Field(min_length=1, description="the starts of the bands, the smallest first"),
    ]

    @model_validator(mode="after")
    def _ascend(self) -> Self:
        if list(self.bands) != sorted(set(self.bands)):
            raise ValueError("bands: do not ascend. Write the smallest first")
        return self

    def __str__(self) -> str:
        return f"{self.column} in bands from {', '.join(str(plain(b)) for b in self.bands)}"


class HierarchyLevel(Part):
    """The nodes of a column's hierarchy at a level: 1 is the one above the values themselves.

    >>> str(HierarchyLevel(column="town", level=2))
    'town at level 2'
    """

    since: ClassVar[int] = 5

    column: str
    level: Annotated[int, Field(ge=1, description="the number of steps above the values")]

    def __str__(self) -> str:
        return f"{self.column} at level {self.level}"


def _kind(stratum: Any) -> str:
    if isinstance(stratum, str):
        return "column"
    has_level = isinstance(stratum, Mapping) and "level" in stratum
    return "level" if has_level or isinstance(stratum, HierarchyLevel) else "band"


Stratum = Annotated[
    Annotated[str, Tag("column")]
    | Annotated[Bands, Tag("band")]
    | Annotated[HierarchyLevel, Tag("level")],
    Discriminator(_kind),
]
"""A column by its name, bands of a column, or a level of its hierarchy."""


def column_of(stratum: Stratum) -> str:
    """Return the column that a stratum is about."""
    return stratum if isinstance(stratum, str) else stratum.column
