"""The help tables of a way of showing; `tasks.query.help_tables.registry` has all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from sfumato.tasks.terms.terms import Terms


@dataclass(frozen=True)
class HelpTables:
    """The help tables of a way of showing.

    Attributes:
        names: those that questions on the given sensitive columns need.
        build: makes all of them by their names, from the published tables alone.
    """

    names: Callable[[Terms, Sequence[str]], Sequence[str]]
    build: Callable[[Mapping[str, pa.Table], Terms], dict[str, pa.Table]]
