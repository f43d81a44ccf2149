"""The help table of a quasi-identifier that is published by itself: expected counts by group.

The number of a group's rows that have a value is not published, but it can be estimated from the
groups that admit the value (see `expectations.measures.readings`). The estimates are published
beside the data, so that a database can use them.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.counting import cover
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
    counts = next(iter(tables_of_counts(declared).values()))
    number = int(as_integers(tables[counts][GROUP_ID]).max(initial=-1)) + 1
    sizes = totals(tables[counts], number)
    if sizes is None:
        raise PromiseError(
            f"{counts}: does not have the counts of the groups. The release is damaged or "
            "was changed"
        )
    names = declared.names_with_roles("quasi-identifier")
    return {help_name(name): _table(tables[table_of(name)], name, sizes) for name in names}


def _table(admitted: pa.Table, name: str, sizes: np.ndarray) -> pa.Table:
    column = encode(name, "quasi-identifier", admitted[name])
    codes, values = column.category()
    group = as_integers(admitted[GROUP_ID])
    order = np.lexsort((codes, group))
    expected = np.empty(len(order))
    expected[order] = expected_occurrences(sizes, cover(group, codes, values))
    return admitted.append_column(expected_name(name), as_array(expected, pa.float64()))


def _names(declared: Terms, _sensitive: Sequence[str]) -> Sequence[str]:
    return [help_name(name) for name in declared.names_with_roles("quasi-identifier")]


COLUMNS = HelpTables(_names, tables_of_columns)
