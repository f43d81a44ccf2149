"""δ-presence against people counted one by one."""

from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from pydantic import ValidationError

from expectations.counting import merge
from expectations.errors import PromiseError
from expectations.groups import Groups, Population
from expectations.presence import DeltaPresence


def drawn(rows, people):
    """Groups of rows from a population, both given by the class of each."""
    classes = sorted(set(rows))
    mine, all_ = Counter(rows), Counter(people)
    elsewhere = sum(n for c, n in all_.items() if c not in mine)
    sizes = np.array([all_[c] for c in classes], dtype=np.int64)
    return Groups(np.array([mine[c] for c in classes]), {}, population=Population(sizes, elsewhere))


def model(low, high):
    return DeltaPresence(min=Decimal(low), max=Decimal(high), population="p.csv")


def test_a_population_of_two_classes():
    groups = drawn("aab", "aaaabbb")
    verdict = model("0.3", "0.5").check(groups)
    assert verdict.observed == {"min": Fraction(1, 3), "max": Fraction(1, 2)}
    assert verdict.holds
    assert not model("0.34", "0.5").check(groups).holds
    assert not model("0.3", "0.49").check(groups).holds


def test_people_like_no_row_are_surely_absent():
    groups = drawn("aab", "aaaabbbc")
    assert model("0", "0.5").check(groups).holds
    verdict = model("0.01", "0.5").check(groups)
    assert (verdict.holds, verdict.failing, verdict.observed["min"]) == (False, 1, 0)


def test_a_population_without_some_of_the_people_measures_nothing():
    groups = drawn("aab", "abbb")
    assert model("0", "1").check(groups).observed == {"min": None, "max": None}
    assert not model("0", "1").check(groups).holds
    assert not model("0", "1").check(Groups(np.array([3]), {})).holds
    with pytest.raises(PromiseError, match="too few people for 1 of the groups"):
        model("0", "1").measure(groups)


def test_random_populations_person_by_person():
    rng = np.random.default_rng(1)
    kept = 0
    for _ in range(1500):
        people = rng.integers(0, 6, int(rng.integers(2, 30)))
        inside = rng.random(len(people)) < rng.uniform(0.2, 1)
        if not inside.any():
            inside[0] = True
        low, high = sorted(rng.choice(["0", "0.1", "0.25", "0.5", "0.75", "1"], 2), key=Decimal)
        wanted = all(
            Fraction(low)
            <= Fraction(int(inside[people == c].sum()), int((people == c).sum()))
            <= Fraction(high)
            for c in people
        )
        groups = drawn(people[inside].tolist(), people.tolist())
        assert model(low, high).check(groups).holds == wanted
        kept += wanted
    assert kept > 100


def test_merging_classes_that_keep_it_does_not_break_it():
    rng = np.random.default_rng(4)
    merges = 0
    for _ in range(2000):
        sizes = rng.integers(1, 6, 5)
        people = sizes + rng.integers(0, 8, 5)
        groups = Groups(sizes, {}, population=Population(people, 0))
        low, high = min(sizes / people), max(sizes / people)
        into = np.unique(rng.integers(0, 3, 5), return_inverse=True)[1]
        after = model("0", "1").check(merge(groups, into)).observed
        assert low - 1e-12 <= after["min"]
        assert after["max"] <= high + 1e-12
        merges += len(set(into)) < 5
    assert merges > 1000


def test_the_ends_are_in_order():
    with pytest.raises(ValidationError, match="larger than max"):
        model("0.5", "0.4")
