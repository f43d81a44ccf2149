"""Groups of a table's rows, or of counts that a database made of them: from columns alone.

Nulls are one value, NaN is one value, -0.0 is 0, and texts are compared as bytes.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.counting import Coded, count, pack
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.groups.ranks import (
    categories,
    comparable,
    has_order,
    rank,
    sensitive_codes,
)


def groups_of_rows(by: Mapping[str, pa.Array], sensitive: Mapping[str, pa.Array]) -> Groups:
    """The groups of rows with equal values.

    Args:
        by: at least one column, whose values tell groups apart.
        sensitive: the attributes whose values are counted in each group.
    """
    ranked = [rank(comparable(column)) for column in by.values()]
    codes, sizes = zip(*(categories(*one) for one in ranked), strict=True)
    key, bound = pack(codes, sizes)
    return count(key, bound, _coded(sensitive))


def groups_of_counts(
    group: np.ndarray, rows: np.ndarray, sensitive: Mapping[str, pa.Array]
) -> Groups:
    """The groups whose rows were counted, with the values of at most one attribute.

    Args:
        group: the group of each count (int64, from 0).
        rows: how many rows each counts (int64).
        sensitive: the value of the attribute that the rows of each count have.
    """
    return count(group, int(group.max(initial=-1)) + 1, _coded(sensitive), rows)


def _coded(columns: Mapping[str, pa.Array]) -> dict[str, Coded]:
    return {name: _sensitive(name, comparable(column)) for name, column in columns.items()}


def _sensitive(name: str, column: pa.Array) -> Coded:
    """Values to be counted; those without an order, as NaN has none, are counted all the same."""
    values, codes = rank(column)
    if has_order(values):
        return sensitive_codes(values, codes, name)
    numbered, size = categories(values, codes)
    labels = pa.concat_arrays([pa.nulls(size - len(values), values.type), values])
    return Coded(numbered, size, None, labels)
