"""The snippet of a page, which depends on the way in which the form shows a person."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sfumato.tasks.terms.terms import Declared


@dataclass(frozen=True)
class Snippet:
    """A program and a query that ask a release.

    Attributes:
        lines: of a program that reads the published tables.
        by: the columns by which the example query groups.
        aggregates: what it selects of each group.
        place_of: where a quasi-identifier is shown, empty where it is in rows as it is.
        counted: what a table of a quasi-identifier has its values for: a row, or a group.
    """

    lines: Callable[[Declared], Sequence[str]]
    by: Callable[[Declared], Sequence[str]]
    aggregates: Callable[[Declared], Sequence[str]]
    place_of: Callable[[str], str] = lambda _: ""
    counted: str = "row"
