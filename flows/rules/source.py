"""The rules of sources: what is declared of their values and of their query."""

import os
from collections.abc import Callable

from sfumato.expectations.errors import SpecError
from sfumato.flows.spec_parts import SpecParts
from sfumato.tasks.microdata.notation.address import resolve, scheme_of
from sfumato.tasks.microdata.notation.spelling import has_time


def _date_formats(spec: SpecParts) -> None:
    for name, written in spec.source.date_formats.items():
        column = spec.columns.get(name)
        if column is None or column.type not in ("date", "timestamp"):
            raise ValueError(f"source.date-formats.{name}: is no column of type date or timestamp")
        if column.type == "date" and has_time(written):
            raise ValueError(
                f"source.date-formats.{name}: has a time, and the column's type is date"
            )


def _query(spec: SpecParts) -> None:
    """The query may only read; what database it is for is known where the address can be."""
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


RULES: tuple[Callable[[SpecParts], None], ...] = (_date_formats, _query)
