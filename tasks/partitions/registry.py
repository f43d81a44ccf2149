"""Every partition by the name it has in a spec."""

from collections.abc import Callable, Mapping

from sfumato.expectations.registered import Entries
from sfumato.tasks.partitions.partition import Partition, Partitioner

PARTITIONS: Mapping[str, Partitioner] = Entries(
    "sfumato.tasks.partitions",
    {
        "full-domain": "full_domain.full_domain:partition",
        "mondrian": "mondrian.mondrian:partition",
        "forest": "cell_suppression.forest:partition",
        "factors": "cell_suppression.factors:partition",
        "ke": "ke.ke:partition",
        "hybrid": "aimed.hybrid:partition",
        "contiguous": "aimed.contiguous:partition",
        "anatomy": "anatomy.anatomy:partition",
        "ambiguity": "ambiguity.ambiguity:partition",
        "disjoint-cover": "disjoint_cover.disjoint_cover:partition",
        "stratum": "distribution.stratum:partition",
        "exact-qi": "distribution.exact_qi:partition",
    },
)

CHOICES: Mapping[str, Callable[..., Partitioner]] = Entries(
    "sfumato.tasks.partitions.full_domain",
    {
        "full-domain": "full_domain:choose_node",
    },
)
"""Of partitions that choose once for all rows, how that is done from counts of distinct rows."""

OVER_ALL: Mapping[str, Callable[..., Partition]] = Entries(
    "sfumato.tasks.partitions.distribution",
    {
        "stratum": "stratum:partition",
        "exact-qi": "exact_qi:partition",
    },
)
"""Those that take how often values occur in more rows than they group, as `of_all`."""
