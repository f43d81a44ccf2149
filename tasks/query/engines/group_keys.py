"""The values by which labelled rows are grouped: those that published labels name, and the rest.

The answer to a GROUP BY has a row for each value that a label with few values admits. The rest,
`REST`, is all values that no such label names. If other labels may hide one of these, one more row
is for all of them together.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.forms.labels import Admitted, Between
from sfumato.tasks.query.behind_labels.decide import columns_of
from sfumato.tasks.query.behind_labels.values_behind_labels import is_listed, values_of_label
from sfumato.tasks.query.engines.rows_with_labels import Rows
from sfumato.tasks.query.question.rest import REST
from sfumato.tasks.schema.published import Schema
from sfumato.tasks.sql.parse import literal, quote_name

_CELLS = 2_000  # of a GROUP BY over recoded columns, at most


@dataclass(frozen=True)
class GroupKey:
    """A labelled column, or a calculation on some, that rows are grouped by.

    Attributes:
        name: the column, which is a published or a calculated one.
        node: the expression over published columns that it stands for.
        values: the values that its labels name, with None for null and `REST` for all others.
    """

    name: str
    node: exp.Expr
    values: Sequence[Any]

    def condition(self, value: Any) -> exp.Expr:
        """Return the condition that a row has a value: one of `values`, so None or `REST`, too."""
        this = exp.paren(self.node.copy(), copy=False)
        if value is None:
            return exp.Is(this=this, expression=exp.Null())
        if value is not REST:
            return exp.EQ(this=this, expression=literal(value))
        named = [literal(other) for other in self.values if other is not None and other is not REST]
        if not named:
            return exp.Not(this=exp.Is(this=this, expression=exp.Null()))
        return exp.Not(this=exp.In(this=this, expressions=named))


def group_keys(
    rows: Rows, names: Sequence[str], expressions: Mapping[str, exp.Expr]
) -> list[GroupKey]:
    """Return the columns with labels, or calculated from some, among those of a GROUP BY.

    Args:
        rows: the published rows.
        names: the columns that rows are grouped by.
        expressions: the expressions of the calculated columns.

    Raises:
        QueryError: if labels stand for too many values, or there are too many cells.
    """
    keys = []
    for name in names:
        if name in rows.labels:
            column = exp.column(name, quoted=True)
            keys.append(GroupKey(name, column, _values_of_labels(rows, name)))
        elif name in expressions:
            node = expressions[name]
            keys.append(GroupKey(name, node, _values_of_calculation(rows, node, rows.schema, name)))
    cells = prod(len(key.values) for key in keys)
    if cells > _CELLS:
        raise QueryError(
            f"GROUP BY of columns with labels would give {cells:,} rows, but the limit "
            f"is {_CELLS:,}. Group by fewer columns, or by ranges such as FLOOR(age / "
            "10)"
        )
    return keys


def _values_of_labels(rows: Rows, name: str) -> list[Any]:
    """Return the values that labels of a column name, null, and the rest if there may be one."""
    labels, column = rows.labels[name][0], rows.schema[name]
    listed = [label for label in labels if is_listed(label, column)]
    others = [label for label in labels if not is_listed(label, column)]
    _require_no_ranges(others, quote_name(name))
    values = (value for label in listed for value in values_of_label(label, column))
    return _with_rest(values, null=any(label.null for label in others), rest=bool(others))


def _values_of_calculation(rows: Rows, node: exp.Expr, schema: Schema, name: str) -> list[Any]:
    """Return the results of an expression on the values behind labels, and the rest if needed.

    Raises:
        QueryError: if a label is a range of too many values, or a result is infinite or NaN.
    """
    names = columns_of(node)
    combined = rows.combinations(names, [node])
    tables = [combined.table]
    hidden = list(_labels_of_rows(rows, names, combined.first[combined.is_open]))
    span = rows.span(names[0]) if len(names) == 1 and any(map(_is_range, hidden)) else None
    if span is not None:
        tables.append(pa.table({names[0]: span}))
        hidden = [label for label in hidden if not _is_range(label)]
    _require_no_ranges(hidden, "a calculation")
    type_ = schema[name].arrow_type
    values = [rows.evaluate(table, node.copy()).cast(type_) for table in tables]
    listed = pc.unique(pa.concat_arrays(values)).to_pylist()
    if any(isinstance(value, float) and not -inf < value < inf for value in listed):
        raise QueryError(
            "GROUP BY of a calculation that is infinite, or not a number, in some row. "
            "Divide by NULLIF(…, 0)"
        )
    is_open = bool(hidden) if span is not None else bool(combined.is_open.any())
    return _with_rest(listed, null=is_open and schema[name].nulls, rest=is_open)


def _labels_of_rows(rows: Rows, names: Sequence[str], among: np.ndarray) -> Iterator[Admitted]:
    """Yield the labels that some rows have."""
    for name in names:
        if name in rows.labels:
            labels, codes = rows.labels[name]
            yield from (labels[code] for code in np.unique(codes[among]))


def _with_rest(values: Any, *, null: bool, rest: bool) -> list[Any]:
    return list(dict.fromkeys([*values, *([None] if null else []), *([REST] if rest else [])]))


def _require_no_ranges(labels: Sequence[Admitted], what: str) -> None:
    """Check that labels without listed values are not ranges: they are stars, or hide characters.

    Raises:
        QueryError: if one is a range of too many values.
    """
    if any(map(_is_range, labels)):
        raise QueryError(
            f"GROUP BY {what}: a label is a range of too many values to list. Ask "
            "about your own ranges with COUNT(*) FILTER (WHERE … BETWEEN … AND …)"
        )


def _is_range(label: Admitted) -> bool:
    """Decide whether a label is a range with a least and a greatest value."""
    return isinstance(label, Between) and label.low is not None
