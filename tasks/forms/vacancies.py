"""Vacant values of forms: values of people who left a group stay in it, without a person.

A form publishes marked rows, including those of people who left, as it publishes any. Then vacant
values are removed from the tables in which each row is about a person; counts of groups still
include them. One class per kind of form.

An attacker who knows one value of a person asks for the values beside it, so versions have to keep
the tuples of a group, not only the values of each column.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.counting import count
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.rules.structure import NotEmpty, rules_of_published
from sfumato.expectations.shared.arrow import as_integers
from sfumato.tasks.forms.form import Form, Tables
from sfumato.tasks.forms.lineage import LINEAGE, rows_of, vacant_of
from sfumato.tasks.forms.order import is_sorted_by_group
from sfumato.tasks.microdata.grouping import as_tuples
from sfumato.tasks.schema.names import COUNT, GROUP_ID
from sfumato.tasks.schema.published import Schema

Rules = Mapping[str, tuple[Rule, ...]]
MARK = "/mark"  # no column can have this name: four times the group, plus the kind of the row
VACANT = "vacant"
TUPLE = "/together"  # no column can have this name


def mark(group: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """Return a mark for each row: its group (int64) and its kind."""
    return np.asarray(group.astype(np.int64) * 4 + kind)


class Vacancies:
    """The way a form shows vacant values; this base class is for tables without rows of people.

    Attributes:
        as_at_entry: whether people are shown with the quasi-identifiers they had when they came.
        covers: whether labels still cover everything that they once covered.
        tells: whether the number of a group's vacant values may be published.
    """

    as_at_entry = False
    covers = False
    tells = True

    def group_in(self, tables: Tables) -> tuple[np.ndarray, np.ndarray]:
        """Return each group's id in marked tables and its number in the partition (int64)."""
        marked = next(table for table in tables.values() if MARK in table.column_names)
        ids, first = np.unique(as_integers(marked[GROUP_ID]), return_index=True)
        return ids, as_integers(marked[MARK])[first] // 4

    def remove_marks(self, tables: Tables, _sensitive: Sequence[str]) -> Tables:
        """Return marked tables as published: without marks, and with rows of people only."""
        return {name: t for name, t in tables.items() if MARK not in t.column_names}

    def schemas(self, arrow: Mapping[str, pa.Schema], _schema: Schema) -> Mapping[str, pa.Schema]:
        """Return the schemas of all tables but `lineage`, from those of the form."""
        return arrow

    def whole(self, tables: Tables) -> Tables:
        """Return published tables with a row for each vacant value, too, as the form reads them."""
        return {name: t for name, t in tables.items() if name not in (LINEAGE, VACANT)}

    def groups(
        self,
        form: Form,
        tables: Tables,
        schema: Schema,
        adversary_columns: Sequence[str],
        sensitive: Sequence[str],
    ) -> Groups:
        """Return the groups that an adversary sees, vacant values counted."""
        return form.groups(self.whole(tables), schema, adversary_columns, sensitive)

    def lasting(self, tables: Tables, _schema: Schema, _parameters: Any) -> tuple[pa.Table, ...]:
        """Return what stays the same of a group in all versions: rows with its id, in any order."""
        return tuple(table for name, table in sorted(tables.items()) if name != LINEAGE)

    def agree(self, tables: Tables, seen: Groups) -> bool:
        """Decide whether `lineage` counts the values of each group, including vacant ones."""
        lineage = tables[LINEAGE]
        return np.array_equal(rows_of(lineage) + vacant_of(lineage), seen.sizes)

    def rules(self, _people: Rules, everyone: Rules, _of_vacant: tuple[Rule, ...]) -> Rules:
        """Return the rules of each table.

        Args:
            _people: the form's rules if only rows of people are counted.
            everyone: the form's rules if vacant values are counted, too.
            _of_vacant: the rules of the table of vacant values, if there is one.
        """
        return everyone


class CoversBesideCounts(Vacancies):
    """Covers and counted values of groups, which keep showing their first people."""

    as_at_entry = True


def rules_of_vacant(arrow: pa.Schema, rows: int, withheld: Sequence[str]) -> tuple[Rule, ...]:
    """Return the rules of the table of vacant values, which may be empty."""
    of_any = rules_of_published(arrow, rows, is_sorted_by_group, withheld, (GROUP_ID,))
    return tuple(rule for rule in of_any if not isinstance(rule, NotEmpty))


COVERS_BESIDE_COUNTS = CoversBesideCounts()


def tuples_shown(
    vacancies: Vacancies, tables: Tables, schema: Schema, parameters: Any, names: Sequence[str]
) -> tuple[Counts, pa.Schema]:
    """Return how often each group shows each tuple, vacant ones included, and the tuples' types.

    Args:
        vacancies: how the form shows values of people who left.
        tables: of a version.
        schema: its columns.
        parameters: of the form.
        names: of columns whose values are in one row.
    """
    lasting = vacancies.lasting(tables, schema, parameters)
    table = next(candidate for candidate in lasting if {*names} <= {*candidate.column_names})
    coded = as_tuples(TUPLE, [table[name] for name in names]).counted_codes()
    group = as_integers(table[GROUP_ID]).astype(np.int64)
    times = as_integers(table[COUNT]) if COUNT in table.column_names else None
    counted = count(group, int(group.max()) + 1, {TUPLE: coded}, times)
    return counted.counts_of(TUPLE), table.select(names).schema
