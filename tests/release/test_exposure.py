"""Presence of a table's own people: the paper's groups, every row by hand, however computed."""

import json
import math
from fractions import Fraction
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.groups.counting import cover
from sfumato.expectations.groups.covering import covering
from sfumato.expectations.groups.groups import Cover, Groups
from sfumato.expectations.measures.occurrences import occurrences
from sfumato.expectations.measures.readings import presence_of
from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.publication import exposure as module
from sfumato.tasks.publication import exposure as room
from sfumato.tasks.publication.exposure import Unmeasured, exposure

READINGS = ("per_group", "one_record", "combined_or", "combined_sum")
PEOPLE = [
    (45, "M", 11000),
    (20, "M", 12000),
    (50, "M", 23000),
    (60, "M", 12000),
    (20, "F", 54000),
    (50, "F", 23000),
    (60, "F", 23000),
    (60, "F", 21000),
]


def groups_of_rows(codes, group):
    """Groups that show of each column which values their rows have."""
    covers = {
        f"q{i}": cover(group, column, int(column.max()) + 1) for i, column in enumerate(codes.T)
    }
    return Groups(np.bincount(group), {}, covers)


def groups_of_boxes(boxes):
    """Groups of (rows, values of each quasi-identifier …)."""
    covers = {}
    for i in range(len(boxes[0][1])):
        pairs = [(g, v) for g, (_, box) in enumerate(boxes) for v in sorted(box[i])]
        group, value = (np.array(column) for column in zip(*pairs, strict=True))
        covers[f"q{i}"] = Cover(group, value, int(value.max()) + 1)
    return Groups(np.array([rows for rows, _ in boxes]), {}, covers)


def by_hand(groups, codes):
    """Presences of each row's vector by each reading as fractions, expected records, cover."""
    covers, sizes = list(groups.covers.values()), groups.sizes.tolist()
    expected = [
        {
            (g, v): n
            for g, v, n in zip(
                c.group.tolist(), c.value.tolist(), occurrences(groups.sizes, c), strict=True
            )
        }
        for c in covers
    ]
    admitted = [c.sizes(len(sizes)).tolist() for c in covers]
    presences_by_hand = []
    for vector in codes.tolist():
        over = [
            g
            for g in range(len(sizes))
            if all((g, v) in e for e, v in zip(expected, vector, strict=True))
        ]
        p = [min(Fraction(1), Fraction(sizes[g], math.prod(m[g] for m in admitted))) for g in over]
        odds = None if 1 in p else sum(q / (1 - q) for q in p)
        presences_by_hand.append(
            {
                "per_group": max(p),
                "one_record": Fraction(1) if odds is None else odds / (1 + odds),
                "combined_or": 1 - math.prod(1 - q for q in p),
                "combined_sum": min(Fraction(1), sum(p)),
                "weighted": sum(
                    sizes[g]
                    * math.prod(e[g, v] / sizes[g] for e, v in zip(expected, vector, strict=True))
                    for g in over
                ),
                "covering": len(over),
            }
        )
    return presences_by_hand


@st.composite
def tables(draw):
    """The rows of a table and the group of each, every group having a row."""
    width = draw(st.integers(1, 4))
    rows = draw(st.lists(st.tuples(*[st.integers(0, 4)] * width), min_size=1, max_size=30))
    number = draw(st.integers(1, min(len(rows), 8)))
    more = st.lists(
        st.integers(0, number - 1), min_size=len(rows) - number, max_size=len(rows) - number
    )
    return np.array(rows), np.array([*range(number), *draw(more)])


ALPHAS = st.fractions(Fraction(1, 50), 1, max_denominator=50)


def paper():
    columns = [np.unique(c, return_inverse=True)[1] for c in zip(*PEOPLE, strict=True)]
    codes = np.column_stack(columns)
    return groups_of_rows(codes, np.repeat([0, 1], 4)), codes


def test_the_two_groups_of_the_paper():
    groups, codes = paper()
    third = exposure(groups, codes, Fraction(1, 3))
    assert [getattr(third, name) for name in READINGS] == [Fraction(1, 2)] * 4
    assert third.largest == Fraction(4, 9)
    assert (third.covering_mean, third.covering_most) == (1, 1)
    below_third = exposure(groups, codes, Fraction(333, 1000))
    assert [getattr(below_third, name) for name in READINGS] == [1] * 4
    ninths = exposure(groups, codes, Fraction(4, 9))
    assert [getattr(ninths, name) for name in READINGS] == [0] * 4


