"""Each stratum as one group; in a form that redistributes sensitive values that is SA-only.

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009).
"""

from collections.abc import Sequence

from sfumato.expectations.groups.counting import dense
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.microdata.table import Microdata, Randomness, key
from sfumato.tasks.partitions.distribution.parameters import StratumParameters
from sfumato.tasks.partitions.distribution.target_distributions import CountsOfAllRows
from sfumato.tasks.partitions.distribution.with_targets import with_targets
from sfumato.tasks.partitions.partition import Partition


def partition(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    parameters: StratumParameters,
    randomness: Randomness,
    of_all: CountsOfAllRows | None = None,
) -> Partition:
    """Group the rows of each stratum, with the distribution that p-privacy asks for, if it does.

    Raises:
        PromiseError: if a promise about declared distributions cannot be kept.
    """
    keys, _ = key([microdata[name] for name in strata], microdata.rows)
    return with_targets(microdata, strata, promises, dense(keys)[0], of_all)
