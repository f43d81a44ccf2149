"""k-map by weights against its definition, and beside k-anonymity, of which it is an extension."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.groups.counting import Coded, count, numbers_of
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.k_anonymity import KAnonymity, KMap
from sfumato.expectations.models.promises import PROMISE, with_columns
from sfumato.expectations.shared.exact import exact

WEIGHTS = st.one_of(
    st.integers(1, 9).map(Decimal),
    st.decimals("0.001", "50", places=3).filter(lambda weight: weight > 0),
    st.just(Decimal(10) ** 18 * 9),
)
ROWS = st.lists(st.tuples(st.integers(0, 3), WEIGHTS), min_size=1, max_size=30)


def groups_of_rows(rows):
    """Groups of (label, weight) in the order of labels."""
    keys, place = np.unique([key for key, _ in rows], return_inverse=True)
    weights = sorted({weight for _, weight in rows})
    values = pa.array(weights, pa.decimal128(38, 3))
    codes = np.array([weights.index(weight) for _, weight in rows])
    return count(place, len(keys), {"w": Coded(codes, len(weights), exact(values, "w"), values)})


def sums(rows):
    return [
        sum(Fraction(w) for key_, w in rows if key_ == key) for key in sorted({k for k, _ in rows})
    ]


def test_the_sample_of_a_population():
    """Sweeney's example: a row alone in the sample, but not in the population it is drawn from.

    A survey draws a tenth of the men and a half of the women of a town: one man and two women of
    a street answered, who stand for ten men and four women.
    """
    answered = [("man", Decimal(10)), ("woman", Decimal(2)), ("woman", Decimal(2))]
    groups = groups_of_rows(answered)
    assert KAnonymity(k=2).failing(groups).tolist() == [True, False]
    assert KMap(k=4).check(groups).holds
    assert KMap(k=5).failing(groups).tolist() == [False, True]
    assert KMap(k=5).check(groups).observed == {"k": 4}
    assert KMap(k=5).measure(groups)["k"].tolist() == [10.0, 4.0]


@given(ROWS, st.integers(1, 60))
def test_the_definition(rows, k):
    groups, expected = groups_of_rows(rows), sums(rows)
    promise = KMap(k=k, sensitive="w")
    assert promise.failing(groups).tolist() == [total < k for total in expected]
    verdict = promise.check(groups)
    assert verdict.observed == {"k": min(expected)}
    assert (verdict.holds, verdict.failing) == (min(expected) >= k, sum(t < k for t in expected))
    assert promise.measure(groups)["k"].tolist() == [float(total) for total in expected]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(1, 12))
def test_where_all_weights_are_1_it_is_k_anonymity(keys, k):
    groups = groups_of_rows([(key, Decimal(1)) for key in keys])
    ours, theirs = KMap(k=k).check(groups), KAnonymity(k=k).check(groups)
    assert ours == theirs


@given(ROWS, st.integers(1, 60))
def test_a_sum_at_the_threshold_is_enough_and_one_below_it_is_not(rows, k):
    total = sum(Fraction(weight) for _, weight in rows)
    groups = groups_of_rows([(0, weight) for _, weight in rows])
    assert KMap(k=max(1, int(total))).check(groups).holds == (total >= 1)
    assert not KMap(k=int(total) + 1).check(groups).holds


@pytest.mark.parametrize("weight", [0, -1])
def test_weights_that_are_not_positive_break_it(weight):
    values = pa.array([weight, 100])
    codes = np.array([0, 1, 1])
    groups = count(np.array([0, 0, 1]), 2, {"w": Coded(codes, 2, exact(values, "w"), values)})
    verdict = KMap(k=1).check(groups)
    assert (verdict.holds, verdict.failing, verdict.observed) == (False, 1, {"k": None})


@pytest.mark.parametrize("has_null", [True, False])
def test_what_cannot_be_summed_keeps_nothing(has_null):
    values = pa.array([1, 2] if has_null else ["a", "b"])
    coded = Coded(np.array([0, 1]), 2, numbers_of(values, has_null, "w"), values)
    groups = count(np.array([0, 0]), 1, {"w": coded})
    verdict = KMap(k=1).check(groups)
    assert (verdict.holds, verdict.failing, verdict.observed) == (False, 1, {"k": None})


def test_people_who_have_left_have_no_weight():
    groups = groups_of_rows([(0, Decimal(5)), (0, Decimal(5))])
    gone = Groups(groups.sizes, groups.sensitive, live=np.array([1]))
    assert not KMap(k=1).check(gone).holds


def test_specs_call_its_column_weight():
    promise = PROMISE.validate_python({"model": "k-map", "k": 3, "weight": "w"})
    assert promise == KMap(k=3, sensitive="w")
    assert promise.parameters() == {"k": 3, "model": "k-map", "weight": "w"}
    scoped = with_columns(KMap(k=3), ["age"], ["wage"], ["w"])
    assert (scoped.quasi_identifiers, scoped.sensitive) == (("age",), "w")
    assert with_columns(KAnonymity(k=3), ["age"], ["wage"], ["w"]).sensitive == "wage"
    assert "estimate" in promise.sentence()
