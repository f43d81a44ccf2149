"""Which values stand in one row with which: tuples beside the values of each column.

Whoever knows one value of a person asks for those beside it, so that versions have to go on with
the tuples of a group, and not only with the values of each column.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.arrow import as_integers
from sfumato.expectations.groups.counting import count
from sfumato.expectations.groups.counts import Counts
from sfumato.tasks.forms.composed.vacancies import Vacancies
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.microdata.grouping import as_tuples
from sfumato.tasks.schema.names import COUNT, GROUP_ID
from sfumato.tasks.schema.published import Schema

TUPLE = "/together"  # no column can be called so


def tuples_shown(
    vacancies: Vacancies, tables: Tables, schema: Schema, parameters: Any, names: Sequence[str]
) -> tuple[Counts, pa.Schema]:
    """The tuples of each group with how often they are shown, vacant ones counted; and their types.

    Args:
        vacancies: how the form shows values of people who left.
        tables: of a version.
        schema: its columns.
        parameters: of the form.
        names: of columns that stand in one row.
    """
    lasting = vacancies.lasting(tables, schema, parameters)
    table = next(one for one in lasting if {*names} <= {*one.column_names})
    coded = as_tuples(TUPLE, [table[name] for name in names]).coded()
    group = as_integers(table[GROUP_ID]).astype(np.int64)
    times = as_integers(table[COUNT]) if COUNT in table.column_names else None
    counted = count(group, int(group.max()) + 1, {TUPLE: coded}, times)
    return counted.of(TUPLE), table.select(names).schema
