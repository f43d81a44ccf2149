"""The forest: ratios against the fewest stars of all solutions, and what the search may not do."""

from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.groups.counting import count
from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.l_diversity import DistinctLDiversity, EntropyLDiversity
from sfumato.expectations.models.t_closeness import TCloseness
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.table import Microdata, encode, key, seeded_keys
from sfumato.tasks.partitions.cell_suppression.clusters import stars
from sfumato.tasks.partitions.cell_suppression.decompose import bundles, decompose, largest
from sfumato.tasks.partitions.cell_suppression.forest import cluster_by_forest, grow, partition
from sfumato.tasks.partitions.cell_suppression.local_search import improve
from sfumato.tasks.partitions.cell_suppression.parameters import ForestParameters
from sfumato.tasks.partitions.shared.nearest import nearest

FOREST = ForestParameters(method="forest")


def fewest_stars(codes, k):
    """Over all partitions into sets of k rows or more, by dynamic programming over sets of rows."""
    rows = len(codes)

    def of_set(chosen):
        some = codes[[row for row in range(rows) if chosen >> row & 1]]
        return len(some) * int((some.min(axis=0) < some.max(axis=0)).sum())

    cost = {s: of_set(s) for s in range(1 << rows) if k <= s.bit_count() < 2 * k}

    @cache
    def least(remaining):
        if not remaining:
            return 0
        lowest, best = remaining & -remaining, 10**9
        part = rest = remaining ^ lowest
        while True:
            if (part_and_lowest := part | lowest) in cost:
                best = min(best, cost[part_and_lowest] + least(remaining ^ part_and_lowest))
            if not part:
                return best
            part = (part - 1) & rest

    return least((1 << rows) - 1)


def small_tables(rng, number, k, rows=9):
    for _ in range(number):
        columns = int(rng.integers(1, 6))
        size = int(rng.integers(k, rows + 1))
        yield rng.integers(0, rng.integers(1, 5, columns), (size, columns)).astype(np.int32)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_ratio_is_kept_and_the_bound_is_one(k):
    rng = np.random.default_rng(k)
    ratios, above, tight = [], 0, 0
    for codes in small_tables(rng, 150, k):
        least, made = fewest_stars(codes, k), cluster_by_forest(codes, k)
        before = stars(codes, made.cluster)
        after = stars(codes, improve(codes, made.cluster, made.near, k))
        assert made.facts["forest_weight"] <= made.bound <= least <= after <= before
        assert before <= largest(k) * made.facts["forest_weight"]
        assert np.bincount(made.cluster).min() >= k
        above += before > least
        tight += after == least
        ratios.append(after / least if least else 1)
    assert above > 10
    assert tight > 100
    assert np.mean(ratios) < 1.1


def random_tree(rng, rows, shape):
    """A tree in which each vertex but one points to a neighbour; `shape` from path to star."""
    up = [-1] + [int(rng.integers(max(0, v - shape), v)) for v in range(1, rows)]
    names = rng.permutation(rows)
    to = np.full(rows, -1, dtype=np.int64)
    to[names[1:]] = names[up[1:]]
    return to


def connecting_edges(to, vertices):
    """The edges of the smallest subtree that connects some vertices: the paths to their meeting."""
    paths = []
    for vertex in vertices:
        path = [vertex]
        while to[path[-1]] >= 0:
            path.append(int(to[path[-1]]))
        paths.append(path[:-1])  # each vertex but the root stands for its edge
    used = [edge for path in paths for edge in path]
    return {edge for edge in used if used.count(edge) < len(paths)}


def test_trees_are_cut_into_clusters_that_share_no_edge():
    rng = np.random.default_rng(8)
    cut = 0
    for case in range(3000):
        k = int(rng.integers(2, 9))
        rows = int(rng.integers(k, 7 * k))
        shape = int(rng.choice([1, 2, 3, k, rows]))
        to = random_tree(rng, rows, shape)
        if case % 5 == 0:
            to = spider(rng, k)
        cluster = decompose(to, rng.integers(0, 6, len(to)), k)
        sizes = np.bincount(cluster)
        assert k <= sizes.min() <= sizes.max() <= largest(k)
        edges = [connecting_edges(to, np.flatnonzero(cluster == c)) for c in range(len(sizes))]
        assert sum(map(len, edges)) == len(set().union(*edges))
        cut += len(sizes) > 1
    assert cut > 2000


