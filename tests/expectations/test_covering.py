"""Presence over joins: exact at ties, against every vector enumerated, refused where unproven."""

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.groups.counting import Coded, count
from sfumato.expectations.groups.covering import covering, single
from sfumato.expectations.groups.groups import Cover, Groups
from sfumato.expectations.measures import joined_presence as module
from sfumato.expectations.measures import readings
from sfumato.expectations.measures.joined_presence import joint_presence
from sfumato.expectations.measures.readings import presence_of
from sfumato.expectations.models.alpha_beta import AlphaBeta


def groups_of_boxes(boxes):
    """Groups of (rows, values of each quasi-identifier …), whatever their rows are."""
    covers = {}
    for i in range(len(boxes[0][1])):
        pairs = [(g, v) for g, (_, box) in enumerate(boxes) for v in sorted(box[i])]
        group, value = (np.array(column) for column in zip(*pairs, strict=True))
        covers[f"q{i}"] = Cover(group, value, int(value.max()) + 1)
    return Groups(np.array([rows for rows, _ in boxes]), {}, covers)


def shown_of(boxes):
    return covering(groups_of_boxes(boxes), None)


def presence(rows, box):
    return min(Fraction(1), Fraction(rows, math.prod(map(len, box))))


def covers(box, vector):
    return all(value in values for value, values in zip(vector, box, strict=True))


def presence_sums(boxes):
    """The sum of presences of every vector there is."""
    width = len(boxes[0][1])
    domains = [sorted(set().union(*(box[i] for _, box in boxes))) for i in range(width)]
    shares = [presence(rows, box) for rows, box in boxes]
    parts = math.lcm(*(share.denominator for share in shares))
    sums = dict.fromkeys(itertools.product(*domains), 0)
    for share, (_, box) in zip(shares, boxes, strict=True):
        number = int(share * parts)
        for vector in itertools.product(*box):
            sums[vector] += number
    return {vector: Fraction(min(parts, number), parts) for vector, number in sums.items()}


def is_attained(boxes, largest):
    """Tell if the groups that are named have a vector in common, and that sum."""
    width = len(boxes[0][1])
    shared = [
        set.intersection(*(set(boxes[g][1][i]) for g in largest.groups)) for i in range(width)
    ]
    total = sum(presence(*boxes[g]) for g in largest.groups)
    return all(shared) and largest.largest == min(1, total)


@st.composite
def releases(draw):
    domains = draw(st.lists(st.integers(1, 5), min_size=1, max_size=5))
    box = st.tuples(*(st.frozensets(st.integers(0, d - 1), min_size=1) for d in domains))
    return draw(st.lists(st.tuples(st.integers(1, 9), box), min_size=1, max_size=9))


@pytest.fixture
def sparse(monkeypatch):
    """No matrix is small enough: every quasi-identifier is branched on, every value a choice."""
    monkeypatch.setattr(module, "_CHOICES", 0)


@given(releases())
def test_combined_presence_is_the_largest_of_every_vector(boxes):
    presence = joint_presence(shown_of(boxes))
    assert presence.largest == max(presence_sums(boxes).values())
    assert is_attained(boxes, presence)


