"""Models of groups against their definitions, computed from rows in plain Python.

The oracles know rows, sorted lists and fractions, nothing of codes, counts or NumPy.
"""

import math
from collections import Counter, defaultdict
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from sfumato.expectations.groups.counting import Coded, count, merge, numbers_of
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.alpha_k import AlphaK
from sfumato.expectations.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    Negative,
    RecursiveLDiversity,
)
from sfumato.expectations.models.t_closeness import TCloseness

VALUES = list(range(6))
DONT_CARE = ("1", "4")
ROWS = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from([0, 0, 0, 1, 1, 2, 3, 4, 5])),
    min_size=1,
    max_size=40,
)
ANCESTORS = np.array([[0, 1, 2, 3, 4, 5], [0, 0, 0, 1, 1, 2], [0, 0, 0, 0, 0, 1], [0] * 6])


def groups_of_rows(rows, ancestors=None):
    codes = np.array([value for _, value in rows])
    labels = pa.array(VALUES)
    coded = Coded(codes, len(VALUES), numbers_of(labels, False, "s"), labels, ancestors)
    keys = sorted({key for key, _ in rows})
    key = np.array([keys.index(key) for key, _ in rows])
    return count(key, len(keys), {"s": coded})


def blocks(rows):
    values_by_group = defaultdict(list)
    for key, value in rows:
        values_by_group[key].append(value)
    return [values_by_group[key] for key in sorted(values_by_group)]


def recursive_holds(block, l, c):
    r = sorted(Counter(block).values(), reverse=True)
    return len(r) >= l and r[0] < c * sum(r[l - 1 :])


def positive_holds(block, l, c, dont_care):
    counted = sorted(Counter(block).items(), key=lambda item: (-item[1], str(item[0]) in dont_care))
    ranks = [i for i, (value, _) in enumerate(counted, start=1) if str(value) not in dont_care]
    if not ranks:
        return True
    r = [0] + [times for _, times in counted]
    y, m = ranks[0], len(counted)
    if y <= l - 1:
        return r[y] < c * sum(r[j] for j in range(l, m + 1))
    return r[y] < c * (sum(r[l - 1 : y]) + sum(r[j] for j in range(y + 1, m + 1)))


def entropy_of(counts):
    total = sum(counts)
    return -sum(n / total * math.log(n / total) for n in counts if n)


def equal(p, q):
    return sum(abs(p[v] - q[v]) for v in q) / 2


def ordered_distance(p, q):
    values = sorted(v for v in q if q[v])
    if len(values) < 2:
        return Fraction(0)
    sums = [sum(p[v] - q[v] for v in values[: i + 1]) for i in range(len(values) - 1)]
    return sum(map(abs, sums)) / (len(values) - 1)


def hierarchical(p, q):
    """Return the distance in which a move below a node costs its level over the height."""
    height, cost = len(ANCESTORS) - 1, Fraction(0)
    for level in range(1, height + 1):
        for node in set(ANCESTORS[level]):
            below = [v for v in VALUES if ANCESTORS[level][v] == node]
            surplus = Counter()
            for v in below:
                surplus[ANCESTORS[level - 1][v]] += p[v] - q[v]
            gains = sum(s for s in surplus.values() if s > 0)
            losses = -sum(s for s in surplus.values() if s < 0)
            cost += Fraction(level, height) * min(gains, losses)
    return cost


def shares(block):
    return {v: Fraction(block.count(v), len(block)) for v in VALUES}


@given(ROWS, st.integers(1, 4))
def test_distinct(rows, l):
    expected = [len(set(block)) >= l for block in blocks(rows)]
    verdict = DistinctLDiversity(l=l).check(groups_of_rows(rows))
    assert (verdict.failing, verdict.holds) == (expected.count(False), all(expected))


@given(ROWS)
def test_entropy(rows):
    expected = [math.exp(entropy_of(Counter(block).values())) for block in blocks(rows)]
    measured = EntropyLDiversity(l=1).measure(groups_of_rows(rows))["l"]
    assert measured.tolist() == pytest.approx(expected)


CS = st.sampled_from([Decimal(c) for c in ("0.3", "0.5", "1", "1.5", "2", "3", "7")])


@given(ROWS, st.integers(1, 5), CS)
def test_recursive(rows, l, c):
    expected = [recursive_holds(block, l, Fraction(c)) for block in blocks(rows)]
    verdict = RecursiveLDiversity(l=l, c=c).check(groups_of_rows(rows))
    assert (verdict.failing, verdict.holds) == (expected.count(False), all(expected))


@given(ROWS, st.integers(2, 5), CS)
def test_positive_disclosure(rows, l, c):
    expected = [positive_holds(block, l, Fraction(c), DONT_CARE) for block in blocks(rows)]
    model = RecursiveLDiversity(l=l, c=c, dont_care=DONT_CARE)
    verdict = model.check(groups_of_rows(rows))
    assert (verdict.failing, verdict.holds) == (expected.count(False), all(expected))


