"""Laws of every form, whatever it shows: one suite for every entry of the registry.

A form is known to the suite by a `FormCase`: its parameters, a partition that it can show, and the
promise that this partition reads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato.tasks.forms.declared import FormParameters
from sfumato.tasks.forms.form import Form
from sfumato.tasks.forms.optional import ShowsLabels
from sfumato.tasks.forms.parameters import FORM_PARAMETERS
from sfumato.tasks.forms.registry import FORMS
from sfumato.tasks.microdata.table import Microdata, seeded_keys
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.schema.published import DeclaredColumn
from tests.laws.partition_laws import LawsOfPeople, PartitionCase, partition_of_people
from tests.laws.tables import QUASI, SCHEMA


@dataclass(frozen=True)
class FormCase:
    """A form as the laws try it."""

    parameters: FormParameters
    partition: PartitionCase

    @property
    def form(self) -> Form:
        """The registered form."""
        return FORMS[self.parameters.method]

    @property
    def schema(self) -> Mapping[str, DeclaredColumn]:
        """The columns that it shows."""
        insensitive = self.parameters.shows_insensitive
        return {n: c for n, c in SCHEMA.items() if insensitive or c.role != "insensitive"}

    def publish(
        self, microdata: Microdata, partition: Partition, seed: int = 2
    ) -> Mapping[str, pa.Table]:
        """Return the tables that the form publishes."""
        return self.form.publish(microdata, partition, self.parameters, seeded_keys(seed))


def _as_lists(tables: Mapping[str, pa.Table]) -> Mapping[str, list[Any]]:
    return {name: table.to_pylist() for name, table in sorted(tables.items())}


class FormLaws(LawsOfPeople):
    """Subclasses give the `case`."""

    @pytest.fixture
    def partition(self, case: FormCase, number: int) -> Partition:
        """A partition that the form can show."""
        return partition_of_people(case.partition, number)

    def test_its_parameters_are_registered_under_its_name(self, case):
        kind = FORM_PARAMETERS[case.parameters.method]
        assert isinstance(case.parameters, kind)
        assert kind.model_validate(case.parameters.model_dump(by_alias=True)) == case.parameters

    def test_tables_are_as_their_schemas_say(self, case, microdata, partition):
        tables = case.publish(microdata, partition)
        schemas = case.form.schemas(case.schema, case.parameters)
        assert set(tables) == set(schemas)
        for name, schema in schemas.items():
            assert tables[name].column_names == schema.names
            assert tables[name].cast(schema).num_rows == tables[name].num_rows

    def test_canonical_order_is_a_fixed_point(self, case, microdata, partition):
        tables = case.publish(microdata, partition)
        again = case.form.canonical(tables)
        assert _as_lists(again) == _as_lists(tables)

    def test_canonical_order_is_blind_to_the_order_of_rows(self, case, microdata, partition):
        tables = case.publish(microdata, partition)
        rng = np.random.default_rng(3)
        mixed = {n: t.take(pa.array(rng.permutation(t.num_rows))) for n, t in tables.items()}
        assert _as_lists(case.form.canonical(mixed)) == _as_lists(tables)

    def test_what_is_published_depends_on_no_name_of_a_group(self, case, microdata, partition):
        if partition.recoding or partition.target_distributions is not None:
            return  # those are given by group
        names = np.append(np.random.default_rng(4).permutation(int(partition.group.max()) + 1), -1)
        renamed = replace(partition, group=names[partition.group])
        sizes = self._sizes(case, case.publish(microdata, partition))
        assert sizes == self._sizes(case, case.publish(microdata, renamed))

    def test_groups_have_every_row_that_is_not_suppressed(self, case, microdata, partition):
        sizes = self._sizes(case, case.publish(microdata, partition))
        assert sum(sizes) == microdata.rows - partition.suppressed

    def test_labels_are_read_where_it_shows_some(self, case):
        assert isinstance(case.form, ShowsLabels) == case.parameters.recodes

    def test_its_rules_hold(self, case, microdata, partition):
        tables = case.publish(microdata, partition)
        schemas = case.form.schemas(case.schema, case.parameters)
        rows = microdata.rows - partition.suppressed
        rules = case.form.rules(case.schema, case.parameters, rows, ["secret"])
        assert set(rules) == set(tables)
        for name, of_table in rules.items():
            types = {rule.type for rule in of_table}
            assert {"expect_canonical_order", "expect_no_row_number"} <= types
            for rule in of_table:
                assert rule.holds(tables[name].cast(schemas[name])), rule

    def test_its_rules_notice_rows_out_of_order(self, case, microdata, partition):
        tables = case.publish(microdata, partition)
        schemas = case.form.schemas(case.schema, case.parameters)
        rules = case.form.rules(case.schema, case.parameters, microdata.rows, [])
        for name, table in tables.items():
            backwards = table.take(pa.array(np.arange(table.num_rows)[::-1])).cast(schemas[name])
            if GROUP_ID in table.column_names and table.num_rows > 1:
                assert not all(rule.holds(backwards) for rule in rules[name])

    def _sizes(self, case: FormCase, tables: Mapping[str, pa.Table]) -> Sequence[int]:
        groups = case.form.groups(tables, case.schema, QUASI, ["wage"])
        return sorted(groups.sizes.tolist())
