"""Partitions that are run again: every world and every order of chance, by the partition alone."""

from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.models.alpha_k import AlphaK
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.attacks.group import homogeneity
from sfumato.tasks.attacks.minimal import minimality, retraced
from sfumato.tasks.attacks.minimal.orders import TooManyOrdersError, all_orders
from sfumato.tasks.attacks.minimal.redrawn import redraw
from sfumato.tasks.attacks.minimal.rerun import NotRetracedError
from sfumato.tasks.attacks.minimal.retraced import Retraced, retrace, worlds_within
from sfumato.tasks.attacks.shared.attack import SURE
from sfumato.tasks.attacks.shared.beliefs import join_beliefs
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.partitions.anatomy.parameters import AnatomyParameters
from sfumato.tasks.partitions.cell_suppression.parameters import (
    FactorsParameters,
    ForestParameters,
)
from sfumato.tasks.partitions.full_domain.parameters import FullDomainParameters
from sfumato.tasks.partitions.ke.parameters import KEParameters
from sfumato.tasks.partitions.mondrian.parameters import MondrianParameters
from sfumato.tasks.partitions.registry import PARTITIONS
from tests.attacks.test_minimality import MONDRIAN, close, diverse, release_of, table

RELAXED = MondrianParameters(method="mondrian", mode="relaxed")
SUPPRESSING = FullDomainParameters(method="full-domain", suppression="0.2")
FOREST, FACTORS = ForestParameters(method="forest"), FactorsParameters(method="factors")
KE = KEParameters(method="ke")
APART = [1, 2, 3, 4, 5, 6]
KE_TWO = KEAnonymity(k=2, e="1", sensitive="s")


def orders_drawn(run):
    """Yield what a run finds with all orders of all keys that it draws, each as likely."""
    sizes = []

    def probe(n):
        sizes.append(n)
        return np.arange(n, dtype=np.uint64)

    run(probe)
    for orders in product(*(permutations(range(n)) for n in sizes)):
        remaining = list(orders)
        yield run(lambda n: np.array(remaining.pop(0), dtype=np.uint64))  # noqa: B023


def as_sets(group):
    members = defaultdict(set)
    for row, number in enumerate(group.tolist()):
        members[number].add(row)
    return {frozenset(members_of_group) for members_of_group in members.values()}


def as_suppressed(group, arrays):
    """Groups that look alike are one: what all their people share of a column is shown."""
    members = defaultdict(set)
    for rows in as_sets(group):
        shared = [{values[row] for row in rows} for name, values in arrays.items() if name != "s"]
        label = tuple(min(values) if len(values) == 1 else "*" for values in shared)
        members[label] |= rows
    return {frozenset(members_of_group) for members_of_group in members.values()}


def posterior(arrays, promises, partition, groups, view=as_sets):
    """By brute force: the share of all worlds and orders with these groups, per row and value."""
    names = tuple(name for name in arrays if name != "s")
    promises = [replace(p, quasi_identifiers=names) for p in promises]
    belief, total = [defaultdict(Fraction) for _ in arrays["s"]], Fraction(0)
    rows = [sorted(members) for members in groups]
    for orders in product(
        *({*permutations(arrays["s"][row] for row in rows_of_group)} for rows_of_group in rows)
    ):
        world = list(arrays["s"])
        for members, order in zip(rows, orders, strict=True):
            for row, value in zip(members, order, strict=True):
                world[row] = value

        people = table({**arrays, "s": world})

        def run(keys, table=people):
            try:
                return PARTITIONS[partition.method](table, [], promises, partition, keys).group
            except PromiseError:
                return np.array([0])

        matches = [view(groups_) == {*groups} for groups_ in orders_drawn(run)]
        likely = Fraction(sum(matches), len(matches))
        total += likely
        for row, value in enumerate(world):
            belief[row][value] += likely
    return [{v: counts[v] / total for v in counts} for counts in belief]


