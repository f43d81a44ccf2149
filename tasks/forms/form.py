"""What a form is: what is published of a partition, and what anyone can count in it."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

from expectations.groups import Groups
from tasks.microdata.randomness import Randomness
from tasks.microdata.table import Microdata
from tasks.partitions.partition import Partition

Tables = Mapping[str, pa.Table]
GROUP_ID = "group_id"


class Form(Protocol):
    """One module per form offers these two."""

    def publish(
        self, microdata: Microdata, partition: Partition, parameters: Any, randomness: Randomness
    ) -> Tables:
        """The tables to publish, in canonical order."""
        ...

    def groups(
        self, tables: Tables, quasi_identifiers: Sequence[str], sensitive: Sequence[str]
    ) -> Groups:
        """What an adversary sees of each group, from the published tables alone."""
        ...
