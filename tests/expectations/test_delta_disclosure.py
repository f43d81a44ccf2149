"""δ-disclosure privacy against its definition, computed from rows in plain Python."""

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sfumato.expectations.groups.counting import Coded, count, merge
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups, Subdomains, Target
from sfumato.expectations.models.delta_disclosure import DeltaDisclosure
from sfumato.expectations.models.promises import PROMISE

VALUES = range(4)
ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([0, 0, 0, 1, 1, 2])), min_size=1, max_size=40
)
NULL_FIRST = Groups(
    np.array([4, 4]),
    {"s": Counts(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([3, 1, 1, 3]), 2, None)},
)


def model(delta):
    return DeltaDisclosure(delta=Decimal(delta))


def power(exponent):
    """Two fractions around e to a power up to 3."""
    below, above, parts = around_power(exponent)
    return Fraction(below, parts), Fraction(above, parts)


def around_power(exponent):
    """The same as two numbers of parts, and how many parts one has.

    By the series from its last term on, whose rest is below that term.
    """
    over, under = Fraction(exponent).as_integer_ratio()
    total = parts = 1
    for n in range(69, 0, -1):
        parts *= n * under
        total = parts + over * total
    return total, total + over**69, parts


def ratios(rows):
    """By group the larger of p / q and q / p of every value; None where the group lacks it."""
    everywhere = Counter(value for _, value in rows)
    ratios_of_groups = {}
    for key in sorted({key for key, _ in rows}):
        block = Counter(value for other, value in rows if other == key)
        q = {value: Fraction(times, len(rows)) for value, times in everywhere.items()}
        p = {value: Fraction(block[value], block.total()) for value in everywhere}
        ratios_of_groups[key] = [
            max(p[v] / q[v], q[v] / p[v]) if p[v] else None for v in everywhere
        ]
    return list(ratios_of_groups.values())


def groups_of_rows(rows):
    keys, place = np.unique([key for key, _ in rows], return_inverse=True)
    codes = np.array([value for _, value in rows])
    return count(place, len(keys), {"s": Coded(codes, len(VALUES), None, pa.array(VALUES))})


def test_a_table_by_hand(groups_of):
    """Flu is 3 of 8; in the first group 2 of 4, in the second 1 of 4: 4/3 and 2/3 as frequent."""
    first, second = ["flu", "flu", "cold", "cold"], ["flu", "cold", "cold", "cold"]
    rows = [(1, value) for value in first] + [(2, value) for value in second]
    scores = model("1").measure(groups_of(rows))["delta"]
    assert scores.tolist() == pytest.approx([math.log(4 / 3), math.log(3 / 2)])
    verdict = model("0.405466").check(groups_of(rows))  # ln 3/2 is 0.4054651…
    assert verdict.holds
    assert verdict.observed == {"delta": Fraction("0.405465")}
    assert model("0.405465").check(groups_of(rows)).failing == 1
    assert model("0.2").check(groups_of(rows)).failing == 2


def test_a_value_that_a_group_lacks_breaks_it(groups_of):
    groups = groups_of([(1, "flu"), (1, "cold"), (2, "flu")])
    verdict = model("1000000").check(groups)
    assert (verdict.failing, verdict.observed["delta"]) == (1, math.inf)
    assert model("1").measure(groups)["delta"].tolist() == [pytest.approx(math.log(1.5)), math.inf]


def test_a_value_that_no_row_has_is_lacked_by_none():
    assert model("0.1").check(groups_of_rows([(0, 2), (1, 2), (1, 2)])).holds


def test_a_null_is_a_value_like_any_other():
    assert model("0.70").check(NULL_FIRST).holds  # ln 2
    assert model("0.69").check(NULL_FIRST).failing == 2


@given(ROWS, st.sampled_from(["0.01", "0.1", "0.3", "0.5", "0.7", "1", "1.5", "3"]))
def test_against_the_definition(rows, delta):
    low, high = power(Decimal(delta))
    expected = []
    for group_ratios in ratios(rows):
        assert all(ratio is None or not low <= ratio <= high for ratio in group_ratios)
        expected.append(all(ratio is not None and ratio < low for ratio in group_ratios))
    groups = groups_of_rows(rows)
    assert model(delta).failing(groups).tolist() == [not breaks for breaks in expected]
    verdict = model(delta).check(groups)
    assert (verdict.failing, verdict.holds) == (expected.count(False), all(expected))
    largest = [
        math.inf if None in group_ratios else math.log(max(group_ratios))
        for group_ratios in ratios(rows)
    ]
    assert model(delta).measure(groups)["delta"].tolist() == pytest.approx(largest, abs=1e-12)
    assert float(verdict.observed["delta"]) == pytest.approx(max(largest), abs=1e-6)


