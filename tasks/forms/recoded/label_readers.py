"""Readers of recoded columns: from each text of a column to the values that it admits."""

from collections.abc import Callable
from dataclasses import replace
from decimal import InvalidOperation
from typing import Any

import pyarrow as pa

from sfumato.expectations.errors import PromiseError
from sfumato.tasks.forms.recoded.labels import (
    STAR,
    Admitted,
    Anything,
    Between,
    ListedValues,
    read_notation,
    value_of,
)
from sfumato.tasks.forms.recoded.rule_labels import read_interval, read_period, read_prefixed
from sfumato.tasks.schema.columns import ORDERED
from sfumato.tasks.schema.hierarchy_rules import Dates, Intervals, Prefixes
from sfumato.tasks.schema.published import DeclaredColumn, Labels

Reader = Callable[[str | None], Admitted]


def reader(name: str, column: DeclaredColumn) -> Reader:
    """The reader of a generalized column's labels: null is a label, too.

    The reader raises PromiseError for a text that is no label of this column.
    """
    match column.hierarchy:
        case Intervals(intervals=widths):
            read = _strict(name, lambda text: read_interval(text, widths))
        case Dates():
            read = _strict(name, read_period)
        case Prefixes(prefixes=lengths):
            read = _strict(name, lambda text: read_prefixed(text, lengths))
        case None:
            read = _strict(name, lambda text: read_notation(text, column.type))
        case labels:
            read = _strict(name, _by_leaves(labels, column))
    listed = isinstance(column.hierarchy, tuple) and column.leaves == "all"
    whole = read(STAR) if listed else _anything(column)
    return _with_null(read, whole, name, column)


def reader_of_suppressed(name: str, column: DeclaredColumn) -> Reader:
    """The reader of a column that shows its values as they are, or a star."""
    read = _strict(name, lambda text: ListedValues((value_of(text, column.type),)))
    return _with_null(read, _anything(column), name, column)


def _anything(column: DeclaredColumn) -> Admitted:
    return Between(None, None) if column.type in ORDERED else Anything()


def _with_null(
    read: Callable[[str], Admitted], whole: Admitted, name: str, column: DeclaredColumn
) -> Reader:
    """A reader that reads nulls, too, and a star as the `whole` domain."""

    def admitted(text: str | None) -> Admitted:
        if text == STAR:
            return replace(whole, null=column.nulls)
        found = ListedValues((), null=True) if text is None else read(text)
        if found.null and not column.nulls:
            raise PromiseError(f"column {name!r}: a label admits null, but nulls are not declared")
        return found

    return admitted


def _strict(name: str, read: Callable[[str], Admitted]) -> Callable[[str], Admitted]:
    def strictly(text: str) -> Admitted:
        try:
            return read(text)
        except (ValueError, KeyError, OverflowError, InvalidOperation):
            raise PromiseError(f"column {name!r}: a text that is not one of its labels") from None

    return strictly


def _by_leaves(labels: Labels, column: DeclaredColumn) -> Callable[[str], Admitted]:
    """By label the leaves below it; where nodes of several levels share one, those of all."""
    below: dict[str, dict[str, None]] = {}
    for row in labels:
        for label in row:
            below.setdefault(label, {})[row[0]] = None
    values = {row[0]: _known(row[0], column) for row in labels}
    return {
        label: ListedValues(tuple(values[leaf] for leaf in leaves if values[leaf] is not None))
        for label, leaves in below.items()
    }.__getitem__


def _known(leaf: str, column: DeclaredColumn) -> Any:
    """The value that a leaf is, None where it is none of the column's type."""
    try:
        value = value_of(leaf, column.type)
        if column.type == "string":
            return value
        return pa.scalar(value, column.arrow_type).as_py()
    except (ValueError, OverflowError):
        return None
