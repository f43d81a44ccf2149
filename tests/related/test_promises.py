"""Promises over people with related rows, against all worlds of small groups."""

from decimal import Decimal
from fractions import Fraction
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.groups.counting import merge
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.groups.ranks import rank, sensitive_codes
from sfumato.expectations.groups.related import count_related
from sfumato.expectations.models.related import KPeople, RelatedAlpha, RelatedDiversity
from tests.related.all_worlds import SmallGroup

# six people of the specification's toy, in two groups of four: (values, owners)
FIRST = SmallGroup(4, ("flu", "gout", "asthma", "gout", "flu"), (0, 0, 1, 2, 2))
SECOND = SmallGroup(
    4,
    ("cancer", "cancer", "gout", "flu", "asthma", "gout", "asthma"),
    (0, 0, 0, 1, 2, 3, 3),
)


def groups_of(small: list[SmallGroup]) -> Groups:
    """The groups as the product counts them, with the owners of rows."""
    people = np.array([g.people for g in small], dtype=np.int64)
    first = np.cumsum(people) - people
    group = np.concatenate([np.full(len(g.values), i) for i, g in enumerate(small)]).astype(int)
    owner = np.concatenate([first[i] + np.array(g.owners, int) for i, g in enumerate(small)])
    values, codes = rank(pa.array([v for g in small for v in g.values], pa.string()))
    coded = sensitive_codes(values, codes, "s", None)
    related = count_related(group, owner.astype(np.int64), {"s": coded})
    return Groups(people, {}, related=related)


def drawn_groups(seed: int, many: int):
    """Small groups of up to four people and six rows."""
    random = Random(seed)
    for _ in range(many):
        people, rows = random.randint(1, 4), random.randint(0, 6 if random.random() < 0.7 else 4)
        yield SmallGroup(
            people,
            tuple(random.choice("abcd"[: random.randint(1, 4)]) for _ in range(rows)),
            tuple(random.randrange(people) for _ in range(rows)),
        )


def least(faced: list[int | None]) -> int | None:
    return min((n for n in faced if n is not None), default=None)


def by_worlds(small: SmallGroup, promise: RelatedDiversity) -> int | None:
    """The fewest values that somebody with rows may have, as all worlds show it."""
    worlds = small.worlds_with_numbers if promise.numbers == "known" else small.worlds
    outside = [small.count_faced(person, worlds) for person in range(small.people)]
    if not promise.insiders:
        return least(outside)
    inside = [
        small.count_faced(person, small.worlds_of(insider))
        for insider in range(small.people)
        for person in range(small.people)
        if person != insider
    ]
    return least([*outside, *(n if n in (None, 1) else n + 1 for n in inside)])


class TestTheToy:
    """Two groups of four people with five and seven rows."""

    def test_outsiders_with_numbers_face_three_values(self):
        promise = RelatedDiversity(l=3, sensitive="s")
        verdict = promise.check(groups_of([FIRST, SECOND]))
        assert verdict.holds
        assert verdict.observed == {"l": 3}

    def test_insiders_face_three_values(self):
        assert (
            RelatedDiversity(l=3, sensitive="s", insiders=1).check(groups_of([FIRST, SECOND])).holds
        )

    def test_a_group_of_two_people_shows_everything_to_an_insider(self):
        two = SmallGroup(2, ("flu", "gout", "cancer", "cancer", "gout"), (0, 0, 1, 1, 1))
        groups = groups_of([two])
        assert RelatedDiversity(l=3, sensitive="s").check(groups).observed == {"l": 3}
        assert RelatedDiversity(l=3, sensitive="s", insiders=1).check(groups).observed == {"l": 1}

    def test_people_and_people_with_rows(self):
        groups = groups_of([FIRST, SECOND])
        assert KPeople(k=4).check(groups).holds
        with_rows = KPeople(k=4, numbers="known").check(groups)
        assert (with_rows.failing, with_rows.observed) == (1, {"k": 3})

    def test_the_share_of_people_with_a_value(self):
        verdict = RelatedAlpha(alpha=Decimal("0.5"), sensitive="s").check(
            groups_of([FIRST, SECOND])
        )
        assert verdict.holds
        assert verdict.observed == {"alpha": Fraction(1, 2)}


@pytest.mark.parametrize(("numbers", "insiders"), [("hidden", 0), ("known", 0), ("known", 1)])
def test_diversity_is_what_all_worlds_show(numbers, insiders):
    promise = RelatedDiversity(l=2, sensitive="s", numbers=numbers, insiders=insiders)
    compared = 0
    for small in drawn_groups(17, 1_500):
        if not small.values:
            continue
        expected = by_worlds(small, promise)
        verdict = promise.check(groups_of([small]))
        assert verdict.observed["l"] == expected, small
        assert verdict.failing == int(expected < 2)
        compared += 1
    assert compared > 1_000


def test_belief_of_any_symmetric_attacker_is_at_most_alpha():
    """Theorem 8: with numbers hidden everybody has a value with the same share of worlds."""
    for small in drawn_groups(23, 200):
        if not small.values:
            continue
        worlds = small.worlds
        shares = {
            value: {
                Fraction(sum(value in small.values_of(p, w) for w in worlds), len(worlds))
                for p in range(small.people)
            }
            for value in set(small.values)
        }
        assert all(len(each) == 1 for each in shares.values())
        worst = max(share for each in shares.values() for share in each)
        observed = RelatedAlpha(alpha=Decimal(1), sensitive="s").check(groups_of([small])).observed
        assert worst <= observed["alpha"]


def test_groups_without_rows_break_nothing():
    empty = SmallGroup(3, (), ())
    groups = groups_of([empty, FIRST])
    assert RelatedDiversity(l=3, sensitive="s", insiders=1).check(groups).holds
    assert RelatedAlpha(alpha=Decimal("0.5"), sensitive="s").check(groups).holds
    assert KPeople(k=4).check(groups).failing == 1


@pytest.mark.parametrize(
    "promise",
    [
        KPeople(k=2),
        KPeople(k=2, numbers="known"),
        RelatedAlpha(alpha=Decimal("0.5"), sensitive="s"),
        RelatedDiversity(l=2, sensitive="s", numbers="hidden"),
        RelatedDiversity(l=2, sensitive="s"),
        RelatedDiversity(l=3, sensitive="s", insiders=1),
    ],
)
def test_merging_groups_that_keep_a_promise_cannot_break_it(promise):
    groups = groups_of(list(drawn_groups(31, 3_000)))
    keeping = np.flatnonzero(~promise.failing(groups))
    assert len(keeping) > 100
    random = np.random.default_rng(5)
    whole = list(drawn_groups(31, 3_000))
    keeping_groups = groups_of([whole[i] for i in keeping])
    for _ in range(20):
        into = np.unique(random.integers(0, len(keeping) // 2, len(keeping)), return_inverse=True)[
            1
        ]
        assert promise.check(merge(keeping_groups, into)).holds
        assert promise.check(merge(keeping_groups, np.zeros(len(keeping), dtype=np.int64))).holds


def test_merged_groups_are_those_counted_whole():
    first, second = FIRST, SECOND
    both = SmallGroup(
        8, (*first.values, *second.values), (*first.owners, *(4 + owner for owner in second.owners))
    )
    merged, whole = merge(groups_of([first, second]), np.array([0, 0])), groups_of([both])
    for promise in (
        RelatedDiversity(l=3, sensitive="s", insiders=1),
        RelatedAlpha(alpha=Decimal("0.5"), sensitive="s"),
        KPeople(k=2, numbers="known"),
    ):
        assert promise.check(merged) == promise.check(whole)
