"""The rules of sources: what is declared of their values and of their query."""

import os
from collections.abc import Callable

from sfumato.expectations.shared.errors import QueryError, SpecError
from sfumato.flows.rules.spec_parts import SpecParts
from sfumato.tasks.microdata.notation.address import resolve, scheme_of
from sfumato.tasks.microdata.notation.spelling import has_time
from sfumato.tasks.microdata.readers.input_error import nearest
from sfumato.tasks.microdata.rows import columns_asked
from sfumato.tasks.sql.parse import quote_name

_TO_ASK = (
    ". The column is dropped: to filter by it, write it under columns with its type and role drop"
)


def _date_formats(spec: SpecParts) -> None:
    for name, written in spec.source.date_formats.items():
        column = spec.columns.get(name)
        if column is None and name in spec.source.seen:
            continue  # it is dropped
        if column is None or column.type not in ("date", "timestamp"):
            raise ValueError(
                f"source.date-formats.{name}: the spec has no column of this name with "
                "type date or timestamp. Correct the name, or give the column that type"
            )
        if column.type == "date" and has_time(written):
            raise ValueError(
                f"source.date-formats.{name}: the format has a time, and the column "
                "has type date. Write `type: timestamp`, or leave the time out"
            )


def _filter(spec: SpecParts) -> None:
    """Refuse a filter that cannot be parsed, before any row is read."""
    if spec.source.where is None:
        return
    types = {name: column.type for name, column in spec.columns.items()}
    try:
        columns_asked(spec.source.where, types)
    except QueryError as error:
        dropped = set(spec.source.seen) - set(types)
        named = [name for name in dropped if str(error) == f"unknown column {quote_name(name)}"]
        hint = _TO_ASK if named else ""
        raise ValueError(f"source.where: {error}{hint}") from None


def _query(spec: SpecParts) -> None:
    """Refuse a query that does more than read; its dialect follows from the address."""
    if spec.source.query is None:
        return
    from sfumato.tasks.microdata.databases.registry import checked_query

    try:
        scheme = scheme_of(resolve(spec.source.uri, os.environ))
    except SpecError:
        scheme = scheme_of(spec.source.uri)
    try:
        checked_query(spec.source, scheme)
    except SpecError as error:
        raise ValueError(str(error)) from None


def _seen_columns(spec: SpecParts) -> None:
    """Require `source.seen` and `other-columns` together; every declared column must be seen."""
    seen = spec.source.seen
    if bool(seen) != (spec.other_columns is not None):
        raise ValueError(
            "other-columns: `drop` and source.seen need each other. source.seen lists "
            "the columns of the source when the spec was written; a column added later "
            "is refused. Write both, or neither"
        )
    if len(set(seen)) < len(seen):
        raise ValueError("source.seen: names a column twice. Name each column once")
    for name, column in spec.columns.items():
        if seen and column.generated is None and name not in seen:
            raise ValueError(f"columns.{name}: is missing in source.seen{nearest(name, seen)}")


RULES: tuple[Callable[[SpecParts], None], ...] = (_date_formats, _filter, _query, _seen_columns)
