"""Beliefs of somebody who knows the chooser (algorithms.md D4), by enumeration of small tables.

Somebody knows everybody's quasi-identifier, the groups with their multisets, the queries aimed at,
and how partitions are made and chosen. The worlds that are consistent with the groups are weighed
by the chance that they would have been shown in these very groups. The limit is the belief of
somebody who knows the groups alone: no chooser that is offered exceeds it by anything. What would
exceed it, and by how much, is here, too: that is why it is not offered.
"""

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.candidates.choosing import choose
from sfumato.tasks.candidates.wished import Choosing, WishedTerms
from sfumato.tasks.microdata.table import seeded_keys
from sfumato.tasks.partitions.aimed import contiguous, dealt, hybrid, within
from sfumato.tasks.partitions.aimed.parameters import ContiguousParameters, HybridParameters
from sfumato.tasks.partitions.aimed.within import Replay, measure_belief
from sfumato.tasks.partitions.ke import ke
from sfumato.tasks.partitions.ke.parameters import KEParameters
from tests.aimed.tables import promise, table

AGES = (20, 20, 30, 30, 40, 40)
WAGES = (0, 1, 2, 5, 8, 9)  # no two alike, so that nothing but the deal is left to chance
LIMIT = 0
"""By how much knowing how it was made may exceed the belief of who knows the groups alone."""
AIM = {"kind": "range", "over": "age", "spans": [1, 10]}
FORM = {"method": "permuted"}
ROOMS = {
    "hybrid": (hybrid, HybridParameters),
    "contiguous": (contiguous, ContiguousParameters),
}


def publication(group, wages):
    """Return what is published: who is with whom, and each group's multiset."""
    rows = defaultdict(list)
    for row, number in enumerate(group):
        rows[number].append(row)
    return tuple(
        sorted(
            (tuple(members), tuple(sorted(wages[i] for i in members))) for members in rows.values()
        )
    )


def attack(make):
    """Return the largest belief of anybody who sees a release that is made so.

    Returns:
        The largest excess of a belief over the largest share in the person's group, with the two;
        and the least number of wages thought possible of anybody, where the group has more.
    """
    worlds = defaultdict(list)
    for wages in permutations(WAGES):
        group = make(wages)
        if group is not None:
            worlds[publication(group.tolist(), wages)].append(wages)
    assert worlds
    worst, fewest = (Fraction(-1), None, None), None
    for groups, consistent in worlds.items():
        for rows, multiset in groups:
            for row in rows:
                believed = Counter(wages[row] for wages in consistent)
                belief = Fraction(max(believed.values()), len(consistent))
                plain = Fraction(1, len(multiset))
                worst = max(worst, (belief - plain, belief, plain))
                if len(believed) < len(multiset):
                    fewest = min(fewest or len(WAGES), len(believed))
    return worst, fewest, len(worlds)


@pytest.fixture(autouse=True)
def certain(monkeypatch):
    """Cuts are allowed where sides have groups for sure: tables are small.

    What the private report tells of each partition is not asked: it tries many worlds again.
    """
    monkeypatch.setattr(dealt, "REFUSAL", 1e-9)
    monkeypatch.setattr(within, "measure_belief", lambda *_: {})


def plain(k, e):
    """`ke` by least ranges weighted by rows."""

    def make(wages, ages=AGES, strata=()):
        parameters = KEParameters(method="ke", objective="weighted")
        promises = [promise(k, e)]
        try:
            microdata = table(ages, wages)
            return ke.partition(microdata, list(strata), promises, parameters, seeded_keys(7)).group
        except PromiseError:
            return None

    return make


def make_aimed(method, k, e, aim=AIM):
    """A partition aimed at windows, or at something else."""
    room, kind = ROOMS[method]
    parameters = kind(method=method, aims=(aim,))

    def make(wages):
        try:
            return room.partition(
                table(AGES, wages), [], [promise(k, e)], parameters, seeded_keys(7)
            ).group
        except PromiseError:
            return None

    return make


@pytest.mark.parametrize("method", ROOMS)
@pytest.mark.parametrize(("k", "e"), [(2, 2)])
def test_whoever_knows_how_cuts_are_decided_believes_what_groups_tell(method, k, e):
    (excess, belief, by_groups), fewest, releases = attack(make_aimed(method, k, e))
    assert releases > 1
    assert (excess, fewest) == (LIMIT, None), (belief, by_groups)


