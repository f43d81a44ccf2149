"""UCI Adult as the papers use it: complete rows, hierarchies as shipped."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sfumato.tasks.experiments.shared.experiment import Inputs
from sfumato.tasks.microdata.hierarchies import declared_hierarchy
from sfumato.tasks.microdata.table import Column, Microdata, encode
from sfumato.tasks.schema.hierarchy_rules import HierarchyRule, Intervals

EIGHT = (
    "age", "workclass", "education", "marital-status", "occupation", "race", "sex",
    "native-country",
)  # fmt: skip
AGES = Intervals(intervals=(5, 10, 20))


def people_with_loss(inputs: Inputs, quasi_identifiers: Sequence[str]) -> Microdata:
    """Return the 1,427 people with a capital loss and without missing quasi-identifiers (of eight).

    Args:
        inputs: the places of the files.
        quasi_identifiers: the quasi-identifiers, in the order of the source.
    """
    table = _complete(inputs)
    return _microdata(
        table.filter(pc.greater(table["capital-loss"], 0)), quasi_identifiers, "capital-loss"
    )


def complete_people(
    inputs: Inputs,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    rows: int | None = None,
    seed: int = 0,
    *,
    numbered: bool = False,
) -> Microdata:
    """Return the people without missing values, or so many of them drawn at random.

    Where texts are to be numbered, quasi-identifiers are whole numbers in alphabetical order.
    """
    table = _complete(inputs)
    if rows is not None and rows < table.num_rows:
        sampled_rows = np.random.default_rng(seed).choice(table.num_rows, rows, replace=False)
        table = table.take(np.sort(sampled_rows))
    people = _microdata(table, quasi_identifiers, sensitive)
    return people.keep(_with_numbered_texts(c) for c in people.columns) if numbered else people


def hierarchies_of(inputs: Inputs, quasi_identifiers: Sequence[str]) -> dict[str, HierarchyRule]:
    """Return the hierarchies of Adult's quasi-identifiers, as the shipped releases have them.

    The salary class has none: its two values are shown, or not.
    """
    return {name: _hierarchy(inputs, name) for name in quasi_identifiers if name != "salary-class"}


def _hierarchy(inputs: Inputs, name: str) -> HierarchyRule:
    return AGES if name == "age" else declared_hierarchy(name, f"{name}.csv", inputs.hierarchies)


@cache
def _read(path: str) -> pa.Table:
    return pq.read_table(path)


def _complete(inputs: Inputs) -> pa.Table:
    table = _read(str(inputs.adult))
    return table.filter(pc.is_valid(table["workclass"])).drop_null()


def _with_numbered_texts(column: Column) -> Column:
    if column.role == "sensitive" or pa.types.is_integer(column.values.type):
        return column
    return replace(column, values=pa.array(range(len(column.values)), pa.int64()))


def _microdata(table: pa.Table, quasi_identifiers: Sequence[str], sensitive: str) -> Microdata:
    columns = [encode(name, "quasi-identifier", table[name]) for name in quasi_identifiers]
    return Microdata((*columns, encode(sensitive, "sensitive", table[sensitive])), table.num_rows)
