"""Ambiguity's form: one table for each quasi-identifier, and another for the sensitive values.

`at_<name>` has every value of a quasi-identifier that a group admits, once, and group_id; `st` the
sensitive values of each group with their counts (see `tasks.forms.counts_table`). Only group_id
joins them: a group of many values covers more combinations than it has rows. `marginal_<name>` has
the rows of all groups together with each value of a quasi-identifier, if the spec asks for it (see
`tasks.forms.counts_table`).

Source: Wang, Ambiguity: hide the presence of individuals and their privacy with low information
loss.

Expected occurrences equal those of `expectations.measures.occurrences` to the last bit: sums are
added up in the same order. Arrays of a million entries do not fit into a processor's cache, those
of one group do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.counting import cover
from sfumato.expectations.groups.groups import Cover, Groups
from sfumato.expectations.measures.occurrences import ROUNDS, occurrences
from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.rules.structure import rules_of_published
from sfumato.expectations.shared.arrow import as_array, as_integers
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.sorting import distinct, stable_order, starts
from sfumato.tasks.arrays.compiled import Loop, can_compile, compile_loop
from sfumato.tasks.forms import counts_table as st
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.form_parameters import AmbiguousParameters
from sfumato.tasks.forms.order import canonical_apart, canonical_table, is_sorted
from sfumato.tasks.microdata.table import Microdata, Randomness, encode, key
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.schema.names import GROUP_ID, safe_name
from sfumato.tasks.schema.published import Schema, names_with_roles

_LARGE = 1 << 16  # entries


def table_of(name: str) -> str:
    """Return the name of the table of a quasi-identifier.

    >>> table_of("native-country")
    'at_native_country'
    """
    return f"at_{safe_name(name)}"


def publish(
    microdata: Microdata,
    partition: Partition,
    parameters: AmbiguousParameters,
    randomness: Randomness,
) -> Tables:
    """Show the values that each group admits and those that it counts, in separate tables."""
    positions = np.flatnonzero(partition.group >= 0)
    published, group = microdata.take(positions), partition.group[positions].astype(np.int64)
    admitted = {
        table_of(column.name): _distinct(
            pa.table({column.name: column.dictionary_array(), GROUP_ID: pa.array(group)})
        )
        for column in published.with_roles("quasi-identifier")
    }
    counted = st.tables_of(published, group, parameters.together)
    return canonical({**admitted, **counted, **st.marginals_of(published, parameters.marginals)})


def _distinct(table: pa.Table) -> pa.Table:
    """Return every different row once."""
    keys = _keys(table)
    order = stable_order(keys)
    return table.take(as_array(order[starts(keys[order])], pa.int64()))


def _keys(table: pa.Table) -> np.ndarray:
    columns = [encode(name, "insensitive", table[name]) for name in table.column_names]
    return key(columns, table.num_rows)[0]


def canonical(tables: Tables) -> Tables:
    """Return the tables in canonical order: groups by what they admit, rows by group and value."""
    marginals = {name: table for name, table in tables.items() if st.is_marginal(name)}
    return canonical_apart(st.without_marginals(tables)) | {
        name: canonical_table(table) for name, table in marginals.items()
    }


def schemas(schema: Schema, parameters: AmbiguousParameters) -> Mapping[str, pa.Schema]:
    """Return the schemas: a value and its group for each quasi-identifier, and counts."""
    group = pa.field(GROUP_ID, pa.int64(), nullable=False)
    admitted = {
        table_of(name): pa.schema([st.field(name, schema), group])
        for name in names_with_roles(schema, "quasi-identifier")
    }
    marginals = st.schemas_of_marginals(schema, parameters.marginals)
    return {**admitted, **st.schemas(schema, parameters.together), **marginals}


def groups(
    tables: Tables, schema: Schema, adversary_columns: Sequence[str], sensitive: Sequence[str]
) -> Groups:
    """Count sensitive values per group_id, and return which values each group admits.

    An adversary who knows other sensitive values sees the rows of a group that have them; which
    quasi-identifiers those rows admit stays hidden.

    Raises:
        PromiseError: where a group admits no value of a quasi-identifier, or more than it has rows;
            where no table has the published totals of a column.
    """
    rows = _rows(tables)
    known_columns = [name for name in adversary_columns if schema[name].role == "sensitive"]
    counts = {name: tables[name] for name in _tables_of_counts(tables)}
    seen = st.groups(counts, schema, known_columns, sensitive)
    if known_columns:
        return seen
    covers = {}
    for name in adversary_columns:
        table = tables[table_of(name)]
        column = encode(name, "quasi-identifier", table[name])
        column_cover = cover(as_integers(table[GROUP_ID]), *column.category())
        admitted = column_cover.sizes(len(rows))
        if (admitted < 1).any() or (admitted > rows).any():
            raise PromiseError(f"{table_of(name)}: a group admits no value, or more than its rows")
        covers[name] = st.with_totals(name, column_cover, tables, table_of(name))
        st.require_possible(name, rows, covers[name])
    return replace(seen, covers=covers)


def _tables_of_counts(tables: Tables) -> list[str]:
    return [name for name in tables if not (name.startswith("at_") or st.is_marginal(name))]


def _rows(tables: Tables) -> np.ndarray:
    """Return the rows of each group, on which all tables of counts agree; groups are 0, 1, …."""
    numbered = st.without_marginals(tables).values()
    number = max(int(as_integers(table[GROUP_ID]).max(initial=-1)) for table in numbered) + 1
    if number > min(table.num_rows for table in numbered):
        raise PromiseError("group_id: not every table has every group, 0, 1, …")
    names = _tables_of_counts(tables)
    totals = [st.totals(tables[name], number) for name in names]
    if any(rows is None or (rows != totals[0]).any() or not rows.all() for rows in totals):
        raise PromiseError(f"{', '.join(names)}: these tables differ in the counts of a group")
    return np.asarray(totals[0])


def rules(
    schema: Schema, parameters: AmbiguousParameters, rows: int, withheld: Sequence[str]
) -> Mapping[str, tuple[Rule, ...]]:
    """Return the rules: each group admits a value once, and counts add up to the rows."""
    by_table = dict(st.rules(schema, parameters.together, rows, withheld))
    by_table |= st.rules_of_marginals(schema, parameters.marginals, rows, withheld)
    for name in names_with_roles(schema, "quasi-identifier"):
        arrow, besides = schemas(schema, parameters)[table_of(name)], (name, GROUP_ID)
        by_table[table_of(name)] = rules_of_published(arrow, None, _is_once, withheld, besides)
    return by_table


def _is_once(table: pa.Table) -> bool:
    """Decide whether the rows are sorted, and every value occurs once in a group."""
    return is_sorted(table) and len(distinct(_keys(table))) == table.num_rows


def expected_occurrences(sizes: np.ndarray, cover: Cover, rounds: int = ROUNDS) -> np.ndarray:
    """Return the expected number of rows of each group that have each value it admits.

    Args:
        sizes: the rows of each group (int64), at least as many as values that it admits.
        cover: the values that each group admits, one at least.
        rounds: the number of times that the distribution is fitted; 0 for equal shares.

    Returns:
        float64, parallel to the entries of the cover; those of a group add up to its rows.
    """
    if len(cover.value) < _LARGE or rounds < ROUNDS or not can_compile():
        return occurrences(sizes, cover, rounds)
    return fit_occurrences(sizes, cover, _compiled_loop())


def fit_occurrences(sizes: np.ndarray, cover: Cover, fit: Loop) -> np.ndarray:
    """Return the same as `expected_occurrences` by `fit`: `fit_by_loop`, as it is or compiled."""
    admitted = cover.sizes(len(sizes))
    ends, spare = np.append(0, np.cumsum(admitted)), (sizes - admitted).astype(np.float64)
    weights = np.bincount(cover.value, minlength=cover.values).astype(np.float64)
    expected = np.ones(len(cover.value))
    fit(ends, spare, cover.value, weights, expected, ROUNDS)
    return expected


def fit_by_loop(
    ends: Any, spare: Any, value: Any, weights: Any, expected: Any, rounds: int
) -> None:
    """Fit the `weights` of values (float64) to the rows that are `expected` of each entry.

    Group j's entries are from `ends[j]` to `ends[j + 1]`, and each has a `value`; `spare` are the
    rows of each group beyond one of each value (float64).
    """
    following = np.zeros(len(weights))
    for _ in range(rounds):
        following[:] = 0.0
        for j in range(len(spare)):
            if spare[j] == 0:  # each value occurs once, whatever the weights are
                for entry in range(ends[j], ends[j + 1]):
                    following[value[entry]] += 1.0
                continue
            mass = 0.0
            for entry in range(ends[j], ends[j + 1]):
                mass += weights[value[entry]]
            for entry in range(ends[j], ends[j + 1]):
                share = weights[value[entry]] / mass
                expected[entry] = 1.0 + spare[j] * share
                following[value[entry]] += expected[entry]
        weights[:] = following


@cache
def _compiled_loop() -> Loop:
    return compile_loop(fit_by_loop)
