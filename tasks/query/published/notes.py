"""Notes on conditions that no published row meets: a misspelt value, a number out of range."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from itertools import groupby

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.published.columns import PublishedColumn
from sfumato.tasks.query.published.comparisons import ColumnComparison, comparisons, constant_text
from sfumato.tasks.query.published.lookup import Lookup
from sfumato.tasks.query.published.values import PublishedValues
from sfumato.tasks.query.question.inquiry import Inquiry
from sfumato.tasks.sql.parse import literal
from sfumato.tasks.terms.terms import Declared

_MOST = 5  # notes on a query
_MOST_TEXTS = 10_000  # different texts among which the nearest are searched
_FEW = 6  # values that are all listed
_NEAREST = 3
_NUMBERS = ("integer", "decimal", "float", "date", "timestamp")


def notes_on(
    inquiries: Iterable[Inquiry], values: PublishedValues, declared: Declared
) -> tuple[str, ...]:
    """Return notes on the comparisons in a query's conditions that no published row can meet.

    Notes name only values and labels that are published. If the conditions cannot be looked up
    there are no notes, so that notes never prevent an answer.

    Args:
        inquiries: of one query.
        values: of the release.
        declared: the terms of the release.
    """
    parts = [part for inquiry in inquiries for part in inquiry.parts]
    compared = comparisons(parts, declared.columns)
    try:
        impossible = _impossible(compared, values)
        notes = [_note(comparison, values, declared) for comparison in impossible[:_MOST]]
    except QueryError:
        return ()
    if more := len(impossible) - len(notes):
        notes.append(f"other conditions that fit no published row, and are not listed here: {more}")
    return tuple(notes)


def _impossible(
    compared: Sequence[ColumnComparison], values: PublishedValues
) -> list[ColumnComparison]:
    by_column = sorted(compared, key=lambda comparison: comparison.column)
    admitted: dict[ColumnComparison, bool] = {}
    for _, of_column in groupby(by_column, key=lambda comparison: comparison.column):
        together = list(of_column)
        admitted |= dict(zip(together, values.admits(together), strict=True))
    unmet = (comparison for comparison in compared if not admitted[comparison])
    return [comparison for comparison in unmet if _is_logical(comparison, values.lookup)]


def _is_logical(comparison: ColumnComparison, lookup: Lookup) -> bool:
    """Decide whether a comparison can hold in any data: BETWEEN 5 AND 3 cannot."""
    if comparison.kind != "range":
        return True
    low, high = (exp.paren(constant) for constant in comparison.constants)
    return bool(lookup.constant(exp.LTE(this=low, expression=high)))


def _note(comparison: ColumnComparison, values: PublishedValues, declared: Declared) -> str:
    column, type_ = values.column(comparison.column), declared.columns[comparison.column].type
    if column is None:
        raise TypeError(comparison.column)
    if type_ in _NUMBERS or comparison.kind in ("order", "range"):
        remark = _remark_on_ordered(comparison, column, values.lookup)
    else:
        words = declared.words.labels.get(comparison.column)
        codes = {} if words is None else words.codes
        remark = _remark_on_unordered(comparison, column, codes, values.lookup)
    return f"no published row has {comparison.text}" + (f"; {remark}" if remark else "")


def _remark_on_ordered(
    comparison: ColumnComparison, column: PublishedColumn, lookup: Lookup
) -> str:
    """Return a remark with the published values next to a constant, or the extremes."""
    ends = column.ends
    if ends is not None and ends[0] is None:
        return ""
    inside = ends is None or comparison in lookup.met_between(ends, [comparison])
    if comparison.kind == "equality" and inside:
        pieces = [lookup.neighbours(values, comparison) for values in column.values()]
        below = [low for low, _ in pieces if low is not None]
        above = [high for _, high in pieces if high is not None]
        if below and above:
            return f"nearest: {_as_written(max(below))} and {_as_written(min(above))}"
    return (
        ""
        if ends is None
        else f"published {column.shows}: {_as_written(ends[0])} to {_as_written(ends[1])}"
    )


def _remark_on_unordered(
    comparison: ColumnComparison,
    column: PublishedColumn,
    codes: Mapping[str, str],
    lookup: Lookup,
) -> str:
    """Return a remark with the published texts most similar to a constant, or all if few."""
    published: set[object] = set()
    for values in column.values():
        published |= set(values.unique().to_pylist()) - {None}
        if len(published) > _MOST_TEXTS:
            return ""
    texts = sorted(text for text in published if isinstance(text, str))
    constant = comparison.constants[0]
    if texts and isinstance(constant, exp.Literal):
        coded = [
            text for text in texts if codes.get(text, "").casefold() == constant.name.casefold()
        ]
        if coded:
            return f"the codebook's {constant_text(constant)} is written {_as_written(coded[0])}"
        nearest = lookup.similar_texts(texts, constant.name.strip("%_"), _NEAREST)
        if nearest:
            return f"nearest: {', '.join(map(_as_written, nearest))}"
    if not 0 < len(published) <= _FEW:
        return ""
    written = sorted(map(_as_written, published))
    return f"published {column.shows}: {', '.join(written)}"


def _as_written(value: object) -> str:
    """Return a published value as a query writes it."""
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, float) else constant_text(literal(value))
