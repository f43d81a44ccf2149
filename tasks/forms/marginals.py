"""Published marginals: the rows of all groups together with each value of a quasi-identifier.

The table `marginal_<name>` has every value of a quasi-identifier once, with the number of published
rows that have it. A form that shows each quasi-identifier by itself may publish some of them.

Source: Kifer and Gehrke, Injecting utility into anonymized datasets (SIGMOD 2006).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.groups import Cover
from sfumato.expectations.groups.marginals import rows_of_cells
from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.rules.structure import TotalCount, rules_of_published
from sfumato.expectations.shared.arrow import as_array, as_integers
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.sorting import distinct, lengths, stable_order, starts
from sfumato.tasks.forms.counts_table import field
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.order import is_canonical
from sfumato.tasks.microdata.table import Column, Microdata, encode
from sfumato.tasks.schema.names import COUNT, safe_name
from sfumato.tasks.schema.published import Schema

_PREFIX = "marginal_"


def marginal_table(name: str) -> str:
    """Return the name of the table of a quasi-identifier's marginal.

    >>> marginal_table("native-country")
    'marginal_native_country'
    """
    return f"{_PREFIX}{safe_name(name)}"


def is_marginal(table: str) -> bool:
    """Decide whether a table of that name has a marginal."""
    return table.startswith(_PREFIX)


def without_marginals(tables: Tables) -> dict[str, pa.Table]:
    """Return the tables of groups."""
    return {name: table for name, table in tables.items() if not is_marginal(name)}


def marginals_of(published: Microdata, names: Sequence[str]) -> dict[str, pa.Table]:
    """Return the marginals of some quasi-identifiers, in canonical order."""
    return {marginal_table(name): _marginal(published[name]) for name in names}


def _marginal(column: Column) -> pa.Table:
    codes, _ = column.category()
    order = stable_order(codes)
    first = starts(codes[order])
    values = pa.table({column.name: column.dictionary_array()})
    values = values.take(as_array(order[first], pa.int64()))
    plain = values[column.name].cast(values.schema.field(0).type.value_type)
    return pa.table({column.name: plain, COUNT: as_array(lengths(first, len(order)), pa.int64())})


def schemas_of_marginals(schema: Schema, names: Sequence[str]) -> dict[str, pa.Schema]:
    """Return the schemas: a value and its number of rows."""
    times = pa.field(COUNT, pa.int64(), nullable=False)
    return {marginal_table(name): pa.schema([field(name, schema), times]) for name in names}


def rules_of_marginals(
    schema: Schema, names: Sequence[str], rows: int, withheld: Sequence[str]
) -> dict[str, tuple[Rule, ...]]:
    """Return the rules: values ascend, each once, and counts add up to the published rows."""
    by_table: dict[str, tuple[Rule, ...]] = {}
    for name, (table, arrow) in zip(
        names, schemas_of_marginals(schema, names).items(), strict=True
    ):
        rules = rules_of_published(arrow, None, _has_each_once, withheld, (name, COUNT))
        by_table[table] = (*rules, TotalCount(COUNT, rows))
    return by_table


def _has_each_once(table: pa.Table) -> bool:
    """Decide whether rows are sorted, and have every value once."""
    codes, _ = encode("value", "quasi-identifier", table.column(0)).category()
    return is_canonical(table) and len(distinct(codes)) == table.num_rows


def with_totals(name: str, own: Cover, tables: Mapping[str, pa.Table], admitted: str) -> Cover:
    """Return what groups admit of a column with the rows of each value, if these are published.

    Args:
        name: of the quasi-identifier.
        own: the values that groups admit.
        tables: all published tables.
        admitted: the name of the table that shows what groups admit, whose values `own` numbers.

    Raises:
        PromiseError: if the marginal has other values.
    """
    if (table := tables.get(marginal_table(name))) is None:
        return own
    rows = tables[admitted].num_rows
    both = pa.chunked_array([*tables[admitted][name].chunks, *table[name].chunks])
    codes, values = encode(name, "quasi-identifier", both).category()
    counted = codes[rows:]
    if not values == own.values == len(counted) == len(distinct(counted)):
        raise PromiseError(f"{marginal_table(name)}: has other values than groups admit")
    totals = np.empty(values, dtype=np.int64)
    totals[counted] = as_integers(table[COUNT])
    return replace(own, totals=totals)


def require_possible(name: str, sizes: np.ndarray, own: Cover) -> None:
    """Make sure that groups of these sizes can have the published totals of a column.

    Raises:
        PromiseError: if no table has them.
    """
    try:
        if own.totals is not None:
            rows_of_cells(sizes, own)
    except PromiseError as error:
        raise PromiseError(f"{marginal_table(name)}: {error}") from None
