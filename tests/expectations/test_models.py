"""Privacy models against the papers' vectors, against brute force, and against their laws."""

import datetime as dt
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sfumato.expectations.groups.counting import Coded, count, numbers_of
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.models.model import Verdict
from sfumato.expectations.models.promises import PROMISE
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.numbers import exact, plain

VALUES = {
    "small": (st.integers(-5, 5), pa.int64()),
    "huge": (st.integers(-(2**63), 2**63 - 1), pa.int64()),
    "decimal": (st.decimals(-9, 9, places=2), pa.decimal128(38, 2)),
    "float": (st.integers(-30, 30).map(lambda n: n / 10), pa.float64()),
    "date": (st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)), pa.date32()),
}


@st.composite
def microdata(draw):
    values, type_ = VALUES[draw(st.sampled_from(sorted(VALUES)))]
    rows = draw(st.lists(st.tuples(st.integers(0, 5), values), min_size=1, max_size=40))
    return rows, type_


def models():
    e = st.decimals(0, 20, places=1)
    ke = st.builds(lambda k, e: KEAnonymity(k=k, e=e), st.integers(1, 4), e)
    return st.one_of(st.builds(lambda k: KAnonymity(k=k), st.integers(1, 6)), ke)


def number(value) -> Fraction:
    if isinstance(value, dt.date):
        return Fraction((value - dt.date(1970, 1, 1)).days)
    return Fraction(str(value))


def by_hand(rows) -> dict[str, Fraction]:
    values = {}
    for key, value in rows:
        values.setdefault(key, []).append(value)
    return {
        "size": min(len(v) for v in values.values()),
        "k": min(len(set(v)) for v in values.values()),
        "e": min(max(map(number, v)) - min(map(number, v)) for v in values.values()),
        "groups": len(values),
        "values": values,
    }


@pytest.mark.parametrize(
    ("values", "k", "e", "holds"),
    [
        ([54, 55, 56], 3, 2, True),
        ([54, 55, 56], 3, 3, False),
        ([54, 55, 56], 4, 2, False),
        ([0, 0, 0, 10], 2, 10, True),
        ([0, 0, 0, 10], 3, 10, False),
        ([0, 0, 0, 10], 2, "10.1", False),
        ([7], 1, 0, True),
    ],
)
def test_ke_anonymity_of_the_papers_groups(groups_of, values, k, e, holds):
    verdict = KEAnonymity(k=k, e=e).check(groups_of([("g", value) for value in values]))
    assert verdict.holds is holds
    assert verdict.observed == {"k": len(set(values)), "e": max(values) - min(values)}
    assert verdict.required == {"k": k, "e": Fraction(str(e))}


def test_k_anonymity_counts_rows_and_not_values(groups_of):
    groups = groups_of([("a", 1)] * 3 + [("b", 1), ("b", 2)])
    assert KAnonymity(k=2).check(groups).holds
    assert KAnonymity(k=3).check(groups) == Verdict({"k": 3}, {"k": 2}, groups=2, failing=1)


def test_tenths_add_up(groups_of):
    groups = groups_of([("g", 0.1), ("g", 0.2), ("g", 0.3)], pa.float64())
    assert KEAnonymity(k=3, e="0.2").check(groups).holds
    assert KEAnonymity(k=3, e=0.2).check(groups).holds
    assert not KEAnonymity(k=3, e="0.20000000000000001").check(groups).holds


def test_ranges_beyond_int64(groups_of):
    groups = groups_of([("g", -(2**63)), ("g", 2**63 - 1)], pa.int64())
    assert KEAnonymity(k=2, e=2**64 - 1).check(groups).holds
    assert not KEAnonymity(k=2, e=2**64).check(groups).holds
    small = groups_of([("g", 0), ("g", 1)], pa.int64())
    assert not KEAnonymity(k=2, e=2**70).check(small).holds


def test_dates_span_days(groups_of):
    rows = [("g", dt.date(2026, 2, 27)), ("g", dt.date(2026, 3, 1))]
    assert KEAnonymity(k=2, e=2).check(groups_of(rows)).holds
    assert not KEAnonymity(k=2, e=3).check(groups_of(rows)).holds


