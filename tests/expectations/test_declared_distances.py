"""t-closeness of declared distributions: that of rows which are spread exactly so."""

from decimal import Decimal
from fractions import Fraction
from math import lcm

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.groups.counting import Coded, count, numbers_of
from sfumato.expectations.groups.groups import Groups, Subdomains, Target
from sfumato.expectations.groups.subdomains import leaves, probabilities
from sfumato.expectations.models.t_closeness import TCloseness
from sfumato.expectations.shared.errors import PromiseError

KINDS = ("equal", "ordered", "hierarchical")
ANCESTORS = np.array([[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]])


def tree(halves, lower_half, right):
    """Four values below two nodes below the root; weights from the top to the bottom."""
    return Target(np.array([-1, 0, 0, 1, 1, 2, 2]), np.array([1, *halves, *lower_half, *right]))


def flat(*weights):
    return Target(np.array([-1] + [0] * len(weights)), np.array([1, *weights]))


def declare_targets(targets, aims, sizes, ordered=True, ancestors=ANCESTORS):
    """Groups that show the root alone, with these targets."""
    every, root = np.arange(len(sizes)), np.zeros(len(sizes), dtype=np.int64)
    subdomains = Subdomains(
        every, root, np.array(sizes), np.array(aims), tuple(targets), ordered, ancestors
    )
    return Groups(np.array(sizes), {}, subdomains={"s": subdomains})


def closeness(distance, t=1):
    return TCloseness(t=Decimal(t), distance=distance, sensitive="s")


PAIR = st.tuples(st.integers(0, 3), st.integers(0, 3)).filter(any)
TREES = st.one_of(
    st.builds(tree, PAIR, PAIR, PAIR),
    st.builds(flat, *[st.integers(0, 3)] * 3, st.integers(1, 3)),
)


def spread(groups):
    """Rows of the groups whose values are exactly as their targets say, as many times as needed."""
    subdomains = groups.subdomains["s"]
    chances = [
        [probabilities(target)[leaf] for leaf in leaves(target)] for target in subdomains.targets
    ]
    unit = lcm(
        *(chance.denominator for chances_of_target in chances for chance in chances_of_target)
    )
    rows = [
        (group, value, int(chance * unit) * int(groups.sizes[group]))
        for group, aim in enumerate(subdomains.target.tolist())
        for value, chance in enumerate(chances[aim])
        if chance
    ]
    group, value, times = (np.array(column) for column in zip(*rows, strict=True))
    values = pa.array([30, 40, 50, 60])
    coded = Coded(value, 4, numbers_of(values, False, "s"), values, subdomains.ancestors)
    return count(group, len(groups), {"s": coded}, times)


@pytest.mark.parametrize("distance", KINDS)
@given(st.lists(st.tuples(TREES, st.integers(1, 5)), min_size=1, max_size=5), st.data())
def test_as_far_as_rows_that_are_spread_so(distance, plots_drawn, data):
    targets, sizes = zip(*plots_drawn, strict=True)
    aims = data.draw(st.lists(st.integers(0, len(plots_drawn) - 1), min_size=1, max_size=5))
    groups = declare_targets(targets, aims, [sizes[aim] for aim in aims])
    promise = closeness(distance)
    expected = promise.check(spread(groups)).observed["t"]
    assert promise.check(groups).observed["t"] == expected
    assert promise.measure(groups)["t"].max() == pytest.approx(float(expected))
    quarter = closeness(distance, "0.25")
    assert quarter.check(groups).holds == (expected <= Fraction(1, 4))
    assert quarter.failing(groups).tolist() == quarter.failing(spread(groups)).tolist()


def test_by_hand():
    """Two groups of 3 and 1 rows, declared to be all 30 or all 60: 1/4 and 3/4 from the mixture."""
    groups = declare_targets([flat(1, 0, 0, 0), flat(0, 0, 0, 1)], [0, 1], [3, 1])
    for distance in ("equal", "hierarchical", "ordered"):
        verdict = closeness(distance, "0.75").check(groups)
        assert (verdict.holds, verdict.observed) == (True, {"t": Fraction(3, 4)})
        assert not closeness(distance, "0.7499999999999999999").check(groups).holds
        assert closeness(distance, "0.5").failing(groups).tolist() == [False, True]
    near = declare_targets([flat(1, 0, 0, 0), flat(0, 1, 0, 0)], [0, 1], [1, 1])
    assert closeness("hierarchical").check(near).observed == {"t": Fraction(1, 4)}
    assert closeness("ordered").check(near).observed == {"t": Fraction(1, 2)}


def test_what_nobody_can_have_is_no_rank():
    groups = declare_targets([flat(1, 0, 0, 1), flat(1, 0, 0, 0)], [0, 1], [1, 1])
    assert closeness("ordered").check(groups).observed == {"t": Fraction(1, 4)}
    alone = declare_targets([flat(0, 1, 0, 0)], [0, 0], [1, 4])
    assert closeness("ordered", 0).check(alone).holds


@pytest.mark.parametrize("distance", KINDS)
def test_groups_of_one_target_are_as_far_as_nothing(distance):
    groups = declare_targets([tree((2, 1), (1, 3), (1, 1))], [0, 0, 0], [1, 2, 3])
    assert closeness(distance, 0).check(groups).holds


@pytest.mark.parametrize(
    ("distance", "groups"),
    [
        ("ordered", declare_targets([flat(1, 1, 1, 1)], [0], [1], ordered=False)),
        ("hierarchical", declare_targets([flat(1, 1, 1, 1)], [0], [1], ancestors=None)),
        ("hierarchical", declare_targets([flat(1, 1, 1)], [0], [1])),
        ("equal", declare_targets([flat(1, 1, 1), flat(1, 1)], [0, 1], [1, 1])),
        ("equal", declare_targets([flat(0, 0)], [0], [1])),
        ("equal", declare_targets([flat(1, -1, 1)], [0], [1])),
    ],
)
def test_what_has_no_such_distance_never_passes(distance, groups):
    promise = closeness(distance)
    with pytest.raises(PromiseError):
        promise.measure(groups)
    verdict = promise.check(groups)
    assert (verdict.holds, verdict.observed) == (False, {"t": None})
    assert promise.failing(groups).all()


def test_nothing_is_not_close():
    nothing = declare_targets([flat(1, 1)], [], [])
    assert not closeness("equal").check(nothing).holds


def test_exact_where_weights_are_huge():
    huge = Target(np.array([-1, 0, 0]), np.array([1, 2**61 + 1, 2**61 - 1]))
    groups = declare_targets([huge, flat(1, 1)], [0, 1], [1, 1], ancestors=None)
    assert closeness("equal").check(groups).observed == {"t": Fraction(1, 2**63)}
    assert not closeness("equal", 0).check(groups).holds
