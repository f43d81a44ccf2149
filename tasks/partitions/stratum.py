"""Each stratum as one group: for a form that redistributes sensitive values (SA-only).

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009).
"""

from collections.abc import Sequence

from expectations.counting import dense
from expectations.model import PrivacyModel
from tasks.microdata.randomness import Randomness
from tasks.microdata.table import Microdata, key
from tasks.partitions.aimed import aimed
from tasks.partitions.parameters import StratumParameters
from tasks.partitions.partition import Partition


def partition(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    parameters: StratumParameters,
    randomness: Randomness,
) -> Partition:
    """Group the rows of each stratum, with the distribution that p-privacy asks for.

    Raises:
        PromiseError: where p-privacy is not promised, or another promise cannot be kept.
    """
    keys, _ = key([microdata[name] for name in strata], microdata.rows)
    return aimed(microdata, strata, promises, dense(keys)[0])
