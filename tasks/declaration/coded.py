"""Whether published values are such as the codings of their column give.

A coding that was computed of rows cannot be seen here: thresholds and rare values stay private.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.rules.structure import ValuesAsCoded
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.microdata.codings.registry import CODINGS
from sfumato.tasks.microdata.table import encode
from sfumato.tasks.schema.published import DeclaredColumn

_SEEN = ("bottom", "top", "round", "unite", "prefix")


def coding_rules(terms: Terms, schema: pa.Schema) -> Iterator[ValuesAsCoded]:
    """A rule for each column of a published table that shows coded values as they are."""
    for name in schema.names:
        column = terms.columns.get(name)
        if column is None or (terms.recoded and column.role == "quasi-identifier"):
            continue
        keys = visible_codings(column)
        if keys:
            yield ValuesAsCoded(name, keys, partial(count_uncoded, name=name, column=column))


def visible_codings(column: DeclaredColumn) -> tuple[str, ...]:
    """The codings that change no value which they have given."""
    return tuple(k for k in column.codings if k in _SEEN and k not in column.computed)


def count_uncoded(table: pa.Table, name: str, column: DeclaredColumn) -> int:
    """How many different values of a column no such coding gives."""
    values = table[name]
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    known = encode(name, column.role, values)
    as_given = np.zeros(len(known.values), dtype=bool)
    if column.fold is not None:
        as_given = np.asarray(pc.equal(known.values, column.fold.into))
    changed = np.zeros(len(known.values), dtype=bool)
    each = encode(name, column.role, known.values)
    for key in visible_codings(column):
        coded = CODINGS[key](each, column.codings[key], None).array()
        changed |= np.asarray(pc.not_equal(coded.cast(known.values.type), known.values))
    return int((changed & ~as_given).sum())
