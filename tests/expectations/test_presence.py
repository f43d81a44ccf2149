"""δ-presence against people counted one by one."""

from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from pydantic import ValidationError

from sfumato.expectations.groups.counting import merge
from sfumato.expectations.groups.groups import Groups, Population
from sfumato.expectations.models.delta_presence import DeltaPresence
from sfumato.expectations.models.promises import PROMISE
from sfumato.expectations.shared.errors import PromiseError


def draw_release(rows, people):
    """Groups of rows from a population, both given by the class of each."""
    classes = sorted(set(rows))
    mine, all_ = Counter(rows), Counter(people)
    elsewhere = sum(n for c, n in all_.items() if c not in mine)
    sizes = np.array([all_[c] for c in classes], dtype=np.int64)
    return Groups(np.array([mine[c] for c in classes]), {}, population=Population(sizes, elsewhere))


def model(low, high):
    return DeltaPresence(min=Decimal(low), max=Decimal(high), reference="p.csv")


def test_a_population_of_two_classes():
    groups = draw_release("aab", "aaaabbb")
    verdict = model("0.3", "0.5").check(groups)
    assert verdict.observed == {"min": Fraction(1, 3), "max": Fraction(1, 2)}
    assert verdict.required == {"min": Fraction(3, 10), "max": Fraction(1, 2)}
    assert verdict.holds
    assert not model("0.34", "0.5").check(groups).holds
    assert not model("0.3", "0.49").check(groups).holds
    scores = model("0", "1").measure(groups)
    assert {name: score.tolist() for name, score in scores.items()} == {
        "rows": [2, 1],
        "people": [4, 3],
    }


def test_people_like_no_row_are_surely_absent():
    groups = draw_release("aab", "aaaabbbc")
    assert model("0", "0.5").check(groups).holds
    verdict = model("0.01", "0.5").check(groups)
    assert (verdict.holds, verdict.failing, verdict.observed["min"]) == (False, 1, 0)
    assert model("0.4", "0.5").check(groups).failing == 2


@pytest.mark.parametrize("people", ["abbb", "aa", "aac"])
def test_a_population_without_some_of_the_people_measures_nothing(people):
    groups = draw_release("aab", people)
    verdict = model("0", "1").check(groups)
    assert (verdict.holds, verdict.observed) == (False, {"min": None, "max": None})
    with pytest.raises(
        PromiseError, match="fewer people than the table has rows in 1 of the groups"
    ):
        model("0", "1").measure(groups)


def test_without_a_population_or_groups_nothing_is_measured():
    none = np.array([], dtype=np.int64)
    for groups in (Groups(np.array([3]), {}), Groups(none, {}, population=Population(none, 5))):
        verdict = model("0", "1").check(groups)
        assert (verdict.holds, verdict.observed) == (False, {"min": None, "max": None})
    with pytest.raises(PromiseError, match="without a table of the population"):
        model("0", "1").measure(Groups(np.array([3]), {}))


def test_ends_that_are_met_exactly_and_shares_that_floats_cannot_tell_apart():
    n = 10**16
    groups = Groups(np.array([n, n]), {}, population=Population(np.array([2 * n + 1, 2 * n]), 0))
    assert model("0.4", "0.5").check(groups).holds
    verdict = model("0.5", "0.5").check(groups)
    assert verdict.failing == 1
    assert verdict.observed == {"min": Fraction(n, 2 * n + 1), "max": Fraction(1, 2)}


def random_people(rng):
    """The class of each person, and whether the person is in the table; somebody is."""
    people = rng.integers(0, 6, int(rng.integers(2, 30)))
    inside = rng.random(len(people)) < rng.uniform(0.2, 1)
    inside[0] |= not inside.any()
    return people, inside


def test_random_populations_person_by_person():
    rng = np.random.default_rng(1)
    passes = absent = 0
    for _ in range(1500):
        people, inside = random_people(rng)
        low, high = sorted(rng.choice(["0", "0.1", "0.25", "0.5", "0.75", "1"], 2), key=Decimal)
        shares = {}
        for c in people.tolist():
            alike = [here for other, here in zip(people, inside, strict=True) if other == c]
            shares[c] = Fraction(sum(map(int, alike)), len(alike))
        short = {c: s for c, s in shares.items() if not Fraction(low) <= s <= Fraction(high)}
        verdict = model(low, high).check(draw_release(people[inside].tolist(), people.tolist()))
        assert verdict.holds == (not short)
        assert verdict.observed == {"min": min(shares.values()), "max": max(shares.values())}
        assert verdict.failing == sum(s > 0 for s in short.values()) + (0 in short.values())
        assert verdict.groups == sum(s > 0 for s in shares.values())
        passes += verdict.holds
        absent += 0 in shares.values()
    assert passes > 100
    assert absent > 300


def test_merging_groups_that_keep_it_does_not_break_it():
    rng = np.random.default_rng(4)
    merges = passes = 0
    for _ in range(2000):
        sizes = rng.integers(1, 6, 5)
        population = Population(sizes + rng.integers(0, 8, 5), int(rng.integers(0, 2)))
        groups = Groups(sizes, {}, population=population)
        into = np.unique(rng.integers(0, 3, 5), return_inverse=True)[1]
        promise = model("0" if population.elsewhere else "0.2", "0.8")
        before, merged = promise.check(groups), promise.check(merge(groups, into))
        assert before.observed["min"] <= merged.observed["min"]
        assert merged.observed["max"] <= before.observed["max"]
        assert merged.holds or not before.holds
        merges += len(set(into)) < 5
        passes += before.holds
    assert merges == 2000
    assert passes > 300
    assert DeltaPresence.monotone


def test_uniting_classes_of_people_who_are_absent_with_others_does_not_break_it():
    rng = np.random.default_rng(5)
    united = passes = 0
    for _ in range(1000):
        people, inside = random_people(rng)
        coarse = rng.integers(0, 3, 6)[people]
        low, high = sorted(rng.choice(["0", "0.1", "0.25", "0.75", "1"], 2), key=Decimal)
        fine = model(low, high).check(draw_release(people[inside].tolist(), people.tolist()))
        after = model(low, high).check(draw_release(coarse[inside].tolist(), coarse.tolist()))
        assert fine.observed["min"] <= after.observed["min"]
        assert after.observed["max"] <= fine.observed["max"]
        assert after.holds or not fine.holds
        united += fine.observed["min"] == 0 < after.observed["min"]
        passes += fine.holds
    assert united > 100
    assert passes > 100


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"min": "0.5", "max": "0.4"}, "min: must not be larger than max"),
        ({"min": "-0.1"}, "greater than or equal to 0"),
        ({"max": "1.1"}, "less than or equal to 1"),
        ({"population": ""}, "at least 1 character"),
        ({"max": "nan"}, "finite number"),
    ],
)
def test_a_promise_that_means_nothing_is_refused(change, message):
    document = {"model": "delta-presence", "min": "0.1", "max": "0.5", "population": "p.csv"}
    valid = PROMISE.validate_python(document)
    assert PROMISE.validate_python(valid.parameters()) == valid
    assert valid.reference_uri == "p.csv"
    assert "between 0.1 and 0.5" in valid.sentence()
    with pytest.raises(ValidationError, match=message):
        PROMISE.validate_python(document | change)
