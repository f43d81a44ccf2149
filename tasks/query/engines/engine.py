"""Engines, which have the published tables and take questions: one for each way of showing."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from sfumato.expectations.machine.fault import require_machine
from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.question.question import Aggregate, Key, Question
from sfumato.tasks.query.sql.marginal_counts import Estimator
from sfumato.tasks.sql.parted import TableInParts
from sfumato.tasks.terms.tables import read_parquet
from sfumato.tasks.terms.terms import Declared

Source: TypeAlias = pa.Table | Path | TableInParts
"""A table in memory, its Parquet file, or those of its parts."""

Files = Mapping[str, Source]
"""Published tables by their names, in memory or in Parquet files."""


class Engine(Protocol):
    """An engine that has the published tables and takes questions."""

    def ask(
        self, question: Question, estimates: bool = True
    ) -> Mapping[Key, Mapping[Aggregate, Bounds]]:
        """Return the bounds of each aggregate by the values of the group columns."""
        ...

    def starts(self, name: str) -> list[Any]:
        """Return the published values of an ordered column, or the least values of its labels."""
        ...


Opening = Callable[[Files, Declared, Estimator], AbstractContextManager[Engine]]
"""Opens an engine on the published tables, as a context manager."""


def read_table(table: Source) -> pa.Table:
    """Return a table in memory, or read it from a Parquet file.

    Raises:
        InputError: if there is no such file, or it is not a Parquet file.
    """
    if isinstance(table, pa.Table):
        return table
    if isinstance(table, TableInParts):
        return _join_parts(table)
    try:
        return read_parquet(table)
    except FileNotFoundError:
        raise InputError(f"{table}: no such file") from None
    except (OSError, pa.ArrowException) as error:
        require_machine(error)
        raise InputError(f"{table}: not a Parquet file ({type(error).__name__})") from None


def _join_parts(table: TableInParts) -> pa.Table:
    try:
        return pa.concat_tables(table.tables())
    except (OSError, pa.ArrowException) as error:
        require_machine(error)
        raise InputError(f"a part: not a Parquet file ({type(error).__name__})") from None
