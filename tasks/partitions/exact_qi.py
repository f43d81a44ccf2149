"""Rows with equal quasi-identifiers as groups: for a form that redistributes values (QI-SA).

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009).
"""

from collections.abc import Sequence

from expectations.counting import dense
from expectations.model import PrivacyModel
from tasks.microdata.randomness import Randomness
from tasks.microdata.table import Microdata, key
from tasks.partitions.aimed import aimed
from tasks.partitions.parameters import ExactQIParameters
from tasks.partitions.partition import Partition


def partition(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    parameters: ExactQIParameters,
    randomness: Randomness,
) -> Partition:
    """Group rows of a stratum with equal quasi-identifiers, each as p-privacy asks of its stratum.

    Raises:
        PromiseError: where p-privacy is not promised, or another promise cannot be kept.
    """
    exact = [column.name for column in microdata.with_roles("quasi-identifier")]
    by = dict.fromkeys([*strata, *exact])
    keys, _ = key([microdata[name] for name in by], microdata.rows)
    return aimed(microdata, strata, promises, dense(keys)[0])
