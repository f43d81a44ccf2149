"""The columns that a release declares: all that a form needs to read its tables back."""

from collections.abc import Mapping
from typing import Annotated, Literal

import pyarrow as pa
from pydantic import Field

from sfumato.tasks.schema.codings import CodedColumn
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.schema.formats import field_since
from sfumato.tasks.schema.hierarchy_rules import Dates, Intervals, Prefixes

Labels = tuple[tuple[str, ...], ...]
"""A hierarchy's rows, one per leaf: its labels from the leaf to the root."""

_TYPES: Mapping[ColumnType, pa.DataType] = {
    "integer": pa.int64(),
    "float": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "string": pa.string(),
    "boolean": pa.bool_(),
}


class DeclaredColumn(CodedColumn):
    """A published column. `type` is that of the original values, also where labels are published.

    `hierarchy` is there where the release uses it: rows of labels, or the rule that makes them.
    """

    role: Literal["quasi-identifier", "sensitive", "insensitive"]
    type: ColumnType
    scale: Annotated[
        int | None, Field(ge=0, le=38, description="the number of decimals of a decimal column")
    ] = None
    nulls: Annotated[bool, Field(description="whether null is published as a category")] = False
    unprotected: Annotated[str | None, Field(description="why no promise is about it")] = None
    hierarchy: Labels | Intervals | Dates | Prefixes | None = None
    leaves: Literal["all", "published"] = field_since(
        5, "all", "the leaves of the hierarchy: all, or those under a published label"
    )
    weight: bool = field_since(6, False, "whether it is the number of people that a row represents")
    derive: str | None = field_since(
        16, None, "the SQL over the related rows of one person that gives the person's value"
    )

    @property
    def since(self) -> int:
        """The lowest format that can state this column.

        Missing values of sensitive columns came with format 6.
        """
        return 6 if self.nulls and self.role == "sensitive" else 0

    @property
    def told_role(self) -> str:
        """The role that readers see: a weight is shown like an insensitive column."""
        return "weight" if self.weight else self.role

    @property
    def arrow_type(self) -> pa.DataType:
        """The Arrow type of the original values."""
        if self.type == "decimal":
            return pa.decimal128(38, self.scale or 0)
        return _TYPES[self.type]


class DerivedColumn(DeclaredColumn):
    """A column of what published ones come to; one of sensitive columns keeps their association.

    `of` has the columns that it is calculated of. Of labels no table has the values: `formula` is
    the expression, in DuckDB's SQL.
    """

    of: tuple[str, ...]
    formula: str | None = None


Schema = Mapping[str, DeclaredColumn]


def names_with_roles(schema: Schema, *roles: str) -> list[str]:
    """Return the columns that have one of these roles, in order."""
    return [name for name, column in schema.items() if column.role in roles]
