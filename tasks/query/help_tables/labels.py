"""Label tables: the values that published labels admit, so that databases decide conditions.

They depend only on the labels and on the published hierarchies. `label_<column>` has a row for each
`value` that a label admits. For ordered types without a listed hierarchy it has one row per label,
with the least and the greatest value, `low` and `high`. If a label shows only a prefix, as in
`130**`, the row says that the first `kept` of `length` characters are shown. A row without value,
limits and length belongs to a label that can be anything. `admits_null` says whether a null may be
behind the label; a null instead of a label is a null, and is in no table.

`value_<column>` has every `value` that some label of the column admits, once. If a label stands for
any number of values, the table says so instead, and no query for values is answered.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa

from sfumato.tasks.forms.labels import Admitted, Between, ListedValues, Prefixed
from sfumato.tasks.forms.optional import reader_for
from sfumato.tasks.forms.recoded import TABLE, labels_of
from sfumato.tasks.query.behind_labels.scales import Scale, scale_of
from sfumato.tasks.query.behind_labels.values_behind_labels import MOST, is_listed, values_of_label
from sfumato.tasks.query.help_tables.way import HelpTables
from sfumato.tasks.schema.columns import ORDERED
from sfumato.tasks.schema.hierarchy_rules import Prefixes
from sfumato.tasks.schema.names import safe_name
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.tables import form_of
from sfumato.tasks.terms.terms import Terms

Kind = Literal["values", "ranges", "prefixes"]
"""The kinds of label tables, by the way in which they list the values that labels admit."""

_Pairs = Sequence[tuple[str, Admitted]]
_UNTOLD = "a label stands for any number of values"


def label_name(column: str) -> str:
    """Return the name of a column's label table.

    >>> label_name("marital-status"), value_name("marital-status")
    ('label_marital_status', 'value_marital_status')
    """
    return f"label_{safe_name(column)}"


def value_name(column: str) -> str:
    """Return the name of the table of all values that the labels of a column admit."""
    return f"value_{safe_name(column)}"


def kind_of_labels(declared: Terms, name: str) -> Kind:
    """Return the kind of label table of a quasi-identifier: it lists values, ranges or prefixes."""
    column = declared.columns[name]
    hierarchy = column.hierarchy if declared.form.shows_hierarchies else None
    if isinstance(hierarchy, Prefixes):
        return "prefixes"
    listed = isinstance(hierarchy, tuple) or column.type not in ORDERED
    return "values" if listed else "ranges"


def names_of_label_tables(declared: Terms) -> list[str]:
    """Return the names of the label tables and value tables of all quasi-identifiers."""
    names = declared.names_with_roles("quasi-identifier")
    return [name_of_table(name) for name in names for name_of_table in (label_name, value_name)]


def label_tables(tables: Mapping[str, pa.Table], declared: Terms) -> dict[str, pa.Table]:
    """Return the label tables and value tables of every quasi-identifier by their names.

    Raises:
        PromiseError: naming the column that has a label without meaning.
    """
    built = {}
    for name in declared.names_with_roles("quasi-identifier"):
        column = declared.columns[name]
        read = reader_for(form_of(declared))(name, column)
        texts = sorted(text for text in labels_of(tables[TABLE], name)[0] if text is not None)
        pairs = [(text, read(text)) for text in texts]
        kind = kind_of_labels(declared, name)
        built[label_name(name)] = _label_table(pairs, kind, column)
        built[value_name(name)] = _value_table(pairs, column)
    return built


def _label_table(pairs: _Pairs, kind: Kind, column: DeclaredColumn) -> pa.Table:
    types: Mapping[str, pa.DataType] = {
        "values": {"value": column.arrow_type},
        "ranges": {"low": column.arrow_type, "high": column.arrow_type},
        "prefixes": {"value": column.arrow_type, "kept": pa.int64(), "length": pa.int64()},
    }[kind]
    rows = [
        (text, *cells, admitted.null)
        for text, admitted in pairs
        for cells in _CELLS_OF_KIND[kind](admitted, column)
    ]
    fields = [
        pa.field("label", pa.string(), nullable=False),
        *(pa.field(name, type_) for name, type_ in types.items()),
        pa.field("admits_null", pa.bool_(), nullable=False),
    ]
    columns = list(zip(*rows, strict=True)) or [()] * len(fields)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, fields, strict=True)]
    return pa.table(arrays, schema=pa.schema(fields))


def _by_values(admitted: Admitted, column: DeclaredColumn) -> Iterator[tuple[Any, ...]]:
    """Yield one row per value; a single row with null if any value is possible."""
    if is_listed(admitted, column):
        yield from ((value,) for value in _known_values(admitted, column))
    else:
        yield (None,)


def _by_ranges(admitted: Admitted, _: DeclaredColumn) -> Iterator[tuple[Any, ...]]:
    if isinstance(admitted, ListedValues):
        yield from ((value, value) for value in admitted.values)
    elif isinstance(admitted, Between):
        yield admitted.low, admitted.high


def _by_prefixes(admitted: Admitted, column: DeclaredColumn) -> Iterator[tuple[Any, ...]]:
    if isinstance(admitted, Prefixed):
        yield None, len(admitted.kept), admitted.length
    else:
        yield from ((*cells, None, None) for cells in _by_values(admitted, column))


_CELLS_OF_KIND = {"values": _by_values, "ranges": _by_ranges, "prefixes": _by_prefixes}


def _value_table(pairs: _Pairs, column: DeclaredColumn) -> pa.Table:
    values = _admitted_values(pairs, column)
    if values is None:
        return pa.table({"untold": [_UNTOLD]})
    field = pa.field("value", column.arrow_type, nullable=False)
    return pa.table([pa.array(values, field.type)], schema=pa.schema([field]))


def _admitted_values(pairs: _Pairs, column: DeclaredColumn) -> list[Any] | None:
    """Return every value that a label admits, ascending; None if too many, or unlimited."""
    labels = [admitted for _, admitted in pairs]
    if not all(is_listed(admitted, column) for admitted in labels):
        return None
    limited = [admitted for admitted in labels if isinstance(admitted, Between)]
    single = [admitted for admitted in labels if not isinstance(admitted, Between)]
    values = {value for admitted in single for value in _known_values(admitted, column)}
    scale = scale_of(column)
    if scale is not None:
        spans = _spans(limited, scale)
        if sum(last - first + 1 for first, last in spans) > MOST:
            return None
        values |= {scale.value(n) for first, last in spans for n in range(first, last + 1)}
    return sorted(values)


def _spans(labels: Sequence[Between], scale: Scale) -> list[tuple[int, int]]:
    """Return the numbers behind intervals as spans; intervals that overlap become one span."""
    spans: list[tuple[int, int]] = []
    for label in sorted(labels, key=lambda label: scale.whole(label.low)):
        first, last = scale.whole(label.low), scale.whole(label.high)
        if spans and first <= spans[-1][1]:
            start, end = spans.pop()
            first, last = start, max(end, last)
        spans.append((first, last))
    return spans


def _known_values(admitted: Admitted, column: DeclaredColumn) -> Iterator[Any]:
    values = (value for value in values_of_label(admitted, column) if value is not None)
    return iter(dict.fromkeys(values))


def _names(declared: Terms, _sensitive: Sequence[str]) -> Sequence[str]:
    return names_of_label_tables(declared) if declared.form.tells_labels else []


def _build(tables: Mapping[str, pa.Table], declared: Terms) -> dict[str, pa.Table]:
    return label_tables(tables, declared) if declared.form.tells_labels else {}


LABELS = HelpTables(_names, _build)
