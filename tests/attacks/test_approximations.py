"""Approximations against all worlds, where both can be had: what is not counted is near.

The guide states the errors that are seen here.
"""

from unittest.mock import patch

import numpy as np
import pytest

from sfumato.expectations.groups.covering import Covering
from sfumato.expectations.groups.groups import Cover
from sfumato.tasks.attacks.linking import counted, same_people
from sfumato.tasks.attacks.linking.composition import PeopleInGroups, _likely
from sfumato.tasks.attacks.linking.memberships import cover_people
from tests.attacks.test_join_back import worlds_of


def shown_of(own, group):
    """A release of everybody, with the groups and values of these."""
    values = int(own.max()) + 1
    place, count = np.unique(group * values + own, return_counts=True)
    return PeopleInGroups(np.arange(len(own)), group, own, np.bincount(group), place, count)


def groups_of_three(rng, people):
    return rng.permutation(people) // 3


def beliefs_in_own(seen, own):
    """Return the belief in everybody's own value (float64), and if all worlds were counted."""
    groups = np.stack([person.group for person in seen], axis=1)
    kinds, kind = np.unique(groups, axis=0, return_inverse=True)
    likely = _likely(seen, kinds, int(own.max()) + 1)
    belief = likely.weight / np.add.reduceat(likely.weight, likely.starts)[likely.kind]
    position = np.searchsorted(likely.kind * 9 + likely.value, kind * 9 + own)
    return belief[position], likely.exact[kind]


def off_by(approximation, releases, lines=150):
    """Return by how much beliefs in own values are too large, in random lines (float64)."""
    differences = []
    for seed in range(lines):
        rng = np.random.default_rng(seed)
        own = rng.integers(0, 4, 12)
        own[:4] = range(4)
        seen = [shown_of(own, groups_of_three(rng, 12)) for _ in range(releases)]
        exact, counted = beliefs_in_own(seen, own)
        assert counted.all()
        with approximation():
            near, counted = beliefs_in_own(seen, own)
        assert not counted.any()
        differences.append(near - exact)
    return np.concatenate(differences)


def own_groups():
    return patch.object(same_people, "_GROUPS", 0)


def scale_weights():
    return patch.object(same_people, "EACH", 0)


@pytest.mark.parametrize(
    ("approximation", "releases", "mean", "often"),
    [
        (own_groups, 2, 0.16, 0.42),
        (own_groups, 3, 0.16, 0.35),
        (scale_weights, 2, 0.19, 0.56),
        (scale_weights, 3, 0.18, 0.40),
    ],
)
def test_beliefs_by_several_releases_are_near(approximation, releases, mean, often):
    """The mean error, and the share of people of whom it is above a tenth; too little is told."""
    off = off_by(approximation, releases)
    assert 0 < np.abs(off).mean() < mean
    assert (np.abs(off) > 0.1).mean() < often
    assert off.mean() < 0


def covered_groups(rng):
    """Groups of two or three of a register of nine, and what they show of two columns."""
    register = np.unique(rng.integers(0, 4, (9, 2)), axis=0)
    group = rng.integers(-1, 3, len(register))
    group[: min(3, len(register))] = range(min(3, len(register)))
    group = np.unique(group[group >= 0], return_inverse=True)[1], register[group >= 0]
    covers = [np.unique([group[0], column], axis=1) for column in group[1].T]
    covering = Covering(np.bincount(group[0]), tuple(Cover(*cover, values=4) for cover in covers))
    return register, covering, covers


def test_memberships_that_are_scaled_are_near():
    off, there_off = [], []
    for seed in range(150):
        register, covering, covers = covered_groups(np.random.default_rng(seed))
        covered = cover_people(covering, [*register.T], np.ones(len(register), dtype=np.int64))
        exact = covered.alike()
        assert covered.are_counted().all()
        groups = {
            n: (int(size), [{*values[groups_ == n].tolist()} for groups_, values in covers])
            for n, size in enumerate(covering.sizes)
        }
        if seed < 12:
            people = [tuple(vector) for vector in register.tolist()]
            worlds = list(worlds_of(people, groups))
            pairs = zip(covered.vector.tolist(), covered.group.tolist(), strict=True)
            shares = [sum(world[p] == n for world in worlds) / len(worlds) for p, n in pairs]
            assert exact == pytest.approx(shares)
        again = cover_people(covering, [*register.T], np.ones(len(register), dtype=np.int64))
        with patch.object(counted, "EACH", 0):
            near = again.alike()
        assert not again.are_counted()[np.unique(again.vector)].any()
        off.append(np.abs(near - exact))
        presence = [
            np.bincount(covered.vector, weights, len(register)) for weights in (near, exact)
        ]
        there_off.append(np.abs(presence[0] - presence[1]))
    off, there_off = np.concatenate(off), np.concatenate(there_off)
    assert 0 < off.mean() < 0.1
    assert 0 < there_off.mean() < 0.05
    assert (there_off > 0.1).mean() < 0.13
