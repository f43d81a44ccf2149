"""Promises and bounds where numbers of rows are shown, against all worlds of small groups.

`python -m tests.numbers.test_worlds 20000` compares as many groups.
"""

import sys
from collections import Counter
from fractions import Fraction
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.groups.groups import Groups, RelatedRows
from sfumato.expectations.groups.ranks import rank, sensitive_codes
from sfumato.expectations.groups.related import count_related
from sfumato.expectations.models.related import KPeople, RelatedDiversity
from sfumato.tasks.query.bounds.related import HitGroups, HitValues, mean_of_hits, sum_of_hits
from sfumato.tasks.query.bounds.related_numbers import (
    PublishedHits,
    RowNumbers,
    ShuffledHits,
    chances_by_numbers,
)
from tests.numbers.worlds import Owners, ShownGroup, ends, random_groups

KINDS = ("published", "shuffled")
GROUPS = 600


def integers(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def row_numbers(numbers: tuple[int, ...]) -> RowNumbers:
    """The numbers of rows of one group, as the product counts them."""
    counted = Counter(numbers)
    return RowNumbers.count(
        np.zeros(len(counted), np.int64),
        integers(*counted),
        integers(*counted.values()),
        1,
    )


def hits_of(kind: str, group: ShownGroup, hit: list[int], rows: list[int]) -> HitGroups:
    """The people and rows that a question hits, as the product knows them."""
    counts = (
        integers(len(group.numbers)),
        integers(len(group.values)),
        integers(max(group.numbers)),
        integers(len(hit)),
        integers(len(rows)),
    )
    if kind == "published":
        return PublishedHits(*counts, row_numbers(tuple(group.numbers[p] for p in hit)))
    return ShuffledHits(*counts, row_numbers(group.numbers))


def counted_groups(group: ShownGroup, by_files: bool) -> Groups:
    """The group as its owner knows it, or as anyone counts it from files with numbers."""
    owners = [p for p, number in enumerate(group.numbers) for _ in range(number)]
    values, codes = rank(pa.array(group.values, pa.string()))
    coded = sensitive_codes(values, codes, "s", None)
    size = integers(len(group.numbers))
    zeros = np.zeros(len(owners), np.int64)
    related = count_related(zeros, integers(*owners), {"s": coded}, owners=not by_files)
    if by_files:
        having = integers(sum(n > 0 for n in group.numbers))
        related = RelatedRows(
            related.group, related.rows, related.most, integers(min(group.numbers)), having
        )
    return Groups(size, {}, related=related)


def least(faced: list[int | None]) -> int | None:
    return min((n for n in faced if n is not None), default=None)


def compare_promises(group: ShownGroup) -> int:
    """Hold promises of one group against all worlds; return how many were compared."""
    if not group.values:
        return 0
    people = range(len(group.numbers))
    published, shuffled = group.published_worlds, group.shuffled_worlds
    outside = least([group.count_faced(p, published) for p in people])
    hidden = least([group.count_faced(p, shuffled) for p in people])
    files, owned = counted_groups(group, True), counted_groups(group, False)
    promise = RelatedDiversity(l=2, sensitive="s")
    without = RelatedDiversity(l=2, sensitive="s", numbers="hidden", facts="numbers")
    for groups in (files, owned):
        assert promise.check(groups).observed["l"] == outside, group
        assert without.check(groups).observed["l"] == hidden, group
        with_rows = KPeople(k=2, numbers="known").check(groups).observed["k"]
        possible = {p for world in published for p in world}
        assert with_rows == len(possible), group
        assert KPeople(k=2).check(groups).observed["k"] == len(people)
    own = owners_of_truth(group)
    inside = []
    for insider in people:
        mine = sorted(v for v, o in zip(group.values, own, strict=True) if o == insider)
        possible_worlds = [
            w
            for w in published
            if sorted(v for v, o in zip(group.values, w, strict=True) if o == insider) == mine
        ]
        inside += [group.count_faced(p, possible_worlds) for p in people if p != insider]
    faced = least([outside, *(n if n in (None, 1) else n + 1 for n in inside)])
    insiders = RelatedDiversity(l=2, sensitive="s", insiders=1)
    assert insiders.check(owned_like(group, own)).observed["l"] == faced, group
    return 5


def owners_of_truth(group: ShownGroup) -> Owners:
    """One of the worlds: that of the truth."""
    return tuple(p for p, number in enumerate(group.numbers) for _ in range(number))


def owned_like(group: ShownGroup, own: Owners) -> Groups:
    values, codes = rank(pa.array(group.values, pa.string()))
    coded = sensitive_codes(values, codes, "s", None)
    related = count_related(np.zeros(len(own), np.int64), integers(*own), {"s": coded})
    return Groups(integers(len(group.numbers)), {}, related=related)


def compare_bounds(kind: str, group: ShownGroup, random: Random) -> Counter[str]:
    """Hold bounds of questions about one group against all worlds; count them by construct."""
    people = range(len(group.numbers))
    hit = sorted(random.sample(people, random.randint(0, len(people))))
    selected_values = set("abcd") if random.random() < 0.3 else set(random.sample("abcd", 2))
    rows = [row for row, value in enumerate(group.values) if value in selected_values]
    worlds, hits = group.worlds(kind), hits_of(kind, group, hit, rows)
    counted: Counter[str] = Counter()

    def of_hit(world: Owners) -> list[int]:
        return [sum(world[row] == person for row in rows) for person in hit]

    def hold(name: str, bounds, measured, attained: bool = True) -> None:
        expected = ends(worlds, measured)
        assert (bounds is None) == (expected is None), (name, group, hit, rows)
        if bounds is None or expected is None:
            return
        low, high = bounds
        assert low <= expected[0] <= expected[1] <= high, (name, kind, group, hit, rows)
        assert not attained or (low, high) == expected, (name, kind, group, hit, rows, expected)
        counted[name if attained else f"{name}, not attained"] += 1

    def first(arrays) -> tuple[int, int]:
        return int(arrays[0][0]), int(arrays[1][0])

    hold("rows of people", first(hits.totals), lambda w: sum(o in hit for o in w))
    hold("COUNT(*)", first(hits.shared_rows()), lambda w: sum(of_hit(w)))
    for times in (1, 2, 3):
        enough = first(hits.people_with(times))
        hold(f"HAVING >= {times}", enough, lambda w, t=times: sum(n >= t for n in of_hit(w)))
        numbers = hits.own if isinstance(hits, PublishedHits) else hits.everyone
        chance = float(chances_by_numbers(times, hits, numbers)[0]) * len(hit)
        mean = Fraction(sum(sum(n >= times for n in of_hit(w)) for w in worlds), len(worlds))
        assert chance == pytest.approx(float(mean), abs=1e-9), (kind, group, hit, rows)
        counted["chances"] += 1
    for name, measured in (("SUM", sum_of_hits), ("AVG", mean_of_hits)):
        outer, is_attained = bounds_of_amounts(measured, group, rows, hits)

        def of_amounts(world: Owners, name=name) -> Fraction | None:
            own = [group.amounts[row] for row in rows if world[row] in hit]
            total = Fraction(sum(own))
            return None if not own else total if name == "SUM" else total / len(own)

        hold(name, outer, of_amounts, is_attained)
    return counted


def bounds_of_amounts(measured, group: ShownGroup, rows: list[int], hits: HitGroups):
    """Return the bounds of a sum or mean, and whether they are called attained."""
    order = sorted(group.amounts[row] for row in rows)
    values = HitValues(np.zeros(len(order), np.int64), integers(*order), 1)
    outer = measured(values, hits.choices())
    if not isinstance(hits, ShuffledHits):
        return outer, True
    inner = measured(values, hits.sure_choices())
    assert (inner is None) == (outer is None)
    return outer, inner == outer


def compare(seed: int, many: int) -> Counter[str]:
    """Compare promises and bounds of random groups; return how many by what was compared."""
    random, counted = Random(seed), Counter[str]()
    for group in random_groups(seed, many):
        counted["promises"] += compare_promises(group)
        for kind in KINDS:
            for name, number in compare_bounds(kind, group, random).items():
                counted[f"{kind}: {name}"] += number
    return counted


def test_promises_and_bounds_are_what_all_worlds_show():
    counted = compare(7, GROUPS)
    assert sum(counted.values()) > 10 * GROUPS
    assert counted["promises"] > 4 * GROUPS
    loose = sum(number for name, number in counted.items() if "not attained" in name)
    assert 0 < loose < counted["shuffled: SUM"]


def test_beliefs_differ_by_published_numbers():
    """The reason why related-alpha is refused: its share is no bound of beliefs then."""
    beyond = 0
    for group in random_groups(3, 60):
        people = range(len(group.numbers))
        for value in set(group.values):
            most = min(group.values.count(value), len(people))
            by_group = {Fraction(*group.belief(p, value, "shuffled")) for p in people}
            assert len(by_group) == 1
            assert max(by_group) <= Fraction(most, len(people))
            beyond += any(
                Fraction(*group.belief(p, value, "published")) > Fraction(most, len(people))
                for p in people
            )
    assert beyond > 20


def test_bounds_of_groups_add_up():
    """Many groups at once give what each gives by itself."""
    groups = list(random_groups(11, 40))
    hit = [list(range((len(g.numbers) + 1) // 2)) for g in groups]
    rows = [[r for r, value in enumerate(g.values) if value in "ab"] for g in groups]
    for kind in KINDS:
        each = [hits_of(kind, *args) for args in zip(groups, hit, rows, strict=True)]
        numbers = [h.own if isinstance(h, PublishedHits) else h.everyone for h in each]
        place = np.repeat(np.arange(len(each)), [len(n.number) for n in numbers])
        together = RowNumbers.count(
            place,
            np.concatenate([n.number for n in numbers]),
            np.concatenate([n.people for n in numbers]),
            len(each),
        )
        order = np.random.default_rng(5).permutation(len(each))
        counts = [
            np.concatenate([getattr(h, name) for h in each])[order]
            for name in ("people", "rows", "most", "hit_people", "hit_rows")
        ]
        numbers_in_order = together.of_groups(order)
        whole = (
            PublishedHits(*counts, own=numbers_in_order)
            if kind == "published"
            else ShuffledHits(*counts, everyone=numbers_in_order)
        )
        for times in (1, 2):
            for side in (0, 1):
                expected = [int(each[i].people_with(times)[side][0]) for i in order]
                assert whole.people_with(times)[side].tolist() == expected
        for side in (0, 1):
            expected = [int(each[i].shared_rows()[side][0]) for i in order]
            assert whole.shared_rows()[side].tolist() == expected


if __name__ == "__main__":
    for name, number in sorted(compare(1, int(sys.argv[1])).items()):
        print(f"{number:>9,}  {name}")
