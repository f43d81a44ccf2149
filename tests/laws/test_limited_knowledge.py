"""Partitions that keep promises against limited knowledge, by counting every subset of columns."""

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.l_diversity import DistinctLDiversity
from sfumato.expectations.models.limited_knowledge import KMAnonymity, LKCPrivacy
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.hierarchies import hierarchy_of, with_ancestors
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.full_domain.parameters import FullDomainParameters
from sfumato.tasks.partitions.limited_knowledge.parameters import (
    LocalSuppressionParameters,
    TopDownParameters,
)
from sfumato.tasks.partitions.registry import PARTITIONS

NAMES = ("a", "b", "c")
TREE = tuple((v, v[0], "*") for v in ("ax", "ay", "bx", "by"))
ROWS = st.lists(
    st.tuples(*([st.sampled_from(["ax", "ay", "bx", "by", None])] * 3), st.integers(0, 2)),
    min_size=2,
    max_size=16,
)
TOP_DOWN = TopDownParameters(method="top-down")


def table_of(rows, person=None):
    columns = []
    for place, name in enumerate(NAMES):
        column = encode(name, "quasi-identifier", pa.array([r[place] for r in rows], pa.string()))
        columns.append(with_ancestors(column, hierarchy_of(column, TREE)))
    columns.append(encode("s", "sensitive", pa.array([r[3] for r in rows])))
    return Microdata(tuple(columns), len(rows), person)


def split(method, microdata, promises, strata=(), **keys):
    parameters = {
        "top-down": TopDownParameters,
        "local-suppression": LocalSuppressionParameters,
        "full-domain": FullDomainParameters,
    }[method](method=method, **keys)
    return PARTITIONS[method](microdata, list(strata), promises, parameters, seeded_keys(1))


def labels_of(microdata, partition):
    """The labels that each published row shows, and its sensitive value."""
    rows = np.flatnonzero(partition.group >= 0)
    columns = []
    for name in NAMES:
        level = partition.recoding[name][partition.group[rows]]
        nodes = microdata[name].levels()[level, microdata[name].category()[0][rows]]
        columns.append(list(zip(level.tolist(), nodes.tolist(), strict=True)))
    columns.append(microdata["s"].codes[rows].tolist())
    return list(zip(*columns, strict=True))


def keeps(rows, knowledge, k, c=1):
    for chosen in combinations(range(3), min(knowledge, 3)):
        seen = Counter(tuple(row[i] for i in chosen) for row in rows)
        values = Counter((tuple(row[i] for i in chosen), row[3]) for row in rows)
        if min(seen.values()) < k:
            return False
        if any(Fraction(n, seen[vector]) > Fraction(c) for (vector, _), n in values.items()):
            return False
    return True


def finer_by_one(microdata, partition):
    """Every table with one more node of one column specialized."""
    rows = labels_of(microdata, partition)
    for place, name in enumerate(NAMES):
        levels = microdata[name].levels()
        for level, node in {row[place] for row in rows} - {(0, n) for n in range(9)}:
            finer = []
            for number, row in enumerate(rows):
                value = microdata[name].category()[0][number]
                below = (level - 1, int(levels[level - 1, value]))
                label = below if row[place] == (level, node) else row[place]
                finer.append((*row[:place], label, *row[place + 1 :]))
            yield finer


@given(rows=ROWS, knowledge=st.integers(1, 3), k=st.integers(1, 3), c=st.sampled_from(["0.5", "1"]))
def test_top_down_keeps_the_promise_and_no_node_can_be_shown_more_finely(rows, knowledge, k, c):
    microdata = table_of(rows)
    promise = LKCPrivacy(l=knowledge, k=k, c=Decimal(c), sensitive="s")
    if not promise.feasible(_one_group(microdata)).holds:
        with pytest.raises(PromiseError, match="with all quasi-identifiers hidden"):
            split("top-down", microdata, [promise])
        return
    partition = split("top-down", microdata, [promise])
    assert keeps(labels_of(microdata, partition), knowledge, k, c)
    assert not any(keeps(finer, knowledge, k, c) for finer in finer_by_one(microdata, partition))


def _one_group(microdata):
    from sfumato.tasks.microdata.grouping import groups_of

    return groups_of(microdata, [], ["s"])


@given(
    rows=ROWS, knowledge=st.integers(1, 3), k=st.integers(1, 3), drop=st.sampled_from(["0", "0.3"])
)
def test_local_suppression_keeps_the_promise(rows, knowledge, k, drop):
    microdata = table_of(rows)
    promise = KMAnonymity(k=k, m=knowledge)
    if len(rows) < k:
        with pytest.raises(PromiseError, match="with all quasi-identifiers hidden"):
            split("local-suppression", microdata, [promise])
        return
    partition = split("local-suppression", microdata, [promise], suppression=Decimal(drop))
    assert partition.suppressed <= Fraction(drop) * len(rows)
    assert keeps(labels_of(microdata, partition), knowledge, k)
    assert all(
        set(level.tolist()) <= {0, len(microdata[name].levels()) - 1}
        for name, level in partition.recoding.items()
    )
    if keeps([*zip(*(microdata[n].codes for n in (*NAMES, "s")), strict=True)], knowledge, k):
        assert not any(level.any() for level in partition.recoding.values())