@given(ROWS, st.integers(2, 4), CS, st.sampled_from(["5", "12.5", "33", "50"]))
def test_negative_disclosure(rows, l, c, percent):
    expected = [
        positive_holds(block, l, Fraction(c), ())
        and all(block.count(v) >= Fraction(percent) / 100 * len(block) for v in (0, 2))
        for block in blocks(rows)
    ]
    negative = Negative(values=("0", "2"), percent=Decimal(percent))
    verdict = RecursiveLDiversity(l=l, c=c, negative=negative).check(groups_of_rows(rows))
    assert (verdict.failing, verdict.holds) == (expected.count(False), all(expected))


@given(ROWS)
def test_without_dont_care_values_positive_disclosure_is_the_recursive_measure(rows):
    for block in blocks(rows):
        for l in (2, 3, 4):
            for c in (Fraction(1, 2), 1, 3):
                assert positive_holds(block, l, c, ()) == recursive_holds(block, l, c)


def highest_entropy(dont_care, other):
    """The largest entropy for any lowered counts, by cyclic line searches over each of them."""
    x = [n / 2 for n in dont_care]

    def value(x):
        return entropy_of([*x, *other])

    for _ in range(60):
        for i, most in enumerate(dont_care):
            low, high = 0.0, float(most)
            for _ in range(40):
                a, b = low + (high - low) / 3, high - (high - low) / 3
                ha, hb = value([*x[:i], a, *x[i + 1 :]]), value([*x[:i], b, *x[i + 1 :]])
                low, high = (a, high) if ha < hb else (low, b)
            x[i] = (low + high) / 2
    return value(x)


@pytest.mark.parametrize("seed", range(25))
def test_adjusted_entropy_is_the_supremum_over_lowered_counts(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 30, 6).tolist()
    dont_care, other = [counts[1], counts[4]], [counts[i] for i in (0, 2, 3, 5)]
    if not sum(other):
        other[0] = 1
        counts[0] = 1
    rows = [(0, v) for v, n in enumerate(counts) for _ in range(n)]
    measured = EntropyLDiversity(l=1, dont_care=DONT_CARE).measure(groups_of_rows(rows))["l"][0]
    expected = highest_entropy([n for n in dont_care if n], [n for n in other if n])
    assert math.log(measured) == pytest.approx(expected, abs=1e-5)


@given(ROWS, st.integers(1, 4), st.sampled_from(["0.3", "0.5", "0.75", "1"]))
def test_alpha_k(rows, k, alpha):
    for values in (None, ("0", "3")):
        bounded = VALUES if values is None else [int(v) for v in values]
        expected = [
            len(b) >= k and all(b.count(v) <= Fraction(alpha) * len(b) for v in bounded)
            for b in blocks(rows)
        ]
        verdict = AlphaK(k=k, alpha=Decimal(alpha), values=values).check(groups_of_rows(rows))
        assert (verdict.failing, verdict.holds) == (expected.count(False), all(expected))


DISTANCES = {"equal": equal, "ordered": ordered_distance, "hierarchical": hierarchical}


@pytest.mark.parametrize("distance", DISTANCES)
@given(rows=ROWS, t=st.sampled_from(["0", "0.1", "0.25", "0.5"]))
def test_t_closeness(distance, rows, t):
    whole = shares([value for _, value in rows])
    expected = [DISTANCES[distance](shares(block), whole) for block in blocks(rows)]
    verdict = TCloseness(t=Decimal(t), distance=distance).check(groups_of_rows(rows, ANCESTORS))
    assert verdict.observed["t"] == max(expected)
    assert verdict.failing == sum(d > Fraction(t) for d in expected)


def cheapest_transport(p, q, cost):
    """The earth mover's distance as the linear program that defines it."""
    n = len(p)
    equalities = np.zeros((2 * n, n * n))
    for i in range(n):
        equalities[i, i * n : (i + 1) * n] = 1
        equalities[n + i, i::n] = 1
    solution = linprog(
        cost.ravel(), A_eq=equalities, b_eq=[*map(float, p), *map(float, q)], method="highs"
    )
    return solution.fun


@pytest.mark.parametrize("seed", range(30))
def test_the_distances_are_the_earth_movers(seed):
    rng = np.random.default_rng(seed)
    rows = [(int(rng.integers(3)), v) for v in VALUES] + [
        (int(rng.integers(3)), int(rng.choice(VALUES))) for _ in range(20)
    ]
    height, m = len(ANCESTORS) - 1, len(VALUES)
    lowest = [
        [min(l for l in range(height + 1) if ANCESTORS[l][a] == ANCESTORS[l][b]) for b in VALUES]
        for a in VALUES
    ]
    grounds = {
        "equal": 1 - np.eye(m),
        "ordered": np.abs(np.subtract.outer(VALUES, VALUES)) / (m - 1),
        "hierarchical": np.array(lowest) / height,
    }
    whole = shares([value for _, value in rows])
    for distance, ground in grounds.items():
        scores = TCloseness(t=1, distance=distance).measure(groups_of_rows(rows, ANCESTORS))["t"]
        for score, block in zip(scores, blocks(rows), strict=True):
            expected = cheapest_transport(shares(block).values(), whole.values(), ground)
            assert score == pytest.approx(expected, abs=1e-9)


