"""What a release declares of itself: the allow-listed part of its spec, and its row counts.

Everything else in a release is a function of the published tables and of this.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from expectations.promises import Promise
from tasks.forms.parameters import FormParameters
from tasks.microdata.schema import ColumnType
from tasks.partitions.parameters import PartitionParameters

Format = Literal["parquet", "csv"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class DeclaredColumn(_Frozen):
    """A published column."""

    role: Literal["quasi-identifier", "sensitive", "insensitive"]
    type: ColumnType
    scale: Annotated[int | None, Field(description="decimals of a decimal column")] = None
    nulls: Annotated[bool, Field(description="whether null is published as a category")] = False
    unprotected: Annotated[str | None, Field(description="why it has no promise")] = None


class RowCounts(_Frozen):
    """How many rows were read, and what became of them."""

    read: int
    dropped_by_filter: int
    dropped_for_nulls: int
    dropped_as_repeats: int
    suppressed: int
    published: int
    fakes: int


class Terms(_Frozen):
    """What a spec says that may be published: the same for every version of an unchanged spec."""

    name: str
    title: str
    unit: Annotated[Literal["row", "identifier"], Field(description="whom a row is about")]
    versions: Literal["disjoint", "accepted-risk"]
    columns: dict[str, DeclaredColumn]
    strata: tuple[str, ...]
    promises: tuple[Promise, ...]
    partition: PartitionParameters
    form: FormParameters
    formats: tuple[Format, ...]

    def named(self, *roles: str) -> list[str]:
        """The published columns that have one of these roles, in order."""
        return [name for name, column in self.columns.items() if column.role in roles]


class Declared(Terms):
    """The terms of a release, and what it knows of its own making."""

    rows: RowCounts
    software: dict[str, str]