def spider(rng, k):
    """A centre with branches below k: what the published order of cuts cannot take apart."""
    branches = rng.integers(1, k, int(rng.integers(4, 9)) + k)
    to = [-1]
    for size in branches.tolist():
        to += [0, *range(len(to), len(to) + size - 1)]
    return np.array(to, dtype=np.int64)


def test_a_centre_with_four_branches_of_two():
    to = np.array([-1, 0, 1, 0, 3, 0, 5, 0, 7])
    cluster = decompose(to, np.ones(9, dtype=np.int64), 3)
    assert sorted(np.bincount(cluster).tolist()) in ([4, 5], [3, 3, 3])


@given(st.integers(2, 8), st.data())
def test_bundles_have_the_right_sizes(k, data):
    sizes = sorted(data.draw(st.lists(st.integers(1, k - 1), min_size=1)), reverse=True)
    while sum(sizes) < largest(k):
        sizes.append(1)
    bundle = bundles(np.array(sizes), k, largest(k))
    filled = np.bincount(bundle, [*sizes, 1])
    assert k <= filled.min() <= filled.max() <= largest(k)


def test_each_tree_has_k_vertices_and_each_edge_is_one_to_a_near_row():
    rng = np.random.default_rng(1)
    for _ in range(100):
        k, rows = int(rng.integers(2, 7)), int(rng.integers(8, 80))
        codes = rng.integers(0, 4, (rows, 4)).astype(np.int32)
        near, distance = nearest(codes, k - 1)
        to, weight = grow(near, distance, k)
        tied = np.flatnonzero(to >= 0)
        assert np.array_equal((codes[tied] != codes[to[tied]]).sum(axis=1), weight[tied])
        assert (weight[tied] <= distance[tied, -1]).all()
        root = np.arange(rows)
        for _ in range(rows):
            root = np.where(to[root] >= 0, to[root], root)
        assert (to[root] < 0).all()  # no cycle
        assert np.unique(root, return_counts=True)[1].min() >= k


