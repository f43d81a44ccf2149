"""The inpatient table of the l-diversity paper, and the vectors of its definitions."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest

from sfumato.expectations.models.alpha_k import AlphaK
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    Negative,
    RecursiveLDiversity,
    eligible,
)
from sfumato.expectations.models.t_closeness import TCloseness

CONDITIONS = [
    "heart",
    "heart",
    "viral",
    "viral",
    "cancer",
    "heart",
    "viral",
    "viral",
    "cancer",
    "cancer",
    "cancer",
    "cancer",
]
FOUR_ANONYMOUS = [{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}]
THREE_DIVERSE = [{1, 4, 9, 10}, {5, 6, 7, 8}, {2, 3, 11, 12}]


def inpatients(groups_of, blocks):
    block_of = {row: number for number, block in enumerate(blocks) for row in block}
    return groups_of([(block_of[row], CONDITIONS[row - 1]) for row in range(1, 13)])


def block(groups_of, **counts):
    return groups_of([("g", value) for value, times in counts.items() for _ in range(times)])


def test_the_four_anonymous_table_has_a_homogeneous_block(groups_of):
    groups = inpatients(groups_of, FOUR_ANONYMOUS)
    assert KAnonymity(k=4).check(groups).holds
    scores = EntropyLDiversity(l=1).measure(groups)["l"]
    assert scores.tolist() == pytest.approx([2, 2.8284271, 1])
    assert DistinctLDiversity(l=1).measure(groups)["l"].tolist() == [2, 3, 1]
    verdict = DistinctLDiversity(l=2).check(groups)
    assert (verdict.holds, verdict.observed, verdict.failing) == (False, {"l": 1}, 1)


def test_the_three_diverse_table(groups_of):
    groups = inpatients(groups_of, THREE_DIVERSE)
    assert DistinctLDiversity(l=3).check(groups).holds
    assert not DistinctLDiversity(l=4).check(groups).holds
    assert EntropyLDiversity(l=Decimal("2.828")).check(groups).holds
    assert not EntropyLDiversity(l=Decimal("2.829")).check(groups).holds
    assert EntropyLDiversity(l=1).check(groups).observed == {"l": Fraction("2.828427")}
    assert RecursiveLDiversity(l=3, c=Decimal("2.01")).check(groups).holds
    verdict = RecursiveLDiversity(l=3, c=2).check(groups)  # strictly less
    assert (verdict.holds, verdict.observed) == (False, {"c": 2, "l": 3})
    assert RecursiveLDiversity(l=2, c=Decimal("1.01")).check(groups).holds
    assert not RecursiveLDiversity(l=2, c=1).check(groups).holds
    assert eligible(groups, "s") == 2  # five of twelve have cancer


def test_nothing_is_eligible_where_there_are_no_rows(groups_of):
    assert eligible(groups_of([]), "s") is None


@pytest.mark.parametrize(("counts", "exp_entropy"), [((2, 1, 1), 2.8284), ((2, 2), 2), ((4,), 1)])
def test_entropy_of_a_block(groups_of, counts, exp_entropy):
    groups = block(groups_of, **{str(i): n for i, n in enumerate(counts)})
    assert EntropyLDiversity(l=1).measure(groups)["l"][0] == pytest.approx(exp_entropy, abs=1e-4)
    assert EntropyLDiversity(l=2).check(groups).holds == (exp_entropy >= 2)


def test_entropy_is_not_floored_to_a_whole_l(groups_of):
    groups = block(groups_of, a=2, b=1, c=1)
    assert EntropyLDiversity(l=Decimal("2.5")).check(groups).holds
    assert EntropyLDiversity(l=1).check(groups).observed["l"] > 2


def test_counts_are_sorted_in_descending_order(groups_of):
    groups = block(groups_of, a=1, b=1, c=5)
    assert RecursiveLDiversity(l=2, c=1).check(groups).observed == {"c": Fraction(5, 2), "l": 3}
    assert not RecursiveLDiversity(l=2, c=2).check(groups).holds


@pytest.mark.parametrize(
    ("healthy", "sick", "holds"), [(9, 5, True), (4, 5, False), (5, 5, False), (6, 5, True)]
)
def test_positive_disclosure_recursive_with_a_value_that_may_be_known(
    groups_of, healthy, sick, holds
):
    groups = block(groups_of, healthy=healthy, sick=sick)
    model = RecursiveLDiversity(l=2, c=1, dont_care=("healthy",))
    assert model.check(groups).holds == holds


def test_lowering_the_dont_care_count_is_another_thing_for_small_c(groups_of):
    groups = block(groups_of, sick=5, healthy=9)
    assert RecursiveLDiversity(l=2, c=1, dont_care=("healthy",)).check(groups).holds
    assert not RecursiveLDiversity(l=2, c=1).check(block(groups_of, sick=5, healthy=5)).holds


def test_a_block_of_dont_care_values_alone_discloses_nothing(groups_of):
    groups = block(groups_of, healthy=9)
    model = RecursiveLDiversity(l=2, c=1, dont_care=("healthy",))
    assert model.check(groups).holds
    adjusted = EntropyLDiversity(l=100, dont_care=("healthy",)).check(groups)
    assert adjusted.holds
    assert adjusted.observed["l"] == math.inf


def test_negative_disclosure(groups_of):
    groups = block(groups_of, a=6, b=3, c=1)
    bounded = RecursiveLDiversity(l=2, c=3, negative=Negative(values=("b", "c"), percent=10))
    verdict = bounded.check(groups)
    assert (verdict.holds, verdict.observed["percent"]) == (True, 10)
    stricter = RecursiveLDiversity(
        l=2, c=3, negative=Negative(values=("b", "c"), percent=Decimal("10.1"))
    )
    assert not stricter.check(groups).holds
    absent = RecursiveLDiversity(l=2, c=3, negative=Negative(values=("d",), percent=1))
    assert absent.check(groups).observed["percent"] == 0
    assert not absent.check(groups).holds


ADJUSTED = [
    ([11, 10, 3, 2], [3, 4], 1.77297),
    ([20], [3, 3], math.log(3)),
    ([50, 1], [2, 1], 1.34245),
]


@pytest.mark.parametrize(("dont_care", "other", "adjusted"), ADJUSTED)
def test_adjusted_entropy(groups_of, dont_care, other, adjusted):
    named = {f"y{i}": n for i, n in enumerate(dont_care)}
    groups = block(groups_of, **named, **{f"p{i}": n for i, n in enumerate(other)})
    model = EntropyLDiversity(l=1, dont_care=tuple(named))
    assert math.log(model.measure(groups)["l"][0]) == pytest.approx(adjusted, abs=1e-5)


def test_plain_entropy_of_the_first_of_them(groups_of):
    groups = block(groups_of, a=11, b=10, c=3, d=2, e=3, f=4)
    assert math.log(EntropyLDiversity(l=1).measure(groups)["l"][0]) == pytest.approx(
        1.58966, abs=1e-5
    )


def test_two_attributes_may_be_diverse_each_and_not_together(groups_of):
    first = groups_of([("g", "a"), ("g", "b")])
    told_apart = groups_of([(("g", "x"), "a"), (("g", "y"), "b")])
    assert DistinctLDiversity(l=2).check(first).holds
    assert not DistinctLDiversity(l=2, known=("other",)).check(told_apart).holds


def test_who_knows_other_attributes_tells_groups_apart_by_them():
    promise = DistinctLDiversity(l=2, quasi_identifiers=("zip",), sensitive="s", known=("other",))
    assert promise.adversary_columns == ("zip", "other")


@pytest.mark.parametrize(
    ("group", "distance"), [({3, 4, 5}, Fraction(3, 8)), ({6, 8, 11}, Fraction(1, 6))]
)
def test_ordered_distance_of_salaries(groups_of, group, distance):
    groups = groups_of([(salary not in group, salary) for salary in range(3, 12)])
    in_group = 0 if 3 in group else 1
    score = TCloseness(t=1, distance="ordered").measure(groups)["t"][in_group]
    assert score == pytest.approx(float(distance))
    exact = TCloseness(t=1, distance="ordered").check(groups_of([*_copies(group)])).observed["t"]
    assert exact == distance


def _copies(group):
    """The group once, and the others so that all rows together are uniform on 3, …, 11."""
    yield from (("g", salary) for salary in group)
    yield from (("rest", salary) for salary in range(3, 12) if salary not in group)


def test_a_share_of_one_value(groups_of):
    groups = groups_of([("g", "a"), ("g", "a"), ("g", "b"), ("h", "c"), ("h", "d")])
    verdict = AlphaK(alpha=Decimal("0.66"), k=2).check(groups)
    assert verdict.observed == {"alpha": Fraction(2, 3), "k": 2}
    assert (verdict.holds, verdict.failing) == (False, 1)
    assert AlphaK(alpha=Decimal("0.67"), k=2).check(groups).holds
    assert AlphaK(alpha=Decimal("0.5"), k=2, values=("b", "c")).check(groups).holds
    assert not AlphaK(alpha=1, k=3).check(groups).holds
