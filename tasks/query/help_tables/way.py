"""The help tables of a way of showing; `tasks.query.help_tables.registry` lists all of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sfumato.tasks.terms.terms import Terms


@dataclass(frozen=True)
class HelpTables:
    """The names and the builder of the help tables of a way of showing.

    Attributes:
        names: returns the help tables that questions on some sensitive columns need.
        build: builds all of them by their names, from the published tables only.
        choose: returns what a new release declares of how they are built, chosen by its published
            tables; None if there is nothing to choose.
    """

    names: Callable[[Terms, Sequence[str]], Sequence[str]]
    build: Callable[[Mapping[str, pa.Table], Terms], dict[str, pa.Table]]
    choose: Callable[[Mapping[str, pa.Table], Terms], dict[str, Any]] | None = None
