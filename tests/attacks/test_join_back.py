"""Registers joined back with tables that show columns apart, against worlds listed one by one."""

import random
from collections import Counter
from fractions import Fraction
from itertools import product
from math import prod
from operator import contains
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.groups.covering import Covering
from sfumato.expectations.groups.groups import Cover
from sfumato.expectations.shared.errors import InputError
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.life.evaluation import REGISTER, attack_again
from sfumato.tasks.attacks.linking import counted, memberships
from sfumato.tasks.attacks.linking.counted import shares_of_pairs
from sfumato.tasks.attacks.linking.memberships import cover_people
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.terms.tables import read_tables
from tests.attacks.test_linkage import register_of
from tests.release.small import SPEC

PROMISE = {"model": "alpha-beta", "alpha": "0.9", "beta": "0.5", "presence": "per-group"}
COLUMNS = {
    **SPEC["columns"],
    "town": {"role": "quasi-identifier"},
    "wage": {"role": "drop"},
    "job": {"role": "sensitive"},
}
TERMS = {
    "promises": [PROMISE],
    "partition": {"method": "ambiguity"},
    "form": {"method": "ambiguous"},
    "columns": COLUMNS,
    "evaluate": {"workloads": []},
}
JOBS = ["baker", "clerk", "driver", "nurse"]


def rows(draw):
    return [
        {"person": f"IDENT-{n}", "age": draw.randint(19, 60), "town": draw.choice("ABCDEFGH")}
        | {"note": "", "wage": "", "job": draw.choice(JOBS)}
        for n in range(60)
    ]


def groups_of(release):
    """The rows of each group, the values that it admits, and its jobs, from the published files."""
    sizes, values, jobs = Counter(), {}, {}
    tables = read_tables(release.declared, release.directory / "data")
    for row in (row for table in tables.values() for row in table.to_pylist()):
        for name in {"age", "town"} & row.keys():
            values.setdefault((row["group_id"], name), set()).add(str(row[name]))
        if "job" in row:
            sizes[row["group_id"]] += row["count"]
            jobs.setdefault(row["group_id"], {})[row["job"]] = row["count"]
    return sizes, values, jobs


def worlds_of(register, groups, used=True):
    """All ways to put people into groups that the groups allow: the group of each, or none.

    Args:
        register: the vector of everybody.
        groups: how many rows each has, and the values that it shows of each quasi-identifier.
        used: whether each of these has to be somebody's.
    """
    ways = [
        [None, *(n for n, (_, labels) in groups.items() if all(map(contains, labels, vector)))]
        for vector in register
    ]
    for world in product(*ways):
        members = {
            n: [v for v, group in zip(register, world, strict=True) if group == n] for n in groups
        }
        full = all(len(members[n]) == size for n, (size, _) in groups.items())
        met = (
            set(column_values) == set(column)
            for n, (_, labels) in groups.items()
            for column_values, column in zip(labels, zip(*members[n], strict=True), strict=False)
        )
        if full and (not used or all(met)):
            yield world


def weighed_shares(worlds, register, weight):
    """Return how likely each person is in each group, where members' weights are multiplied."""
    total, shares = Fraction(0), Counter()
    for world in worlds:
        pairs = list(zip(range(len(register)), world, strict=True))
        weighs = prod(weight(register[p], n) for p, n in pairs if n is not None)
        total += weighs
        shares.update({pair: Fraction(weighs) for pair in pairs})
    return {pair: weighs / total for pair, weighs in shares.items()}


def guessed_of_worlds(register, groups, jobs, people, weight):
    """Surely there, likelier there than others, and the own job guessed: from worlds one by one."""
    shares = weighed_shares(worlds_of(register, groups), register, weight)
    there = [sum(shares.get((p, n), 0) for n in groups) for p in range(len(register))]
    ours = [register.index((age, town)) for age, town, _ in people]
    absent = [*(Counter(register) - Counter((age, town) for age, town, _ in people)).elements()]
    pairs = [
        (there[p] > there[register.index(q)]) + Fraction(there[p] == there[register.index(q)], 2)
        for p, q in product(ours, absent)
    ]
    hits = []
    for position, (*_, own) in zip(ours, people, strict=True):
        likely = Counter()
        for n, (size, _) in groups.items():
            likely.update(
                {j: shares.get((position, n), 0) * Fraction(c, size) for j, c in jobs[n].items()}
            )
        top = [job for job, share in likely.items() if share == max(likely.values())]
        hits.append(Fraction(own in top, len(top)))
    return [
        Fraction(sum(there[p] == 1 for p in ours), len(ours)),
        sum(pairs) / len(pairs),
        sum(hits) / len(hits),
    ]


VECTOR = st.tuples(st.integers(0, 2), st.integers(0, 1))
PLACED = st.lists(st.tuples(VECTOR, st.none() | st.integers(0, 1)), min_size=1, max_size=6)


