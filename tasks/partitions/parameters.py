"""Every partition's parameters by the name that the partition has in a spec; no algorithms."""

from collections.abc import Mapping
from typing import Annotated

from sfumato.expectations.registered import Registered
from sfumato.tasks.partitions.aimed.parameters import ContiguousParameters, HybridParameters
from sfumato.tasks.partitions.ambiguity.parameters import AmbiguityParameters
from sfumato.tasks.partitions.anatomy.parameters import AnatomyParameters
from sfumato.tasks.partitions.cell_suppression.parameters import (
    FactorsParameters,
    ForestParameters,
)
from sfumato.tasks.partitions.declared import PartitionParameters
from sfumato.tasks.partitions.disjoint_cover.parameters import DisjointCoverParameters
from sfumato.tasks.partitions.distribution.parameters import ExactQIParameters, StratumParameters
from sfumato.tasks.partitions.full_domain.parameters import FullDomainParameters
from sfumato.tasks.partitions.ke.parameters import KEParameters
from sfumato.tasks.partitions.mondrian.parameters import MondrianParameters

PARTITION_PARAMETERS: Mapping[str, type[PartitionParameters]] = {
    "full-domain": FullDomainParameters,
    "mondrian": MondrianParameters,
    "forest": ForestParameters,
    "factors": FactorsParameters,
    "ke": KEParameters,
    "hybrid": HybridParameters,
    "contiguous": ContiguousParameters,
    "anatomy": AnatomyParameters,
    "ambiguity": AmbiguityParameters,
    "disjoint-cover": DisjointCoverParameters,
    "stratum": StratumParameters,
    "exact-qi": ExactQIParameters,
}

PartitionChoice = Annotated[PartitionParameters, Registered("method", PARTITION_PARAMETERS)]
"""A partition as a spec writes it: its method and that method's parameters."""
