"""People beside the rows of a second table, which belong to their group: patients and their stays.

Three tables: people with their quasi-identifiers as they are and group_id; the related rows with
group_id, in an order of their content; and `groups`, with the people and related rows of each
group, and the most rows of one person. Nothing links a related row to a person within the group.
Facts of people, which are computed from related rows, are shuffled within the group.

Source: this project (the guide's page on related tables).
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.counting import count
from sfumato.expectations.groups.groups import Groups, RelatedRows
from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.rules.structure import rules_of_published
from sfumato.expectations.shared.arrow import as_integers
from sfumato.expectations.shared.errors import Fault
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.order import canonical_with, is_canonical, is_sorted_by_group
from sfumato.tasks.forms.permuted import shuffle_within_groups
from sfumato.tasks.forms.recoded import sensitive_column
from sfumato.tasks.forms.related import group_counts
from sfumato.tasks.forms.related.facts import require_possible_facts
from sfumato.tasks.forms.related.parameters import GROUPS, MOST, PEOPLE, ROWS, ApartParameters
from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.schema.published import DeclaredColumn, Schema


def publish(
    microdata: Microdata, partition: Partition, parameters: ApartParameters, randomness: Randomness
) -> Tables:
    """Publish people with their groups, and related rows with the groups of their owners.

    Raises:
        Fault: if the table has no related rows.
    """
    positions = np.flatnonzero(partition.group >= 0)
    published, group = microdata.take(positions), partition.group[positions].astype(np.int64)
    if published.related is None:
        raise Fault("form apart needs a table with related rows")
    owner, related = published.related.owner, published.related.table
    people = {
        column.name: column.dictionary_array()
        for column in published.with_roles("quasi-identifier", "insensitive")
    }
    facts, together = published.with_roles("sensitive"), parameters.facts_together
    people |= shuffle_within_groups(facts, group, randomness, together=together)
    rows = {c.name: c.dictionary_array() for c in related.columns if c.name in parameters.columns}
    return canonical(
        {
            parameters.people: pa.table({**people, GROUP_ID: group}),
            parameters.related: pa.table({GROUP_ID: group[owner], **rows}),
            GROUPS: group_counts.count_groups(group, owner),
        }
    )


def canonical(tables: Tables) -> Tables:
    """Return the tables in canonical order: people by their values, groups as they first appear."""
    first = next(iter(tables))
    return canonical_with(tables, first)


def schemas(schema: Schema, parameters: ApartParameters) -> Mapping[str, pa.Schema]:
    """Return the schemas of people, of related rows, and of groups."""
    group = pa.field(GROUP_ID, pa.int64(), nullable=False)
    people = [_field(n, c) for n, c in schema.items() if n not in parameters.columns]
    rows = [_field(n, c) for n, c in schema.items() if n in parameters.columns]
    return {
        parameters.people: pa.schema([*people, group]),
        parameters.related: pa.schema([group, *rows]),
        GROUPS: group_counts.SCHEMA,
    }


def _field(name: str, column: DeclaredColumn) -> pa.Field:
    return pa.field(name, column.arrow_type, column.nulls)


def groups(
    tables: Tables, schema: Schema, adversary_columns: Sequence[str], sensitive: Sequence[str]
) -> Groups:
    """Count the people of each group, and its related rows with their values.

    Raises:
        PromiseError: where the tables contradict each other.
    """
    people, rows = (table for name, table in tables.items() if name != GROUPS)
    numbers = group_counts.numbers_of(tables[GROUPS])
    group, of_people = as_integers(rows[GROUP_ID]), as_integers(people[GROUP_ID])
    group_counts.require_agreement(numbers, of_people, group)
    by_facts = require_possible_facts(numbers, people, schema)
    occupied = np.flatnonzero(numbers[ROWS])
    inner = np.searchsorted(occupied, group)
    facts = [name for name in sensitive if name in people.column_names]
    coded = {
        name: sensitive_column(rows, schema, name).counted_codes()
        for name in sensitive
        if name not in facts
    }
    counted = count(inner, len(occupied), coded)
    related = RelatedRows(
        occupied,
        counted,
        numbers[MOST][occupied],
        None if by_facts is None else by_facts.fewest[occupied],
        None if by_facts is None else by_facts.with_rows[occupied],
    )
    coded = {name: sensitive_column(people, schema, name).counted_codes() for name in facts}
    of_facts = count(of_people, len(numbers[PEOPLE]), coded)
    return Groups(numbers[PEOPLE], of_facts.sensitive if facts else {}, related=related)


def rules(
    schema: Schema, parameters: ApartParameters, rows: int, withheld: Sequence[str]
) -> Mapping[str, tuple[Rule, ...]]:
    """Return the rules of the three tables, for the number of people."""
    arrow = schemas(schema, parameters)
    return {
        parameters.people: rules_of_published(
            arrow[parameters.people], rows, is_canonical, withheld
        ),
        parameters.related: rules_of_published(
            arrow[parameters.related], None, is_sorted_by_group, withheld
        ),
        GROUPS: group_counts.rules(rows, withheld),
    }
