"""Usefulness: widths held against what is known without the release."""

from fractions import Fraction

import pytest

from sfumato.tasks.query.accuracy.parameters import Goal
from sfumato.tasks.query.accuracy.scores import Measured, summaries
from sfumato.tasks.query.accuracy.usefulness import ONE_GROUP, judge_usefulness
from sfumato.tasks.query.aggregates.registry import AGGREGATES


def query(width, width_known, middle=Fraction(10)):
    half = Fraction(width) / 2
    return Measured(
        *("range", "avg", "wage", 5, middle - half, middle + half, middle),
        known_width=Fraction(width_known),
    )


def test_what_is_known_without_a_release_is_all_rows_and_the_range_of_values():
    """COUNT lies in [0, rows]; AVG, MIN and MAX in the range; a SUM is the product of both."""
    widths_known = {name: kind.known_width(30, Fraction(7)) for name, kind in AGGREGATES.items()}
    assert widths_known["count"] == 30
    assert widths_known["sum"] == 210
    assert widths_known["avg"] == widths_known["min"] == widths_known["max"] == 7


@pytest.mark.parametrize(("width", "warned"), [("8.9", False), (9, True), (12, True)])
def test_nine_tenths_of_what_is_known_is_little(width, warned):
    usefulness = judge_usefulness([query(width, 10)] * 3, None, one_group=False)
    assert bool(usefulness.warnings) == warned
    assert usefulness.goal is None


def test_the_middle_one_of_all_queries_decides():
    wide, narrow = query(10, 10), query(1, 10)
    assert judge_usefulness([wide, wide, narrow], None, one_group=False).warnings
    assert not judge_usefulness([wide, narrow, narrow], None, one_group=False).warnings


def test_one_group_and_nothing_asked():
    assert judge_usefulness([], None, one_group=True).warnings == (ONE_GROUP,)
    assert not judge_usefulness([], None, one_group=False).warnings


@pytest.mark.parametrize(("width", "goal"), [(2, "met"), ("2.5", "met"), ("2.6", "below-goal")])
def test_a_goal_is_about_the_median_width_by_the_middle(width, goal):
    goal_wanted = Goal(median_relative_width=0.25)
    usefulness = judge_usefulness([query(width, 100)], goal_wanted, one_group=False)
    assert (usefulness.goal, bool(usefulness.missed)) == (goal, goal != "met")
    assert judge_usefulness([], goal_wanted, one_group=False).goal == "below-goal"


def test_the_truth_decides_nothing():
    first, other = query(2, 10), query(2, 10)
    object.__setattr__(other, "truth", Fraction(10**6))
    goal = Goal(median_relative_width=0.25)
    judged = [judge_usefulness([each], goal, one_group=False) for each in (first, other)]
    assert judged[0] == judged[1]
    summaries_shown = [summary.public() for each in (first, other) for summary in summaries([each])]
    assert summaries_shown[0] == summaries_shown[1]
