"""Every partition by the name it has in a spec."""

from collections.abc import Callable, Mapping

from sfumato.tasks.partitions.aimed import contiguous, hybrid
from sfumato.tasks.partitions.ambiguity import ambiguity
from sfumato.tasks.partitions.anatomy import anatomy
from sfumato.tasks.partitions.cell_suppression import factors, forest
from sfumato.tasks.partitions.disjoint_cover import disjoint_cover
from sfumato.tasks.partitions.distribution import exact_qi, stratum
from sfumato.tasks.partitions.full_domain import full_domain, one_node
from sfumato.tasks.partitions.ke import ke
from sfumato.tasks.partitions.mondrian import mondrian
from sfumato.tasks.partitions.partition import Partition, Partitioner

PARTITIONS: Mapping[str, Partitioner] = {
    "full-domain": full_domain.partition,
    "mondrian": mondrian.partition,
    "forest": forest.partition,
    "factors": factors.partition,
    "ke": ke.partition,
    "hybrid": hybrid.partition,
    "contiguous": contiguous.partition,
    "anatomy": anatomy.partition,
    "ambiguity": ambiguity.partition,
    "disjoint-cover": disjoint_cover.partition,
    "stratum": stratum.partition,
    "exact-qi": exact_qi.partition,
}

CHOICES: Mapping[str, Callable[..., Partitioner]] = {"full-domain": one_node.choose_node}
"""Of partitions that choose once for all rows, how that is done from counts of distinct rows."""

OVER_ALL: Mapping[str, Callable[..., Partition]] = {
    "stratum": stratum.partition,
    "exact-qi": exact_qi.partition,
}
"""Those that take how often values occur in more rows than they group, as `of_all`."""
