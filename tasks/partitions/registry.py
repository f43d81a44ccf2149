"""Every partition, by its name in a spec."""

from collections.abc import Callable, Mapping

from sfumato.expectations.shared.registered import Entries
from sfumato.tasks.partitions.partition import Partition, Partitioner

PARTITIONS: Mapping[str, Partitioner] = Entries(
    "sfumato.tasks.partitions",
    {
        "full-domain": "full_domain.full_domain:partition",
        "mondrian": "mondrian.mondrian:partition",
        "top-down": "limited_knowledge.top_down:partition",
        "local-suppression": "limited_knowledge.local_suppression:partition",
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
"""Functions that choose once for all rows, from counts of distinct rows, by partition."""

OVER_ALL: Mapping[str, Callable[..., Partition]] = Entries(
    "sfumato.tasks.partitions.distribution",
    {
        "stratum": "stratum:partition",
        "exact-qi": "exact_qi:partition",
    },
)
"""Partitions that take, as `of_all`, counts of values in more rows than they group."""
