"""Rows with equal quasi-identifiers as groups: for a form that redistributes values (QI-SA).

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009).
"""

from collections.abc import Sequence

from sfumato.expectations.groups.counting import dense
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.microdata.table import Microdata, Randomness, key
from sfumato.tasks.partitions.distribution.parameters import ExactQIParameters
from sfumato.tasks.partitions.distribution.target_distributions import CountsOfAllRows
from sfumato.tasks.partitions.distribution.with_targets import with_targets
from sfumato.tasks.partitions.partition import Partition


def partition(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    parameters: ExactQIParameters,
    randomness: Randomness,
    of_all: CountsOfAllRows | None = None,
) -> Partition:
    """Group rows of a stratum with equal quasi-identifiers, each as p-privacy asks of its stratum.

    Raises:
        PromiseError: if a promise about declared distributions cannot be kept.
    """
    exact = [column.name for column in microdata.with_roles("quasi-identifier")]
    names = dict.fromkeys([*strata, *exact])
    keys, _ = key([microdata[name] for name in names], microdata.rows)
    return with_targets(microdata, strata, promises, dense(keys)[0], of_all)
