"""Neighbours merged until every promise holds, and not when they hold already."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.groups.counting import Coded, count, merge, numbers_of
from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.expectations.models.t_closeness import TCloseness
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.ke.ke import partition
from sfumato.tasks.partitions.ke.parameters import KEParameters
from sfumato.tasks.partitions.shared.merging import merge_until_kept

PROMISES = [
    DistinctLDiversity(l=4),
    EntropyLDiversity(l=Decimal("3.5")),
    RecursiveLDiversity(l=2, c=Decimal("1.2")),
    TCloseness(t=Decimal("0.35"), distance="ordered"),
    TCloseness(t=Decimal("0.7"), distance="equal"),
]


def groups_in_order(rng):
    """Neighbouring groups of a few ascending values, in some strata."""
    number = int(rng.integers(1, 30))
    values = pa.array(range(12))
    key = np.sort(rng.integers(0, number, number * 4))
    key = np.unique(key, return_inverse=True)[1]
    code = np.clip(key * 12 // (key.max() + 1) + rng.integers(-1, 2, len(key)), 0, 11)
    counted = count(key, int(key.max()) + 1, {"s": Coded(code, 12, numbers_of(values, False, "s"))})
    stratum = np.sort(rng.integers(0, 3, len(counted)))
    return counted, np.unique(stratum, return_inverse=True)[1]


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: str(promise.parameters()))
def test_what_can_be_kept_is_kept(promise):
    rng = np.random.default_rng(11)
    successes = merged = 0
    for _ in range(300):
        groups, stratum = groups_in_order(rng)
        coarsest = promise.failing(merge(groups, stratum))
        into = merge_until_kept(groups, stratum, [promise])
        after = merge(groups, into)
        stratum_of_group = np.array([stratum[into == g][0] for g in range(len(after))])
        assert np.array_equal(np.unique(np.diff(into)), np.intersect1d(np.diff(into), [0, 1]))
        for g in range(len(after)):
            assert len(set(stratum[into == g])) == 1
        broken = promise.failing(after)
        for g in np.flatnonzero(broken):  # only where the whole stratum breaks it
            assert coarsest[stratum_of_group[g]]
            assert (stratum_of_group == stratum_of_group[g]).sum() == 1
        if not promise.failing(groups).any():
            assert into.tolist() == list(range(len(groups)))
        successes += not broken.any()
        merged += len(after) < len(groups)
    assert merged > 50
    assert successes > 20


def test_groups_that_fail_are_joined_in_pairs():
    groups = count(np.arange(5), 5, {"s": Coded(np.arange(5), 5)})
    stratum = np.zeros(5, dtype=np.int64)
    into = merge_until_kept(groups, stratum, [DistinctLDiversity(l=2)])
    assert into.tolist() == [0, 0, 1, 1, 1]


def test_the_partition_keeps_promises_that_it_does_not_aim_at():
    rng = np.random.default_rng(5)
    tried = 0
    for _ in range(60):
        rows = int(rng.integers(60, 300))
        loss = rng.geometric(0.05, rows)
        town = rng.choice(["Aa", "Bee"], rows)
        table = Microdata(
            (
                encode("town", "quasi-identifier", pa.array(town)),
                encode("loss", "sensitive", pa.array(loss)),
            ),
            rows,
        )
        promises = [
            KEAnonymity(k=3, e=Decimal(2), sensitive="loss"),
            EntropyLDiversity(l=Decimal(6), sensitive="loss"),
            RecursiveLDiversity(l=3, c=Decimal(2), sensitive="loss"),
        ]
        partition_ = partition(
            table,
            ["town"],
            promises,
            KEParameters(method="ke"),
            seeded_keys(int(rng.integers(1000))),
        )
        groups = count(partition_.group, rows, {"loss": table["loss"].counted_codes()})
        for promise in promises:
            assert promise.check(groups).holds
        assert all(len(set(town[partition_.group == g])) == 1 for g in range(len(groups)))
        assert partition_.facts["groups"] == len(groups)
        tried += partition_.facts["merged_for_other_promises"] > 0
    assert tried > 30
