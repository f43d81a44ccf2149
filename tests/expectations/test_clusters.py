"""Groups of different clusters cover no vector in common; disjoint boxes end up alone."""

import numpy as np
import pytest
from hypothesis import given

from sfumato.expectations.groups.covering import single
from sfumato.expectations.measures import joined_presence
from sfumato.expectations.measures import joined_presence as module
from sfumato.expectations.measures.joined_presence import clusters, joint_presence
from tests.expectations.test_covering import (
    presence_sums,
    random_releases,
    releases,
    shown_of,
    split,
)


def meet(first, other):
    return all(mine & theirs for mine, theirs in zip(first, other, strict=True))


@given(releases())
def test_groups_that_meet_stay_together(boxes):
    number = clusters(shown_of(boxes))
    for g, (_, first) in enumerate(boxes):
        for h, (_, other) in enumerate(boxes):
            assert number[g] == number[h] or not meet(first, other)


@given(releases())
def test_numbers_begin_at_zero_and_leave_none_out(boxes):
    number = clusters(shown_of(boxes))
    assert set(number.tolist()) == set(range(number.max() + 1))


def test_what_is_cut_by_values_ends_up_alone():
    rng = np.random.default_rng(9)
    for _ in range(40):
        boxes = split(rng, [set(range(d)) for d in (16, 9, 5, 12)], 400)
        assert sorted(clusters(shown_of(boxes))) == list(range(len(boxes)))


def test_disjoint_boxes_need_no_search(monkeypatch):
    monkeypatch.setattr(joined_presence, "_NODES", 0)
    rng = np.random.default_rng(11)
    boxes = split(rng, [set(range(d)) for d in (16, 9, 5, 12)], 400)
    presence = joint_presence(shown_of([(1, box) for _, box in boxes]))
    assert presence.largest == single(shown_of([(1, box) for _, box in boxes])).largest


@pytest.mark.parametrize("rounds", [0, 1])
def test_groups_left_together_change_nothing(monkeypatch, rounds):
    monkeypatch.setattr(module, "_ROUNDS", rounds)
    for boxes in random_releases(5, 60):
        assert joint_presence(shown_of(boxes)).largest == max(presence_sums(boxes).values())
