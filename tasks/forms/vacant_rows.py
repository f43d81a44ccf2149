"""Vacant values in forms that show rows of people beside values of groups, exact or labelled."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.counting import count
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.rules.structure import ColumnTypes, OrderedColumns, TotalCount
from sfumato.expectations.shared.arrow import as_integers, as_places
from sfumato.expectations.shared.sorting import distinct
from sfumato.tasks.forms.counts_table import ST
from sfumato.tasks.forms.form import Form, Tables
from sfumato.tasks.forms.lineage import LINEAGE, rows_of, vacant_of
from sfumato.tasks.forms.recoded import sensitive_column
from sfumato.tasks.forms.split import counted_groups
from sfumato.tasks.forms.vacancies import MARK, VACANT, Rules, Vacancies
from sfumato.tasks.microdata.table import encode, key
from sfumato.tasks.private.people.slots import LIVE, WITNESS
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.schema.published import Schema, names_with_roles


class RowsBesideCounts(Vacancies):
    """Exact rows of people in one table, counted values of groups in others."""

    rows = "qit"

    def apart(self, tables: Tables, _sensitive: Sequence[str]) -> Tables:
        """The rows of people, and all counts."""
        return {**tables, self.rows: _people(tables[self.rows])}

    def lasting(self, tables: Tables, _schema: Schema, _parameters: Any) -> tuple[pa.Table, ...]:
        """All but the rows of people."""
        return tuple(t for name, t in sorted(tables.items()) if name not in (LINEAGE, self.rows))

    def agree(self, tables: Tables, seen: Groups) -> bool:
        """Decide whether `lineage` counts the people and the values of each group."""
        rows = np.bincount(as_integers(tables[self.rows][GROUP_ID]))
        return np.array_equal(rows, rows_of(tables[LINEAGE])) and super().agree(tables, seen)

    def groups(
        self, _form: Form, tables: Tables, schema: Schema, known: Sequence[str], of: Sequence[str]
    ) -> Groups:
        """The counted values of each group, as many as its rows and what is vacant.

        Raises:
            PromiseError: where they are not.
        """
        return counted_groups(self.whole(tables), schema, known, of, vacant_of(tables[LINEAGE]))

    def rules(self, people: Rules, everyone: Rules, _of_vacant: tuple[Rule, ...]) -> Rules:
        """Rows are people's; counts are everyone's."""
        return {**everyone, self.rows: people[self.rows]}


class SubdomainsBesideRows(RowsBesideCounts):
    """Exact rows of people, subdomains of groups: what is vacant looks like what is made up."""

    tells = False

    def lasting(self, tables: Tables, _schema: Schema, _parameters: Any) -> tuple[pa.Table, ...]:
        """Subdomains; the numbers of targets may be others when there are more of them."""
        return (tables[ST],)

    def groups(
        self, form: Form, tables: Tables, schema: Schema, known: Sequence[str], of: Sequence[str]
    ) -> Groups:
        """The subdomains of each group, of which there may be more than rows."""
        return Vacancies.groups(self, form, tables, schema, known, of)

    def rules(self, people: Rules, everyone: Rules, of_vacant: tuple[Rule, ...]) -> Rules:
        """Subdomains may be more than rows also where no value is made up."""
        found = super().rules(people, everyone, of_vacant)
        return {n: tuple(r for r in rs if not isinstance(r, TotalCount)) for n, rs in found.items()}


class ShuffledRows(RowsBesideCounts):
    """Rows of people with shuffled values; the values that fall to nobody in a table of their own.

    Which values these are is drawn with the rest: they are a random part of the group's.
    """

    rows = "microdata"

    def apart(self, tables: Tables, sensitive: Sequence[str]) -> Tables:
        """The rows of people, and the values that nobody got."""
        marked = tables[self.rows]
        nobody = marked.take(as_places(as_integers(marked[MARK]) % 4 != LIVE))
        return {self.rows: _people(marked), VACANT: nobody.select([GROUP_ID, *sensitive])}

    def lasting(self, tables: Tables, schema: Schema, parameters: Any) -> tuple[pa.Table, ...]:
        """The values of each group; which go together, where columns are shuffled together."""
        whole, sensitive = self.whole(tables)[self.rows], names_with_roles(schema, "sensitive")
        parts = [sensitive] if parameters.together else [[name] for name in sensitive]
        return tuple(whole.select([GROUP_ID, *names]) for names in parts)

    def schemas(self, arrow: Mapping[str, pa.Schema], schema: Schema) -> Mapping[str, pa.Schema]:
        """The form's, and the vacant values by group."""
        of_rows = arrow[self.rows]
        names = [GROUP_ID, *names_with_roles(schema, "sensitive")]
        return {**arrow, VACANT: pa.schema([of_rows.field(name) for name in names])}

    def whole(self, tables: Tables) -> Tables:
        """With a row for each vacant value, its other columns null."""
        vacant = tables[VACANT]
        columns = {name: vacant[name] for name in vacant.column_names}
        return {self.rows: _with_nulls(tables[self.rows], columns)}

    def groups(
        self, form: Form, tables: Tables, schema: Schema, known: Sequence[str], of: Sequence[str]
    ) -> Groups:
        """The values of each group, those that fell to nobody among them."""
        return Vacancies.groups(self, form, tables, schema, known, of)

    def rules(self, people: Rules, _everyone: Rules, of_vacant: tuple[Rule, ...]) -> Rules:
        """Rows are people's, and what is vacant has a table."""
        return {self.rows: people[self.rows], VACANT: of_vacant}


def _people(marked: pa.Table) -> pa.Table:
    """The rows that are about somebody, unmarked."""
    return marked.take(as_places(as_integers(marked[MARK]) % 4 == LIVE)).drop_columns([MARK])


def _with_nulls(table: pa.Table, columns: Mapping[str, object]) -> pa.Table:
    """The table and rows that have these columns, all others null."""
    number = len(next(iter(columns.values())))  # type: ignore[arg-type]
    more = pa.table(
        [columns.get(field.name, pa.nulls(number, field.type)) for field in table.schema],
        names=table.column_names,
    )
    nullable = pa.schema([field.with_nullable(True) for field in table.schema])
    return pa.concat_tables([table.cast(nullable), more.cast(nullable)])


ROWS_BESIDE_COUNTS = RowsBesideCounts()


SUBDOMAINS_BESIDE_ROWS = SubdomainsBesideRows()


SHUFFLED_ROWS = ShuffledRows()


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
