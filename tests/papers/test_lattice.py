"""Full-domain generalization: the l-diversity paper's inpatients, and the worked metrics."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.models.alpha_k import AlphaK
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.hierarchies import with_ancestors
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.full_domain.full_domain import partition
from sfumato.tasks.partitions.full_domain.parameters import FullDomainParameters
from sfumato.tasks.schema.hierarchy import Hierarchy

INPATIENTS = """
    13053 28 Russian heart
    13068 29 American heart
    13068 21 Japanese viral
    13053 23 American viral
    14853 50 Indian cancer
    14853 55 Russian heart
    14850 47 American viral
    14850 49 American viral
    13053 31 American cancer
    13053 37 Indian cancer
    13068 36 Japanese cancer
    13068 35 American cancer
"""
THREE_DIVERSE = [{1, 4, 9, 10}, {5, 6, 7, 8}, {2, 3, 11, 12}]


def column(name, values, labels=None):
    """A quasi-identifier; `labels` are what stands above a value, from the lowest level on."""
    encoded = encode(name, "quasi-identifier", pa.array(values))
    if labels is None:
        return encoded
    rows = tuple((str(value), *labels(value), "*") for value in sorted(set(values)))
    return with_ancestors(encoded, Hierarchy(name, rows))


def inpatients():
    rows = [line.split() for line in INPATIENTS.strip().splitlines()]
    zips, ages, nations, conditions = zip(*rows, strict=True)
    return Microdata(
        (
            column(
                "zip", zips, lambda z: [z[:digits] + "*" * (5 - digits) for digits in (4, 3, 2)]
            ),
            column(
                "age",
                [int(age) for age in ages],
                lambda age: [f"{age // 10}*", "young" if age <= 40 else "old"],
            ),
            column("nationality", nations),
            encode("condition", "sensitive", pa.array(conditions)),
        ),
        12,
    )


def partition_table(table, *promises, strata=(), **parameters):
    return partition(
        table,
        list(strata),
        promises,
        FullDomainParameters(method="full-domain", **parameters),
        seeded_keys(0),
    )


def members(partition):
    groups = range(int(partition.group.max()) + 1)
    return [set((np.flatnonzero(partition.group == g) + 1).tolist()) for g in groups]


PROMISES = [
    KAnonymity(k=4),
    DistinctLDiversity(l=3, sensitive="condition"),
    EntropyLDiversity(l=Decimal("2.8"), sensitive="condition"),
    RecursiveLDiversity(l=3, c=3, sensitive="condition"),
]


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.name)
def test_the_only_minimal_node_gives_the_three_diverse_table(promise):
    best = partition_table(inpatients(), promise)
    assert [minimal["levels"] for minimal in best.facts["minimal_nodes"]] == [[1, 2, 1]]
    assert best.facts["nodes"] == 5 * 4 * 2
    assert sorted(map(sorted, members(best))) == sorted(map(sorted, THREE_DIVERSE))
    assert {name: set(levels.tolist()) for name, levels in best.recoding.items()} == {
        "zip": {1},
        "age": {2},
        "nationality": {1},
    }


@pytest.mark.parametrize(
    ("metric", "cost"), [("discernibility", 48), ("average-class-size", 1), ("height", 4)]
)
def test_metrics_of_the_three_diverse_table(metric, cost):
    assert partition_table(inpatients(), KAnonymity(k=4), metric=metric).facts["cost"] == cost


def test_kullback_leibler_divergence():
    table = Microdata(
        (
            column("q", ["a", "a", "b", "c"], lambda q: ["a" if q == "a" else "bc"]),
            encode("s", "sensitive", pa.array([0, 0, 0, 1])),
        ),
        4,
    )
    best = partition_table(table, KAnonymity(k=2), metric="kl")
    assert members(best) == [{1, 2}, {3, 4}]
    assert best.facts["cost"] == pytest.approx(np.log(2) / 2)


def test_more_may_have_to_be_suppressed_at_the_root_than_below_it():
    illnesses = ["flu", "cold", *["HIV"] * 10]
    table = Microdata(
        (
            column("q", ["A"] * 2 + ["B"] * 10),
            encode("s", "sensitive", pa.array(illnesses)),
        ),
        12,
    )
    half = AlphaK(alpha=Decimal("0.5"), k=1, sensitive="s")
    best = partition_table(table, half, suppression=Decimal("0.85"))  # 10 of 12 rows
    assert best.group.tolist() == [0, 0, *[-1] * 10]
    assert best.facts["rows_suppressed"] == 10
    with pytest.raises(PromiseError, match="with at most 9 of 12 rows suppressed"):
        partition_table(table, half, suppression=Decimal("0.8"))
    with pytest.raises(PromiseError, match="even with all quasi-identifiers hidden"):
        partition_table(table, half)
