"""Forms: the tables published of a partition, and the groups that anyone can count in them."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.rules.rule import Rule
from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.schema.published import Schema

Tables = Mapping[str, pa.Table]


class Form(Protocol):
    """The functions that each module of a form offers."""

    def publish(
        self, microdata: Microdata, partition: Partition, parameters: Any, randomness: Randomness
    ) -> Tables:
        """Return the tables to publish, in canonical order."""
        ...

    def canonical(self, tables: Tables) -> Tables:
        """Return the same tables in the order that is a function of their content."""
        ...

    def schemas(self, schema: Schema, parameters: Any) -> Mapping[str, pa.Schema]:
        """Return the Arrow schema of every table; columns are nullable if nulls are a category."""
        ...

    def groups(
        self,
        tables: Tables,
        schema: Schema,
        adversary_columns: Sequence[str],
        sensitive: Sequence[str],
    ) -> Groups:
        """Count what an adversary sees of each group, from the published tables only.

        Args:
            tables: as published.
            schema: as declared.
            adversary_columns: the columns whose values the adversary knows.
            sensitive: the attributes whose values are counted.
        """
        ...

    def rules(
        self, schema: Schema, parameters: Any, rows: int, withheld: Sequence[str]
    ) -> Mapping[str, tuple[Rule, ...]]:
        """Return the rules of each table, without promises, for the number of published rows.

        No column may have a name of `withheld`.
        """
        ...
