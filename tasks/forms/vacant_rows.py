"""Vacant values in forms that show rows of people and values of groups, exact or labelled."""

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
from sfumato.expectations.shared.errors import PromiseError
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

    def remove_marks(self, tables: Tables, _sensitive: Sequence[str]) -> Tables:
        """Return the rows of people, and all counts."""
        return {**tables, self.rows: _people(tables[self.rows])}

    def lasting(self, tables: Tables, _schema: Schema, _parameters: Any) -> tuple[pa.Table, ...]:
        """Return everything but the rows of people."""
        return tuple(t for name, t in sorted(tables.items()) if name not in (LINEAGE, self.rows))

    def agree(self, tables: Tables, seen: Groups) -> bool:
        """Decide whether `lineage` counts the people and the values of each group."""
        rows = np.bincount(as_integers(tables[self.rows][GROUP_ID]))
        return np.array_equal(rows, rows_of(tables[LINEAGE])) and super().agree(tables, seen)

    def groups(
        self,
        _form: Form,
        tables: Tables,
        schema: Schema,
        adversary_columns: Sequence[str],
        sensitive: Sequence[str],
    ) -> Groups:
        """Return the counted values of each group, as many as its rows and its vacant values.

        Raises:
            PromiseError: where the counts are others.
        """
        return counted_groups(
            self.whole(tables), schema, adversary_columns, sensitive, vacant_of(tables[LINEAGE])
        )

    def rules(self, people: Rules, everyone: Rules, _of_vacant: tuple[Rule, ...]) -> Rules:
        """Return rules in which rows are of people only, and counts are of everyone."""
        return {**everyone, self.rows: people[self.rows]}


class SubdomainsBesideRows(RowsBesideCounts):
    """Exact rows of people, subdomains of groups: vacant values look like made-up ones."""

    tells = False

    def lasting(self, tables: Tables, _schema: Schema, _parameters: Any) -> tuple[pa.Table, ...]:
        """Return subdomains; the numbers of targets may change when there are more of them."""
        return (tables[ST],)

    def groups(
        self,
        form: Form,
        tables: Tables,
        schema: Schema,
        adversary_columns: Sequence[str],
        sensitive: Sequence[str],
    ) -> Groups:
        """Return the subdomains of each group, which may be more than its rows."""
        return Vacancies.groups(self, form, tables, schema, adversary_columns, sensitive)

    def rules(self, people: Rules, everyone: Rules, of_vacant: tuple[Rule, ...]) -> Rules:
        """Return rules that allow more subdomains than rows even if no value is made up."""
        by_table = super().rules(people, everyone, of_vacant)
        return {
            n: tuple(r for r in rs if not isinstance(r, TotalCount)) for n, rs in by_table.items()
        }


class ShuffledRows(RowsBesideCounts):
    """Rows of people with shuffled values; values of nobody are in a table of their own.

    The shuffle also draws which values these are: they are a random part of the group's values.
    """

    rows = "microdata"

    def remove_marks(self, tables: Tables, sensitive: Sequence[str]) -> Tables:
        """Return the rows of people, and the values that nobody got."""
        marked = tables[self.rows]
        nobody = marked.take(as_places(as_integers(marked[MARK]) % 4 != LIVE))
        return {self.rows: _people(marked), VACANT: nobody.select([GROUP_ID, *sensitive])}

    def lasting(self, tables: Tables, schema: Schema, parameters: Any) -> tuple[pa.Table, ...]:
        """Return the values of each group; together, if columns are shuffled together."""
        whole, sensitive = self.whole(tables)[self.rows], names_with_roles(schema, "sensitive")
        parts = [sensitive] if parameters.together else [[name] for name in sensitive]
        return tuple(whole.select([GROUP_ID, *names]) for names in parts)

    def schemas(self, arrow: Mapping[str, pa.Schema], schema: Schema) -> Mapping[str, pa.Schema]:
        """Return the form's schemas, and that of the vacant values by group."""
        of_rows = arrow[self.rows]
        names = [GROUP_ID, *names_with_roles(schema, "sensitive")]
        return {**arrow, VACANT: pa.schema([of_rows.field(name) for name in names])}

    def whole(self, tables: Tables) -> Tables:
        """Return a table with a row for each vacant value, its other columns null."""
        vacant = tables[VACANT]
        columns = {name: vacant[name] for name in vacant.column_names}
        return {self.rows: _with_nulls(tables[self.rows], columns)}

    def groups(
        self,
        form: Form,
        tables: Tables,
        schema: Schema,
        adversary_columns: Sequence[str],
        sensitive: Sequence[str],
    ) -> Groups:
        """Return the values of each group, including those of nobody."""
        return Vacancies.groups(self, form, tables, schema, adversary_columns, sensitive)

    def rules(self, people: Rules, _everyone: Rules, of_vacant: tuple[Rule, ...]) -> Rules:
        """Return rules in which rows are of people only; vacant values have a table."""
        return {self.rows: people[self.rows], VACANT: of_vacant}