def test_so_does_whoever_knows_the_plain_partition():
    assert attack(plain(2, 1))[:2] == ((0, Fraction(1, 2), Fraction(1, 2)), None)


def width(group, wages):
    """Return the width of the sum of one row of each age, by the groups' own values."""
    total = 0
    for number in set(group.tolist()):
        rows = np.flatnonzero(group == number)
        values, hits = sorted(wages[row] for row in rows), int((rows % 2 == 0).sum())
        total += sum(values[len(rows) - hits :]) - sum(values[:hits])
    return total


def test_a_chooser_that_looked_at_the_groups_of_both_would_tell_more():
    """It takes the narrower of two partitions: who has what in the other one enters."""

    def make(wages):
        first, second = plain(2, 2)(wages), plain(2, 2)(wages, strata=["age"])
        if first is None or second is None:
            return None
        return first if width(first, wages) <= width(second, wages) else second

    (excess, belief, by_groups), fewest, _ = attack(make)
    assert (belief, by_groups) == (1, Fraction(1, 3))
    assert excess > LIMIT
    assert fewest == 1, "nor is (2,2)-anonymity kept: one wage is left possible"


def test_a_cut_that_is_taken_back_where_a_side_has_no_groups_would_tell_more():
    """As Mondrian does: that somebody's side was not cut off says what the side lacks."""

    def make(wages):
        cut = plain(2, 2)(wages, strata=["age"])
        return plain(2, 2)(wages) if cut is None else cut

    (excess, belief, by_groups), fewest, _ = attack(make)
    assert (belief, by_groups, fewest) == (Fraction(3, 7), Fraction(1, 3), None)
    assert excess > LIMIT


CANDIDATES = [
    {"partition": {"method": "ke", "objective": objective}, "strata": [], "form": FORM}
    for objective in ("sum", "weighted")
] + [
    {"partition": {"method": method, "aims": [AIM]}, "strata": [], "form": FORM} for method in ROOMS
]


def terms(k, e):
    """The terms of a line whose partition is to be chosen."""
    columns = [
        {"name": "age", "role": "quasi-identifier", "type": "integer", "nulls": False},
        {"name": "wage", "role": "sensitive", "type": "integer", "nulls": False},
    ]
    return WishedTerms(
        name="wages",
        title="Wages",
        unit="row",
        versions="disjoint",
        columns=columns,
        strata=(),
        promises=(promise(k, e),),
        partition={"method": "auto"},
        form=FORM,
        formats=("parquet",),
    )


def test_a_choice_is_the_same_in_all_worlds_with_these_values():
    """So it cannot tell one of them from another, and neither can bands that come with it."""
    choosing = Choosing(candidates=CANDIDATES, aims=[AIM])
    chosen = set()
    for wages in list(permutations(WAGES))[::60]:
        best, tried = choose(table(AGES, wages), terms(2, 2), choosing, seeded_keys(3))
        chosen.add((best.model_dump_json(), *(alternative.score for alternative in tried)))
    assert len(chosen) == 1
    others = choose(table(AGES, (0, 3, 4, 5, 6, 90)), terms(2, 2), choosing, seeded_keys(3))
    assert others[1][0].score not in {score for _, score, *_ in chosen}


def test_the_private_report_tries_it_on_the_very_table():
    codes, group = np.array([0, 1, 2, 0]), np.array([0, 0, 1, 1])
    part = np.array([0, 0, 1, 1])
    rng = seeded_keys(1)
    minimality_of = measure_belief(codes, group, part, lambda _codes: part, rng)
    assert minimality_of["by_groups"] == 0.5
    assert "knowing_the_cuts" in minimality_of
    looked = measure_belief(codes, group, part, lambda codes: codes, rng)
    assert looked["worlds_tried"] == 1
    assert looked["cut_the_same"] == 0
    assert "knowing_the_cuts" not in looked


def test_the_same_chance_can_be_had_again():
    replay = Replay(seeded_keys(1))
    first = [replay(3).tolist(), replay(2).tolist()]
    replay.rewind()
    assert [replay(3).tolist(), replay(2).tolist()] == first
