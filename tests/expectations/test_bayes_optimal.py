"""Bayes-optimal privacy: beliefs against every world there is."""

from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest
from pydantic import ValidationError

from expectations.bayes_optimal import BayesOptimal, beliefs
from expectations.counting import merge
from expectations.errors import PromiseError
from expectations.groups import Counts, Groups, Joint, Population


def groups_of_population(shown, people):
    """Groups from rows of counts per value, and people as (group, cell, value) -> count."""
    shown = np.array(shown)
    group, value = np.nonzero(shown)
    labels = pa.array([f"s{i}" for i in range(shown.shape[1])])
    counts = Counts(group, value, shown[group, value], shown.shape[1], None, labels)
    keys = np.array(sorted(key for key, n in people.items() if n)).reshape(-1, 3)
    joint = Joint(
        *(keys[:, i].astype(np.int64) for i in range(3)),
        np.array([people[tuple(key)] for key in keys.tolist()], dtype=np.int64),
    )
    sizes = np.bincount(joint.group, joint.count, len(shown)).astype(np.int64)
    population = Population(sizes, 0, {"s": joint})
    return Groups(shown.sum(axis=1), {"s": counts}, population=population)


def rho(rho1, rho2, **more):
    return BayesOptimal(rho1=Decimal(rho1), rho2=Decimal(rho2), population="p", **more)


APART = {(0, 0, 0): 1, (0, 0, 1): 9, (1, 0, 0): 2, (1, 0, 1): 8}
TOGETHER = {(0, 0, 0): 1, (0, 0, 1): 9, (0, 1, 0): 2, (0, 1, 1): 8}


def test_two_safe_groups_whose_union_is_a_breach():
    model = rho("0.31", "0.58")
    apart = groups_of_population([[1, 1], [1, 1]], APART)
    assert model.check(apart).holds
    assert model.check(apart).observed == {"rho2": Fraction(1, 2)}
    together = groups_of_population([[2, 2]], TOGETHER)
    found = beliefs(together.of("s"), together.population.joint["s"])
    assert [found.exact(cell, 0)[1] for cell in (0, 1)] == [Fraction(17, 44), Fraction(17, 29)]
    assert found.posterior[:, 0].tolist() == pytest.approx([17 / 44, 17 / 29])
    verdict = model.check(together)
    assert (verdict.holds, verdict.observed["rho2"]) == (False, Fraction(17, 29))
    assert not BayesOptimal.monotone
    assert model.feasible(together) is None
    assert model.check(merge(apart, np.array([0, 0]))) == verdict


def enumerated(people, shown, cell):
    """What a person of the cell, known to be in the release, has in how many of all worlds.

    A world says which people of the population are in the release (so that its counts come out)
    and which of those of the cell who are in it the person is.
    """
    persons = [(c, v) for (c, v), n in people.items() for _ in range(n)]
    times = np.zeros(len(shown))
    by_value = [
        [i for i, (_, v) in enumerate(persons) if v == value] for value in range(len(shown))
    ]
    choices = [list(combinations(who, n)) for who, n in zip(by_value, shown, strict=True)]
    for world in product(*choices):
        for i in (i for chosen in world for i in chosen):
            if persons[i][0] == cell:
                times[persons[i][1]] += 1
    return [Fraction(int(n), int(times.sum())) for n in times]


def test_beliefs_are_those_of_all_worlds():
    """190 random small populations; those in which nobody of the cell could be in are counted."""
    rng = np.random.default_rng(9)
    compared = 0
    for _ in range(190):
        values, cells = int(rng.integers(2, 4)), int(rng.integers(1, 4))
        people = {(c, v): int(rng.integers(0, 4)) for c in range(cells) for v in range(values)}
        total = [sum(people[c, v] for c in range(cells)) for v in range(values)]
        shown = [int(rng.integers(0, n + 1)) for n in total]
        if not sum(shown):
            continue
        groups = groups_of_population([shown], {(0, c, v): n for (c, v), n in people.items()})
        found = beliefs(groups.of("s"), groups.population.joint["s"])
        alive = [c for c in range(cells) if any(people[c, v] for v in range(values))]
        for place, cell in enumerate(alive):
            if not any(people[cell, v] and shown[v] for v in range(values)):
                continue
            wanted = enumerated(people, shown, cell)
            assert [found.exact(place, v)[1] for v in range(values)] == wanted
            assert found.posterior[place].tolist() == pytest.approx([float(w) for w in wanted])
            compared += 1
    assert compared > 250


