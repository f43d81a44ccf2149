"""The set-up of another tool: what a draft takes over from it, and what it cannot."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfumato.tasks.schema.columns import ColumnType, Role

Rows = tuple[tuple[str, ...], ...]
"""A hierarchy: one row per leaf, the root last."""
LONGEST_NAME = 200
"""Characters of a column's name, beyond which it is no name."""
OTHERS_MAY_KNOW = "so it is treated as something that others may know"
"""The reason why a column without a use is a quasi-identifier: the careful choice."""
_UNFIT_FOR_LINES = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def weight_role(tool: str) -> tuple[Role, str]:
    """Return the role of a sampling weight of another tool, and what to decide about it."""
    return (
        "weight",
        f"the sampling weight in {tool}, and weights may reveal who was sampled. Write why it "
        "identifies no person (unprotected: REASON), or give it role drop",
    )


@dataclass(frozen=True)
class Omission:
    """A part of a set-up that a draft does not take over.

    Attributes:
        what: the part, in the other tool's words.
        why: the reason, and what to write in its place, if anything can be written.
    """

    what: str
    why: str

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


@dataclass(frozen=True)
class Cut:
    """Cut points of a column of numbers: intervals that are open below and closed above.

    Attributes:
        breaks: the cut points, ascending; the first and the last may be infinite.
        labels: a label for each interval; None for the interval itself, such as `(10,20]`.
    """

    breaks: tuple[float, ...]
    labels: tuple[str, ...] | None = None


@dataclass(frozen=True)
class ForeignColumn:
    """A column as another tool treats it.

    Attributes:
        role: the role that this means in a spec; None if the tool names none.
        reason: the reason for the role, in words.
        type: the type of its values; None if the tool does not say.
        date_format: the format of its dates as a spec writes it; None for ISO dates.
        rows: its hierarchy; None without one.
        cut: cut points that become a hierarchy; None without them.
        keys: further keys of the column in a spec.
        words: the description of its hierarchy.
        bare: True if the tool gives the column no hierarchy, so that the draft makes none either.
    """

    role: Role | None = None
    reason: str = ""
    type: ColumnType | None = None
    date_format: str | None = None
    rows: Rows | None = None
    cut: Cut | None = None
    keys: Mapping[str, Any] = field(default_factory=dict)
    words: str = ""
    bare: bool = False


@dataclass(frozen=True)
class ForeignSetup:
    """The set-up of another tool in the words of a spec.

    Attributes:
        tool: the tool and the kind of file, such as `ARX project`.
        columns: the columns that it names, in its order.
        promises: the promises as a spec writes them.
        partition: the keys of the partition as a spec writes them; None for the draft's own.
        form: the keys of the form; None for the draft's own.
        strata: the columns whose values keep groups apart.
        household: the column that identifies households; None without one.
        settings: settings of the source by the name of the option of `sfumato init`.
        widths: the first character and the length of each column, for files of fixed width.
        changes: what was taken over, in words.
        omissions: what was not taken over, and why.
    """

    tool: str
    columns: Mapping[str, ForeignColumn]
    promises: tuple[Mapping[str, Any], ...] = ()
    partition: Mapping[str, Any] | None = None
    form: Mapping[str, Any] | None = None
    strata: tuple[str, ...] = ()
    household: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    widths: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    changes: tuple[str, ...] = ()
    omissions: tuple[Omission, ...] = ()

    def with_role(self, role: Role) -> Iterator[str]:
        """Return the names of the columns with a role, in order."""
        return (name for name, column in self.columns.items() if column.role == role)


def harmless_text(text: str, longest: int = LONGEST_NAME) -> str:
    """Return text of a foreign file for a message: one line, and not longer than a name.

    >>> harmless_text("5-anonymity", 5)
    '5-an…'
    """
    plain = _UNFIT_FOR_LINES.sub(" ", text)
    return plain if len(plain) <= longest else f"{plain[: longest - 1]}…"


def is_name(text: str) -> bool:
    """Decide whether a text can be the name of a column: one line, not empty, not too long."""
    return bool(text.strip()) and len(text) <= LONGEST_NAME and not _UNFIT_FOR_LINES.search(text)


def name_list(names: Sequence[str], most: int = 8) -> str:
    """Return names as words; of more than `most` only these, and the number of the others.

    >>> name_list(["age", "sex", "town"], most=2)
    "'age', 'sex' and 1 more"
    """
    names_shown = ", ".join(repr(harmless_text(name)) for name in names[:most])
    more = len(names) - most
    return f"{names_shown} and {more:,} more" if more > 0 else names_shown
