"""The help table of a quasi-identifier that is published by itself: expected counts by group.

The number of a group's rows that have a value is not published, but it can be estimated from the
groups that admit the value (see `expectations.measures.occurrences`). The estimates are published
beside the data, so that a database can use them. A release states for how many rounds those of a
column were fitted; where it says nothing, they were fitted to the end.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.counting import cover
from sfumato.expectations.groups.groups import Cover
from sfumato.expectations.measures.occurrences import ROUNDS, choose_rounds
from sfumato.expectations.shared.arrow import as_array, as_integers
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.forms.ambiguous import expected_occurrences, table_of
from sfumato.tasks.forms.counts_table import totals
from sfumato.tasks.microdata.table import encode
from sfumato.tasks.query.help_tables.rows import expected_name, help_name
from sfumato.tasks.query.help_tables.way import HelpTables
from sfumato.tasks.query.question.ways import tables_of_counts
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.terms.terms import Terms


def tables_of_columns(tables: Mapping[str, pa.Table], declared: Terms) -> dict[str, pa.Table]:
    """Return the help table of each quasi-identifier by its name, from published tables only.

    Raises:
        PromiseError: where the counts are none.
    """
    sizes, stated = _sizes(tables, declared), rounds_by_column(declared)
    return {
        help_name(name): _table(tables[table_of(name)], name, sizes, stated[name])
        for name in declared.names_with_roles("quasi-identifier")
    }


def rounds_by_column(declared: Terms) -> dict[str, int]:
    """Return for how many rounds the frequencies of each quasi-identifier's values were fitted."""
    stated: Mapping[str, int] = getattr(declared, "rounds", {})
    return {
        name: stated.get(name, ROUNDS) for name in declared.names_with_roles("quasi-identifier")
    }


def chosen_rounds(tables: Mapping[str, pa.Table], declared: Terms) -> dict[str, int]:
    """Return the columns whose frequencies are better fitted for fewer rounds, and for how many.

    See `choose_rounds`; it depends on published tables only.

    Raises:
        PromiseError: where the counts are none.
    """
    sizes, chosen = _sizes(tables, declared), {}
    for name in declared.names_with_roles("quasi-identifier"):
        admitted, _ = _cover(tables[table_of(name)], name)
        rounds = choose_rounds(sizes, admitted, expected_occurrences(sizes, admitted))
        if rounds < ROUNDS:
            chosen[name] = rounds
    return chosen


def _sizes(tables: Mapping[str, pa.Table], declared: Terms) -> np.ndarray:
    """Return the rows of each group (int64)."""
    counts = next(iter(tables_of_counts(declared).values()))
    number = int(as_integers(tables[counts][GROUP_ID]).max(initial=-1)) + 1
    sizes = totals(tables[counts], number)
    if sizes is None:
        raise PromiseError(
            f"{counts}: does not have the counts of the groups. The release is damaged or "
            "was changed"
        )
    return sizes


def _table(admitted: pa.Table, name: str, sizes: np.ndarray, rounds: int) -> pa.Table:
    column_cover, order = _cover(admitted, name)
    expected = np.empty(len(order))
    expected[order] = expected_occurrences(sizes, column_cover, rounds)
    return admitted.append_column(expected_name(name), as_array(expected, pa.float64()))


def _cover(admitted: pa.Table, name: str) -> tuple[Cover, np.ndarray]:
    """Return the values that groups admit, and the table's row of each of its entries (int64)."""
    codes, values = encode(name, "quasi-identifier", admitted[name]).category()
    group = as_integers(admitted[GROUP_ID])
    return cover(group, codes, values), np.lexsort((codes, group))


def _names(declared: Terms, _sensitive: Sequence[str]) -> Sequence[str]:
    return [help_name(name) for name in declared.names_with_roles("quasi-identifier")]


COLUMNS = HelpTables(
    _names, tables_of_columns, lambda tables, terms: {"rounds": chosen_rounds(tables, terms)}
)
