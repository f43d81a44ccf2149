"""(α,β)-privacy: the paper's groups, and every vector of quasi-identifiers enumerated."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from pydantic import ValidationError

from sfumato.expectations.groups.counting import Coded, count, cover, merge
from sfumato.expectations.groups.covering import covering, single
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.measures.joined_presence import joint_presence
from sfumato.expectations.measures.readings import presence_of
from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.expectations.shared.errors import PromiseError

PEOPLE = [  # group, age, gender, zip, disease
    (0, 45, "M", 11000, "diabetes"),
    (0, 20, "M", 12000, "flu"),
    (0, 50, "M", 23000, "diarrhea"),
    (0, 60, "M", 12000, "stroke"),
    (1, 20, "F", 54000, "leukemia"),
    (1, 50, "F", 23000, "diabetes"),
    (1, 60, "F", 23000, "leukemia"),
    (1, 60, "F", 21000, "dyspepsia"),
]


def ambiguous(rows):
    """Groups of rows (group, quasi-identifiers …, sensitive) as ambiguity shows them."""
    group = np.array([row[0] for row in rows])
    columns = list(zip(*rows, strict=True))[1:]
    codes = [np.unique(column, return_inverse=True) for column in columns]
    names = [f"q{i}" for i in range(len(codes) - 1)]
    values, sensitive = codes[-1]
    counted = count(
        group,
        int(group.max()) + 1,
        {"s": Coded(sensitive, len(values), None, pa.array(values.astype(str)))},
    )
    covers = {
        name: cover(group, code, len(values))
        for name, (values, code) in zip(names, codes, strict=False)
    }
    return Groups(counted.sizes, counted.sensitive, covers)


def boxes(groups):
    """The values that each group admits, by quasi-identifier."""
    return [
        [set(c.value[c.group == g].tolist()) for c in groups.covers.values()]
        for g in range(len(groups))
    ]


def presences(groups):
    return [
        min(Fraction(1), Fraction(int(size), math.prod(len(values) for values in box)))
        for size, box in zip(groups.sizes, boxes(groups), strict=True)
    ]


def largest_presence_sum(groups):
    """The largest sum of presences over every vector there is."""
    p, boxes_found = presences(groups), boxes(groups)
    domains = [
        sorted(set().union(*(box[i] for box in boxes_found))) for i in range(len(groups.covers))
    ]
    return max(
        min(
            Fraction(1),
            sum(
                p[g]
                for g, box in enumerate(boxes_found)
                if all(value in values for value, values in zip(vector, box, strict=True))
            ),
        )
        for vector in itertools.product(*domains)
    )


def test_the_papers_groups():
    groups = ambiguous(PEOPLE)
    scores = AlphaBeta(alpha=1, beta=1, presence="per-group").measure(groups)
    assert scores["alpha"].tolist() == pytest.approx([1 / 3, 4 / 9])
    assert scores["beta"].tolist() == [1 / 4, 1 / 2]
    verdict = AlphaBeta(alpha=Decimal("0.44"), beta=Decimal("0.5")).check(groups)
    assert verdict.observed == {"alpha": Fraction(4, 9), "beta": Fraction(1, 2)}
    assert (verdict.holds, verdict.failing) == (False, 1)
    assert AlphaBeta(alpha=Decimal("0.45"), beta=Decimal("0.5")).check(groups).holds
    assert not AlphaBeta(alpha=Decimal("0.45"), beta=Decimal("0.49")).check(groups).holds


def test_rows_count_and_not_distinct_sensitive_values():
    groups = ambiguous([(0, *row[1:]) for row in PEOPLE[4:]])
    assert groups.counts_of("s").distinct.tolist() == [3]
    assert single(covering(groups, None)).largest == Fraction(4, 9)


def test_presence_is_exact_when_worlds_are_sets_of_vectors():
    """Of all sets of four of group 2's nine vectors, 4/9 have any one; so of those that use all."""
    vectors = list(itertools.product([20, 50, 60], ["F"], [21000, 23000, 54000]))
    for is_given in (False, True):
        worlds = [
            world
            for world in itertools.combinations(vectors, 4)
            if not is_given or all(len({v[i] for v in world}) == m for i, m in ((0, 3), (2, 3)))
        ]
        with_it = [world for world in worlds if vectors[0] in world]
        assert Fraction(len(with_it), len(worlds)) == Fraction(4, 9)


