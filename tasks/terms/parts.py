"""Releases in parts: how a spec asks for them, and what a release declares of each part.

A part is a sub-table that is grouped, judged and published by itself. No group has rows of two
parts, so that whatever each part promises of its groups holds of all of them.
"""

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from sfumato.expectations.shared.arrow import NUMBERS, Value, as_number
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.schema.formats import field_since
from sfumato.tasks.schema.names import GROUP_ID, TARGET, Part

PARTS = "parts"


class PartsOfTable(Part):
    """Division of a table that is larger than memory.

    Attributes:
        rows: how many rows a part has at most.
        by: the quasi-identifier by which a larger stratum is cut; without it one is chosen.
        at: where the pieces of such a stratum begin, but for the first, ascending.
    """

    rows: Annotated[int, Field(gt=0, description="the largest number of rows of a part")] = (
        5_000_000
    )
    by: Annotated[
        str | None, Field(description="the quasi-identifier that cuts strata with more rows")
    ] = None
    at: Annotated[
        tuple[Value, ...],
        Field(description="the starts of the pieces after the first, the smallest first"),
    ] = ()

    @model_validator(mode="after")
    def _cut_is_whole(self) -> Self:
        if (self.by is None) != (not self.at):
            raise ValueError("by and at: need each other. Write both, or neither")
        return self


class _Declared(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)


class Share(_Declared):
    """The rows of a part by their values of one column.

    Attributes:
        column: its name.
        values: those that rows may have, as texts, where they are listed.
        least: what they are at least, where they are in a range.
        below: what they are below, where they are in a range.
        null: whether a row may have none.
    """

    column: str
    values: tuple[str, ...] | None = None
    least: Annotated[str | None, Field(alias="from")] = None
    below: str | None = None
    null: bool = False

    def admits(self, texts: Sequence[str], type_: ColumnType) -> list[bool]:
        """Return for each value of the column, given as a text, if a row may have it.

        >>> Share(column="age", least="30", below="50").admits(["29", "30", "50"], "integer")
        [False, True, False]
        """
        if self.values is not None:
            listed = set(self.values)
            return [text in listed for text in texts]
        if self.least is None and self.below is None:
            return [not self.null] * len(texts)
        low, high = self.ends(type_)
        return [low <= as_number(text, type_) < high for text in texts]

    @property
    def has_range(self) -> bool:
        """True if values are in a range, even in the range of all values."""
        nothing_else = self.null and self.least is None and self.below is None
        return self.values is None and not nothing_else

    def ends(self, type_: ColumnType) -> tuple[Decimal, Decimal]:
        """Return the ends of the range: the least value, and the first value above it."""
        kind = "decimal" if type_ in NUMBERS else type_  # integers may have ends between them
        low = Decimal("-Infinity") if self.least is None else as_number(self.least, kind)
        high = Decimal("Infinity") if self.below is None else as_number(self.below, kind)
        return low, high


Where = tuple[Share, ...]
"""The definition of a stratum, or of a piece of one."""
_WHERE: TypeAdapter[Where] = TypeAdapter(Where)


def text_of_where(where: Where) -> str:
    """Return the definition of a stratum as a text."""
    return json.dumps([share.model_dump(mode="json", exclude_none=True) for share in where])


def where_of_text(text: str) -> Where:
    """Return the definition of a stratum from its text."""
    return _WHERE.validate_json(text)


class PublishedPart(_Declared):
    """A part of a release.

    Attributes:
        name: of its directory.
        rows: how many it publishes.
        groups: how many groups it has.
        first_group: what is added to its group ids where all parts are one table.
        first_target: the same of the numbers of its targets, where it has any.
        where: its strata, each by its columns: the cut that defines the part.
        digest: of its own manifest.
    """

    name: Annotated[str, Field(pattern="^[0-9]{4,9}$")]
    rows: Annotated[int, Field(ge=0)]
    groups: Annotated[int, Field(ge=0)]
    first_group: Annotated[int, Field(ge=0, alias="first-group")]
    first_target: Annotated[int, Field(ge=0, alias="first-target")] = field_since(
        7, 0, "the number that is added to the numbers of targets if all parts are one table"
    )
    where: tuple[Where, ...]
    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]

    def added_to(self, columns: Sequence[str]) -> dict[str, int]:
        """Return the offsets of group and target numbers in these columns, by name."""
        firsts = {GROUP_ID: self.first_group, TARGET: self.first_target}
        return {name: firsts[name] for name in columns}
