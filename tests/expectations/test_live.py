"""Rows of people who are gone count for values, and not for k."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from sfumato.expectations.groups.counting import merge
from sfumato.expectations.models.alpha_k import AlphaK
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.l_diversity import DistinctLDiversity, EntropyLDiversity

ROWS = [("g", 1), ("g", 2), ("g", 3), ("g", 4), ("h", 1), ("h", 2)]


@pytest.fixture
def live_groups(groups_of):
    return replace(groups_of(ROWS), live=np.array([3, 2]))


def test_all_rows_are_live_where_nothing_else_is_said(groups_of):
    groups = groups_of(ROWS)
    assert groups.live.tolist() == groups.sizes.tolist() == [4, 2]


def test_k_is_counted_of_live_rows(live_groups):
    assert KAnonymity(k=1).check(live_groups).observed == {"k": 2}
    assert KAnonymity(k=3).failing(live_groups).tolist() == [False, True]
    assert KAnonymity(k=4).failing(live_groups).tolist() == [True, True]


def test_a_share_is_one_of_all_rows(live_groups):
    assert AlphaK(alpha=Decimal("0.25"), k=1).failing(live_groups).tolist() == [False, True]
    assert AlphaK(alpha=Decimal("0.5"), k=3).failing(live_groups).tolist() == [False, True]
    assert AlphaK(alpha=Decimal("0.5"), k=4).check(live_groups).failing == 2


def test_values_of_those_who_are_gone_are_values(live_groups):
    assert DistinctLDiversity(l=4).failing(live_groups).tolist() == [False, True]
    assert EntropyLDiversity(l=4).failing(live_groups).tolist() == [False, True]


def test_live_rows_are_merged(live_groups):
    assert merge(live_groups, np.array([0, 0])).live.tolist() == [5]