def releases(seed, number):
    rng = np.random.default_rng(seed)
    for _ in range(number):
        domains = rng.integers(1, 7, int(rng.integers(1, 5)))
        rows = int(rng.integers(1, 25))
        group = np.unique(rng.integers(0, int(rng.integers(1, 9)), rows), return_inverse=True)[1]
        columns = [rng.integers(0, d, rows).tolist() for d in domains]
        yield ambiguous(list(zip(group.tolist(), *columns, rng.integers(0, 3, rows), strict=True)))


@pytest.mark.parametrize("seed", range(5))
def test_combined_presence_is_the_largest_over_every_vector(seed):
    for groups in releases(seed, 400):
        presence = joint_presence(covering(groups, None))
        assert presence.largest == largest_presence_sum(groups)
        p = presences(groups)
        assert presence.largest == min(1, sum(p[g] for g in presence.groups))
        assert single(covering(groups, None)).largest == max(p)


def test_verdicts_at_exactly_the_threshold():
    exact_cases = 0
    for groups in releases(11, 600):
        largest = largest_presence_sum(groups)
        exact_cases += largest < 1
        exact = Decimal(largest.numerator) / Decimal(largest.denominator)
        model = AlphaBeta(alpha=exact, beta=1)
        assert model.check(groups).holds == (Fraction(exact) >= largest)
        less = AlphaBeta(alpha=exact - Decimal("1e-27"), beta=1)
        assert not less.check(groups).holds
        assert less.check(groups).failing >= 1
    assert exact_cases > 100


def test_disjoint_boxes_combine_to_the_largest_of_them():
    rows = [(g, 10 * g + i % 5, i % 2, f"s{i}") for g in range(30) for i in range(5)]
    groups = ambiguous(rows)
    presence = joint_presence(covering(groups, None))
    assert (presence.largest, len(presence.groups)) == (Fraction(1, 2), 1)


def test_many_groups_that_tie():
    rows = [
        (g, *[(g * (7 + i) + r) % 11 for i in range(3)], r) for g in range(200) for r in range(3)
    ]
    groups = ambiguous(rows)
    assert joint_presence(covering(groups, None)).largest == largest_presence_sum(groups)


def test_readings_are_ordered_and_given_by_their_formulas():
    rng = np.random.default_rng(5)
    seen = 0
    for groups in releases(3, 150):
        covers = covering(groups, None)
        vectors = [rng.integers(-1, a.values + 1, 20) for a in covers.covers]
        presences_found = presence_of(covers, vectors)
        assert (presences_found.one_record <= presences_found.any_record + 1e-12).all()
        assert (presences_found.any_record <= presences_found.expected + 1e-12).all()
        p, box = presences(groups), boxes(groups)
        for i, vector in enumerate(zip(*vectors, strict=True)):
            mine = [
                p[g]
                for g in range(len(groups))
                if all(v in values for v, values in zip(vector, box[g], strict=True))
            ]
            seen += bool(mine)
            assert presences_found.expected[i] == pytest.approx(float(min(1, sum(mine))))
            assert presences_found.any_record[i] == pytest.approx(
                float(1 - math.prod((1 - q for q in mine), start=Fraction(1)))
            )
            if max(mine, default=0) < 1:
                odds = sum(q / (1 - q) for q in mine)
                assert presences_found.one_record[i] == pytest.approx(float(odds / (1 + odds)))
    assert seen > 300


def test_presence_is_not_monotone_and_association_is():
    twins = [(g, a, b, f"s{g}{a}") for g in (0, 1) for a, b in ((0, 0), (1, 1))]
    groups = ambiguous(twins)
    merged = merge(groups, np.array([0, 0]))
    model = AlphaBeta(alpha=Decimal("0.5"), beta=1, presence="per-group")
    assert model.check(groups).holds
    assert not model.check(merged).holds
    assert not AlphaBeta.monotone
    merges = 0
    for groups in releases(8, 300):
        before = AlphaBeta(alpha=1, beta=1).check(groups).observed["beta"]
        into = np.zeros(len(groups), dtype=np.int64)
        merges += len(groups) > 1
        assert AlphaBeta(alpha=1, beta=1).check(merge(groups, into)).observed["beta"] <= before
    assert merges > 150