@given(PLACED, st.integers(1, 4))
def test_memberships_are_shares_of_worlds(register_and_groups, base):
    """Everybody's chance to be in each group, as fractions: alike, and by weights."""
    register, groups = [vector for vector, _ in register_and_groups], {}
    for n in {group for _, group in register_and_groups if group is not None}:
        members = [vector for vector, group in register_and_groups if group == n]
        groups[n] = (len(members), [set(column) for column in zip(*members, strict=True)])
    kinds = sorted({*register})
    vectors = {k: frozenset(enumerate(vector)) for k, vector in enumerate(kinds)}
    people = {k: register.count(vector) for k, vector in enumerate(kinds)}
    pairs_of_group = {
        n: (size, frozenset((q, v) for q, labels in enumerate(values) for v in labels))
        for n, (size, values) in groups.items()
    }
    weigh = lambda vector, n: base ** (vector[0] + n * vector[1])  # noqa: E731
    pairs = {
        (k, n): weigh(vector, n)
        for k, vector in enumerate(kinds)
        for n, (_, values) in groups.items()
        if all(map(contains, values, vector))
    }
    shares = shares_of_pairs(pairs, people, vectors, pairs_of_group)
    expected = weighed_shares(worlds_of(register, groups), register, weigh)
    assert {*shares} == {*pairs}
    for (k, n), share in shares.items():
        assert share == expected.get((register.index(kinds[k]), n), 0)


@given(st.lists(st.integers(1, 5), min_size=5, max_size=5), st.integers(1, 2), st.integers(1, 2))
def test_groups_with_nobody_in_common_need_not_be_counted(weights, here, there):
    """0, 1 and 2 are covered by one group, 3 and 4 by another, and what they show tells no more."""
    cover = Cover(np.array([0, 0, 0, 1, 1]), np.arange(5), 5)
    covering = Covering(np.array([here, there]), (cover,))
    covered = cover_people(covering, [np.arange(5)], np.ones(5, dtype=np.int64))
    register = [(n,) for n in range(5)]
    groups = {0: (here, [{0, 1, 2}]), 1: (there, [{3, 4}])}
    worlds = list(worlds_of(register, groups, used=False))
    pairs = list(zip(covered.vector.tolist(), covered.group.tolist(), strict=True))
    weights_ = covered.fill(covered._drawing_chances(np.array(weights, dtype=float)))
    expected = weighed_shares(worlds, register, lambda vector, _: weights[vector[0]])
    assert weights_ == pytest.approx([float(expected[pair]) for pair in pairs])
    with patch.object(counted, "EACH", 0):
        alike = covered.alike()
    expected = weighed_shares(worlds, register, lambda *_: 1)
    assert alike == pytest.approx([float(expected[pair]) for pair in pairs])


@given(st.lists(st.tuples(VECTOR, st.integers(0, 3)), min_size=4, max_size=30), st.integers(0, 9))
def test_what_is_not_counted_fills_groups_all_the_same(members, others):
    """Groups have as many people as rows, whoever is there; of a register of these, all are."""
    vectors, group = np.array([v for v, _ in members]).T, [n for _, n in members]
    _, group = np.unique(group, return_inverse=True)
    covers = [np.unique([group, column], axis=1) for column in vectors]
    covering = Covering(np.bincount(group), tuple(Cover(*cover, values=3) for cover in covers))
    more = np.tile(vectors[:, :1], others)
    vectors_, people = np.unique(np.hstack([vectors, more]), axis=1, return_counts=True)
    covered = cover_people(covering, [*vectors_], people)
    with patch.object(counted, "EACH", 0):
        shares = covered.alike()
    there = np.bincount(covered.vector, shares, len(people))
    filled = np.bincount(covered.group, shares * people[covered.vector])
    assert filled == pytest.approx(covering.sizes, rel=0.05)
    assert (there <= 1 + 1e-9).all()
    if not others:
        assert there == pytest.approx(1)


def test_what_groups_admit_more_often_weighs_more():
    """0 stands in both groups, 1 and 2 in one each: whoever has 0 is likelier to be there."""
    register, values = [(0,)] * 5 + [(1,)] * 3 + [(2,)] * 3, {0: {0, 1}, 1: {0, 2}}
    cover = Cover(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 2]), 3)
    covering = Covering(np.array([4, 3]), (cover,))
    covered = cover_people(covering, [np.arange(3)], np.array([5, 3, 3]))
    pairs = list(zip(covered.vector.tolist(), covered.group.tolist(), strict=True))
    often = seem_to_occur({0: 4, 1: 3}, {(n, "q"): labels for n, labels in values.items()}, "q")
    assert often[0, 0] > often[0, 1]
    worlds = list(worlds_of(register, {0: (4, [values[0]]), 1: (3, [values[1]])}))
    expected = weighed_shares(worlds, register, lambda vector, n: often[n, vector[0]])
    first = [float(expected[register.index((vector,)), n]) for vector, n in pairs]
    assert covered.by_weights() == pytest.approx(first, rel=1e-6)
    assert covered.alike() != pytest.approx(first, rel=0.01)