def test_the_search_never_raises_the_cost_and_compiled_it_finds_the_same():
    rng = np.random.default_rng(6)
    lower = 0
    for _ in range(20):
        k, rows = int(rng.integers(2, 7)), int(rng.integers(14, 60))
        codes = rng.integers(0, rng.integers(2, 6), (rows, 5)).astype(np.int32)
        cluster = rng.permutation(np.arange(rows) // k)
        cluster[cluster == rows // k] = 0  # too few rows for another one
        for start in (cluster, cluster_by_forest(codes, k).cluster):
            near, _ = nearest(codes, 8)
            clusters = improve(codes, start, near, k)
            sizes = np.bincount(clusters)
            assert k <= sizes.min() <= sizes.max() < 2 * k
            assert stars(codes, clusters) <= stars(codes, start)
            assert np.array_equal(clusters, improve(codes, start, near, k, large=True))
            lower += stars(codes, clusters) < stars(codes, start)
        assert np.array_equal(
            cluster_by_forest(codes, k).cluster, cluster_by_forest(codes, k, large=True).cluster
        )
    assert lower > 30


def people(rng, rows, nulls=True):
    """Three quasi-identifiers, a stratum and two sensitive attributes."""

    def texts(name, values, role):
        array = rng.choice(list(values), rows).tolist()
        if nulls:
            array = [None if rng.random() < 0.1 else value for value in array]
        return encode(name, role, pa.array(array, pa.string()))

    return Microdata(
        (
            *(texts(name, "abcdef", "quasi-identifier") for name in ("job", "town", "age")),
            encode(
                "region", "quasi-identifier", pa.array(np.repeat(["n", "s"], rows)[: rows * 2 : 2])
            ),
            texts("illness", "uvwxyz", "sensitive"),
            encode("smokes", "sensitive", pa.array(rng.random(rows) < 0.5)),
        ),
        rows,
    )


def groups_knowing(table, group, *known_columns):
    """The groups of rows that share a group and what is known."""
    keys, bound = key([table[name] for name in known_columns], table.rows)
    return count(
        group * bound + keys,
        (int(group.max()) + 1) * bound,
        {name: table[name].counted_codes() for name in ("illness", "smokes")},
    )


@pytest.mark.parametrize("rows", [30, 400])
def test_groups_keep_to_their_stratum_and_the_facts_are_true(rows):
    rng = np.random.default_rng(rows)
    for k in (1, 2, 5):
        table = people(rng, rows)
        partition_ = partition(table, ["region"], [KAnonymity(k=k)], FOREST, seeded_keys(1))
        again = partition(table, ["region"], [KAnonymity(k=k)], FOREST, seeded_keys(2))
        assert np.array_equal(partition_.group, again.group)
        sizes = np.bincount(partition_.group)
        assert sizes.min() >= k
        regions = table["region"].codes
        assert all(len(set(regions[partition_.group == g])) == 1 for g in range(len(sizes)))
        codes = [c.category()[0] for c in table.with_roles("quasi-identifier")]
        stars = sum(
            int((partition_.group == g).sum())
            for c in codes
            for g in range(len(sizes))
            if len(set(c[partition_.group == g])) > 1
        )
        assert partition_.facts["stars"] == stars
        assert (
            partition_.facts["lower_bound"]
            <= stars
            <= partition_.facts["stars_before_local_search"]
        )
        assert partition_.facts["groups"] == len(sizes)
        bound = partition_.facts["lower_bound"]
        ratio = Fraction(stars, bound) if bound else 1
        assert Fraction(partition_.facts["proven_ratio"]) == ratio
        assert partition_.facts["forest_weight"] <= partition_.facts["lower_bound"]


OTHERS = [
    DistinctLDiversity(l=3, sensitive="illness"),
    EntropyLDiversity(l=Decimal("2.5"), sensitive="illness"),
    TCloseness(t=Decimal("0.4"), distance="equal", sensitive="illness"),
    DistinctLDiversity(l=3, quasi_identifiers=("job", "age"), sensitive="illness"),
    DistinctLDiversity(l=2, quasi_identifiers=("job",), sensitive="illness", known=("smokes",)),
]


@pytest.mark.parametrize("promise", OTHERS, ids=lambda promise: str(promise.parameters()))
@pytest.mark.parametrize("k", [1, 2, 4])
def test_other_promises_are_kept(promise, k):
    rng = np.random.default_rng(k)
    merged = 0
    for rows in (60, 150, 300):
        table = people(rng, rows)
        promises = [KAnonymity(k=k), promise]
        partition_ = partition(table, ["region"], promises, FOREST, seeded_keys(1))
        known_columns = promise.known_columns
        assert promise.check(groups_knowing(table, partition_.group, *known_columns)).holds
        assert np.bincount(partition_.group).min() >= k
        assert all(
            len(set(table["region"].codes[partition_.group == g])) == 1
            for g in range(partition_.facts["groups"])
        )
        merged += partition_.facts["merged_for_other_promises"]
        assert partition_.facts["stars"] >= partition_.facts["stars_before_merging"]
    assert merged > 0


def test_promises_that_merging_cannot_keep():
    table = people(np.random.default_rng(1), 60, nulls=False)
    broken = DistinctLDiversity(l=7, sensitive="illness")
    with pytest.raises(PromiseError, match="a stratum breaks it even as one group"):
        partition(table, [], [KAnonymity(k=2), broken], FOREST, seeded_keys(1))
    joined = AlphaBeta(alpha=Decimal("0.5"), beta=Decimal("0.5"), sensitive="illness")
    with pytest.raises(PromiseError, match="cannot be kept by merging groups"):
        partition(table, [], [KAnonymity(k=2), joined], FOREST, seeded_keys(1))


def test_duplicates_cost_nothing_and_k_rows_are_one_group():
    rng = np.random.default_rng(9)
    rows = np.repeat(rng.integers(0, 50, (20, 4)), rng.integers(5, 30, 20), axis=0)
    codes = rng.permutation(rows).astype(np.int32)
    made = cluster_by_forest(codes, 5)
    assert made.bound == stars(codes, made.cluster) == 0
    assert stars(codes, improve(codes, made.cluster, made.near, 5)) == 0
    assert cluster_by_forest(codes[:5], 5).cluster.tolist() == [0] * 5
