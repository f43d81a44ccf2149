"""Singling out: conditions against every row and person, and tries against every shuffle."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from sfumato.tasks.attacks.records import redrawn, singling_out
from sfumato.tasks.attacks.shared.margins import margin_of_tries
from tests.attacks.test_records import GROUPED, TABLE, shuffles, target


def count_alike(columns, row, chosen, others):
    """Count the others that are like a row in some columns: as much above the median, or so."""
    holding = 0
    for other in others:
        holds = True
        for position in chosen:
            own, value = row[position], other[position]
            middle = columns[position]
            if middle is None or own is None or value is None:
                holds &= own == value
            else:
                holds &= value >= own if own > middle else value <= own
        holding += holds
    return holding


def medians(rows):
    """The median of each column of numbers."""
    return [
        float(np.median([row[position] for row in rows])) if position != 1 else None
        for position in range(3)
    ]


def chances(rows, group, people):
    """Of a condition from any row in any shuffle: that a row alone meets it, and a person too."""
    met = singled = Fraction(0)
    tables = list(shuffles(rows, group))
    middle = medians(rows)
    for table in tables:
        for row in table:
            for chosen in combinations(range(3), singling_out._COLUMNS):
                if count_alike(middle, row, chosen, table) == 1:
                    met += 1
                    singled += count_alike(middle, row, chosen, people) == 1
    number = len(tables) * len(rows) * len(list(combinations(range(3), singling_out._COLUMNS)))
    return met / number, singled / number


def of_tries(met, singled, turns):
    """Of conditions that a row alone meets, those that single out; or of as many that are made."""
    return float(singled / max(met, Fraction(1, turns)))


def number_groups(rows):
    rows_, group = [row[:3] for row in rows], [row[3] for row in rows]
    return rows_, np.unique(group, return_inverse=True)[1].tolist()


def one_condition(records, row, chosen, drawing):
    """Return the condition to be like a row in some columns."""
    return redrawn.draw_conditions(records, np.array([row]), np.array([chosen]), drawing)


def is_alone(conditions, drawing):
    """Decide whether no other row meets the first of some conditions, as the attack decides."""
    met, _, step = conditions.test_together(drawing)
    return len(met) == 1 and conditions.is_met_once(0, step, drawing)[0]


ALIKE = [(0, "a", 0, 0), (0, "a", 1, 0), (1, "b", 2, 1), (2, "b", 1, 2), (2, "b", 0, 2)]
"""Rows of a group have the same quasi-identifiers."""
WEAK = [
    ALIKE,
    [(0, "a", 0, 0), (1, "a", 1, 0), (2, "b", 2, 0), (3, None, 0, 1), (3, "b", 2, 1)],
    [(0, "a", 0, 0), (0, "a", 1, 0), (1, "a", 2, 0), (1, "a", 0, 0), (2, "b", 1, 0)],
    [(0, "a", 2, 0), (1, "b", 1, 0), (1, "b", 1, 1), (2, "b", 0, 1), (2, "b", 2, 1)],
]


@pytest.mark.parametrize("together", [0, 2, 300])
@pytest.mark.parametrize("columns", [2, 3])
@pytest.mark.parametrize("rows", WEAK)
def test_tries_succeed_as_often_as_all_shuffles_say(rows, columns, together, monkeypatch):
    """Enumerated; the margins of nineteen of twenty releases hold what is so.

    All rows are tested in one step, in two, or one condition at a time from the beginning.
    """
    monkeypatch.setattr(redrawn, "FIRST", (2, 3))
    monkeypatch.setattr(redrawn, "_TOGETHER", together)
    monkeypatch.setattr(redrawn, "_AS_MATRIX", together - 1)
    monkeypatch.setattr(singling_out, "_COLUMNS", columns)
    monkeypatch.setattr(singling_out, "_TURNS", 3)
    monkeypatch.setattr(singling_out, "ATTEMPTS", 60)
    rows_, group = number_groups(rows)
    people = [row[:3] for row in rows[::-1]] + [ALIKE[0][:3]] * (rows == ALIKE)  # one left out
    exact = of_tries(*chances(rows_, group, people), turns=3)
    records = replace(
        target(rows_, people, group).learned["records"], are_groups_alike=rows == ALIKE
    )
    assert 0 < exact < 1
    inside_count, shares = 0, []
    for seed in range(200):
        tries = singling_out.make_tries(records, np.random.default_rng(seed))
        assert tries.met == 60 or tries.made == 180
        inside_count += tries.margin.low <= exact <= tries.margin.high
        shares.append(tries.share)
    assert inside_count >= binom.ppf(1e-4, 200, 0.95)
    assert np.mean(shares) == pytest.approx(exact, abs=5 * np.std(shares) / np.sqrt(200))


@given(GROUPED, TABLE, st.integers(0, 5))
def test_conditions_hold_of_those_who_are_like_the_row(rows, people, seed):
    """Values stay in their places here: every row and person is checked by hand."""
    rows_ = [row[:3] for row in rows]
    records, drawing = target(rows_, people).learned["records"], np.random.default_rng(seed)
    middle = medians(rows_)
    for row, chosen in (
        (row, columns) for row in range(len(rows_)) for columns in ((0, 1), (0, 2), (1, 2))
    ):
        conditions = one_condition(records, row, chosen, drawing)
        assert is_alone(conditions, drawing) == (
            count_alike(middle, rows_[row], chosen, rows_) == 1
        )
        person, _ = conditions.is_one_person(0)
        assert person == (count_alike(middle, rows_[row], chosen, people) == 1)


@given(st.lists(st.tuples(st.integers(0, 3), st.just("a"), st.integers(0, 2)), min_size=1))
def test_asking_some_rows_first_changes_nothing(rows):
    records, drawing = target(rows, rows).learned["records"], np.random.default_rng(0)
    with patch.object(redrawn, "FIRST", (2, 7)), patch.object(redrawn, "_TOGETHER", 7):
        conditions = one_condition(records, 0, (0, 2), drawing)
        results = is_alone(conditions, drawing), conditions.is_one_person(0)[0]
        age = int(records.quasi_identifiers[0].cells[0])
        ((low,), (high,)) = records.quasi_identifiers[0].spans(np.array([age]))
        people = records.quasi_identifiers[0].placed_people
        by_chance = singling_out.is_one([(people, [(int(low), int(high))])])
    alone = count_alike(medians(rows), rows[0], (0, 2), rows) == 1
    assert results == (alone, alone)
    assert by_chance == (count_alike(medians(rows), rows[0], (0,), rows) == 1)


@given(st.integers(1, 10**7), st.integers(1, 10**4), st.integers(1, 10**4))
def test_each_step_tests_again_what_the_step_before_tested(number, few, more):
    with patch.object(redrawn, "FIRST", (few, more)):
        steps = redrawn.steps(number)
    assert steps[-1] == 1
    assert all(step % finer == 0 and finer < step for step, finer in pairwise(steps))


def test_most_rows_are_not_asked():
    rows = [(1, "a", 1)] * 100_000 + [(2, "a", 1)]
    records, drawing = target(rows, rows).learned["records"], np.random.default_rng(0)
    chosen = np.array([[0, 1], [0, 1]])
    conditions = redrawn.draw_conditions(records, np.array([0, 100_000]), chosen, drawing)
    met, tested, step = conditions.test_together(drawing)
    assert met.tolist() == [1]
    assert tested.tolist() == [1011, 1011 + 33334]
    assert step == 3
    assert conditions.is_met_once(1, step, drawing) == (True, 1)
    assert conditions.is_one_person(1) == (True, 1)


def test_values_are_drawn_from_the_group_of_the_row():
    rows = [(age, "a", age % 4) for age in range(8)]
    records = target(rows, rows, [0, 0, 0, 0, 0, 1, 1, 1]).learned["records"]
    drawing = np.random.default_rng(5)
    counts = Counter(records.shuffled_values.draw(np.ones(5_000, dtype=int), drawing).tolist())
    assert {*counts} == {0, 1, 2, 3}
    assert counts[0] / 5_000 == pytest.approx(2 / 5, abs=0.04)
    both = np.array([0, 1])
    assert records.shuffled_values.count_between(both, 1, 3).tolist() == [2, 2]
    assert records.shuffled_values.count_between(both, 1, 99).tolist() == [3, 3]


def test_what_is_published_as_it_is_singles_everybody_out():
    people = [(number % 90, f"t{number}", number % 7) for number in range(600)]
    (score,) = singling_out.attack(target(people, people))
    assert score.share == score.references["at most, with 95 %"] == 1
    assert score.references["by conditions drawn at random"] < 0.5
    (alike,) = singling_out.attack(target(people * 2, people))
    (others,) = singling_out.attack(target([(99, f"u{n}", 99) for n in range(600)], people))
    assert alike.share == others.share == 0


def test_rows_that_are_like_others_take_a_try_away():
    """Nobody is alone in a table in which everybody stands twice, and all tries are made."""
    people = [(number, "a", number % 7) for number in range(50)]
    records = target(people * 2, people).learned["records"]
    assert singling_out.make_tries(records, np.random.default_rng(1)) == singling_out.Tries(
        0, 0, 20_000
    )


def test_large_tables_are_tried_less_often(monkeypatch):
    people = [(number, "a", number % 7) for number in range(300)]
    monkeypatch.setattr(singling_out, "_MOST", 60_000)
    release = target(people, people)
    (score,) = singling_out.attack(release)
    tries = release.learned["singling-out"]
    assert 1 < tries.met < 50
    assert 190 < tries.made <= 201
    assert (score.share, score.margin) == (tries.share, tries.margin)


def test_rare_conditions_count_by_forties():
    """Of 20,000 conditions 100 that one row meets: as if 500 had been tried."""
    rare, frequent = singling_out.Tries(50, 100, 20_000), singling_out.Tries(50, 100, 2_000)
    assert (rare.share, frequent.share) == (0.1, 0.5)
    assert rare.margin.low < 0.1 < rare.at_most < rare.margin.high < 0.15
    assert frequent.margin == margin_of_tries(50, 100)
    assert singling_out.Tries(0, 0, 20_000).at_most < 0.01