def test_without_dependence_the_belief_is_the_share_in_the_group():
    people = {(0, c, v): (c + 1) * (v + 1) for c in range(3) for v in range(3)}
    groups = groups_of_population([[4, 2, 1]], people)
    found = beliefs(groups.of("s"), groups.population.joint["s"])
    assert np.allclose(found.posterior, [[4 / 7, 2 / 7, 1 / 7]] * 3)


def test_negative_disclosure():
    groups = groups_of_population([[1, 9]], {(0, 0, 0): 90, (0, 0, 1): 10})
    verdict = rho("0.2", "0.8").check(groups)
    assert not verdict.holds
    assert verdict.observed["rho2"] == Fraction(9, 10)


def test_people_who_cannot_be_in_a_group_are_not_asked_about():
    groups = groups_of_population([[2, 0]], {(0, 0, 0): 4, (0, 1, 1): 9})
    verdict = rho("0.2", "0.8").check(groups)
    assert (verdict.holds, verdict.observed["rho2"]) == (True, 0)


def test_smoothing_adds_to_every_count():
    groups = groups_of_population([[1, 1]], {(0, 0, 0): 1, (0, 0, 1): 3})
    found = beliefs(groups.of("s"), groups.population.joint["s"], Fraction(1))
    assert found.exact(0, 0)[0] == Fraction(2, 6)
    assert found.prior.tolist() == [[2 / 6, 4 / 6]]


def test_a_value_that_nobody_has_and_groups_of_nobody_are_not_measured():
    impossible = groups_of_population([[1, 1]], {(0, 0, 0): 4})
    with pytest.raises(PromiseError, match="nobody like it has"):
        beliefs(impossible.of("s"), impossible.population.joint["s"])
    nobody = groups_of_population([[1, 0], [0, 1]], {(0, 0, 0): 4})
    without = Groups(nobody.sizes, nobody.sensitive)
    for groups in (impossible, nobody, without):
        verdict = rho("0.2", "0.8").check(groups)
        assert (verdict.holds, verdict.observed) == (False, {"rho2": None})


def test_thresholds_that_are_met_exactly():
    """Beliefs of exactly ρ2 and priors of exactly ρ1 are no breaches."""
    groups = groups_of_population([[1, 2]], {(0, 0, 0): 1, (0, 0, 1): 2})
    third = Decimal(1) / Decimal(3)
    above, below_ = third + Decimal("1e-27"), third - Decimal("1e-27")
    assert rho(str(below_), "0.5").check(groups).observed["rho2"] == 0
    assert rho(str(above), "0.5").check(groups).observed["rho2"] == Fraction(1, 3)
    two_thirds = groups_of_population([[2, 1]], {(0, 0, 0): 1, (0, 0, 1): 3})
    exactly = Decimal("0.66666666666666666666666667")
    assert rho("0.3", str(exactly)).check(two_thirds).holds
    assert not rho("0.3", str(exactly - Decimal("1e-26"))).check(two_thirds).holds


def test_random_verdicts_against_fractions():
    rng = np.random.default_rng(12)
    kept = 0
    for _ in range(400):
        people = {
            (g, c, v): int(rng.integers(1, 5)) for g in range(2) for c in range(2) for v in range(3)
        }
        shown = rng.integers(0, 4, (2, 3)) + np.eye(3, dtype=int)[:2]
        groups = groups_of_population(shown, people)
        found = beliefs(groups.of("s"), groups.population.joint["s"])
        model = rho("0.3", str(rng.choice(["0.4", "0.5", "0.6", "0.75"])))
        breach = False
        for cell in range(4):
            for value in range(3):
                prior, posterior = found.exact(cell, value)
                breach |= prior < Fraction(3, 10) and posterior > Fraction(model.rho2)
                breach |= prior > Fraction(7, 10) and posterior < 1 - Fraction(model.rho2)
        assert model.check(groups).holds == (not breach)
        kept += not breach
    assert 40 < kept < 360


def test_the_thresholds_are_in_order():
    with pytest.raises(ValidationError, match="not smaller than rho2"):
        rho("0.5", "0.5")