@given(ROWS, st.sampled_from(["0.1", "0.5", "0.7", "1.5"]))
def test_declared_distributions_are_judged_as_rows_of_the_same_shares(rows, delta):
    groups = groups_of_rows(rows)
    keys = sorted({key for key, _ in rows})
    targets = tuple(
        Target(
            np.array([-1] + [0] * len(VALUES)),
            np.array([1] + [rows.count((key, value)) for value in VALUES]),
        )
        for key in keys
    )
    every = np.arange(len(keys))
    subdomains = Subdomains(every, np.zeros_like(every), groups.sizes, every, targets)
    declared = Groups(groups.sizes, {}, subdomains={"s": subdomains})
    assert model(delta).failing(declared).tolist() == model(delta).failing(groups).tolist()
    assert model(delta).check(declared) == model(delta).check(groups)
    assert model(delta).for_part(declared) is None


def test_shares_of_hundreds_of_digits_are_compared():
    """Two targets with nearly two thirds and one third of the first value, as no float has them."""
    targets = tuple(
        Target(np.array([-1, 0, 0]), np.array([1, n * part // 3, n - n * part // 3], dtype=object))
        for n, part in ((5**500, 2), (7**500, 1))
    )
    every = np.arange(2)
    subdomains = Subdomains(every, np.zeros_like(every), np.ones_like(every), every, targets)
    declared = Groups(np.ones(2, dtype=np.int64), {}, subdomains={"s": subdomains})
    assert model("0.41").check(declared).holds  # ln 3/2
    assert model("0.40").check(declared).failing == 2


@pytest.mark.parametrize("digits", [6, 15, 16, 17, 34, 40])
@pytest.mark.parametrize(("often", "rarely"), [(3, 1), (2, 1), (5, 3), (3, 2), (999, 998)])
def test_a_limit_next_to_the_logarithm_is_decided(often, rarely, digits):
    """Half of all rows show each value, and each group one of them rarely."""
    counts = Counts(
        np.array([0, 0, 1, 1]),
        np.array([0, 1, 0, 1]),
        np.array([often, rarely, rarely, often]),
        2,
        None,
    )
    groups = Groups(np.full(2, often + rarely), {"s": counts})
    below, above = bounds_of_logarithm(Fraction(often + rarely, 2 * rarely), digits)
    assert model(above).check(groups).holds
    assert model(below).check(groups).failing == 2


def bounds_of_logarithm(ratio, digits):
    """The decimals with so many digits just below and above a logarithm, by bisection of powers."""
    low, high = 0, 10**digits  # below e
    while high - low > 1:
        middle = (low + high) // 2
        _, above, parts = around_power(Fraction(middle, 10**digits))
        if above * ratio.denominator < ratio.numerator * parts:
            low = middle
        else:
            high = middle
    return f"{low}e-{digits}", f"{high}e-{digits}"


def test_merging_never_breaks_it():
    """Every table of three groups of two values, each shown at most three times by a group.

    Whichever of them comes first: all ways to merge them are tried.
    """
    merged = 0
    for value_counts in combinations_with_replacement(product(range(4), repeat=2), 3):
        counts = [times for times_of_group in value_counts for times in times_of_group]
        rows = [(n // 2, n % 2) for n, times in enumerate(counts) for _ in range(times)]
        if not rows:
            continue
        groups = groups_of_rows(rows)
        for delta in ("0.2", "0.5", "1.2"):
            failing = model(delta).failing(groups)
            for into in ([0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0])[: 4 * (len(groups) == 3)]:
                after = model(delta).failing(merge(groups, np.array(into)))
                for new in set(into):
                    parts = failing[np.array(into) == new]
                    if len(parts) > 1 and not parts.any():
                        merged += 1
                        assert not after[new]
    assert merged > 1000


def test_counts_of_billions_of_rows_do_not_overflow():
    huge = 2**45
    counts = np.array([huge, huge, huge, huge + 1])
    counts_shown = Counts(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), counts, 2, None)
    groups = Groups(np.array([2 * huge, 2 * huge + 1]), {"s": counts_shown})
    assert model("1e-12").check(groups).holds
    assert model("1e-15").check(groups).failing == 2


def test_how_a_spec_writes_it():
    promise = PROMISE.validate_python({"model": "delta-disclosure", "delta": "1.5"})
    assert promise == model("1.5")
    assert promise.parameters() == {"model": "delta-disclosure", "delta": "1.5"}
    for delta in (0, -1, "nan", "inf"):
        with pytest.raises(ValidationError):
            PROMISE.validate_python({"model": "delta-disclosure", "delta": delta})