def random_releases(seed, number):
    """Releases of up to 40 overlapping groups, most of them with no group of presence 1."""
    rng = np.random.default_rng(seed)
    for _ in range(number):
        domains = rng.integers(2, 7, int(rng.integers(2, 5)))
        boxes = []
        for _ in range(int(rng.integers(1, 40))):
            box = [set(rng.choice(d, int(rng.integers(1, d + 1)), False).tolist()) for d in domains]
            most = max(1, math.prod(map(len, box)) // int(rng.integers(4, 40)))
            boxes.append((int(rng.integers(1, most + 1)), box))
        yield boxes


def test_searching_without_matrices_finds_the_same(sparse):
    unsure = 0
    for boxes in random_releases(1, 250):
        presence = joint_presence(shown_of(boxes))
        assert presence.largest == max(presence_sums(boxes).values())
        assert is_attained(boxes, presence)
        unsure += presence.largest < 1
    assert unsure > 50


def test_searching_with_matrices_finds_the_largest():
    unsure = 0
    for boxes in random_releases(2, 400):
        presence = joint_presence(shown_of(boxes))
        assert presence.largest == max(presence_sums(boxes).values())
        assert is_attained(boxes, presence)
        unsure += presence.largest < 1
    assert unsure > 80


@pytest.mark.parametrize("seed", range(3))
def test_many_groups_agree_with_all_vectors_as_a_product_of_matrices(seed):
    rng = np.random.default_rng(seed)
    domains, number = (12, 7, 6, 9), 400
    admits = [rng.random((number, d)) < 0.35 for d in domains]
    for admitted in admits:
        admitted[np.arange(number), rng.integers(0, admitted.shape[1], number)] = True
    vectors = np.prod([admitted.sum(axis=1) for admitted in admits], axis=0)
    boxes = [
        (int(np.ceil(vectors[g] / 200)), [set(np.flatnonzero(a[g]).tolist()) for a in admits])
        for g in range(number)
    ]
    p = np.minimum(1, np.array([rows for rows, _ in boxes]) / vectors)
    sums = np.einsum("g,ga,gb,gc,gd->abcd", p, *map(np.float64, admits), optimize=True)
    near = np.argwhere(sums > sums.max() - 1e-9)
    exact = max(
        sum(presence(rows, box) for rows, box in boxes if covers(box, vector))
        for vector in near.tolist()
    )
    assert joint_presence(shown_of(boxes)).largest == min(1, exact)
    assert exact < 1


@given(releases(), st.randoms(use_true_random=False))
def test_order_and_names_are_free(boxes, random):
    names = {i: random.sample(range(9), 9) for i in range(len(boxes[0][1]))}
    order = random.sample(sorted(names), len(names))
    renamed = [
        (rows, [{names[i][value] for value in box[i]} for i in order])
        for rows, box in random.sample(boxes, len(boxes))
    ]
    assert joint_presence(shown_of(renamed)).largest == joint_presence(shown_of(boxes)).largest
    assert single(shown_of(renamed)).largest == single(shown_of(boxes)).largest


def test_sums_of_thirds_and_sevenths_are_exact():
    boxes = [(1, [{0, 1, 2}, {0}]), (1, [{0}, set(range(7))]), (1, [{5}, {5, 6}])]
    assert joint_presence(shown_of(boxes)).largest == Fraction(1, 2)
    assert joint_presence(shown_of(boxes[:2])).largest == Fraction(1, 3) + Fraction(1, 7)
    sevenths = [(1, [set(range(7)), {0}])] * 7
    assert joint_presence(shown_of(sevenths)).largest == 1
    assert joint_presence(shown_of(sevenths[:6])).largest == Fraction(6, 7)


def with_sensitive(boxes):
    """The groups with as many different sensitive values as they have rows."""
    groups = groups_of_boxes(boxes)
    key = np.repeat(np.arange(len(boxes)), groups.sizes)
    value = np.concatenate([np.arange(rows) for rows, _ in boxes])
    counted = count(key, len(boxes), {"s": Coded(value, int(value.max()) + 1)})
    return Groups(groups.sizes, counted.sensitive, groups.covers)


def test_a_tenth_and_two_are_three_tenths():
    boxes = [(1, [set(range(10)), {0}]), (1, [{0}, set(range(5))]), (3, [{11}, set(range(5, 15))])]
    assert 0.1 + 0.2 > 0.3
    groups = with_sensitive(boxes)
    assert AlphaBeta(alpha="0.3", beta=1).check(groups).holds
    verdict = AlphaBeta(alpha="0.29999999999999999999", beta=1).check(groups)
    assert (verdict.holds, verdict.observed["alpha"]) == (False, Fraction(3, 10))
    alone = AlphaBeta(alpha="0.3", beta=1, presence="per-group")
    assert alone.check(groups).holds
    assert AlphaBeta(alpha="0.29999999999999999999", beta=1).check(groups).failing >= 1


def test_what_fails_only_together_is_counted():
    boxes = [(1, [set(range(10)), {0}]), (1, [{0}, set(range(5))]), (1, [{11}, set(range(10))])]
    verdict = AlphaBeta(alpha="0.25", beta=1).check(with_sensitive(boxes))
    assert (verdict.failing, verdict.observed["alpha"]) == (2, Fraction(3, 10))
    assert AlphaBeta(alpha="0.25", beta=1, presence="per-group").check(with_sensitive(boxes)).holds


@pytest.mark.parametrize("larger", [0, 1])
def test_presences_that_no_float_tells_apart(larger):
    values = range(1000)
    rows = [10**17, 10**17]
    rows[larger] += 1
    boxes = [(rows[g], [{v + 1000 * g for v in values}, *([set(values)] * 5)]) for g in range(2)]
    assert rows[0] / 10**18 == rows[1] / 10**18
    for presence in (joint_presence(shown_of(boxes)), single(shown_of(boxes))):
        assert presence.largest == Fraction(10**17 + 1, 10**18)
        assert presence.groups == (larger,)
    at_most = shown_of(boxes).are_above(Fraction(10**17, 10**18)).tolist()
    assert at_most == [larger == 0, larger == 1]


def widen(boxes):
    """The groups, which all admit 1000 values of each of six more quasi-identifiers."""
    groups, number = groups_of_boxes(boxes), len(boxes)
    wide = Cover(np.repeat(np.arange(number), 1000), np.tile(np.arange(1000), number), 1000)
    more = {f"wide{i}": wide for i in range(6)}
    return covering(Groups(groups.sizes, {}, {**groups.covers, **more}), None)


@pytest.mark.parametrize("apart", [(0,), (1,), (0, 1)])
def test_a_rounded_sum_that_looks_larger_than_the_largest(apart):
    here, there = {0, 1}, {2, 3}
    other = [there if i in apart else here for i in range(2)]
    boxes = [
        (4 * 10**17, [here, here]),
        (8 * 10**17, [here, here]),
        (12 * 10**17 + 1, other),
    ]
    largest = Fraction(3, 10) + Fraction(1, 4 * 10**18)
    assert float(largest) < 0.1 + 0.2
    presence = joint_presence(widen(boxes))
    assert (presence.largest, presence.groups) == (largest, (2,))


@pytest.mark.parametrize("short", [0, 1, 2, 3])
@pytest.mark.parametrize("choices", [0, 512])
def test_a_sum_that_rounds_to_one_does_not_end_the_search(monkeypatch, short, choices):
    monkeypatch.setattr(module, "_CHOICES", choices)
    boxes = [
        (2 * 10**18 - (g == short), [{g // 2, g % 2 + 4}, {g // 2, g % 2 + 4}]) for g in range(4)
    ]
    assert joint_presence(widen(boxes)).largest == 1


@cache
def close_releases():
    """Presences of some tenths and a few units in the eighteenth place or behind it; their sums."""
    rng, releases = np.random.default_rng(13), []
    for _ in range(250):
        boxes = []
        for _ in range(int(rng.integers(3, 12))):
            box = [set(rng.choice(4, int(rng.integers(1, 3)), False).tolist()) for _ in range(3)]
            tenth = math.prod(map(len, box)) * 10**17
            boxes.append((int(rng.integers(1, 5)) * tenth + int(rng.integers(-2, 3)), box))
        p = [Fraction(rows, math.prod(map(len, box)) * 10**18) for rows, box in boxes]
        sums = {
            min(Fraction(1), sum(p[g] for g, (_, box) in enumerate(boxes) if covers(box, vector)))
            for vector in itertools.product(range(4), repeat=3)
        }
        releases.append((boxes, sums))
    return releases


@pytest.mark.parametrize("choices", [0, 512])
def test_releases_whose_sums_differ_by_less_than_rounding(monkeypatch, choices):
    monkeypatch.setattr(module, "_CHOICES", choices)
    close = nearly_one = 0
    for boxes, sums in close_releases():
        assert joint_presence(widen(boxes)).largest == max(sums)
        close += any(0 < max(sums) - other < Fraction(1, 10**16) for other in sums)
        nearly_one += 0 < 1 - max(sums) < Fraction(1, 10**16)
    assert close > 20
    assert nearly_one > 3


def test_more_vectors_than_an_integer_of_the_machine_counts():
    boxes = [(10, [set(range(10))] * 40), (20, [set(range(5, 15))] * 40)]
    assert joint_presence(shown_of(boxes)).largest == Fraction(30, 10**40)
    assert shown_of(boxes).presence(1) == Fraction(20, 10**40)
    assert shown_of(boxes).least_presence(1) == Fraction(10, 10**40)


def test_more_vectors_than_a_float_counts_are_refused_and_alone_still_exact():
    covers = shown_of([(10, [set(range(10))] * 400), (20, [set(range(5, 15))] * 400)])
    assert single(covers).largest == Fraction(20, 10**400)
    assert joint_presence(covers) is None


@given(releases())
def test_the_least_presence_is_that_of_the_best_size(boxes):
    covers = shown_of(boxes)
    for number, (rows, box) in enumerate(boxes):
        sizes = range(1, rows + 1)
        least = min(Fraction(g, math.prod(min(g, len(m)) for m in box)) for g in sizes)
        assert covers.least_presence(number) == least


def test_a_present_vector_ends_the_search(monkeypatch):
    monkeypatch.setattr(module, "_NODES", 0)
    assert joint_presence(shown_of([(4, [{0, 1}, {0, 1}]), (1, [{0, 1}, {2}])])).largest == 1
    assert joint_presence(shown_of([(9, [{0, 1}, {0, 1}])])).largest == 1


def test_sums_above_one_are_one():
    boxes = [(2, [{0, 1, 2}, {g, 9}]) for g in range(9)]
    assert single(shown_of(boxes)).largest == Fraction(1, 3)
    assert joint_presence(shown_of(boxes)).largest == 1


@pytest.mark.parametrize("domains", [(20, 20, 20), (12, 12, 12, 12), (40, 3, 40)])
def test_vectors_that_all_tie(domains):
    """Each group fixes one value: each vector is covered by as many groups as it has values."""
    everything = [set(range(d)) for d in domains]
    boxes = []
    for i, domain in enumerate(domains):
        others = math.prod(domains) // domain
        boxes += [
            (others // 3 if others % 3 == 0 else 1, [*everything[:i], {v}, *everything[i + 1 :]])
            for v in range(domain)
        ]
    expected = sum(presence(*boxes[sum(domains[:i])]) for i in range(len(domains)))
    joint = joint_presence(shown_of(boxes))
    assert joint.largest == min(1, expected)
    assert is_attained(boxes, joint)


def split(rng, box, rows):
    """A box and its rows, cut into disjoint ones at random."""
    widest = int(np.argmax([len(values) for values in box]))
    values = sorted(box[widest])
    if len(values) < 2 or rows < 2 or rng.random() < 0.15:
        return [(rows, box)]
    position, share = int(rng.integers(1, len(values))), int(rng.integers(1, rows))
    halves = [(values[:position], share), (values[position:], rows - share)]
    return [
        part
        for half_values, number in halves
        for part in split(rng, [*box[:widest], set(half_values), *box[widest + 1 :]], number)
    ]


def test_disjoint_boxes_combine_to_the_largest_of_them():
    rng = np.random.default_rng(4)
    unsure = several = 0
    for _ in range(150):
        boxes = split(rng, [set(range(d)) for d in (16, 9, 5, 12)], int(rng.integers(2, 400)))
        assert joint_presence(shown_of(boxes)).largest == single(shown_of(boxes)).largest
        unsure += single(shown_of(boxes)).largest < 1
        several += len(boxes) > 10
    assert unsure > 20
    assert several > 50


@pytest.mark.parametrize("limit", ["_NODES", "_RECORDS", "_TIES"])
def test_what_was_not_searched_to_the_end_is_refused(monkeypatch, limit):
    boxes = [(1, [{g, g + 1, g + 2}, {g % 3, 4}, {g % 2, 2}]) for g in range(12)]
    assert joint_presence(shown_of(boxes)).largest == max(presence_sums(boxes).values()) < 1
    monkeypatch.setattr(module, limit, 0)
    assert joint_presence(shown_of(boxes)) is None
    verdict = AlphaBeta(alpha=1, beta=1).check(with_sensitive(boxes))
    assert verdict.observed["alpha"] is None
    assert (verdict.holds, verdict.failing) == (False, 12)
    assert AlphaBeta(alpha=1, beta=1, presence="per-group").check(with_sensitive(boxes)).holds


def test_a_group_that_admits_nothing_is_not_measured():
    groups = groups_of_boxes([(1, [{0, 1}, {0}]), (1, [{0, 1}, {0}])])
    first = Cover(np.array([0]), np.array([0]), 1)
    partly = Groups(groups.sizes, {}, {**groups.covers, "q1": first})
    assert covering(groups, ["q0", "q1"]) is not None
    assert covering(partly, ["q0", "q1"]) is None
    assert covering(partly, ["q0"]) is not None
    assert covering(groups, ["q0", "height"]) is None
    assert covering(Groups(groups.sizes, {}), None) is None
    nothing = Groups(np.array([], dtype=np.int64), {}, groups.covers)
    assert covering(nothing, None) is None


@pytest.mark.parametrize("shape", [(3, 1, 3), (2, 2), (4, 2), (2, 2, 2), (5,), (3, 3)])
def test_presence_is_exact_over_all_worlds(shape):
    """A world is a set of distinct vectors; also where each admitted value must occur."""
    vectors = list(itertools.product(*map(range, shape)))
    seen = 0
    for rows in range(1, len(vectors) + 1):
        boxes = [(rows, [set(range(m)) for m in shape])]
        for every in (False, True):
            there: Counter = Counter()
            worlds = 0
            for world in itertools.combinations(vectors, rows):
                shows = [len(set(values)) for values in zip(*world, strict=True)]
                if not every or shows == list(shape):
                    there.update(world)
                    worlds += 1
            if worlds:
                seen += 1
                shares = {Fraction(there[vector], worlds) for vector in vectors}
                assert shares == {single(shown_of(boxes)).largest}
    assert seen > len(vectors)


@given(releases(), st.integers(1, 64))
def test_readings_are_ordered_and_bounded_by_the_combined_presence(boxes, cells):
    groups_covered, sums = shown_of(boxes), presence_sums(boxes)
    columns = [np.array(codes) for codes in zip(*sums, strict=True)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readings, "_CELLS", cells)
        presences_found = presence_of(groups_covered, columns)
    whole = presence_of(groups_covered, columns)
    assert (presences_found.one_record <= presences_found.any_record).all()
    assert (presences_found.any_record <= presences_found.expected).all()
    assert presences_found.expected.tolist() == whole.expected.tolist()
    assert presences_found.expected.tolist() == pytest.approx([float(p) for p in sums.values()])
    assert float(joint_presence(groups_covered).largest) == pytest.approx(
        presences_found.expected.max()
    )
    for i, vector in enumerate(sums):
        mine = [presence(rows, box) for rows, box in boxes if covers(box, vector)]
        assert presences_found.any_record[i] == pytest.approx(
            float(1 - math.prod(1 - p for p in mine))
        )
        if max(mine, default=0) < 1:
            odds = sum((p / (1 - p) for p in mine), Fraction(0))
            assert presences_found.one_record[i] == pytest.approx(float(odds / (1 + odds)))


def test_readings_of_values_that_nobody_admits_and_of_no_vectors():
    covers = shown_of([(1, [{0, 1}, {0}])])
    presences_found = presence_of(covers, [np.array([0, -1, 2, 9, 0]), np.array([0, 0, 0, 0, 1])])
    assert presences_found.expected.tolist() == [0.5, 0, 0, 0, 0]
    nothing = presence_of(covers, [np.array([], dtype=np.int64)] * 2)
    assert len(nothing.one_record) == 0
