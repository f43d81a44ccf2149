"""Presence beside published marginals: every world enumerated, by two readings of what one is."""

import itertools
import math
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.expectations.groups.counting import Coded, count, cover
from sfumato.expectations.groups.covering import covering
from sfumato.expectations.groups.groups import Cover, Groups
from sfumato.expectations.groups.marginals import cells_of, rows_of_cells
from sfumato.expectations.measures.joined_presence import joint_presence
from sfumato.expectations.models.alpha_beta import AlphaBeta, AlphaBetaBesideMarginals
from sfumato.expectations.shared.errors import PromiseError


def publish_groups(rows, marginals):
    """Groups of rows (group, quasi-identifiers …, sensitive), and the totals of some columns."""
    group = np.array([row[0] for row in rows])
    columns = list(zip(*rows, strict=True))[1:]
    codes = [np.unique(column, return_inverse=True) for column in columns]
    values, sensitive = codes[-1]
    counted = count(
        group,
        int(group.max()) + 1,
        {"s": Coded(sensitive, len(values), None, pa.array(values.astype(str)))},
    )
    covers = {}
    for number, (values, code) in enumerate(codes[:-1]):
        plain = cover(group, code, len(values))
        totals = np.bincount(code, minlength=len(values)) if number in marginals else None
        covers[f"q{number}"] = replace(plain, totals=totals)
    return Groups(counted.sizes, counted.sensitive, covers)


def bound(rows, marginals, presence="combined"):
    model = AlphaBeta(alpha=1, beta=1, presence=presence)
    return model.check(publish_groups(rows, marginals)).observed["alpha"]


def boxes(rows):
    groups = sorted({row[0] for row in rows})
    return [
        [sorted(set(column)) for column in zip(*(r[1:-1] for r in rows if r[0] == g), strict=True)]
        for g in groups
    ]


def group_worlds(box, size, as_sets):
    """Every way in which a group's rows can have the values of its box, each of which occurs."""
    vectors = list(itertools.product(*box))
    ways = (
        itertools.combinations(vectors, size)
        if as_sets
        else itertools.product(vectors, repeat=size)
    )
    return [
        world
        for world in ways
        if all(len({v[i] for v in world}) == len(values) for i, values in enumerate(box))
    ]


def presences(rows, marginals, as_sets):
    """The exact presence of every vector over all worlds with the published totals; {} for none."""
    sizes = Counter(row[0] for row in rows)
    numbers = [Counter(row[1 + i] for row in rows) for i in marginals]
    box = boxes(rows)
    spread = []  # by group: the worlds with the same counts, and how many of them have a vector
    for group, own in zip(sorted(sizes), box, strict=True):
        worlds = {}
        for world in group_worlds(own, sizes[group], as_sets):
            counts = tuple(tuple(sorted(Counter(v[i] for v in world).items())) for i in marginals)
            entry = worlds.setdefault(counts, [0, Counter()])
            entry[0] += 1
            entry[1].update(set(world))
        spread.append(worlds)
    every, absent = 0, Counter()
    vectors = {vector for own in box for vector in itertools.product(*own)}
    for together in itertools.product(*(worlds.items() for worlds in spread)):
        summed = [Counter() for _ in marginals]
        for counts, _ in together:
            for total, own in zip(summed, counts, strict=True):
                total.update(dict(own))
        if summed != numbers:
            continue
        every += math.prod(entry[0] for _, entry in together)
        for vector in vectors:
            absent[vector] += math.prod(entry[0] - entry[1][vector] for _, entry in together)
    return {vector: 1 - Fraction(absent[vector], every) for vector in vectors} if every else {}


def test_the_marginal_of_four_rows_that_raises_presence():
    """|A| = 2, |B| = 4: presence ½ becomes ¾ with the marginal (1, 3)."""
    rows = [(0, "a", 0, "s"), (0, "b", 1, "t"), (0, "b", 2, "u"), (0, "b", 3, "v")]
    assert bound(rows, []) == Fraction(1, 2)
    assert bound(rows, [0]) == Fraction(3, 4)
    assert bound(rows, [1]) == Fraction(1, 2)  # each of four values occurs once anyway
    assert max(presences(rows, [], True).values()) == Fraction(1, 2)
    assert max(presences(rows, [0], True).values()) == Fraction(3, 4)
    assert bound(rows, [0, 1]) == 1
    verdict = AlphaBeta(alpha=Decimal("0.75"), beta=1).check(publish_groups(rows, [0]))
    assert (verdict.holds, verdict.observed["beta"]) == (True, Fraction(1, 4))
    assert not AlphaBeta(alpha=Decimal("0.74"), beta=1).check(publish_groups(rows, [0])).holds


