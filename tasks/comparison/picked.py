"""Rows that are picked one by one, on any form: what may be known of an aggregate over them.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007).
Where quasi-identifiers are shown as they are, it is known how many rows of each group are picked;
where labels are shown, or the values of columns apart, a group is surely meant only where all its
rows are, and of one of which some are any number may count.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from sfumato.expectations.exact import exact
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.query.accuracy.arbitrary import vectors
from sfumato.tasks.query.accuracy.truth import as_fraction, read_help
from sfumato.tasks.query.bounds.extremes import CountedValues, Counting
from sfumato.tasks.query.engines.engine import Files, read_table
from sfumato.tasks.query.help_tables.rows import help_name
from sfumato.tasks.query.question.question import Aggregate
from sfumato.tasks.query.question.ways import relations
from sfumato.tasks.schema.names import GROUP_ID

Ends = tuple[Fraction | None, Fraction | None]
Picking = Callable[[np.ndarray], Ends]
"""The bounds of an aggregate over picked rows (bool, one per row of the whole table)."""


def pick_from(
    declared: Declared, files: Files, table: Microdata, groups: np.ndarray, aggregate: Aggregate
) -> Picking:
    """How rows are picked from a candidate.

    Args:
        declared: what the candidate declares.
        files: its tables, with the help tables.
        table: the rows that it was made of.
        groups: that of each row, -1 for suppressed ones (int64).
        aggregate: over the rows that are picked.
    """
    if declared.form.rows_table is not None:
        return _by_vectors(declared, files, table, aggregate)
    return _by_groups(table, groups, aggregate)


def _by_vectors(
    declared: Declared, files: Files, table: Microdata, aggregate: Aggregate
) -> Picking:
    """Pick published rows: all that have the quasi-identifiers of a row that is picked."""
    rows = read_table(files[relations(declared).rows])
    group = rows[GROUP_ID].to_numpy()
    vector, of_table = vectors(rows, declared.named("quasi-identifier"), table)
    sensitive = aggregate.sensitive or declared.named("sensitive")[0]
    helped = read_help(read_table(files[help_name(sensitive)]), aggregate.kind)

    def pick(picked: np.ndarray) -> Ends:
        chosen = np.zeros(int(vector.max(initial=-1)) + 2, dtype=bool)
        chosen[of_table[picked]] = True
        chosen[-1] = False  # vectors that are not published
        return helped.bounds(np.bincount(group[chosen[vector]], minlength=len(helped.start)))

    return pick


def _by_groups(table: Microdata, groups: np.ndarray, aggregate: Aggregate) -> Picking:
    """Pick groups, as a whole or any number of their rows."""
    shown = groups >= 0
    group, sizes = groups[shown], np.bincount(groups[shown])
    column = None if aggregate.sensitive is None else table[aggregate.sensitive]
    codes = np.zeros(len(group), np.int64) if column is None else column.codes[shown]

    def pick(picked: np.ndarray) -> Ends:
        hits = np.bincount(group[picked[shown]], minlength=len(sizes))
        sure, maybe = (hits == sizes) & (hits > 0), (hits > 0) & (hits < sizes)
        if aggregate.kind.counts_rows or column is None:
            return Fraction(int(sizes[sure].sum())), Fraction(int(sizes[hits > 0].sum()))
        surely, possibly = (_counts(column, codes[one[group]]) for one in (sure, maybe))
        return _ends(aggregate, column, Counting(surely, possibly))

    return pick


def _counts(column: Column, codes: np.ndarray) -> np.ndarray:
    return np.bincount(codes, minlength=len(column.values))


def _ends(aggregate: Aggregate, column: Column, counting: Counting) -> Ends:
    if not counting.all.any():
        return None, None
    values, name = column.values, column.name
    counted = CountedValues(
        values=values.to_pylist(),
        exact=lambda: exact(values, name),
        low=counting,
        high=counting,
        whole=False,
        expected=None,
        expected_rows=float("nan"),
    )
    found = aggregate.bounds_over(counted)
    return as_fraction(found.lower), as_fraction(found.upper)
