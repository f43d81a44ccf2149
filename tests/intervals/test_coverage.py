"""The frequency with which fresh queries meet intervals where covariates matter; by fixed seeds."""

import numpy as np
import pytest

from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.query.engines.registry import ENGINES
from sfumato.tasks.query.intervals.covariates import GroupedNumbers, SelectedOfGroups
from sfumato.tasks.query.intervals.registry import LIKELY
from sfumato.tasks.query.intervals.sums import LikelySum
from tests.intervals.releases import factors_of, measure, publish_permuted, wages

LEAST = 0.93
FRESH = 1_000


@pytest.fixture(scope="module")
def release():
    return publish_permuted(wages(1_000), boxes=False)


@pytest.fixture(scope="module")
def factors(release):
    return factors_of(*release, randomness=seeded_keys(1))


@pytest.fixture(scope="module")
def fresh(release):
    return measure(*release, number=FRESH, randomness=seeded_keys(2))


def test_fresh_queries_of_every_family_meet_their_intervals(factors, fresh):
    met = {}
    for family, queries in fresh.items():
        factor = factors.factor_of(family)
        if factor is not None:
            assert len(queries) == FRESH
            met[family] = np.mean([query.score <= factor for query in queries])
    assert {name for name, _ in met} >= {
        f"{aggregate}-by-{columns}"
        for aggregate in ("count", "sum", "avg")
        for columns in ("one", "several")
    }
    assert min(met.values()) >= LEAST, met


def test_an_interval_is_the_scores_that_its_factor_reaches(factors, fresh):
    """The score judges the truth as the interval shows it."""
    for family, queries in fresh.items():
        factor = float(factors.factor_of(family) or 1)
        for query in queries[::50]:
            low, high = (float(end) for end in query.law.interval(factor))
            inside = low - 1e-9 <= query.truth <= high + 1e-9
            assert inside == (query.score <= factor + 1e-12)


def test_every_way_of_showing_has_its_laws():
    assert LIKELY.keys() == ENGINES.keys() - {"apart"}  # two tables have no laws yet


def test_queries_are_never_small_and_never_exact(fresh):
    for queries in fresh.values():
        assert all(query.law.size.rows >= 20 for query in queries)
        assert all(query.law.size.groups >= 2 for query in queries)
        assert not any(query.law.is_exact for query in queries)


def test_without_the_covariates_most_ranges_of_ages_would_miss(release, fresh):
    """The law of shuffled groups alone is met by random rows, and not by ranges."""
    tables, original = release
    table = tables["microdata"]
    group, wages = table["group_id"].to_numpy(), table["wage"].to_numpy().astype(float)
    size = np.bincount(group).astype(float)
    mean = np.bincount(group, wages) / size
    variance = np.bincount(group, (wages - mean[group]) ** 2) / size
    numbers = GroupedNumbers(size, mean, variance, np.zeros(len(size)))
    age = table["age"].to_numpy()
    truths = {name: original[name].array().to_numpy().astype(float) for name in ("age", "wage")}

    def misses(chosen, truth):
        rows = np.flatnonzero(chosen)
        hit, hits = np.unique(group[rows], return_counts=True)
        likely = LikelySum(numbers, SelectedOfGroups(hit, hits, rows), 0.0)
        return abs(truth - likely.middle) > 1.96 * np.sqrt(likely.variance)

    ranges = [
        misses(
            (age >= low) & (age <= low + 10), truths["wage"][_is_between(truths["age"], low)].sum()
        )
        for low in range(20, 50)
    ]
    rng = np.random.default_rng(0)
    at_random = []
    for _ in range(400):
        world = wages.copy()
        for members in np.split(np.argsort(group, kind="stable"), np.cumsum(size)[:-1].astype(int)):
            world[members] = wages[rng.permutation(members)]
        chosen = rng.random(len(group)) < 0.3
        at_random.append(misses(chosen, world[chosen].sum()))
    assert np.mean(ranges) > 0.4
    assert 0.02 < np.mean(at_random) < 0.08
    of_ranges = [query.score <= 1 for query in fresh["sum-by-one", "wage"]]
    assert np.mean(of_ranges) > 0.8


def _is_between(ages, low):
    return (ages >= low) & (ages <= low + 10)


def test_queries_are_drawn_from_what_is_published_alone(release):
    """The same draws ask the same queries of another original."""
    tables, original = release
    other = original.take(np.arange(original.rows)[::-1])
    first, second = (measure(tables, rows, 30, seeded_keys(7)) for rows in (original, other))
    assert first.keys() == second.keys()
    for family, queries in first.items():
        laws = [
            [str(query.law.estimate) for query in family_queries]
            for family_queries in (queries, second[family])
        ]
        assert laws[0] == laws[1]