def test_alan_alone():
    groups, codes = paper()
    presence_found = exposure(groups, codes[:1], Fraction(1, 3))
    assert (presence_found.largest, presence_found.per_group, presence_found.combined_sum) == (
        Fraction(1, 3),
        0,
        0,
    )
    ages, genders, zips = (occurrences(groups.sizes, c) for c in groups.covers.values())
    assert presence_found.weighted.largest == pytest.approx(ages[1] * genders[0] * zips[0] / 16)
    assert presence_found.weighted.median == presence_found.weighted.largest


@given(tables(), ALPHAS)
def test_every_row_by_hand(table, alpha):
    codes, group = table
    groups = groups_of_rows(codes, group)
    presence_found, rows = exposure(groups, codes, alpha), by_hand(groups, codes)
    for name in READINGS:
        above = sum(row[name] > alpha for row in rows)
        assert getattr(presence_found, name) == Fraction(above, len(rows)), name
    assert presence_found.largest == max(row["per_group"] for row in rows)
    assert presence_found.covering_mean == Fraction(sum(row["covering"] for row in rows), len(rows))
    assert presence_found.covering_most == max(row["covering"] for row in rows)
    weighted = [row["weighted"] for row in rows]
    assert presence_found.weighted.largest == pytest.approx(max(weighted))
    assert presence_found.weighted.median == pytest.approx(median(weighted))
    clear = [w for w in weighted if abs(w - alpha) > 1e-9]
    if len(clear) == len(weighted):
        assert presence_found.weighted.above == Fraction(
            sum(w > alpha for w in weighted), len(weighted)
        )


@given(tables(), st.randoms(use_true_random=False))
def test_only_people_other_than_those_in_the_groups(table, random):
    """The rows asked about may be fewer than those that were grouped, and come in any order."""
    codes, group = table
    groups = groups_of_rows(codes, group)
    some = codes[random.sample(range(len(codes)), random.randint(1, len(codes)))]
    exposed = exposure(groups, np.repeat(some, 3, axis=0), Fraction(1, 4))
    rows = by_hand(groups, some)
    for name in READINGS:
        above = sum(row[name] > Fraction(1, 4) for row in rows)
        assert getattr(exposed, name) == Fraction(above, len(rows))
    assert exposed.weighted.median == pytest.approx(median(row["weighted"] for row in rows))


@given(tables(), ALPHAS, st.randoms(use_true_random=False))
def test_order_and_names_are_free(table, alpha, random):
    codes, group = table
    order = random.sample(range(codes.shape[1]), codes.shape[1])
    renamed = np.column_stack([np.array(random.sample(range(9), 9))[codes[:, i]] for i in order])
    shuffled = random.sample(range(len(codes)), len(codes))
    number = int(group.max()) + 1
    numbers = np.array(random.sample(range(number), number))
    first = exposure(groups_of_rows(codes, group), codes, alpha)
    other = exposure(groups_of_rows(renamed, numbers[group]), renamed[shuffled], alpha)
    for name in (*READINGS, "largest", "covering_mean", "covering_most"):
        assert getattr(first, name) == getattr(other, name)
    assert first.weighted.median == pytest.approx(other.weighted.median)


