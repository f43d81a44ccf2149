"""Every partition by the name it has in a spec."""

from collections.abc import Mapping

from tasks.partitions import ke
from tasks.partitions.partition import Partitioner

PARTITIONS: Mapping[str, Partitioner] = {"ke": ke.partition}
