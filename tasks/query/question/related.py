"""Questions about two related tables: which rows are counted, and conditions on people's rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sqlglot import exp

Counted = Literal["people", "rows"]
"""The rows of a question: people, or related rows, each with the columns of its person."""
MARK = "\x04"
"""The beginning of the name of a column of truth values, which no published column has."""


@dataclass(frozen=True)
class PersonHas:
    """The condition that a person has at least so many related rows of some kind.

    Attributes:
        condition: on the columns of a related row; None for any row.
        times: how many such rows the person has, at least.
    """

    condition: exp.Expr | None
    times: int = 1


@dataclass(frozen=True)
class RelatedScope:
    """The rows that an inquiry about two tables counts.

    Attributes:
        counted: people, or related rows.
        key: the column that names people, which no table has.
        marks: conditions on the related rows of a person, by the names of columns that stand for
            them in the inquiry.
    """

    counted: Counted
    key: str
    marks: Mapping[str, PersonHas] = field(default_factory=dict)
