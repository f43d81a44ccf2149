"""Vacant values in forms that show labelled rows, values beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.arrow import as_integers
from sfumato.expectations.groups.counting import count
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.rules.structure import ColumnTypes, OrderedColumns
from sfumato.expectations.sorting import distinct
from sfumato.tasks.forms.composed.lineage import LINEAGE, vacant_of
from sfumato.tasks.forms.composed.vacancies import MARK, Rules, Vacancies
from sfumato.tasks.forms.form import Form, Tables
from sfumato.tasks.forms.recoded.recoded import sensitive_column
from sfumato.tasks.microdata.table import encode, key
from sfumato.tasks.private.people.slots import WITNESS
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.schema.published import Schema, names_with_roles


class LabelledRows(Vacancies):
    """Labelled rows, all of them shown with their group: nothing tells which are people's."""

    covers = True
    rows = "microdata"

    def group_in(self, tables: Tables) -> tuple[np.ndarray, np.ndarray]:
        """The partition's own numbers: labels have no ids."""
        number = distinct(as_integers(tables[self.rows][MARK]) // 4)
        return number, number

    def apart(self, tables: Tables, _sensitive: Sequence[str]) -> Tables:
        """All rows but witnesses, with their group."""
        marked = tables[self.rows]
        told = as_integers(marked[MARK])
        shown = marked.append_column(GROUP_ID, pa.array(told // 4)).drop_columns([MARK])
        return {self.rows: shown.filter(pa.array(told % 4 != WITNESS))}

    def schemas(self, arrow: Mapping[str, pa.Schema], _schema: Schema) -> Mapping[str, pa.Schema]:
        """The form's, and the group's number."""
        ids = pa.field(GROUP_ID, pa.int64(), nullable=False)
        return {self.rows: arrow[self.rows].append(ids)}

    def lasting(self, tables: Tables, schema: Schema, _parameters: Any) -> tuple[pa.Table, ...]:
        """Rows without their labels, which may become wider."""
        return (tables[self.rows].drop_columns(names_with_roles(schema, "quasi-identifier")),)

    def groups(
        self, _form: Form, tables: Tables, schema: Schema, known: Sequence[str], of: Sequence[str]
    ) -> Groups:
        """The rows of each group, and by the sensitive values that the adversary knows.

        Nothing tells which rows are vacant: those that an adversary sees may be.
        """
        table = tables[self.rows]
        values = [name for name in known if schema[name].role == "sensitive"]
        by = [encode(name, "insensitive", table[name]) for name in (GROUP_ID, *values)]
        keys, bound = key(by, table.num_rows)
        coded = {name: sensitive_column(table, schema, name).coded() for name in of}
        counted = count(keys, bound, coded)
        _, first = np.unique(keys, return_index=True)
        vacant = vacant_of(tables[LINEAGE])[as_integers(table[GROUP_ID])[first]]
        return replace(counted, live=np.maximum(counted.sizes - vacant, 0))

    def rules(self, _people: Rules, everyone: Rules, _of_vacant: tuple[Rule, ...]) -> Rules:
        """Everyone's, with the group's number among the columns."""
        return {self.rows: tuple(map(_with_group, everyone[self.rows]))}


def _with_group(rule: Rule) -> Rule:
    if isinstance(rule, OrderedColumns):
        return OrderedColumns((*rule.columns, GROUP_ID))
    if isinstance(rule, ColumnTypes):
        return ColumnTypes((*rule.types, (GROUP_ID, pa.int64())))
    return rule


LABELLED_ROWS = LabelledRows()
