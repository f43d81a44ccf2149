"""Beliefs of an attacker who knows how targets are chosen, by all tables that there could be."""

from collections import Counter, defaultdict
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import gcd
from unittest.mock import patch

import numpy as np
import pytest

from sfumato.expectations.models.l_diversity import EntropyLDiversity, RecursiveLDiversity
from sfumato.expectations.models.t_closeness import TCloseness
from sfumato.expectations.shared.errors import PromiseError, SpecError
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.life.evaluation import attack_again
from sfumato.tasks.attacks.minimal import chosen_targets
from sfumato.tasks.attacks.minimal.chosen_targets import TargetRule, invert
from sfumato.tasks.attacks.minimal.least_ranges import NotEnumeratedError
from sfumato.tasks.partitions.distribution.choices import targets_that_keep
from sfumato.tasks.partitions.targets.least import RangeTree
from sfumato.tasks.partitions.targets.minimum import minimum
from sfumato.tasks.partitions.targets.tree import balanced_tree
from sfumato.tasks.partitions.targets.trees_with_weights import annotate
from tests.attacks.test_bars import attack
from tests.release.small import people

SALARIES = np.array([30, 40, 50, 60])
EVEN3 = EntropyLDiversity(l=Decimal(3))
FAILING = "groups in which a promise fails by who knows how targets are chosen"


def rule_of(promise, denominator, *, is_least, totals=(1, 1, 1, 1)):
    tree = balanced_tree(len(SALARIES), 2)
    ranges = RangeTree(tree, tree.ranges(SALARIES), np.arange(len(SALARIES)))
    return TargetRule([promise], denominator, ranges, np.array(totals), is_least)


def output(rule, counts):
    """The target of a group with these counts, and the subdomains that it shows."""
    own = bool(rule.keep(counts[None])[0])
    weights = counts // gcd(*counts.tolist()) if own else rule.choose(counts)
    target = annotate(rule.tree.tree, weights).target
    copies = minimum(target, rule.tree.tree.at_leaves(counts))
    return tuple(weights.tolist()), tuple(copies.tolist())


def tables(rule, rows=4):
    """By output, how many tables have each multiset."""
    by_output = defaultdict(Counter)
    for table in product(range(len(SALARIES)), repeat=rows):
        counts = np.bincount(table, minlength=len(SALARIES))
        by_output[output(rule, counts)][tuple(counts.tolist())] += 1
    return by_output


def mean(multisets):
    """The chance of each value, given how many tables have each multiset."""
    sums = sum(np.array(counts) * number for counts, number in multisets.items())
    return [Fraction(int(n), int(sums.sum())) for n in sums]


RULES = [
    (EVEN3, 16, False),
    (EVEN3, 16, True),
    (EVEN3, 8, True),
    (RecursiveLDiversity(l=2, c=Decimal(2)), 6, True),
    (TCloseness(t=Decimal("0.3"), distance="equal"), 8, False),
    (TCloseness(t=Decimal("0.3"), distance="ordered"), 6, True),
]


@pytest.mark.parametrize(("promise", "denominator", "is_least"), RULES)
def test_beliefs_are_those_of_all_tables(promise, denominator, is_least):
    rule = rule_of(promise, denominator, is_least=is_least, totals=(3, 4, 2, 3))
    for (weights, copies), multisets in tables(rule).items():
        target = annotate(rule.tree.tree, np.array(weights)).target
        nodes = np.flatnonzero(copies)
        multiset = tuple(nodes.tolist()), tuple(np.array(copies)[nodes].tolist())
        assert invert(rule, [], 500).shares(target, multiset) == mean(multisets)


@pytest.mark.parametrize(
    ("denominator", "is_least", "certain", "failing"),
    [(16, False, 236, 232), (16, True, 256, 232), (8, False, 28, 126), (8, True, 108, 136)],
)
def test_how_many_tables_are_recovered_and_how_often_the_promise_fails(
    denominator, is_least, certain, failing
):
    """Four people, four values that are as likely as each other, 3 of them by entropy: 256 tables.

    The finer the denominator, the more a target says.
    """
    outputs = tables(rule_of(EVEN3, denominator, is_least=is_least)).values()
    assert sum(m.total() for m in outputs if len(m) == 1) == certain
    broken = 0
    for multisets in outputs:
        parts = np.array([[int(share * 1680 * 256) for share in mean(multisets)]])
        broken += multisets.total() * (not targets_that_keep([EVEN3], parts, np.ones(4))[0])
    assert broken == failing