def test_no_grouping_is_better_than_what_is_said_to_be_feasible():
    rng = np.random.default_rng(2)
    for groups in releases(21, 150):
        rows = [
            (0, *(int(rng.choice(sorted(v))) for v in box), g)
            for g, box in enumerate(boxes(groups))
            for _ in range(int(groups.sizes[g]))
        ]
        for reading in ("combined", "per-group"):
            model = AlphaBeta(alpha=1, beta=1, presence=reading)
            best = model.feasible(ambiguous(rows)).observed
            for _ in range(5):
                cut = np.unique(rng.integers(0, 3, len(rows)), return_inverse=True)[1]
                grouped = ambiguous([(int(g), *row[1:]) for g, row in zip(cut, rows, strict=True)])
                seen = model.check(grouped).observed
                assert seen["alpha"] >= best["alpha"]
                assert seen["beta"] >= best["beta"]


def test_every_stratum_has_to_be_feasible():
    rng = np.random.default_rng(9)
    fails = strata = 0
    for _ in range(150):
        rows = [
            (int(rng.integers(0, 2)), *rng.integers(0, 4, 3).tolist(), int(rng.integers(0, 4)))
            for _ in range(int(rng.integers(4, 20)))
        ]
        if len({row[0] for row in rows}) < 2:
            continue
        strata += 1
        for reading in ("combined", "per-group"):
            model = AlphaBeta(alpha=Decimal("0.4"), beta=Decimal("0.5"), presence=reading)
            best = model.feasible(ambiguous(rows))
            fails += best.failing > 0
            each = [
                model.feasible(ambiguous([(0, *row[1:]) for row in rows if row[0] == stratum]))
                for stratum in (0, 1)
            ]
            assert best.failing == sum(verdict.failing for verdict in each)
            assert best.observed["alpha"] == max(verdict.observed["alpha"] for verdict in each)
            cut = [(2 * row[0] + int(rng.integers(0, 2)), *row[1:]) for row in rows]
            number = {g: i for i, g in enumerate(sorted({row[0] for row in cut}))}
            seen = model.check(ambiguous([(number[row[0]], *row[1:]) for row in cut]))
            assert all(seen.observed[name] >= best.observed[name] for name in seen.observed)
            assert best.holds or not seen.holds
    assert strata > 100
    assert fails > 20


def test_what_is_not_shown_is_not_measured():
    groups = ambiguous(PEOPLE)
    hidden = Groups(groups.sizes, groups.sensitive)
    assert AlphaBeta(alpha=1, beta=1).check(hidden).observed["alpha"] is None
    assert not AlphaBeta(alpha=1, beta=1).check(hidden).holds
    assert not AlphaBeta(alpha=1, beta=1).feasible(hidden).holds
    other = AlphaBeta(alpha=1, beta=1, quasi_identifiers=("q0", "height"))
    assert not other.check(groups).holds
    with pytest.raises(PromiseError, match="which values each group admits"):
        other.measure(groups)
    joined = AlphaBeta(alpha=1, beta=1, quasi_identifiers=("q0", "q2")).check(groups)
    assert joined.observed["alpha"] == Fraction(1, 3) + Fraction(4, 9)


def test_the_promise_in_words_names_its_reading():
    combined_ = AlphaBeta(alpha=Decimal("0.1"), beta=Decimal("0.2"), sensitive="s").sentence()
    alone = AlphaBeta(alpha=1, beta=1, presence="per-group", sensitive="s").sentence()
    assert "all tables together" in combined_
    assert "0.1" in combined_
    assert "any one group" in alone


@pytest.mark.parametrize("wrong", [{"alpha": 0}, {"beta": 0}, {"alpha": 2}, {"presence": "both"}])
def test_parameters_that_mean_nothing_are_refused(wrong):
    with pytest.raises(ValidationError):
        AlphaBeta(**({"alpha": 1, "beta": 1} | wrong))
