"""A form as a composed version shows it: with vacant values, and with the lineage of its groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.shared.arrow import as_integers
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.registered import Entries
from sfumato.tasks.forms.form import Form, Tables
from sfumato.tasks.forms.lineage import LINEAGE, SCHEMA, lineage_of
from sfumato.tasks.forms.lineage import rules as rules_of_lineage
from sfumato.tasks.forms.order import ALONG
from sfumato.tasks.forms.registry import FORMS
from sfumato.tasks.forms.vacancies import MARK, Vacancies, mark, rules_of_vacant
from sfumato.tasks.forms.vacancies import VACANT as VACANT_TABLE
from sfumato.tasks.microdata.table import Microdata, Randomness, encode
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.private.people.slots import LIVE, VACANT
from sfumato.tasks.schema.columns import Role
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.schema.published import Schema

_NUMBER = "number"
VACANCIES: Mapping[str, Vacancies] = Entries(
    "sfumato.tasks.forms",
    {
        "generalized": "vacant_rows:LABELLED_ROWS",
        "suppressed": "vacant_rows:LABELLED_ROWS",
        "permuted": "vacant_rows:SHUFFLED_ROWS",
        "split": "vacant_rows:ROWS_BESIDE_COUNTS",
        "ambiguous": "vacancies:COVERS_BESIDE_COUNTS",
        "redistributed": "vacant_rows:SUBDOMAINS_BESIDE_ROWS",
    },
)


@dataclass(frozen=True, eq=False)
class ComposedForm:
    """The form `shown` with vacant values.

    Attributes:
        shown: the form as any release has it.
        vacancies: how it shows values of people who left.
        vacant: how many such values the release declares.
    """

    shown: Form
    vacancies: Vacancies
    vacant: int = 0

    def publish(
        self, microdata: Microdata, partition: Partition, parameters: Any, randomness: Randomness
    ) -> Tables:
        """Return the tables to publish, in canonical order."""
        return self.compose(microdata, partition, parameters, randomness)[0]

    def compose(
        self, microdata: Microdata, partition: Partition, parameters: Any, randomness: Randomness
    ) -> tuple[Tables, np.ndarray]:
        """Return the tables to publish, and the id of each group of the partition (int64).

        Raises:
            ValueError: where the partition does not say how its groups go on.
        """
        continued = partition.continued
        if continued is None:
            raise ValueError("a composed form needs groups that go on")
        role: Role = "insensitive" if parameters.shows_insensitive else "quasi-identifier"
        marks = encode(MARK, role, pa.array(mark(partition.group, continued.kind)))
        marked = replace(microdata, columns=(*microdata.columns, marks))
        tables = self.shown.publish(marked, partition, parameters, randomness)
        ids, number = self.vacancies.group_in(tables)
        sensitive = [column.name for column in microdata.with_roles("sensitive")]
        rows, vacant = (_count_kind(partition, kind)[number] for kind in (LIVE, VACANT))
        visible = {
            **self.vacancies.remove_marks(tables, sensitive),
            LINEAGE: lineage_of(
                ids,
                continued.previous[number],
                rows,
                vacant if self.vacancies.tells else np.zeros_like(vacant),
            ),
            ALONG: pa.table({GROUP_ID: ids, _NUMBER: number}),
        }
        published = dict(self.canonical(visible))
        along = published.pop(ALONG)
        named = np.full(len(continued.previous), -1, dtype=np.int64)
        named[as_integers(along[_NUMBER])] = as_integers(along[GROUP_ID])
        return published, named

    def canonical(self, tables: Tables) -> Tables:
        """Return the tables in the order that is a function of their content."""
        return self.shown.canonical(tables)

    def schemas(self, schema: Schema, parameters: Any) -> Mapping[str, pa.Schema]:
        """Return the form's schemas, changed for vacant values, and that of `lineage`."""
        arrow = self.shown.schemas(schema, parameters)
        return {**self.vacancies.schemas(arrow, schema), LINEAGE: SCHEMA}

    def groups(
        self,
        tables: Tables,
        schema: Schema,
        adversary_columns: Sequence[str],
        sensitive: Sequence[str],
    ) -> Groups:
        """Return what an adversary sees of each group: vacant values count, but not as people.

        Raises:
            PromiseError: where `lineage` does not say how many rows and values groups have.
        """
        _require_numbered(tables)
        seen = self.vacancies.groups(self.shown, tables, schema, adversary_columns, sensitive)
        of_groups = not any(schema[name].role == "sensitive" for name in adversary_columns)
        if of_groups and not self.vacancies.agree(tables, seen):
            raise PromiseError(f"{LINEAGE}: its rows and vacant values differ from the tables")
        return seen

    def rules(
        self, schema: Schema, parameters: Any, rows: int, withheld: Sequence[str]
    ) -> Mapping[str, tuple[Rule, ...]]:
        """Return the rules of each table for the number of people who are published."""
        people = self.shown.rules(schema, parameters, rows, withheld)
        everyone = self.shown.rules(schema, parameters, rows + self.vacant, withheld)
        arrow = self.schemas(schema, parameters).get(VACANT_TABLE)
        of_vacant = () if arrow is None else rules_of_vacant(arrow, self.vacant, withheld)
        by_table = self.vacancies.rules(people, everyone, of_vacant)
        return {**by_table, LINEAGE: rules_of_lineage(rows, withheld)}


def _require_numbered(tables: Tables) -> None:
    """Make sure that `lineage` has each group of the tables at the place of its number.

    Raises:
        PromiseError: where it has other groups, or has them in another order.
    """
    numbers = np.arange(tables[LINEAGE].num_rows)
    if not np.array_equal(as_integers(tables[LINEAGE][GROUP_ID]), numbers):
        raise PromiseError(f"{LINEAGE}: its groups are not 0, 1, … in canonical order")
    for name, table in tables.items():
        if (
            GROUP_ID in table.column_names
            and not np.isin(as_integers(table[GROUP_ID]), numbers).all()
        ):
            raise PromiseError(f"{name}: has groups that {LINEAGE} does not have")


def _count_kind(partition: Partition, kind: int) -> np.ndarray:
    """Return the number of rows of a kind in each group (int64, one per group)."""
    assert partition.continued is not None  # noqa: S101 - seen by the caller
    of_kind = partition.group[(partition.continued.kind == kind) & (partition.group >= 0)]
    return np.bincount(of_kind, minlength=len(partition.continued.previous)).astype(np.int64)


def composed_form(method: str, vacant: int = 0) -> ComposedForm:
    """Return the form of that name as a composed version shows it, with so many vacant values."""
    return ComposedForm(FORMS[method], VACANCIES[method], vacant)


def form_named(method: str, *, composed: bool, vacant: int = 0) -> Form:
    """Return the form of that name as a version shows it, composed or not."""
    return composed_form(method, vacant) if composed else FORMS[method]