@pytest.mark.parametrize("seed", [2, 3, 8])
@pytest.mark.parametrize("method", ["ambiguity", "disjoint-cover"])
def test_as_world_by_world(seed, method, small, tmp_path):
    draw = random.Random(seed)
    vectors = draw.sample([*product((20, 30, 40), "ABC")], 6)
    people = [
        {**row, "age": age, "town": town, "job": JOBS[n % 2]}
        for n, (row, (age, town)) in enumerate(zip(rows(draw), vectors, strict=False))
    ]
    small.write(people, **{**TERMS, "partition": {"method": method}})
    directory = small.publish("one").directory
    ours = [(str(row["age"]), row["town"], row["job"]) for row in people]
    register_rows = [row[:2] for row in ours] + [(draw.choice(["20", "30"]), "A"), ("40", "B")]
    scores, _ = attack_again(
        directory, small.spec, Overrides(), register_of(tmp_path, register_rows)
    )
    sizes, values, jobs = groups_of(open_release(directory))
    assert sizes.total() == len(people), "nobody is suppressed"
    groups = {n: (size, [values[n, "age"], values[n, "town"]]) for n, size in sizes.items()}
    often = {name: seem_to_occur(sizes, values, name) for name in ("age", "town")}
    weigh = lambda vector, n: often["age"][n, vector[0]] * often["town"][n, vector[1]]  # noqa: E731
    register_scores = scores[REGISTER]
    alike = guessed_of_worlds(register_rows, groups, jobs, ours, lambda *_: 1)
    assert [score.share for score in register_scores] == pytest.approx(
        [float(share) for share in alike], abs=1e-9
    )
    by_weights = guessed_of_worlds(register_rows, groups, jobs, ours, weigh)
    words = "weighing people by how often values seem to occur"
    assert [score.references[words] for score in register_scores] == pytest.approx(
        by_weights, abs=1e-9
    )
    assert register_scores[0].references["share of the register that is in it"] == 0.75


def seem_to_occur(sizes, values, name):
    """The expected occurrences of each value of a column in each group, fitted in turns."""
    labels_of = {n: values[n, name] for n in sizes}
    often = Counter(value for labels in labels_of.values() for value in labels)
    for _ in range(100):
        weights = {
            (n, v): 1 + (size - len(labels_of[n])) * often[v] / sum(often[u] for u in labels_of[n])
            for n, size in sizes.items()
            for v in labels_of[n]
        }
        often = Counter()
        for (_, value), times in weights.items():
            often[value] += times
    return {pair: Fraction(round(times * 2**20), 2**20) for pair, times in weights.items()}


def test_people_whom_the_register_lacks(small, tmp_path):
    small.write(rows(random.Random(1)), **TERMS)
    directory = small.publish("one").directory
    with pytest.raises(InputError, match="the register does not contain all people of the release"):
        attack_again(directory, small.spec, Overrides(), register_of(tmp_path, [("30", "A")]))


def test_who_would_weigh_too_many_people_is_listed(small, tmp_path, monkeypatch):
    people = rows(random.Random(1))
    small.write(people, **TERMS)
    directory = small.publish("one").directory
    register = register_of(tmp_path, [(str(row["age"]), row["town"]) for row in people])
    monkeypatch.setattr(memberships, "_STEPS", 0)
    register_scores = attack_again(directory, small.spec, Overrides(), register)[0][REGISTER]
    assert [score.measure for score in register_scores if score.skipped] == [
        "weighing people by how often values seem to occur"
    ]
    assert not any("weighing" in words for score in register_scores for words in score.references)


def test_a_partition_is_run_again_on_worlds_that_are_drawn(small):
    """As `--runs` of the command says; else it is skipped, with the hint."""
    people = [{**row, "job": JOBS[n % 2]} for n, row in enumerate(rows(random.Random(2))[:6])]
    small.write(people, **{**TERMS, "partition": {"method": "disjoint-cover"}})
    directory = small.publish("one").directory

    def scores_of_draws(runs):
        scores = attack_again(directory, small.spec, Overrides(), runs=runs)[0]["job"]
        return [
            score for score in scores if "what else was tried" in score.measure or score.skipped
        ]

    (skipped,) = scores_of_draws(0)
    assert "--runs" in skipped.skipped
    assert all("of 40 drawn worlds" in score.margin.method for score in scores_of_draws(40))