def small_tables(seed, number):
    rng = np.random.default_rng(seed)
    for _ in range(number):
        domains = rng.integers(1, 4, int(rng.integers(2, 4))).tolist()
        sizes = rng.integers(1, 5 if len(domains) == 2 else 4, int(rng.integers(1, 3))).tolist()
        yield [
            (g, *(int(rng.integers(d)) for d in domains), f"s{int(rng.integers(3))}")
            for g, size in enumerate(sizes)
            for _ in range(size)
        ]


@pytest.mark.parametrize("as_sets", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_no_vector_is_more_present_in_the_worlds_than_the_bound(seed, as_sets):
    """Worlds are sets of vectors, or rows that each have one; with no, one and two marginals."""
    attained = raised = 0
    for rows in small_tables(seed, 60):
        columns = range(len(rows[0]) - 2)
        for marginals in [(), *((i,) for i in columns), (0, 1)]:
            worlds = presences(rows, marginals, as_sets)
            if not worlds:
                continue  # no sets: vectors repeat in every world
            most = bound(rows, marginals)
            assert max(worlds.values()) <= most
            attained += max(worlds.values()) == most
            raised += most > bound(rows, ())
    assert attained > 50
    assert raised > 10


def largest_presence(rows, solution):
    """The largest presence of a vector if groups have these rows with the values of a column."""
    own = boxes(rows)
    codes = {value: code for code, value in enumerate(sorted({row[1] for row in rows}))}
    sums = [
        sum(
            Fraction(solution[g][codes[vector[0]]], math.prod(map(len, box[1:])))
            for g, box in enumerate(own)
            if all(v in values for v, values in zip(vector, box, strict=True))
        )
        for covering_box in own
        for vector in itertools.product(*covering_box)
    ]
    return min(Fraction(1), max(sums))


def solutions(groups, own):
    """Every number of rows of each group with each value that gives the totals, by enumeration."""
    choices = []
    for group, size in enumerate(groups.sizes.tolist()):
        values = own.value[own.group == group].tolist()
        ways = itertools.product(range(1, size + 1), repeat=len(values))
        choices.append([dict(zip(values, way, strict=True)) for way in ways if sum(way) == size])
    for solution in itertools.product(*choices):
        totals = sum(map(Counter, solution), Counter())
        if all(totals[value] == total for value, total in enumerate(own.totals.tolist())):
            yield solution


def test_cells_bound_every_solution_of_the_transportation_problem():
    exact = cells = joint = tables = 0
    for rows in small_tables(7, 150):
        groups = publish_groups(rows, [0])
        own = groups.covers["q0"]
        every = list(solutions(groups, own))
        largest = max(largest_presence(rows, solution) for solution in every)
        assert largest <= bound(rows, [0])
        tables, joint = tables + 1, joint + (largest == bound(rows, [0]))
        entries = zip(own.group.tolist(), own.value.tolist(), strict=True)
        ends = zip(*(numbers.tolist() for numbers in rows_of_cells(groups.sizes, own)), strict=True)
        for (group, value), (least, most) in zip(entries, ends, strict=True):
            numbers = [solution[group][value] for solution in every]
            assert least <= min(numbers)
            assert max(numbers) <= most
            cells, exact = cells + 1, exact + ((least, most) == (min(numbers), max(numbers)))
    assert exact > 0.95 * cells
    assert joint > 0.9 * tables


ROWS = st.lists(
    st.tuples(
        st.integers(0, 3), st.integers(0, 2), st.integers(0, 3), st.integers(0, 2), st.just("s")
    ),
    min_size=1,
    max_size=24,
).map(
    lambda rows: [
        (sorted({row[0] for row in rows}).index(group), *rest) for group, *rest in sorted(rows)
    ]
)


@settings(max_examples=150)
@given(ROWS, st.sets(st.integers(0, 2), min_size=1))
def test_presence_by_cells_is_that_of_every_vector_added_up(rows, marginals):
    """The same sums without code of the product: of every vector, over the cells that cover it."""
    groups = publish_groups(rows, marginals)
    coverage = covering(groups, None)
    cells = cells_of(coverage)
    most = {}
    for i in marginals:
        own = groups.covers[f"q{i}"]
        _, numbers = rows_of_cells(groups.sizes, own)
        keys = zip(own.group.tolist(), own.value.tolist(), strict=True)
        most[i] = dict(zip(keys, numbers.tolist(), strict=True))
    codes = [sorted({row[1 + i] for row in rows}) for i in range(3)]
    best = Fraction(0)
    for vector in itertools.product(*codes):
        total = Fraction(0)
        for g, box in enumerate(boxes(rows)):
            if all(v in values for v, values in zip(vector, box, strict=True)):
                number = min(most[i][g, codes[i].index(vector[i])] for i in marginals)
                others = math.prod(len(box[i]) for i in range(3) if i not in marginals)
                total += min(Fraction(1), Fraction(number, others))
        best = max(best, min(Fraction(1), total))
    assert joint_presence(cells.coverage).largest == best
    assert bound(rows, marginals) == best
    alone = bound(rows, marginals, "per-group")
    assert alone == max(cells.coverage.presences)
    scores = AlphaBeta(alpha=1, beta=1).measure(groups)["alpha"]
    assert scores.max() == pytest.approx(float(alone))


def test_the_groups_that_fail_are_named_by_their_own_numbers():
    rows = [(0, "a", 0, "s"), *((1, "abbb"[i], 1 + i, f"s{i}") for i in range(4))]
    rows += [(2, "c", 5 + i, f"s{i}") for i in range(4)]
    model = AlphaBeta(alpha=Decimal("0.99"), beta=1)
    assert model.failing(publish_groups(rows, [0])).tolist() == [True, False, True]
    assert model.check(publish_groups(rows, [0])).failing == 2


@given(ROWS, st.sets(st.integers(0, 2), min_size=1))
def test_groups_made_for_a_promise_beside_marginals_keep_it_whatever_these_are(rows, marginals):
    promise = AlphaBeta(alpha=Decimal("0.6"), beta=1, presence="per-group")
    names = [f"q{i}" for i in marginals]
    while_grouped = AlphaBetaBesideMarginals.from_promise(promise, names)
    failing = while_grouped.failing(publish_groups(rows, ()))
    assert (promise.failing(publish_groups(rows, marginals)) <= failing).all()


def test_a_marginal_of_no_column_of_the_promise_changes_nothing():
    for rows in small_tables(3, 60):
        columns = len(rows[0]) - 2
        if columns == 3:
            model = AlphaBeta(alpha=1, beta=1, quasi_identifiers=("q0", "q1"))
            with_it, without = (model.check(publish_groups(rows, m)) for m in ([2], []))
            assert with_it.observed == without.observed


def test_beta_is_that_of_the_group_in_all_worlds():
    """Rows of a vector have each sensitive value as often as the group says, in the worlds."""
    for rows in small_tables(5, 40):
        shares = {}
        for group in {row[0] for row in rows}:
            own = [row for row in rows if row[0] == group]
            if len(own) > 3:
                continue
            (box,) = boxes([(0, *row[1:]) for row in own])
            with_vector, with_both = Counter(), Counter()
            for world in group_worlds(box, len(own), as_sets=False):
                if Counter(v[0] for v in world) != Counter(row[1] for row in own):
                    continue  # the marginal of one group
                for values in itertools.permutations([row[-1] for row in own]):
                    with_vector.update(world)
                    with_both.update(zip(world, values, strict=True))
            shares[group] = max(
                Fraction(number, with_vector[vector]) for (vector, _), number in with_both.items()
            )
            assert shares[group] == max(
                Fraction(number, len(own)) for number in Counter(row[-1] for row in own).values()
            )


@pytest.mark.parametrize("totals", [[1, 4], [3, 0], [1, 2], [5, -1]])
def test_totals_of_no_table_are_refused(totals):
    own = Cover(np.array([0, 0]), np.array([0, 1]), 2, np.array(totals))
    with pytest.raises(PromiseError, match="no table has"):
        rows_of_cells(np.array([4]), own)
    with pytest.raises(PromiseError, match="not published"):
        rows_of_cells(np.array([4]), replace(own, totals=None))
