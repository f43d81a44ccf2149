"""k-anonymity by suppressing cells on the slide table: age, race and zip code of seven people."""

import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.cell_suppression import factors, forest
from sfumato.tasks.partitions.cell_suppression.clusters import stars
from sfumato.tasks.partitions.cell_suppression.decompose import largest
from sfumato.tasks.partitions.cell_suppression.parameters import FactorsParameters, ForestParameters

PEOPLE = [
    (31, "Cauc", "94305"),
    (34, "Cauc", "94307"),
    (27, "Cauc", "94301"),
    (41, "Afr-A", "94305"),
    (41, "Afr-A", "94059"),
    (65, "Hisp", "94042"),
    (46, "Hisp", "94042"),
]
NAMES = ("age", "race", "zip")
OPTIMA = {2: (10, [{0, 1, 2}, {3, 4}, {5, 6}]), 3: (18, [{0, 1, 2}, {3, 4, 5, 6}])}
METHODS = {
    "forest": (forest, ForestParameters(method="forest"), "forest_weight"),
    "factors": (factors, FactorsParameters(method="factors"), "factor_weight"),
}


def table(people=PEOPLE):
    columns = zip(NAMES, zip(*people, strict=True), strict=True)
    encoded = (encode(name, "quasi-identifier", pa.array(values)) for name, values in columns)
    return Microdata(tuple(encoded), len(people))


def codes():
    return np.stack([column.category()[0] for column in table().columns], axis=1)


def partitions(rows):
    if not rows:
        yield []
        return
    for rest in partitions(rows[1:]):
        yield [[rows[0]], *rest]
        for i, cluster in enumerate(rest):
            yield [*rest[:i], [rows[0], *cluster], *rest[i + 1 :]]


@pytest.mark.parametrize("k", [2, 3])
def test_the_fewest_stars(k):
    costs = []
    for cluster_rows in partitions(list(range(7))):
        if min(map(len, cluster_rows)) >= k:
            cluster_values = [[PEOPLE[row] for row in cluster] for cluster in cluster_rows]
            varied = [
                sum(len(set(c)) > 1 for c in zip(*rows, strict=True)) for rows in cluster_values
            ]
            costs.append((sum(map(int.__mul__, varied, map(len, cluster_rows))), cluster_rows))
    least, clusters = min(costs)
    assert (least, sorted(map(set, clusters), key=min)) == OPTIMA[k]
    cluster = np.empty(7, dtype=np.int64)
    for number, rows in enumerate(clusters):
        cluster[rows] = number
    assert stars(codes(), cluster) == least


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("name", METHODS)
def test_both_methods_find_them(name, k):
    method, parameters, weight = METHODS[name]
    partition = method.partition(table(), [], [KAnonymity(k=k)], parameters, seeded_keys(1))
    least, clusters = OPTIMA[k]
    groups = [set(np.flatnonzero(partition.group == g)) for g in range(len(clusters))]
    assert sorted(groups, key=min) == clusters
    assert partition.facts["stars"] == least
    assert partition.facts["lower_bound"] <= least
    assert partition.facts["groups"] == len(clusters)
    assert partition.suppressed == 0
    assert partition.facts["stars_before_local_search"] <= 3 * partition.facts[weight]


@pytest.mark.parametrize("k", [2, 3])
def test_the_forest_weighs_no_more_than_the_fewest_stars(k):
    for order in np.random.default_rng(3).permuted(np.tile(np.arange(7), (50, 1)), axis=1):
        made = forest.cluster_by_forest(codes()[order], k)
        weight = made.facts["forest_weight"]
        assert weight <= made.bound <= OPTIMA[k][0]
        assert OPTIMA[k][0] <= stars(codes()[order], made.cluster) <= largest(k) * weight
        assert weight in {2: (6, 8), 3: (9, 10, 11, 12)}[k]


def test_the_least_factor_for_two_weighs_six():
    assert factors.factor(codes(), 2)[1] == 6  # as much as pairs {4,5}, {6,7} and a path weigh


def test_factors_are_for_two_and_three():
    parameters = FactorsParameters(method="factors")
    with pytest.raises(PromiseError, match="k = 2 or 3, not k = 4"):
        factors.partition(
            table(), [], [KAnonymity(k=2), KAnonymity(k=4)], parameters, seeded_keys(1)
        )


@pytest.mark.parametrize("name", METHODS)
def test_what_is_refused(name):
    method, parameters, _ = METHODS[name]
    with pytest.raises(PromiseError, match=f"{name} needs a k-anonymity promise to read k from"):
        method.partition(table(), [], [], parameters, seeded_keys(1))
    with pytest.raises(
        PromiseError, match="3-anonymity cannot be kept, because a stratum has only 2 rows"
    ):
        method.partition(table(), ["race"], [KAnonymity(k=3)], parameters, seeded_keys(1))
