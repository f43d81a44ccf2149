"""Links of two published tables, compared with the private record of who is in which group.

The files say which group a person and a row are in. Whether these are the right ones only the
publisher can know, who compares every row with the record that the partition left. Facts of people
are compared by group: they are published in any order within it.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from sfumato.expectations.shared.errors import Fault, PromiseError
from sfumato.tasks.forms.declared import FormParameters
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.related import group_counts
from sfumato.tasks.forms.related.parameters import GROUPS, ApartParameters
from sfumato.tasks.microdata.table import Microdata, encode, key
from sfumato.tasks.schema.names import GROUP_ID


def require_links(
    tables: Tables, form: FormParameters, group: np.ndarray, people: Microdata
) -> None:
    """Make sure that every person and every related row is published with the right group.

    Args:
        tables: the published tables.
        form: names them.
        group: the group of each person by the record (int64).
        people: those people with their quasi-identifiers and facts, and their related rows.

    Raises:
        PromiseError: naming the table in which one is not.
        Fault: if the form is another one.
    """
    if not isinstance(form, ApartParameters):
        raise Fault("only two related tables have such links")
    if people.related is None:
        raise PromiseError(f"{form.related}: the record of the owners of rows is missing")
    owner, rows = people.related.owner, people.related.table
    published = tables[form.people]
    facts = [column.name for column in people.with_roles("sensitive")]
    facts = [name for name in facts if name in published.column_names]
    of_people = _with_group(people, group)
    pairs = (
        (form.people, published.drop_columns(facts), of_people, "a person"),
        (form.related, tables[form.related], _with_group(rows, group[owner]), "a row"),
        *(
            (form.people, published.select([*names, GROUP_ID]), of_people, "a fact")
            for names in ([facts] if form.facts_together else [[name] for name in facts])
            if names
        ),
    )
    for name, table, recorded, noun in pairs:
        if not _same_rows(table, recorded):
            raise PromiseError(
                f"{name}: {noun} is published in another group, or with other values, than the "
                "record of groups has. Make the candidate again"
            )
    counted = group_counts.numbers_of(group_counts.count_groups(group, owner))
    stated = group_counts.numbers_of(tables[GROUPS])
    for name, numbers in counted.items():
        if not np.array_equal(numbers, stated[name]):
            raise PromiseError(
                f"{GROUPS}: {name} of a group differs from the record of groups. Make the "
                "candidate again"
            )


def _with_group(microdata: Microdata, group: np.ndarray) -> Mapping[str, pa.Array]:
    columns = {column.name: column.array() for column in microdata.columns}
    return {**columns, GROUP_ID: pa.array(group, pa.int64())}


def _same_rows(published: pa.Table, recorded: Mapping[str, pa.Array]) -> bool:
    """Decide whether a table has the same rows as a record of its columns, in any order."""
    rows = published.num_rows
    if not {*published.column_names} <= recorded.keys() or rows != len(recorded[GROUP_ID]):
        return False
    both = [
        encode(name, "insensitive", pa.chunked_array([*_plain(published[name]).chunks, own]))
        for name in published.column_names
        for own in [_plain(recorded[name]).cast(_plain(published[name]).type)]
    ]
    keys, _ = key(both, 2 * rows)
    return np.array_equal(np.sort(keys[:rows]), np.sort(keys[rows:]))


def _plain(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return values without a dictionary."""
    is_coded = pa.types.is_dictionary(values.type)
    return values.cast(values.type.value_type) if is_coded else values