@given(rows=ROWS, knowledge=st.integers(1, 3), c=st.sampled_from(["0.4", "0.67", "1"]))
def test_local_suppression_keeps_shares(rows, knowledge, c):
    microdata = table_of(rows)
    promise = LKCPrivacy(l=knowledge, k=2, c=Decimal(c), sensitive="s")
    if promise.feasible(_one_group(microdata)).holds:
        partition = split("local-suppression", microdata, [promise])
        assert keeps(labels_of(microdata, partition), knowledge, 2, c)


@given(rows=ROWS, knowledge=st.integers(1, 3), k=st.integers(1, 3), c=st.sampled_from(["0.5", "1"]))
def test_full_domain_finds_the_best_of_all_nodes(rows, knowledge, k, c):
    """The least height of a node that keeps the promise, whatever was ruled out on the way."""
    microdata = table_of(rows)
    promise = LKCPrivacy(l=knowledge, k=k, c=Decimal(c), sensitive="s")
    heights = []
    for node in product(range(3), repeat=3):
        at_node = [
            (
                *(
                    int(microdata[name].levels()[level, microdata[name].category()[0][number]])
                    for name, level in zip(NAMES, node, strict=True)
                ),
                row[3],
            )
            for number, row in enumerate(rows)
        ]
        if keeps(at_node, knowledge, k, c):
            heights.append(sum(node))
    if not heights:
        with pytest.raises(PromiseError, match="cannot be kept"):
            split("full-domain", microdata, [promise], metric="height")
        return
    partition = split("full-domain", microdata, [promise], metric="height")
    assert keeps(labels_of(microdata, partition), knowledge, k, c)
    assert sum(int(level[0]) for level in partition.recoding.values()) == min(heights)


@given(rows=ROWS, knowledge=st.integers(1, 2), k=st.integers(2, 3))
def test_full_domain_suppresses_within_its_budget(rows, knowledge, k):
    """Pruned or not, the best node is the same as when every node is judged."""
    microdata = table_of(rows)
    promise = KMAnonymity(k=k, m=knowledge)
    try:
        partition = split("full-domain", microdata, [promise], suppression=Decimal("0.3"))
    except PromiseError:
        return
    assert partition.suppressed <= 0.3 * len(rows)
    published = labels_of(microdata, partition)
    assert not published or keeps(published, knowledge, k)


@given(rows=ROWS)
def test_a_table_that_keeps_the_promise_is_shown_as_it_is(rows):
    twice = table_of([*rows, *rows])
    promise = KMAnonymity(k=2, m=2)
    for method in ("top-down", "local-suppression", "full-domain"):
        partition = split(method, twice, [promise])
        assert not any(level.any() for level in partition.recoding.values())


@given(rows=ROWS, k=st.integers(1, 3))
def test_top_down_keeps_promises_of_each_group_too(rows, k):
    microdata = table_of(rows)
    promises = [
        KMAnonymity(k=k, m=1),
        KAnonymity(k=2, quasi_identifiers=NAMES),
        DistinctLDiversity(l=2, quasi_identifiers=NAMES, sensitive="s"),
    ]
    if len({row[3] for row in rows}) < 2 or len(rows) < k:
        with pytest.raises(PromiseError, match="cannot be kept"):
            split("top-down", microdata, promises)
        return
    partition = split("top-down", microdata, promises)
    published = labels_of(microdata, partition)
    assert keeps(published, 1, k)
    for vector in {row[:3] for row in published}:
        values = [row[3] for row in published if row[:3] == vector]
        assert len(values) >= 2
        assert len(set(values)) >= 2


@given(rows=ROWS, data=st.data())
def test_people_are_counted_where_they_have_several_rows(rows, data):
    person = np.array([data.draw(st.integers(0, 3)) for _ in rows], dtype=np.int32)
    microdata = table_of(rows, person)
    promise = KMAnonymity(k=2, m=1)
    for method in ("top-down", "local-suppression", "full-domain"):
        if len(set(person.tolist())) < 2:
            with pytest.raises(PromiseError, match="cannot be kept"):
                split(method, microdata, [promise])
            continue
        partition = split(method, microdata, [promise])
        published = labels_of(microdata, partition)
        for column in range(3):
            for label in {row[column] for row in published}:
                owners = {
                    p for p, row in zip(person, published, strict=True) if row[column] == label
                }
                assert len(owners) >= 2


def test_a_stratum_is_shown_as_it_is():
    rows = [
        ("ax", "ay", "bx", 0),
        ("ax", "bx", "ay", 1),
        ("by", "ay", "ay", 0),
        ("by", "ax", "ax", 1),
    ]
    microdata, promise = table_of(rows), KMAnonymity(k=2, m=1)
    for method in ("top-down", "local-suppression"):
        partition = split(method, microdata, [promise], strata=["a"])
        assert not partition.recoding["a"].any()
        assert keeps(labels_of(microdata, partition), 1, 2)