@given(microdata(), models())
def test_verdicts_are_those_of_brute_force(groups_of, microdata, model):
    rows, type_ = microdata
    verdict, expected = model.check(groups_of(rows, type_)), by_hand(rows)
    if isinstance(model, KAnonymity):
        assert verdict.observed == {"k": expected["size"]}
        failing = sum(len(v) < model.k for v in expected["values"].values())
    else:
        assert verdict.observed == {"k": expected["k"], "e": expected["e"]}
        failing = sum(
            len(set(v)) < model.k or max(map(number, v)) - min(map(number, v)) < Fraction(model.e)
            for v in expected["values"].values()
        )
    assert verdict.failing == failing
    assert verdict.groups == expected["groups"]
    assert verdict.holds is (failing == 0)


def random_groups(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    rows = int(rng.integers(2, 30))
    return rng.integers(0, 5, rows), rng.integers(0, 6, rows)


@pytest.mark.parametrize("kind", [KAnonymity, KEAnonymity])
def test_merging_two_groups_never_breaks_a_monotone_promise(kind):
    assert kind.monotone
    rng = np.random.default_rng(7)
    passes = 0
    numbers = numbers_of(pa.array(range(6)), False, "s")
    for _ in range(4000):
        key, code = random_groups(rng)
        before = count(key, 5, {"s": Coded(code, 6, numbers)})
        merged = np.where(key == key[0], key[-1], key)
        after = count(merged, 5, {"s": Coded(code, 6, numbers)})
        k, e = int(rng.integers(1, 4)), int(rng.integers(0, 4))
        model = KAnonymity(k=k) if kind is KAnonymity else KEAnonymity(k=k, e=e)
        if model.check(before).holds:
            passes += 1
            assert model.check(after).holds
        worst, merged_worst = model.check(before).observed, model.check(after).observed
        assert all(merged_worst[name] >= worst[name] for name in worst)
    assert passes > 500


def test_a_null_among_quasi_identifiers_is_a_value_of_its_own(groups_of):
    groups = groups_of([((30, "x"), 1)] * 3 + [((None, "x"), 1)])
    assert KAnonymity(k=1).check(groups).observed == {"k": 1}
    assert not KAnonymity(k=2).check(groups).holds


@pytest.mark.parametrize("values", [["a", "b"], [1, None]])
def test_values_without_order_or_with_nulls_are_unmeasurable(groups_of, values):
    groups = groups_of([("g", value) for value in values])
    verdict = KEAnonymity(k=1, e=0, sensitive="s").check(groups)
    assert verdict.observed == {"k": None, "e": None}
    assert not verdict.holds
    assert KEAnonymity(k=1, e=0, sensitive="s").failing(groups).all()
    with pytest.raises(
        PromiseError, match="needs numbers, dates or timestamps without missing values"
    ):
        KEAnonymity(k=1, e=0, sensitive="s").measure(groups)


def test_a_promise_names_its_attribute_where_there_are_several():
    codes = np.array([0, 1])
    numbers = numbers_of(pa.array([1, 2]), False, "s")
    key = np.array([0, 0])
    both = {"a": Coded(codes, 2, numbers), "b": Coded(np.array([0, 0]), 1, numbers)}
    groups: Groups = count(key, 1, both)
    assert KEAnonymity(k=2, e=1, sensitive="a").check(groups).holds
    assert not KEAnonymity(k=2, e=1, sensitive="b").check(groups).holds
    with pytest.raises(PromiseError, match="was not counted"):
        KEAnonymity(k=2, e=1).check(groups)
    with pytest.raises(PromiseError, match="was not counted"):
        KEAnonymity(k=2, e=1, sensitive="c").check(groups)


@pytest.mark.parametrize(
    "document",
    [
        {"model": "k-anonymity", "k": 0},
        {"model": "k-anonymity", "k": 2, "e": 3},
        {"model": "ke-anonymity", "k": 2},
        {"model": "ke-anonymity", "k": 2, "e": -1},
        {"model": "ke-anonymity", "k": 2, "e": "nan"},
        {"model": "ke-anonymity", "k": 2, "e": "inf"},
        {"model": "k-anonymity", "k": 2, "quasi-identifiers": []},
        {"model": "k_anonymity", "k": 2},
    ],
)
def test_a_promise_that_means_nothing_is_refused(document):
    with pytest.raises(ValidationError):
        PROMISE.validate_python(document)


@given(
    st.one_of(
        st.integers(-(2**60), 2**60),
        st.fractions(),
        st.decimals(allow_nan=False, allow_infinity=False, places=5),
    )
)
def test_numbers_are_plain_and_exact(value):
    text = plain(value)
    assert Fraction(text) == Fraction(value)
    assert exact(text) == value
    assert not isinstance(text, int) or abs(text) < 2**53  # all that JSON's readers hold
