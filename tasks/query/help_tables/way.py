"""The help tables of a way of showing; `tasks.query.help_tables.registry` lists all of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from sfumato.tasks.terms.terms import Terms


@dataclass(frozen=True)
class HelpTables:
    """The names and the builder of the help tables of a way of showing.

    Attributes:
        names: returns the help tables that questions on some sensitive columns need.
        build: builds all of them by their names, from the published tables only.
    """

    names: Callable[[Terms, Sequence[str]], Sequence[str]]
    build: Callable[[Mapping[str, pa.Table], Terms], dict[str, pa.Table]]
