"""Lines in which people whose values changed are shown among newcomers again."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from sfumato.expectations.composition.gate import Passed
from sfumato.expectations.composition.state import Refused
from sfumato.tasks.continued import reinsert
from sfumato.tasks.continued.cohort import Cohort
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.private.people.slots import LEFT, LIVE
from tests.composition.lines import LETTERS
from tests.composition.oracle import persistent, posterior
from tests.composition.vectors import distinct, entropy
from tests.release.growing import Growing, episodes_of, judge_map, sets

REINSERT = {"changes": "reinsert"}
SIX = dict(zip("ABCDEF", "123123", strict=True))
CAME = dict(zip("UVWXYZ", "456456", strict=True))


def line_of(wish=REINSERT, people=SIX, **more):
    line = Growing(sets(3), wish, **more)
    line.publish(people)
    return line


def group_of(slots, name):
    return int(slots.group[(slots.key == name.encode()) & slots.own][0])


def test_whose_value_changed_is_shown_beside_none_of_the_former_ones():
    line = line_of()
    first = line.maps[0]
    now = line.publish({**SIX, "A": "4", "V": "5", "W": "6"})
    assert isinstance(line.verdicts[-1], Passed)
    assert line.verdicts[-1].route == "A"
    assert (now.kind[(now.key == b"A") & ~now.own] == LEFT).all()
    assert group_of(now, "A") == group_of(now, "V") != group_of(first, "A")
    counts = line.evolved[-1].counts
    assert [counts[n] for n in ("continued", "new", "reinserted", "withheld", "vacant")] == [
        5,
        2,
        1,
        0,
        1,
    ]


def test_a_value_that_a_former_group_shows_keeps_somebody_out():
    line = line_of()
    line.publish({**SIX, "A": "2", **CAME})
    assert line.evolved[-1].counts["withheld"] == 1
    line.publish({**SIX, "A": "1", **CAME})
    assert line.evolved[-1].counts["withheld"] == 0
    assert line.maps[-1].own.all()


def test_groups_that_show_a_former_value_keep_somebody_out():
    """Everybody of value 4 is beside a 1: nobody has a place for A, and none is made."""
    line = line_of()
    line.publish({**SIX, "A": "4", "U": "1", "V": "5"})
    counts = line.evolved[-1].counts
    assert (counts["reinserted"], counts["withheld"], counts["waiting"]) == (0, 1, 2)


def test_places_of_equal_values_are_exchanged():
    """Of two 4s one is beside a 1, in a partition that does not know who must not be."""
    came = {"U": "4", "V": "1", "W": "5", "X": "5", "Y": "6"}
    counts_found = Counter()
    for seed in range(20):
        line = line_of(seed=seed)
        now = line.publish({**SIX, "A": "4", **came})
        assert isinstance(line.verdicts[-1], Passed)
        counts = line.evolved[-1].counts
        assert counts["waiting"] == 0
        counts_found[counts["reinserted"]] += 1
        if counts["reinserted"]:
            assert group_of(now, "A") != group_of(now, "V")
    assert counts_found[1] > 5


def test_nobody_is_moved_to_a_former_value_for_the_sake_of_somebody_else():
    """A and B are 4 now; beside A is a 1, beside B a 2: only who was in no such group may move."""
    items = np.array([[4], [1], [4], [2]])
    cohort = Cohort(np.arange(4), Partition(np.array([0, 0, 1, 1])), np.array([], dtype=np.int64))
    for former, settled in (({0: {1}}, True), ({0: {1}, 2: {1}}, False), ({0: {1}, 2: {2}}, True)):
        values_by_row = {row: frozenset(values) for row, values in former.items()}
        places = reinsert._Places(cohort, items, values_by_row)
        assert places.settle(0, [2]) == settled
        assert places.group.tolist() == ([1, 0, 0, 1] if settled else [0, 0, 1, 1])


def test_whoever_changed_again_is_beside_no_value_of_any_former_group():
    line = line_of()
    line.publish({**SIX, "A": "4", "V": "5", "W": "6"})
    now = {**SIX, "V": "5", "W": "6", "P": "7", "Q": "8", "R": "9"}
    line.publish({**now, "A": "1"})  # as in the first group
    assert line.evolved[-1].counts["withheld"] == 1
    line.publish({**now, "A": "5"})  # as in the second
    assert line.evolved[-1].counts["withheld"] == 1
    line.publish({**now, "A": "7", "S": "8", "T": "9"})
    assert line.evolved[-1].counts["reinserted"] == 1
    slots = line.maps[-1]
    assert (slots.key == b"A").sum() == 3
    assert isinstance(line.verdicts[-1], Passed)


def changing(rng, versions=3):
    """People of nine values some of whom change into another third of them, and newcomers."""
    value = {LETTERS[p]: str(p % 3 + 1) for p in range(6)}
    next_ = 6
    for version in range(versions):
        yield {person: value[person] for person in rng.permutation(list(value))}
        for person in [person for person in value if rng.random() < 0.3][:2]:
            value[person] = str(int(rng.integers(1, 10)))
        for place in range(3):
            value[LETTERS[next_]] = str(3 * ((version + 1) % 3) + place + 1)
            next_ += 1


def change_lines(lines, wish, seed=1):
    for number in range(lines):
        rng = np.random.default_rng([seed, number])
        line = Growing(sets(3), wish, seed=number)
        for people in changing(rng):
            line.publish(people)
            assert isinstance(line.verdicts[-1], Passed), str(line.verdicts[-1])
        yield line


def neighbours_of(line, people):
    """The groups in which some people ever were, and whoever ever was in these."""
    for _ in range(3):
        for version in line:
            for group, _values in version:
                if people & set(group.upper()):
                    people |= set(group.upper())
    return [[group for group in version if people & set(group[0].upper())] for version in line]


@pytest.mark.parametrize("vacancies", ["keep", "refill"])
def test_nobody_learns_which_value_it_was_or_is(vacancies):
    """By enumeration: under any chance that a value stays, every value of a group is as likely."""
    again = 0
    for line in change_lines(40, {**REINSERT, "vacancies": vacancies}):
        written, units = episodes_of(line.maps)
        for first, then in units:
            again += 1
            weight = persistent(first, then, Fraction(9, 10), 9)
            small = neighbours_of(written, {first, then})
            shares = posterior(small, weight)
            for version in small:
                for people, values in version:
                    for person in people.upper():
                        assert shares[person] == dict.fromkeys(values, Fraction(1, len(values)))
    assert again > 10


def test_a_pipeline_that_lets_supports_overlap_is_found_out(monkeypatch):
    monkeypatch.setattr(reinsert._Places, "_fits", lambda *_: True)
    monkeypatch.setattr(reinsert.Reinsertion, "_former_values", everything_fits)
    refused = 0
    for number in range(20):
        rng = np.random.default_rng([1, number])
        line = Growing(sets(3), REINSERT, seed=number)
        for people in changing(rng):
            line.publish(people)
            if isinstance(line.verdicts[-1], Refused):
                refused += 1
                assert "may have kept a value that changed" in str(line.verdicts[-1])
                break
    assert refused > 3


def everything_fits(_self, rows, _slots):
    return dict.fromkeys(rows.tolist(), frozenset())


def test_a_map_that_hides_where_somebody_was_is_refused():
    line = line_of()
    first = line.maps[0]
    now = line.publish({**SIX, "A": "4", "V": "5", "W": "6"})
    hidden = now.key.copy()
    hidden[now.kind == LEFT] = b""
    assert isinstance(judge_map(first, replace(now, key=hidden), [distinct(3)]), Refused)
    assert isinstance(judge_map(first, now, [distinct(3), entropy(3)]), Passed)


def test_nobody_is_in_two_slots_with_values_in_common():
    for line in change_lines(20, {**REINSERT, "vacancies": "refill"}, seed=4):
        for before, now in pairwise(line.maps):
            assert set(before.names.tolist()) <= set(now.names.tolist())
        slots = line.maps[-1]
        values = np.array(slots.rows["s"].array().to_pylist())
        places = list(zip(slots.key.tolist(), slots.group.tolist(), strict=True))
        places += zip(slots.past.key.tolist(), slots.past.group.tolist(), strict=True)
        for name in set(slots.names.tolist()):
            values_of_slots = [set(values[slots.group == g]) for k, g in places if k == name]
            assert sum(map(len, values_of_slots)) == len(set().union(*values_of_slots))
        assert (np.unique(slots.key[slots.own], return_counts=True)[1] == 1).all()
        assert not np.isin(slots.key[slots.kind == LIVE], slots.key[slots.kind == LEFT]).all()
