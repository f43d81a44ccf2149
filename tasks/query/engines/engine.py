"""Engines, which have the published tables and take questions: one for each way of showing."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import pyarrow as pa

from sfumato.expectations.machine.fault import require_machine
from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.query.bounds.bounds import Bounds, with_estimate
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


@runtime_checkable
class AsksEach(Engine, Protocol):
    """An engine that reads each part of the tables once for several questions."""

    def ask_each(
        self, questions: Sequence[Question], estimates: bool
    ) -> Sequence[Mapping[Key, Mapping[Aggregate, Bounds]]]:
        """Return the bounds for several questions."""
        ...


Opening = Callable[[Files, Declared, Estimator], AbstractContextManager[Engine]]
"""Opens an engine on the published tables, as a context manager."""


def as_parts(table: Source) -> TableInParts:
    """Return the files of a table; that of a whole table is its only part.

    Raises:
        TypeError: if the table is in memory.
    """
    if isinstance(table, pa.Table):
        raise TypeError(type(table).__name__)
    return table if isinstance(table, TableInParts) else TableInParts((table,), ({},))


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
        raise InputError(f"{table}: there is no such file") from None
    except (OSError, pa.ArrowException) as error:
        require_machine(error)
        raise InputError(
            f"{table}: is not a readable Parquet file ({type(error).__name__})"
        ) from None


def _join_parts(table: TableInParts) -> pa.Table:
    try:
        return pa.concat_tables(table.tables())
    except (OSError, pa.ArrowException) as error:
        require_machine(error)
        raise InputError(
            f"a part: is not a readable Parquet file ({type(error).__name__})"
        ) from None


def ask_each(
    engine: Engine, questions: Sequence[Question], *, estimates: bool
) -> Iterator[Mapping[Key, Mapping[Aggregate, Bounds]]]:
    """Yield the engine's answer to each question, with estimates if they are asked for.

    Raises:
        QueryError: if a question cannot be evaluated.
    """
    answers = (
        engine.ask_each(questions, estimates)
        if isinstance(engine, AsksEach)
        else (engine.ask(question, estimates) for question in questions)
    )
    for answer in answers:
        yield {key: _with_estimates(bounds, estimates) for key, bounds in answer.items()}


def _with_estimates(
    bounds: Mapping[Aggregate, Bounds], estimates: bool
) -> Mapping[Aggregate, Bounds]:
    return {
        aggregate: with_estimate(ends) if estimates else ends for aggregate, ends in bounds.items()
    }
