"""Beliefs from ranges that are the least, by all values that people could have."""

from collections import Counter
from fractions import Fraction
from itertools import product
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.groups.groups import Subdomains, Target
from sfumato.expectations.groups.subdomains import leaves, probabilities
from sfumato.flows.inputs.overrides import Overrides
from sfumato.flows.life.evaluation import attack_again
from sfumato.tasks.attacks.minimal import least_ranges
from sfumato.tasks.attacks.minimal.least_ranges import (
    NotEnumeratedError,
    beliefs_by_least_ranges,
    multisets_behind,
    posterior,
)
from sfumato.tasks.partitions.targets.minimum import minimum
from tests.attacks.test_subdomains import TREE, Seen
from tests.release.small import people

TWO_THIRDS = Target(np.array([-1, 0, 0]), np.array([1, 2, 1]))
GUESSED = "own value guessed by who knows that ranges are the least"


def shown_of(target, values):
    """The subdomains of some values (leaves): nodes and copies."""
    counts = np.bincount(values, minlength=len(target.parent))
    copies = minimum(target, counts)
    nodes = np.flatnonzero(copies)
    return tuple(nodes.tolist()), tuple(copies[nodes].tolist())


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1, 1, 2, 2], Fraction(9, 14)), ([1, 1, 1, 2], Fraction(9, 14)), ([1] * 4, Fraction(18, 25))],
)
def test_the_vector(values, expected):
    """P = (2/3, 1/3), four people: 9/14 and 18/25, where the target alone says 2/3."""
    multiset = shown_of(TWO_THIRDS, values)
    beliefs = posterior(TWO_THIRDS, multiset, multisets_behind(TWO_THIRDS, multiset))
    assert beliefs == [expected, 1 - expected]


def by_worlds(target, multiset, rows):
    """Return how likely the first person has each leaf: all values that people could have."""
    chance, ends = probabilities(target), leaves(target)
    counts = Counter()
    for world in product(ends, repeat=rows):
        if shown_of(target, list(world)) == multiset:
            counts[world[0]] += np.prod([chance[leaf] for leaf in world])
    return [Fraction(counts[leaf]) / sum(counts.values()) for leaf in ends]


@given(st.lists(st.sampled_from(leaves(TREE)), min_size=1, max_size=5))
def test_beliefs_are_those_of_all_worlds(values):
    multiset = shown_of(TREE, values)
    beliefs = posterior(TREE, multiset, multisets_behind(TREE, multiset))
    assert beliefs == by_worlds(TREE, multiset, len(values))


def test_each_group_by_its_own_subdomains():
    groups = [shown_of(TREE, values) for values in ([3, 4, 4, 4], [3, 5], [3, 4, 4, 4])]
    parts = [(g, n, c) for g, members in enumerate(groups) for n, c in zip(*members, strict=True)]
    group, node, count = (np.array(column) for column in zip(*reversed(parts), strict=True))
    subdomains = Subdomains(group, node, count, np.zeros(3, dtype=np.int64), (TREE,))
    beliefs = beliefs_by_least_ranges(Seen([4, 2, 4], subdomains, 4))
    for belief, values, rows in zip(beliefs, groups, (4, 2, 4), strict=True):
        assert belief == pytest.approx([float(part) for part in by_worlds(TREE, values, rows)])


def test_what_is_too_much_to_go_through_is_not():
    with pytest.raises(NotEnumeratedError, match="more than 20,000 possible combinations"):
        multisets_behind(TREE, ((0,), (60,)), most=30_000)
    with pytest.raises(NotEnumeratedError, match="these subdomains do not fit"):
        posterior(TWO_THIRDS, ((0, 1), (1, 3)), multisets_behind(TWO_THIRDS, ((0, 1), (1, 3))))


@pytest.fixture
def redistributed_line(small):
    """Groups of who are alike, each with values as all have them."""

    def write_line(**form):
        return small.write(
            [
                {**row, "age": 20 + n % 4, "wage": str(1 + n % 3)}
                for n, row in enumerate(people(rows=60))
            ],
            promises=[{"model": "p-privacy", "target": "source"}],
            partition={"method": "exact-qi"},
            form={"method": "redistributed", **form},
            evaluate={"workloads": []},
        )

    return write_line


def scores_of(small):
    directory = small.publish("one").directory
    scores_by_column, _ = attack_again(directory, small.spec, Overrides())
    return {score.measure: score for scores in scores_by_column.values() for score in scores}


def test_a_release_is_attacked(small, redistributed_line):
    redistributed_line()
    scores = scores_of(small)
    assert GUESSED in scores, [(m, s.skipped) for m, s in scores.items()]
    score = scores[GUESSED]
    assert 0 < score.share <= 1
    alone = scores["own value guessed from the subdomains"].share
    assert score.references == {"from the subdomains alone": pytest.approx(alone)}


def test_of_values_that_are_made_up_nothing_is_told(small, redistributed_line):
    redistributed_line(fakes=0.5)
    assert "made up" in scores_of(small)["minimality"].skipped


def test_too_many_values_are_said_to_be(small, redistributed_line):
    redistributed_line()
    with patch.object(least_ranges, "_CELLS", 1):
        assert "all groups together have too many" in scores_of(small)["minimality"].skipped


@pytest.mark.parametrize("limit", ["_PEOPLE", "_NODES"])
def test_large_groups_and_targets_are_not_gone_through(limit):
    subdomains = Subdomains(*(np.array([number]) for number in (0, 0, 1, 0)), targets=(TREE,))
    seen = Seen([1], subdomains, 4)
    assert beliefs_by_least_ranges(seen)[0] == pytest.approx([1 / 6, 1 / 2, 1 / 6, 1 / 6])
    with patch.object(least_ranges, limit, 0), pytest.raises(NotEnumeratedError, match="nodes"):
        beliefs_by_least_ranges(seen)
