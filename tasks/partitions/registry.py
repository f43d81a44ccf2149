"""Every partition by the name it has in a spec."""

from collections.abc import Mapping

from tasks.partitions import (
    ambiguity,
    anatomy,
    disjoint_cover,
    exact_qi,
    factors,
    forest,
    full_domain,
    ke,
    mondrian,
    stratum,
)
from tasks.partitions.partition import Partitioner

PARTITIONS: Mapping[str, Partitioner] = {
    "full-domain": full_domain.partition,
    "mondrian": mondrian.partition,
    "forest": forest.partition,
    "factors": factors.partition,
    "ke": ke.partition,
    "anatomy": anatomy.partition,
    "ambiguity": ambiguity.partition,
    "disjoint-cover": disjoint_cover.partition,
    "stratum": stratum.partition,
    "exact-qi": exact_qi.partition,
}
