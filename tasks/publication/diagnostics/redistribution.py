"""The information that a redistributed table has lost: it needs the original, so it is private."""

from typing import Any

from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.redistributed.parameters import RedistributedParameters
from sfumato.tasks.forms.redistributed.redistributed import facts, rounding_distances
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.partitions.partition import Partition


def redistribution(
    original: Microdata, partition: Partition, tables: Tables, declared: Declared
) -> dict[str, Any]:
    """The sum of ranges, the share at the root, and how far targets are from those asked for.

    The distance is the total variation, of each target by its number in the order of the partition.
    Nothing for other forms.
    """
    if not isinstance(declared.form, RedistributedParameters):
        return {}
    rounded = rounding_distances(original, partition, declared.form)
    return {
        **facts(tables, declared.columns),
        "distance_of_targets": [float(distance) for distance in rounded],
    }