def _people(marked: pa.Table) -> pa.Table:
    """Return the rows that are about somebody, unmarked."""
    return marked.take(as_places(as_integers(marked[MARK]) % 4 == LIVE)).drop_columns([MARK])


def _with_nulls(table: pa.Table, columns: Mapping[str, object]) -> pa.Table:
    """Return the table and rows that have these columns, all others null."""
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
    """Labelled rows, all of them shown with their group: nothing reveals which are people's."""

    covers = True
    rows = "microdata"

    def group_in(self, tables: Tables) -> tuple[np.ndarray, np.ndarray]:
        """Return the partition's own numbers: labels have no ids."""
        number = distinct(as_integers(tables[self.rows][MARK]) // 4)
        return number, number

    def remove_marks(self, tables: Tables, _sensitive: Sequence[str]) -> Tables:
        """Return all rows but witnesses, with their group."""
        marked = tables[self.rows]
        marks = as_integers(marked[MARK])
        rows = marked.append_column(GROUP_ID, pa.array(marks // 4)).drop_columns([MARK])
        return {self.rows: rows.filter(pa.array(marks % 4 != WITNESS))}

    def schemas(self, arrow: Mapping[str, pa.Schema], _schema: Schema) -> Mapping[str, pa.Schema]:
        """Return the form's schema, and the group's number."""
        ids = pa.field(GROUP_ID, pa.int64(), nullable=False)
        return {self.rows: arrow[self.rows].append(ids)}

    def lasting(self, tables: Tables, schema: Schema, _parameters: Any) -> tuple[pa.Table, ...]:
        """Return rows without their labels, which may become wider."""
        return (tables[self.rows].drop_columns(names_with_roles(schema, "quasi-identifier")),)

    def groups(
        self,
        _form: Form,
        tables: Tables,
        schema: Schema,
        adversary_columns: Sequence[str],
        sensitive: Sequence[str],
    ) -> Groups:
        """Return the rows of each group, also by the sensitive values that the adversary knows.

        Nothing reveals which rows are vacant: those that an adversary sees may be.

        Raises:
            PromiseError: where labels tell rows of a group apart.
        """
        table = tables[self.rows]
        _require_alike(table, names_with_roles(schema, "quasi-identifier"))
        values = [name for name in adversary_columns if schema[name].role == "sensitive"]
        columns = [encode(name, "insensitive", table[name]) for name in (GROUP_ID, *values)]
        keys, bound = key(columns, table.num_rows)
        coded = {name: sensitive_column(table, schema, name).counted_codes() for name in sensitive}
        counted = count(keys, bound, coded)
        _, first = np.unique(keys, return_index=True)
        vacant = vacant_of(tables[LINEAGE])[as_integers(table[GROUP_ID])[first]]
        return replace(counted, live=np.maximum(counted.sizes - vacant, 0))

    def rules(self, _people: Rules, everyone: Rules, _of_vacant: tuple[Rule, ...]) -> Rules:
        """Return everyone's rules, with the group's number among the columns."""
        return {self.rows: tuple(map(_with_group, everyone[self.rows]))}


def _require_alike(table: pa.Table, labels: Sequence[str]) -> None:
    """Refuse groups whose rows show different labels: whoever reads them sees smaller groups."""
    columns = [encode(name, "insensitive", table[name]) for name in (GROUP_ID, *labels)]
    keys, _ = key(columns, table.num_rows)
    if len(distinct(keys)) != len(distinct(as_integers(table[GROUP_ID]))):
        raise PromiseError("microdata: rows of a group show different labels")


def _with_group(rule: Rule) -> Rule:
    if isinstance(rule, OrderedColumns):
        return OrderedColumns((*rule.columns, GROUP_ID))
    if isinstance(rule, ColumnTypes):
        return ColumnTypes((*rule.types, (GROUP_ID, pa.int64())))
    return rule


LABELLED_ROWS = LabelledRows()
