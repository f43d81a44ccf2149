"""Every registered partition keeps the laws of partitions."""

from decimal import Decimal

import pytest

from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.models.l_diversity import DistinctLDiversity
from sfumato.expectations.models.limited_knowledge import KMAnonymity, LKCPrivacy
from sfumato.expectations.models.p_privacy import PPrivacy
from sfumato.expectations.models.t_closeness import TCloseness
from sfumato.tasks.partitions.parameters import PARTITION_PARAMETERS
from sfumato.tasks.partitions.registry import PARTITIONS
from tests.laws.partition_laws import PartitionCase, PartitionLaws
from tests.laws.tables import QUASI

SCOPE = {"quasi_identifiers": QUASI, "sensitive": "wage"}
K2 = KAnonymity(k=2, quasi_identifiers=QUASI)
L2 = DistinctLDiversity(l=2, **SCOPE)
T1 = TCloseness(t=Decimal(1), distance="ordered", **SCOPE)
KE = KEAnonymity(k=2, e=Decimal(1), **SCOPE)
LKC = LKCPrivacy(l=2, k=2, c=Decimal(".6"), **SCOPE)
KM = KMAnonymity(k=3, m=2, quasi_identifiers=QUASI)
ALPHA_BETA = AlphaBeta(alpha=Decimal(1), beta=Decimal(".6"), presence="per-group", **SCOPE)
P = PPrivacy(target="source", **SCOPE)
AIMS = [{"kind": "range", "over": "age", "spans": [2]}, {"kind": "arbitrary", "selected": [5]}]
CASES = {
    "full-domain": [({"suppression": Decimal("0.1")}, K2), ({"suppressed": "star"}, L2)],
    "mondrian": [({}, K2), ({"mode": "relaxed"}, L2)],
    "top-down": [({}, LKC), ({}, K2)],
    "local-suppression": [({}, KM), ({"suppression": Decimal("0.1")}, LKC)],
    "forest": [({}, K2)],
    "factors": [({}, K2)],
    "ke": [({}, KE), ({"objective": "random"}, KE), ({"objective": "max-overlapping"}, KE)],
    "hybrid": [({"aims": AIMS}, KE)],
    "contiguous": [({"aims": AIMS}, KE)],
    "anatomy": [({}, L2)],
    "ambiguity": [({}, ALPHA_BETA), ({"calibrate": True}, ALPHA_BETA)],
    "disjoint-cover": [({}, ALPHA_BETA), ({"residue": "suppress"}, ALPHA_BETA)],
    "stratum": [({}, P)],
    "exact-qi": [({}, P)],
}


def case_of(method, keys, promise):
    beside = [T1] if promise is not K2 else [L2]
    return PartitionCase(PARTITION_PARAMETERS[method](method=method, **keys), [promise], beside)


def test_every_partition_has_a_case_and_parameters():
    assert set(CASES) == set(PARTITIONS) == set(PARTITION_PARAMETERS)


@pytest.mark.parametrize(
    "case",
    [case_of(method, *how) for method, ways in CASES.items() for how in ways],
    ids=lambda case: str(case.parameters),
)
class TestPartitions(PartitionLaws):
    """All of them."""
