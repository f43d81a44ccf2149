"""β-likeness against its definition, computed from rows in plain Python."""

from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sfumato.expectations.groups.counting import Coded, count
from sfumato.expectations.groups.groups import Groups, Subdomains, Target
from sfumato.expectations.models.beta_likeness import BetaLikeness
from sfumato.expectations.models.promises import PROMISE

VALUES = range(4)
ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([0, 0, 0, 1, 1, 2, 3])), min_size=1, max_size=40
)
BETAS = st.sampled_from(["0.25", "0.5", "1", "2", "5"])
VARIANTS = st.sampled_from(["basic", "enhanced"])


def model(beta, variant="enhanced"):
    return BetaLikeness(beta=Decimal(beta), variant=variant)


def groups_of_rows(rows):
    keys, place = np.unique([key for key, _ in rows], return_inverse=True)
    codes = np.array([value for _, value in rows])
    return count(place, len(keys), {"s": Coded(codes, len(VALUES), None, pa.array(VALUES))})


def exponential(number):
    """Two fractions around e to a number from 0 to 40: its series, and what is above the rest."""
    term, total = Fraction(1), Fraction(1)
    for n in range(1, 200):
        term *= number / n
        total += term
    return total, total + term


def keeps(group, rows, beta, variant):
    """Tell if a group keeps the promise by its definition: gain ≤ -ln p where e^gain ≤ 1/p."""
    everywhere, here = Counter(v for _, v in rows), Counter(group)
    for value, times in everywhere.items():
        common = Fraction(times, len(rows))
        gain = Fraction(here[value], len(group)) / common - 1
        if gain > Fraction(beta):
            return False
        if variant == "enhanced" and gain > 0 and exponential(gain)[0] > 1 / common:
            return False
    return True


@given(ROWS, BETAS, VARIANTS)
def test_the_definition(rows, beta, variant):
    keys = sorted({key for key, _ in rows})
    blocks = [[value for other, value in rows if other == key] for key in keys]
    expected = [not keeps(block, rows, beta, variant) for block in blocks]
    promise, groups = model(beta, variant), groups_of_rows(rows)
    assert promise.failing(groups).tolist() == expected
    verdict = promise.check(groups)
    assert (verdict.failing, verdict.holds) == (sum(expected), not any(expected))
    common = {v: Fraction(n, len(rows)) for v, n in Counter(v for _, v in rows).items()}
    gains = [
        Fraction(block.count(v), len(block)) / p - 1 for block in blocks for v, p in common.items()
    ]
    assert verdict.observed["beta"] == max(gains)
    assert float(promise.measure(groups)["beta"].max()) == pytest.approx(float(max(gains)))


def test_a_common_value_may_fill_a_group_in_the_basic_variant_alone():
    rows = [(0, 0)] * 4 + [(1, 0)] * 2 + [(1, 1)] * 2  # three quarters have the value
    assert model("0.4", "basic").failing(groups_of_rows(rows)).tolist() == [False, True]
    assert model("1", "basic").check(groups_of_rows(rows)).holds
    assert model("1").failing(groups_of_rows(rows)).tolist() == [True, False]  # 1/3 > -ln 3/4


@given(ROWS, BETAS, VARIANTS)
def test_declared_distributions_are_judged_as_rows_of_the_same_shares(rows, beta, variant):
    groups = groups_of_rows(rows)
    counts = groups.counts_of("s")
    targets = []
    for group in range(len(groups)):
        weight = np.zeros(len(VALUES), dtype=np.int64)
        here = counts.group == group
        weight[counts.value[here]] = counts.count[here]
        targets.append(Target(np.array([-1, *[0] * len(VALUES)]), np.array([1, *weight])))
    every = np.arange(len(groups))
    subdomains = Subdomains(every, 0 * every, groups.sizes, every, tuple(targets))
    declared = Groups(groups.sizes, {}, subdomains={"s": subdomains})
    promise = model(beta, variant)
    assert promise.check(declared) == promise.check(groups)


@given(ROWS, BETAS)
def test_a_part_that_keeps_its_own_keeps_the_whole(rows, beta):
    part = [0 if key < 2 else 1 for key, _ in rows]
    codes = np.array([value for _, value in rows])
    coded = Coded(codes, len(VALUES), None, pa.array(VALUES))
    both = count(np.array(part), 2, {"s": coded}) if set(part) == {0, 1} else None
    if both is None:
        return
    own = model(beta, "basic").for_part(both)
    inside = [(key, value) for key, value in rows if key < 2]
    if own is not None and own.check(groups_of_rows(inside)).holds:
        keeps_it = ~model(beta, "basic").failing(groups_of_rows(rows))
        assert keeps_it[: len({key for key, _ in inside})].all()
    assert model(beta).for_part(both) is None


def test_it_is_read_and_written():
    promise = PROMISE.validate_python({"model": "beta-likeness", "beta": "1.5"})
    assert promise == model("1.5")
    written = {"model": "beta-likeness", "beta": "1.5", "variant": "enhanced"}
    assert promise.parameters() == written
    for beta in ("0", "-1", "x"):
        with pytest.raises(ValidationError):
            PROMISE.validate_python({"model": "beta-likeness", "beta": beta})
