"""Cell suppression: values that all rows of a group share are shown, all others are a star.

Source: Aggarwal, Feder, Kenthapadi, Motwani, Panigrahy, Thomas, Zhu, Anonymizing tables (ICDT
2005). Linked columns are suppressed together: if one of them is a star, all are.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.form_parameters import SuppressedParameters
from sfumato.tasks.forms.label_readers import reader_of_suppressed as reader_of
from sfumato.tasks.forms.labels import STAR
from sfumato.tasks.forms.recoded import (
    canonical,
    groups,
    rows_by_group,
    rules_of_labels,
    schemas,
    table_of,
)
from sfumato.tasks.microdata.table import Column, Microdata, Randomness
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.schema.published import Schema

__all__ = ["canonical", "groups", "publish", "reader_of", "rules", "schemas"]


def publish(
    microdata: Microdata,
    partition: Partition,
    parameters: SuppressedParameters,
    randomness: Randomness,
) -> Tables:
    """Star the cells that differ within their group and publish in canonical order.

    Raises:
        InputError: where a value reads like a suppressed cell.
    """
    positions, group, order = rows_by_group(partition)
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    columns = microdata.with_roles("quasi-identifier")
    starred = {}
    for column in columns:
        cells = column.category()[0][positions][order]
        starred[column.name] = _differ(cells, starts) | _at_root(column, partition, len(starts))
    for linked in parameters.linked:
        together = np.logical_or.reduce([starred[name] for name in linked])
        starred |= dict.fromkeys(linked, together)
    cells = {c.name: _cells(c, positions, starred[c.name][group]) for c in columns}
    return table_of(microdata, positions, cells)


def rules(
    schema: Schema, parameters: SuppressedParameters, rows: int, withheld: Sequence[str]
) -> Mapping[str, tuple[Rule, ...]]:
    """Return the rules: every cell is a star or a value of its column."""
    return rules_of_labels(schema, reader_of, rows, withheld)


def _differ(cells: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Mark the runs of `cells` that are not all equal."""
    if not len(starts):
        return np.zeros(0, dtype=bool)
    differ: np.ndarray = np.minimum.reduceat(cells, starts) != np.maximum.reduceat(cells, starts)
    return differ


def _at_root(column: Column, partition: Partition, groups: int) -> np.ndarray:
    """Mark the groups in which the partition wants the column hidden."""
    recoding = partition.recoding.get(column.name)
    if recoding is None:
        return np.zeros(groups, dtype=bool)
    at_root: np.ndarray = recoding == len(column.levels()) - 1
    return at_root


def _cells(column: Column, rows: np.ndarray, starred: np.ndarray) -> pa.Array:
    texts = pc.cast(column.values, pa.string())
    if STAR in texts.to_pylist():
        raise InputError(
            f"column {column.name!r}: a value is {STAR!r}, which marks suppressed cells; rename it "
            "in the source"
        )
    star = len(texts)
    codes = np.where(starred, star, column.codes[rows])
    return pa.concat_arrays([texts, pa.array([STAR])]).take(pa.array(codes, mask=codes < 0))