ILL = AlphaK(alpha="0.5", k=1, sensitive="s", values=("ill",))
CASES = {
    "forest": (
        FOREST,
        {
            "a": [1, 1, 2, 3, 2, 2, 2, 3],
            "b": [6, 2, 5, 0, 1, 4, 3, 7],
            "s": [7, 7, 7, 8, 7, 7, 8, 9],
        },
        [KAnonymity(k=2), diverse(2)],
        True,
    ),
    "factors": (
        FACTORS,
        {"a": [1, 1, 2, 2, 3, 3], "b": [1, 2, 3, 4, 5, 6], "s": [7, 7, 8, 9, 9, 7]},
        [KAnonymity(k=2), diverse(2)],
        True,
    ),
    "relaxed": (RELAXED, {"a": [1, 2, 3, 4], "s": [7, 7, 8, 8]}, [diverse(2)], False),
    "relaxed, along another": (
        RELAXED,
        {"a": [1, 1, 2, 2], "b": [1, 2, 3, 4], "s": [7, 8, 7, 8]},
        [diverse(2)],
        False,
    ),
    "relaxed, one ill": (
        RELAXED,
        {"a": [1, 2, 3, 4, 5], "s": ["w", "w", "ill", "w", "ill"]},
        [ILL],
        True,
    ),
    "relaxed, likelier in some worlds": (
        RELAXED,
        {"a": [2, 1, 1, 1, 1], "b": [4, 0, 3, 2, 1], "s": [8, 8, 7, 7, 9]},
        [AlphaK(alpha="0.5", k=2, sensitive="s", values=("7",))],
        True,
    ),
    "suppression": (
        SUPPRESSING,
        {"a": [2, 2, 1, 1, 1, 1], "s": ["ill", "ill", "w", "w", "w", "w"]},
        [ILL],
        True,
    ),
    "suppression, three values": (
        SUPPRESSING,
        {"a": [1, 1, 1, 2, 2, 2], "s": [7, 7, 7, 8, 8, 9]},
        [diverse(2)],
        False,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_beliefs_are_those_of_all_worlds_and_orders(case, tmp_path, monkeypatch):
    partition, arrays, promises, _ = CASES[case]
    release = release_of(tmp_path, arrays, promises, partition)
    retold = retrace(release)
    monkeypatch.setattr(minimality, "retrace", {release: retold}.get)  # the attack does it anew
    beliefs = join_beliefs([group.beliefs() for group in retold.groups])
    assert beliefs.number == len(arrays["s"])
    group = retraced.group_of_people(release)
    expected = posterior(arrays, promises, partition, sorted(as_sets(group), key=min))
    own = sorted(
        float(share_of_value[value])
        for share_of_value, value in zip(expected, arrays["s"], strict=True)
    )
    assert sorted(np.repeat(beliefs.belief, beliefs.people).tolist()) == pytest.approx(own)
    hits = sum(
        Fraction(
            belief[value] == max(belief.values()),
            sum(b == max(belief.values()) for b in belief.values()),
        )
        for belief, value in zip(expected, arrays["s"], strict=True)
    )
    guessed, sure = minimality.attack(release)
    assert guessed.share == pytest.approx(float(hits / len(own)))
    assert sure.share == sum(belief >= SURE - 1e-9 for belief in own) / len(own)
    alone = homogeneity.beliefs(release)
    assert guessed.references == {"from the group alone": pytest.approx(alone.hits())}
    plain = np.repeat(alone.belief, alone.people)
    assert (own != pytest.approx(sorted(plain.tolist()))) is CASES[case][3], "more than groups tell"


def test_groups_that_look_alike_are_one(tmp_path):
    """The forest has three trees here, two of which show the same labels."""
    arrays = {
        "a": [6, 6, 6, 4, 3, 8, 8, 7],
        "b": [0, 1, 1, 0, 1, 0, 1, 0],
        "s": [7, 8, 8, 8, 7, 7, 7, 9],
    }
    promises = [KAnonymity(k=2), diverse(2)]
    release = release_of(tmp_path, arrays, promises, FOREST, "suppressed")
    groups = sorted(as_sets(retraced.group_of_people(release)), key=min)
    assert list(map(len, groups)) == [4, 4]
    beliefs = join_beliefs([group.beliefs() for group in retrace(release).groups])
    expected = posterior(
        arrays, promises, FOREST, groups, lambda group: as_suppressed(group, arrays)
    )
    own = sorted(
        float(share_of_value[value])
        for share_of_value, value in zip(expected, arrays["s"], strict=True)
    )
    assert sorted(np.repeat(beliefs.belief, beliefs.people).tolist()) == pytest.approx(own)
    retold = retrace(replace(release, runs=300))
    assert retold.method == "", "all worlds can be gone through"
    groups_again = redraw(replace(release, runs=300), retraced.group_of_people(release))
    assert groups_again.are_known


def test_two_who_are_ill_are_found_out(tmp_path):
    """One node up, though a row might have been suppressed: both are of one kind, surely."""
    partition, arrays, promises, _ = CASES["suppression"]
    guessed, sure = minimality.attack(release_of(tmp_path, arrays, promises, partition))
    assert (guessed.share, sure.share) == (1, 1)
    assert guessed.references == {"from the group alone": pytest.approx(4 / 6)}


VALUES = st.lists(st.integers(1, 5), min_size=4, max_size=6)


@given(VALUES, st.sampled_from(["sum", "weighted", "max"]), st.sampled_from([None, "0.4", "0.6"]))
def test_groups_of_values_alone_tell_nothing_more(values, objective, t):
    """(k,e)-groups, merged or not: each way to give a group's values to its people is as likely."""
    partition = KEParameters(method="ke", objective=objective)
    promises = [KE_TWO] if t is None else [KE_TWO, close(t)]
    try:
        people = table({"a": list(range(len(values))), "s": values})
        made = PARTITIONS["ke"](people, [], promises, partition, seeded_keys(1))
    except PromiseError:
        return
    declared = terms_of(partition, promises)
    release = Retraced(declared, people, "s", np.unique(made.group, return_inverse=True)[1])
    with patch.object(retraced, "_RUNS", 30_000):
        beliefs = join_beliefs([group.beliefs() for group in release.weighed_groups()])
    groups = [[values[row] for row in rows] for rows in as_sets(made.group)]
    expected = [Fraction(group.count(value), len(group)) for group in groups for value in group]
    believed = np.repeat(beliefs.belief, beliefs.people).tolist()
    assert sorted(believed) == pytest.approx(sorted(map(float, expected)))


def terms_of(partition, promises):
    """As much of a declaration as a partition is run by."""
    form = SimpleNamespace(grouped_by=lambda promises, _: promises, shows="rows")
    return SimpleNamespace(
        partition=partition,
        promises=promises,
        form=form,
        strata=(),
        names_with_roles=lambda _: ["a"],
    )


def test_anatomy_tells_nothing_more():
    """Of many draws, as many of each world of a group: people with its values are alike in it."""
    values = [1, 1, 2, 2, 3, 3]
    worlds, counts = list(worlds_within(np.array(values), np.zeros(6, dtype=int))), Counter()
    partition = AnatomyParameters(method="anatomy")
    expected = as_sets(np.array([0, 0, 0, 1, 1, 1]))
    for seed, world in product(range(60), worlds):
        if sorted(world[:3]) == sorted(world[3:]) == [1, 2, 3]:
            people = table({"a": list(range(6)), "s": world.tolist()})
            made = PARTITIONS["anatomy"](people, [], [diverse(3)], partition, seeded_keys(seed))
            counts[tuple(world[:3])] += as_sets(made.group) == expected
    assert len(counts) == 6
    mean = sum(counts.values()) / 6
    assert mean > 50
    assert sum((n - mean) ** 2 / mean for n in counts.values()) < 25.7, "χ², p = 1e-4"


@pytest.mark.parametrize("partition", [FOREST, FACTORS, MONDRIAN, RELAXED, SUPPRESSING])
def test_who_counts_rows_alone_looks_at_no_values(partition):
    """The same groups in every world."""
    arrays = {"a": [1, 1, 2, 3, 3, 4], "b": [1, 2, 1, 2, 2, 2]}
    promises, groups = [KAnonymity(k=2)], set()
    for world in worlds_within(np.array([1, 1, 2, 2, 3, 3]), np.zeros(6, dtype=int)):
        people = table({**arrays, "s": world.tolist()})
        made = PARTITIONS[partition.method](people, [], promises, partition, seeded_keys(1))
        groups.add(tuple(made.group.tolist()))
    assert len(groups) == 1


@pytest.mark.parametrize(
    ("partition", "promises", "arrays", "reason"),
    [
        (RELAXED, [KAnonymity(k=3)], {"a": APART, "s": APART}, retraced._BY_NOBODY),
        (KE, [KE_TWO], {"a": APART, "s": APART}, retraced._BY_VALUES),
        (RELAXED, [diverse(2)], {"a": APART * 5, "s": APART * 5}, retraced._TOO_MANY),
        (RELAXED, [diverse(2)], {"a": [1] * 6, "s": APART}, retraced._UNKNOWN),
        (
            FOREST,
            [KAnonymity(k=2), diverse(6)],
            {"a": APART * 3, "s": APART * 3},
            retraced._TOO_MANY,
        ),
        (RELAXED, [diverse(3)], {"a": APART, "s": [1, 2, 3] * 2}, retraced._BY_NUMBERS),
    ],
)
def test_what_is_not_gone_through_is_listed_with_its_reason(
    partition, promises, arrays, reason, tmp_path
):
    release = release_of(tmp_path, arrays, promises, partition)
    (skipped,) = minimality.attack(release)
    assert skipped.document() == {"measure": "minimality", "skipped": reason}


def test_suppressed_rows_would_be_needed(tmp_path):
    arrays = {"a": [1] * 5 + [2], "s": [7, 8, 7, 8, 7, 8]}
    release = release_of(tmp_path, arrays, [diverse(2)], SUPPRESSING)
    assert release.declared.rows.suppressed == 1
    (skipped,) = minimality.attack(release)
    assert skipped.skipped == retraced._SUPPRESSED


def test_groups_that_no_run_has_are_not_scored(tmp_path):
    release = release_of(tmp_path, CASES["forest"][1], CASES["forest"][2], FOREST)
    group = np.arange(8) % 2
    with pytest.raises(NotRetracedError, match="could not be run again"):
        Retraced(release.declared, release.people, "s", group).weighed_groups()


@given(st.lists(st.integers(0, 3), max_size=3))
def test_all_orders_are_met_once_and_as_likely(calls):
    def run(keys):
        return tuple(tuple(keys(n).tolist()) for n in calls)

    orders = list(all_orders(run, 10_000))
    expected = list(product(*(permutations(range(n)) for n in calls)))
    assert [order for order, _ in orders] == expected
    assert {chance for _, chance in orders} == {Fraction(1, len(expected))}


def test_too_many_orders():
    with pytest.raises(TooManyOrdersError):
        list(all_orders(lambda keys: keys(3), 5))
    with pytest.raises(TooManyOrdersError):
        list(all_orders(lambda keys: keys(7), 10_000))