MODELS = [
    DistinctLDiversity(l=2),
    DistinctLDiversity(l=3),
    EntropyLDiversity(l=2),
    EntropyLDiversity(l=Decimal("1.7"), dont_care=DONT_CARE),
    RecursiveLDiversity(l=2, c=2),
    RecursiveLDiversity(l=3, c=5),
    RecursiveLDiversity(l=2, c=1, dont_care=DONT_CARE),
    RecursiveLDiversity(l=3, c=Decimal("0.7"), dont_care=DONT_CARE),
    RecursiveLDiversity(l=2, c=4, negative=Negative(values=("0",), percent=20)),
    AlphaK(k=3, alpha=Decimal("0.6")),
    TCloseness(t=Decimal("0.4"), distance="equal"),
    TCloseness(t=Decimal("0.3"), distance="ordered"),
    TCloseness(t=Decimal("0.3"), distance="hierarchical"),
]


@cache
def merges():
    """Random groups, into which of a few others each is merged, and those."""
    rng, merged_groups = np.random.default_rng(7), []
    for _ in range(600):
        rows = [(int(rng.integers(8)), int(v)) for v in rng.choice(VALUES, rng.integers(20, 90))]
        groups = groups_of_rows(rows, ANCESTORS)
        into = np.unique(rng.integers(0, 3, len(groups)), return_inverse=True)[1]
        merged_groups.append((groups, into, merge(groups, into)))
    return merged_groups


@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.name} {model.parameters()}")
def test_merging_groups_that_keep_a_promise_never_breaks_it(model):
    """Random groups, those that fail left out; what a merge of the others breaks is counted."""
    merged = 0
    for groups, into, others in merges():
        before, after = model.check(groups), model.check(others)
        keep_before, keep_after = keeps(model, groups), keeps(model, others)
        assert np.array_equal(model.failing(groups), ~keep_before)
        assert before.failing == (~keep_before).sum()
        assert after.failing == (~keep_after).sum()
        for new in range(into.max() + 1):
            parts = keep_before[into == new]
            if parts.all() and len(parts) > 1:
                merged += 1
                assert keep_after[new]
    assert merged >= 100, "too few merges were of groups that keep the promise"


def keeps(model, groups):
    """Return which groups keep a promise, one after another."""
    scores = model.measure(groups)
    if isinstance(model, DistinctLDiversity):
        return scores["l"] >= model.l
    if isinstance(model, EntropyLDiversity):
        return scores["l"] >= float(model.l) * (1 - 1e-9)
    if isinstance(model, TCloseness):
        return scores["t"] <= float(model.t) + 1e-12
    if isinstance(model, AlphaK):
        return (scores["k"] >= model.k) & (scores["most"] <= float(model.alpha) * scores["k"])
    passes = (scores["most"] < float(model.c) * scores["rest"]) | (scores["most"] == 0)
    if model.negative is not None:
        passes &= 100 * scores["least"] >= float(model.negative.percent) * groups.sizes
    return passes


def test_text_has_no_ordered_distance_and_no_hierarchy(groups_of):
    groups = groups_of([(0, "a"), (0, "b"), (1, "a")])
    for distance in ("ordered", "hierarchical"):
        verdict = TCloseness(t=1, distance=distance).check(groups)
        assert (verdict.holds, verdict.observed, verdict.failing) == (False, {"t": None}, 2)


def test_distances_of_billions_of_rows_do_not_overflow():
    value = np.tile(np.arange(1000), 2)
    times = np.concatenate([np.full(1000, 4_000_000), np.arange(1000) * 8008])
    numbers = numbers_of(pa.array(range(1000)), False, "s")
    counts = Counts(np.repeat([0, 1], 1000), value, np.maximum(times, 1), 1000, numbers)
    sizes = np.add.reduceat(counts.count, counts.starts)
    groups = Groups(sizes, {"s": counts})
    totals = [int(n) for n in counts.totals]
    for distance in ("equal", "ordered"):
        observed = TCloseness(t=1, distance=distance).check(groups).observed["t"]
        expected = []
        for g in (0, 1):
            value_counts = [int(n) for n in counts.count[g * 1000 : (g + 1) * 1000]]
            p = {v: Fraction(n, int(sizes[g])) for v, n in enumerate(value_counts)}
            q = {v: Fraction(n, sum(totals)) for v, n in enumerate(totals)}
            if distance == "equal":
                expected.append(sum(abs(p[v] - q[v]) for v in q) / 2)
            else:
                surplus, cost = Fraction(0), Fraction(0)
                for v in range(999):
                    surplus += p[v] - q[v]
                    cost += abs(surplus)
                expected.append(cost / 999)
        assert observed == max(expected)
