"""The parameters of every partition, by the partition's name in a spec; without algorithms."""

from collections.abc import Mapping
from typing import Annotated

from sfumato.expectations.shared.registered import Entries, Registered
from sfumato.tasks.partitions.declared import PartitionParameters

PARTITION_PARAMETERS: Mapping[str, type[PartitionParameters]] = Entries(
    "sfumato.tasks.partitions",
    {
        "full-domain": "full_domain.parameters:FullDomainParameters",
        "mondrian": "mondrian.parameters:MondrianParameters",
        "top-down": "limited_knowledge.parameters:TopDownParameters",
        "local-suppression": "limited_knowledge.parameters:LocalSuppressionParameters",
        "forest": "cell_suppression.parameters:ForestParameters",
        "factors": "cell_suppression.parameters:FactorsParameters",
        "ke": "ke.parameters:KEParameters",
        "hybrid": "aimed.parameters:HybridParameters",
        "contiguous": "aimed.parameters:ContiguousParameters",
        "anatomy": "anatomy.parameters:AnatomyParameters",
        "ambiguity": "ambiguity.parameters:AmbiguityParameters",
        "disjoint-cover": "disjoint_cover.parameters:DisjointCoverParameters",
        "stratum": "distribution.parameters:StratumParameters",
        "exact-qi": "distribution.parameters:ExactQIParameters",
    },
)

PartitionChoice = Annotated[PartitionParameters, Registered("method", PARTITION_PARAMETERS)]
"""A partition as a spec writes it: its method and that method's parameters."""
