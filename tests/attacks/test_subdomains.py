"""Subdomains under attack: the target as prior, against enumeration and what is promised."""

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.groups.groups import Subdomains, Target
from sfumato.expectations.groups.subdomains import leaves, probabilities
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.life.evaluation import attack_again
from sfumato.tasks.attacks.group.subdomains import beliefs_of_groups, leaf_shares
from tests.release.small import people

TREE = Target(np.array([-1, 0, 0, 1, 1, 2, 2]), np.array([1, 2, 1, 1, 3, 1, 1]))


class Seen:
    """A release that answers `shown_groups`, of groups alone."""

    def __init__(self, sizes, subdomains, values):
        self.sizes, self.subdomains = np.array(sizes), subdomains
        self.published = type("PublishedTargets", (), {"domain": range(values)})


def by_worlds(target, nodes):
    """The chance that the first person of a group has each leaf: every way to stand behind nodes.

    Below a node each leaf is as likely as the target says.
    """
    chance, ends = probabilities(target), leaves(target)
    under = {node: [leaf for leaf in ends if node in chain(target, leaf)] for node in set(nodes)}
    beliefs = [Fraction(0)] * len(ends)
    for order in permutations(nodes):
        for world in product(*(under[node] for node in order)):
            weight = Fraction(1)
            for node, leaf in zip(order, world, strict=True):
                weight *= chance[leaf] / chance[node]
            beliefs[ends.index(world[0])] += weight
    return [part / sum(beliefs) for part in beliefs]


def chain(target, node):
    while node >= 0:
        yield node
        node = int(target.parent[node])


@given(st.lists(st.integers(0, 6), min_size=1, max_size=4))
def test_beliefs_are_those_of_all_worlds(nodes):
    node, count = np.unique(nodes, return_counts=True)
    subdomains = Subdomains(
        np.zeros(len(node), np.int64), node, count, np.zeros(1, np.int64), (TREE,)
    )
    belief, declared = beliefs_of_groups(Seen([len(nodes)], subdomains, 4))
    assert belief[0] == pytest.approx([float(part) for part in by_worlds(TREE, nodes)])
    weights = [probabilities(TREE)[leaf] for leaf in leaves(TREE)]
    assert declared[0] == pytest.approx([float(part) for part in weights])


def test_leaves_below_nodes():
    quarter = Fraction(1, 4)
    assert leaf_shares(TREE)[1] == [quarter, 3 * quarter, 0, 0]
    assert leaf_shares(TREE)[3] == [1, 0, 0, 0]
    assert leaf_shares(TREE)[0] == [Fraction(1, 6), Fraction(1, 2), Fraction(1, 6), Fraction(1, 6)]


@pytest.fixture
def redistributed_line(small):
    """Strata that show their own distribution, exactly."""
    return small.write(
        people(rows=300),
        promises=[{"model": "p-privacy", "target": "source", "per": "stratum"}],
        strata=["town"],
        partition={"method": "stratum"},
        form={"method": "redistributed", "denominator": "exact"},
        evaluate={"workloads": []},
    )


def test_where_p_privacy_holds_exactly_subdomains_add_nothing(redistributed_line):
    version = redistributed_line.publish("one").directory
    scores, _ = attack_again(version, redistributed_line.spec, Overrides())
    (guessed, sure) = (s for s in scores["wage"] if "subdomains" in s.measure)
    assert guessed.share == pytest.approx(guessed.references["from the declared target alone"])
    assert sure.share == sure.references["from the declared target alone"] == 0


def test_bars_are_judged(redistributed_line):
    version = redistributed_line.publish("one").directory
    text = redistributed_line.spec.read_text("utf-8")
    redistributed_line.spec.write_text(
        f"{text}\nattacks: {{subdomains: {{max-lift: 0}}}}\n", "utf-8"
    )
    _, (bar,) = attack_again(version, redistributed_line.spec, Overrides())
    assert bar.is_kept