def test_what_is_too_much_is_not_gone_through():
    rule = rule_of(EVEN3, 16, is_least=False)
    target = annotate(rule.tree.tree, np.array([2, 4, 1, 9])).target
    with pytest.raises(NotEnumeratedError, match="too many possible values"):
        invert(rule, [], 0).shares(target, ((0,), (4,)))
    with patch.object(chosen_targets, "_OPEN", 0), pytest.raises(NotEnumeratedError):
        invert(rule, [], 500).shares(target, ((0,), (4,)))


def write(small, objective, rows=64, **more):
    small.write(
        [
            {**row, "age": 20 + n // 8, "wage": str(1 + min(n % 8, n // 8 % 4))}
            for n, row in enumerate(people(rows=rows))
        ],
        promises=[
            {"model": "p-privacy", "target": {"nearest": "own", "objective": objective}},
            {"model": "l-diversity", "variant": "entropy", "l": 2.5},
        ],
        partition={"method": "stratum"},
        strata=["age"],
        form={"method": "redistributed", "denominator": 12},
        evaluate={"workloads": []},
        **more,
    )


@pytest.mark.parametrize("objective", ["nearest", "ranges"])
def test_a_release_is_attacked(small, objective):
    """Groups of eight people; the figures name how many groups could be enumerated."""
    write(small, objective)
    directory = small.publish("one").directory
    scores_by_column, _ = attack_again(directory, small.spec, Overrides())
    scores = {score.measure: score for scores in scores_by_column.values() for score in scores}
    assert 0 < scores[FAILING].share <= 1
    assert scores[FAILING].references == {"groups with few enough possible values to enumerate": 1}
    number, all_ = scores[FAILING].tally
    assert all_ == 9
    assert scores[FAILING].share == number / 9
    assert f"({number} of 9; groups with few" in scores[FAILING].text
    assert scores[FAILING].document()["number"] == number
    guessed = scores["own value guessed by who knows how targets are chosen"]
    assert guessed.share >= guessed.references["from the subdomains alone"]


@pytest.mark.parametrize(("objective", "most"), [("ranges", 0), ("ranges", 1), ("nearest", 1)])
def test_a_bar_on_it_is_judged(small, objective, most):
    """Somebody of 160 is believed to have their value with 40 % and more, and not everybody is."""
    above = {"belief": 0.4, "share": most}
    write(small, objective, rows=160, attacks={"minimality": {"max-share-above": above}})
    if not most:
        with pytest.raises(PromiseError, match=r"minimality\.max-share-above: 0 of 'wage'"):
            attack(small)
    else:
        (judged,) = attack(small)
        assert judged.is_kept
        assert 0 < judged.observed < 1


@pytest.mark.parametrize("objective", ["nearest", "ranges"])
def test_a_bar_on_groups_in_which_the_promise_fails_is_judged(small, objective):
    """The promise fails in some of 21 groups: a bar of 0 refuses, one of all of them is kept."""
    write(small, objective, rows=160, attacks={"minimality": {"max-share": 0}})
    with pytest.raises(PromiseError, match=r"minimality\.max-share: 0 of 'wage'"):
        attack(small)
    write(small, objective, rows=160, attacks={"minimality": {"max-share": 1}})
    (judged,) = attack(small, "another")
    assert judged.is_kept
    assert 0 < judged.observed < 1
    assert judged.observed * 21 == pytest.approx(round(judged.observed * 21))


def test_groups_that_are_not_gone_through_count_against_the_bar(small):
    write(small, "ranges", rows=160, attacks={"minimality": {"max-share": 0.99}})
    with (
        patch.object(chosen_targets, "_MULTISETS", 0),
        pytest.raises(PromiseError, match=r"minimality\.max-share: 0\.99"),
    ):
        attack(small)


def test_a_bar_on_groups_needs_targets_of_their_own(small):
    small.write(
        people(),
        promises=[{"model": "p-privacy", "target": "source"}],
        partition={"method": "stratum"},
        form={"method": "redistributed"},
        attacks={"minimality": {"max-share": 0}},
    )
    with pytest.raises(SpecError, match=r"minimality\.max-share: counts groups that have targets"):
        small.plan()


def test_a_bar_on_ranges_is_judged_where_targets_are_declared(small):
    above = {"belief": 1, "share": 0.5}
    small.write(
        [
            {**row, "age": 20 + n % 4, "wage": str(1 + n % 3)}
            for n, row in enumerate(people(rows=120))
        ],
        promises=[{"model": "p-privacy", "target": "source"}],
        partition={"method": "exact-qi"},
        form={"method": "redistributed"},
        evaluate={"workloads": []},
        attacks={"minimality": {"max-share-above": above}},
    )
    (judged,) = attack(small)
    assert (judged.observed, judged.is_kept) == (0, True)