def many(rows, groups, seed):
    """Rows of five columns in random groups, as many groups as make overlapping boxes."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([np.minimum(rng.geometric(3 / d, rows), d) - 1 for d in (30, 5, 3, 9)])
    return codes, rng.permutation(np.arange(rows) % groups)


def sums_of(groups, codes):
    covers = covering(groups, None)
    vectors = list(np.unique(codes, axis=0).T)
    shares = [occurrences(covers.sizes, c) / covers.sizes[c.group] for c in covers.covers]
    p = covers.rounded_presences()
    ranks = np.argsort(np.argsort(p, kind="stable"))
    return module.sums(covers, vectors, shares, ranks, np.column_stack([p, p * p, np.log1p(p)]))


@pytest.mark.parametrize("worth", [0, 10**12])
@pytest.mark.parametrize("cells", [1, 100, 1 << 20])
def test_compiled_or_not_and_in_whatever_blocks(monkeypatch, worth, cells):
    codes, group = many(120, 11, 1)
    groups = groups_of_rows(codes, group)
    monkeypatch.setattr(module, "_WORTH_COMPILING", 10**12)
    plain = sums_of(groups, codes)
    monkeypatch.setattr(module, "_WORTH_COMPILING", worth)
    monkeypatch.setattr(module, "_CELLS", cells)
    sums = sums_of(groups, codes)
    assert sums.covering.tolist() == plain.covering.tolist()
    assert sums.largest.tolist() == plain.largest.tolist()
    assert plain.covering.max() > 1
    if cells == 1 << 20:
        assert sums.totals.tolist() == plain.totals.tolist()
        assert sums.products.tolist() == plain.products.tolist()
    assert sums.totals == pytest.approx(plain.totals)
    assert sums.products == pytest.approx(plain.products)


def test_the_readings_are_those_of_given_vectors():
    codes, group = many(3000, 300, 2)
    groups = groups_of_rows(codes, group)
    read = presence_of(covering(groups, None), list(codes.T))
    several = 0
    for alpha in (Fraction(1, 9), Fraction(2, 7), Fraction(5, 8)):
        exposed = exposure(groups, codes, alpha)
        shares = [exposed.one_record, exposed.combined_or, exposed.combined_sum]
        presences = [read.one_record, read.any_record, read.expected]
        assert shares == [Fraction(int((p > alpha).sum()), len(codes)) for p in presences]
        several += 0 < shares[0] < shares[2] < 1
    assert several


def test_boxes_that_do_not_overlap_are_one_reading():
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 6, (400, 3))
    group = np.unique(codes[:, 0] // 2 * 9 + codes[:, 1] // 3, return_inverse=True)[1]
    exposed = exposure(groups_of_rows(codes, group), codes, Fraction(8, 10))
    assert (exposed.covering_mean, exposed.covering_most) == (1, 1)
    assert len({getattr(exposed, name) for name in READINGS}) == 1


def test_a_tenth_and_two_are_no_more_than_three_tenths():
    boxes = [(1, [{0}, set(range(10))]), (2, [{0}, set(range(10))])]
    groups = groups_of_boxes([(10 * rows, [*box, set(range(10))]) for rows, box in boxes])
    assert 0.1 + 0.2 > 0.3
    codes = np.zeros((1, 3), dtype=np.int64)
    assert exposure(groups, codes, Fraction(3, 10)).combined_sum == 0
    assert exposure(groups, codes, Fraction(3, 10) - Fraction(1, 10**9)).combined_sum == 1


def test_a_group_more_present_by_less_than_a_float_tells():
    groups = groups_of_boxes([(10**17 + 1, [set(range(1000))] * 6)])
    codes = np.zeros((1, 6), dtype=np.int64)
    assert float(Fraction(10**17 + 1, 10**18)) == 0.1
    exposed = exposure(groups, codes, Fraction(1, 10))
    assert [getattr(exposed, name) for name in READINGS] == [1] * 4
    alike = exposure(groups, codes, Fraction(10**17 + 1, 10**18))
    assert [getattr(alike, name) for name in READINGS] == [0] * 4


def test_a_sure_group_is_sure_by_every_reading():
    groups = groups_of_boxes([(5, [{0}, {0, 1}]), (2, [{0, 1}, {1, 2}])])
    exposed = exposure(groups, np.array([[0, 0], [0, 1], [1, 2]]), Fraction(99, 100))
    assert [getattr(exposed, name) for name in READINGS] == [Fraction(2, 3)] * 4
    assert exposed.largest == 1


def test_more_vectors_than_an_integer_of_the_machine_counts():
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 10, (60, 40))
    groups = groups_of_rows(codes, np.arange(60) // 30)
    exposed = exposure(groups, codes, Fraction(1, 10**30))
    assert exposed.largest < Fraction(1, 10**30)
    assert exposed.combined_sum == 0
    rows = by_hand(groups, codes)
    assert exposed.covering_mean == Fraction(sum(row["covering"] for row in rows), 60) > 1
    assert exposed.weighted.largest == pytest.approx(max(row["weighted"] for row in rows))


def test_nothing_given_is_changed():
    codes, group = many(200, 20, 6)
    groups = groups_of_rows(codes, group)
    arrays = [codes, groups.sizes, *(a for c in groups.covers.values() for a in (c.group, c.value))]
    for array in arrays:
        array.setflags(write=False)
    assert exposure(groups, codes, Fraction(1, 10)) is not None


def test_some_of_the_quasi_identifiers():
    groups, codes = paper()
    exposed = exposure(groups, codes[:, [2, 0]], Fraction(1, 3), ["q2", "q0"])
    rows = by_hand(
        Groups(groups.sizes, {}, {name: groups.covers[name] for name in ("q2", "q0")}),
        codes[:, [2, 0]],
    )
    assert exposed.combined_or == Fraction(sum(r["combined_or"] > Fraction(1, 3) for r in rows), 8)


def test_what_is_written_down_are_shares():
    groups, codes = paper()
    document = exposure(groups, codes, Fraction(2, 5)).document()
    assert json.loads(json.dumps(document)) == document
    assert document["rows_above_alpha"]["combined_sum"] == 0.5
    assert set(document["rows_above_alpha"]) == {*READINGS, "weighted_presence"}
    assert document["largest_in_a_group"] == 0.444444
    assert document["covering_groups"] == {"mean": 1.0, "most": 1}


def test_no_rows_are_not_exposed():
    groups, codes = paper()
    assert exposure(groups, codes[:0], Fraction(1, 3)) is None


def count_compared(groups, codes):
    """The pairs that the scan compares, counted one by one."""
    covering_groups = covering(groups, None)
    vectors, _, covers = room._distinct(covering_groups.covers, codes)
    admits = [set(zip(c.group.tolist(), c.value.tolist(), strict=True)) for c in covers]
    begun = {
        vector[:n] for vector in zip(*vectors, strict=True) for n in range(1, len(codes.T) + 1)
    }
    everyone = range(len(groups))
    return sum(
        sum(all((g, v) in a for a, v in zip(admits, some[:-1], strict=False)) for g in everyone)
        for some in begun
    )


@given(tables(), st.integers(0, 200))
def test_a_table_is_measured_or_not_by_how_much_is_compared(table, most):
    codes, group = table
    groups = groups_of_rows(codes, group)
    whole = exposure(groups, codes, Fraction(1, 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "_MOST", most)
        exposed = exposure(groups, codes, Fraction(1, 3))
    if isinstance(exposed, Unmeasured):
        assert exposed.pairs > most
        assert exposed.pairs >= count_compared(groups, codes)
    else:
        assert (exposed, count_compared(groups, codes) <= most) == (whole, True)


def test_what_is_too_large_says_by_how_much(monkeypatch):
    groups, codes = paper()
    monkeypatch.setattr(room, "_MOST", 9)
    document = exposure(groups, codes, Fraction(2, 5)).document()
    pairs_asked = document["skipped"].pop("pairs_to_compare")
    assert document == {"alpha": 0.4, "skipped": {"compared_at_most": 9}}
    assert 9 < pairs_asked <= 8 * 3 * 2


@pytest.mark.parametrize("outside", [-1, 3, 99])
def test_a_value_that_no_group_admits_is_refused(outside):
    groups = groups_of_boxes([(4, [{0, 1}, {0, 1, 2}])])
    codes = np.array([[0, 0], [0, outside], [1, outside]])
    with pytest.raises(InputError, match=r"^2 rows have a value that their groups do not admit$"):
        exposure(groups, codes, Fraction(1, 3))


def test_rows_that_are_in_no_group_are_refused():
    groups = groups_of_boxes([(1, [{0}, {0}]), (1, [{1}, {1}])])
    codes = np.array([[0, 0], [0, 1], [0, 1], [1, 0]])
    with pytest.raises(InputError, match=r"^3 rows are not covered by any group$"):
        exposure(groups, codes, Fraction(1, 3))


def test_groups_that_show_too_little_or_too_much_are_refused():
    groups, codes = paper()
    with pytest.raises(PromiseError):
        exposure(Groups(groups.sizes, {}), codes, Fraction(1, 3))
    with pytest.raises(PromiseError):
        exposure(groups, codes, Fraction(1, 3), ["q0", "q1", "height"])
    with pytest.raises(PromiseError):
        exposure(Groups(groups.sizes - 1, {}, groups.covers), codes, Fraction(1, 3))


def test_random_groups_of_many_rows_betray_what_each_keeps():
    rows, columns = 20_000, 4
    keys = seeded_keys(7)(rows * columns).reshape(rows, columns)
    codes = (keys % np.array([40, 12, 6, 5], dtype=np.uint64)).astype(np.int64)
    group = np.argsort(seeded_keys(8)(rows)) // 20
    exposed = exposure(groups_of_rows(codes, group), codes, Fraction(1, 10))
    assert exposed.per_group == 0
    assert exposed.combined_sum == 1
    assert exposed.covering_mean > 50
