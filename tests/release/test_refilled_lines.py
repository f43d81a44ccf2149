"""Lines in which newcomers are given the slots of people who left."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from sfumato.expectations.composition.gate import Passed
from sfumato.expectations.composition.state import Refused
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.private.people.members import members_of
from sfumato.tasks.private.people.slots import LIVE, VACANT, FormerHolders, are_even
from tests.composition.oracle import candidates, posterior
from tests.composition.vectors import distinct, entropy
from tests.release.growing import (
    GROUPED,
    Growing,
    coming_and_going,
    deal_rows,
    judge_map,
    sets,
    supports,
)

REFILL = {"vacancies": "refill"}


def told_truly(grouping, values, lines, wish=REFILL, seed=1):
    """Random lines, each version of which passes: nobody's candidates are fewer than the slots'."""
    for number in range(lines):
        rng = np.random.default_rng([seed, number])
        line = Growing(grouping, wish, seed=number)
        for people in coming_and_going(rng, values):
            line.publish(people)
            assert isinstance(line.verdicts[-1], Passed), str(line.verdicts[-1])
        written = line.letters()
        assert candidates(written) == supports(written)
        yield written, line


def test_every_value_of_the_slots_stays_possible():
    """Theorem C, by enumeration of all worlds of versions that the pipeline makes."""
    routes, refilled = Counter(), 0
    for _, line in told_truly(deal_rows, "1123", 50):
        routes[line.verdicts[-1].route] += 1
        refilled += len(line.maps[-1].past)
    assert routes["C"] > 20
    assert refilled > 40


def test_where_groups_are_sets_every_value_stays_as_likely():
    """Theorem S: how many change hands, and who comes back, makes no difference."""
    routes, refilled = Counter(), 0
    for written, line in told_truly(sets(2), "123", 50, seed=3):
        first = supports(written)
        for person, shares in posterior(written).items():
            assert shares == dict.fromkeys(first[person], Fraction(1, len(first[person])))
        routes[line.verdicts[-1].route] += 1
        refilled += len(line.maps[-1].past)
    assert routes["S"] > 20
    assert routes["C"] == 0
    assert refilled > 40


def test_likelihoods_are_not_kept_by_slots_alone():
    """Whoever is in {1, 1, 2} after somebody else was: the gate refuses to say how likely 2 is."""
    refused = 0
    for _, line in told_truly(deal_rows, "112", 30, seed=5):
        before, now = line.maps[-2:]
        again = judge_map(before, now, [entropy("1.2")])
        if line.verdicts[-1].route == "C":
            assert isinstance(again, Refused)
            refused += 1
    assert refused > 5
    uneven = 0
    for number in range(30):
        rng = np.random.default_rng([5, number])
        line = Growing(deal_rows, REFILL, seed=number, shape=replace(GROUPED, by_likelihood=True))
        for people in coming_and_going(rng, "112"):
            line.publish(people)
            assert line.verdicts[-1].route in ("A", "S")
        groups = line.maps[-1].past.group
        even = are_even(line.maps[-1], ["s"])
        assert even[groups].all()
        uneven += not even.all()
    assert uneven > 5


def line_of(wish, people, grouping=None, **more):
    line = Growing(grouping or sets(3), {"vacancies": wish}, **more)
    line.publish(people)
    return line


NINE = dict(zip("ABCDEFGHI", "123" * 3, strict=True))


def people_without(people, gone, **came):
    return {person: value for person, value in people.items() if person not in gone} | came


def test_whoever_comes_back_to_a_slot_of_somebody_else_stays_out_for_ever():
    line = line_of("refill", NINE)
    was = dict(zip(line.maps[0].key.tolist(), line.maps[0].group.tolist(), strict=True))
    now = line.publish(people_without(NINE, "A", X="1"))
    assert line.evolved[-1].counts["refilled"] == 1
    assert now.past.key.tolist() == [b"A"]
    assert now.past.group.tolist() == [was[b"A"]]
    assert now.group[now.key == b"X"].tolist() == [was[b"A"]]
    back = people_without(NINE, "", X="1")
    for _ in range(2):
        line.publish(back)
        counts = line.evolved[-1].counts
        assert (counts["withheld"], counts["new"], counts["waiting"]) == (1, 0, 0)
        assert b"A" not in line.maps[-1].key
        del back[next(iter(set(back) - {"A", "X"}))]
    assert judge_map(line.maps[-2], line.maps[-1], [distinct(3)]).route in ("A", "S")


def test_a_slot_is_given_away_by_fresh_keys_and_never_by_the_order_of_rows():
    """Of three newcomers each takes one of two slots as often, whoever of two left it."""
    takers, counts_by_holder = Counter(), Counter()
    came = {"X": "1", "Y": "1", "Z": "1", "P": "2", "Q": "3"}
    for seed in range(60):
        line = line_of("refill", NINE, seed=seed)
        first, other = (name.encode() for name in "AD")
        was = dict(zip(line.maps[0].key.tolist(), line.maps[0].group.tolist(), strict=True))
        now = line.publish(people_without(NINE, "AD", **came))
        holder = dict(zip(now.key.tolist(), now.group.tolist(), strict=True))
        for name in (b"X", b"Y", b"Z"):
            takers[name] += holder[name] in (was[first], was[other])
            counts_by_holder[name] += holder[name] == was[first]
    assert all(26 < times < 54 for times in takers.values())  # about 40
    assert all(9 < times < 32 for times in counts_by_holder.values())  # about 20


def test_of_two_empty_slots_each_is_filled_as_often():
    filled = Counter()
    for seed in range(60):
        line = line_of("refill", NINE, seed=seed)
        now = line.publish(people_without(NINE, "AD", X="1"))
        filled[now.past.key.tolist()[0]] += 1
    assert filled.keys() == {b"A", b"D"}
    assert min(filled.values()) > 12


def test_no_more_slots_are_given_away_than_leave_the_others_groupable():
    line = line_of("refill", NINE)
    line.publish(people_without(NINE, "A", X="1", Y="2", Z="3"))
    counts = line.evolved[-1].counts
    assert (counts["refilled"], counts["new"], counts["waiting"]) == (0, 3, 0)
    line = line_of("refill", NINE)
    line.publish(people_without(NINE, "ABC", U="1", V="2", W="3", X="1", Y="2", Z="3"))
    counts = line.evolved[-1].counts
    assert (counts["refilled"], counts["new"], counts["waiting"]) == (3, 3, 0)
    line = line_of("refill", NINE)
    line.publish(people_without(NINE, "A", X="1", Y="2"))
    counts = line.evolved[-1].counts
    assert (counts["refilled"], counts["new"], counts["waiting"]) == (0, 0, 2)


def test_fewer_others_than_a_cohort_are_not_left():
    line = Growing(sets(3), {"vacancies": "refill", "cohort": 4})
    line.publish(NINE)
    line.publish(people_without(NINE, "A", W="1", X="1", Y="2", Z="3"))
    counts = line.evolved[-1].counts
    assert (counts["refilled"], counts["new"], counts["waiting"]) == (0, 0, 4)


def group_of(slots, name):
    return int(slots.group[slots.key == name.encode()][0])


def test_paired_gives_different_values_of_a_group_away_together():
    line = line_of("paired", NINE)
    first = line.maps[0]
    mates = [k.decode() for k in first.key[first.group == group_of(first, "A")]]
    other = next(name for name in NINE if name not in mates and NINE[name] == "3")
    gone = [name for name in mates if NINE[name] != "3"] + [other]
    now = line.publish(people_without(NINE, gone, X="1", Y="2", Z="3"))
    assert line.evolved[-1].counts["refilled"] == 0  # Z alone could not be grouped
    now = line.publish(people_without(NINE, gone, X="1", Y="2", Z="3", U="1", V="2", W="3"))
    taken = set(now.past.group.tolist())
    assert taken <= {group_of(first, "A")}
    line = line_of("paired", dict(zip("ABCDEF", "112112", strict=True)), deal_rows, seed=2)
    first = line.maps[0]
    alike = [k.decode() for k in first.key[first.rows["s"].codes == 0]]
    fresh = dict(zip("UVWXYZ", "111111", strict=True))
    line.publish(people_without(dict(zip("ABCDEF", "112112", strict=True)), alike, **fresh))
    assert line.evolved[-1].counts["refilled"] == 0


def test_paired_gives_some_slots_away():
    refilled = count_kept = 0
    for _, line in told_truly(deal_rows, "1123", 40, {"vacancies": "paired"}, seed=8):
        for before, now in pairwise(line.maps):
            values = {}
            for k, g in new_pairs(before, now):
                row = int(np.flatnonzero(before.key == k)[0])
                values.setdefault(g, set()).add(before.rows["s"].array()[row].as_py())
            assert all(len(people_of_value) > 1 for people_of_value in values.values())
            refilled += len(values)
        count_kept += int((line.maps[-1].kind == VACANT).sum())
    assert refilled > 5
    assert count_kept > 5


def new_pairs(before, now):
    was = set(zip(before.past.key.tolist(), before.past.group.tolist(), strict=True))
    return set(zip(now.past.key.tolist(), now.past.group.tolist(), strict=True)) - was


def test_the_slot_of_somebody_who_was_forgotten_is_never_given_away():
    line = line_of("refill", NINE)
    first = line.maps[0]
    first.key[first.key == b"A"] = b""
    line.publish(people_without(NINE, "A", X="1"))
    assert line.evolved[-1].counts["refilled"] == 0


def test_a_group_that_is_shown_no_more_is_not_filled():
    line = line_of("refill", NINE)
    first = line.maps[0]
    mates = [k.decode() for k in first.key[first.group == group_of(first, "A")]]
    fresh = {"U": "1", "V": "2", "W": "3"}
    now = line.publish(people_without(NINE, mates, **fresh))
    assert line.evolved[-1].counts["groups_retired"] == 1
    assert group_of(now, "U") not in first.group
    assert not len(now.past)


def test_nobody_is_given_a_slot_of_a_group_that_is_retired_all_the_same():
    line = Growing(sets(3), {"vacancies": "refill", "retire": 1})
    line.publish(NINE)
    first = line.maps[0]
    mates = [k.decode() for k in first.key[first.group == group_of(first, "A")]]
    leaver, other, _ = sorted(mates, key=NINE.__getitem__)
    now = line.publish(people_without(NINE, [leaver, other], X=NINE[leaver]))
    counts = line.evolved[-1].counts
    assert (counts["refilled"], counts["groups_retired"], counts["waiting"]) == (0, 1, 1)
    assert not len(now.past)


def test_a_group_of_too_few_survivors_may_be_filled_instead_of_retired():
    """The share is of those who are shown in the end."""
    line = Growing(sets(3), {"vacancies": "refill", "retire": "2/3"})
    line.publish(NINE)
    first = line.maps[0]
    mates = [k.decode() for k in first.key[first.group == group_of(first, "A")]]
    line.publish(people_without(NINE, mates[:2], X=NINE[mates[0]]))
    assert line.evolved[-1].counts["groups_retired"] == 0
    line.publish(people_without(NINE, mates[:2]))
    assert line.evolved[-1].counts["groups_retired"] == 1


def test_slots_go_to_newcomers_of_the_stratum_of_all_in_the_group():
    people = dict(zip("ABCDEF", "123123", strict=True))
    shape = replace(GROUPED, frozen=frozenset(["s"]))

    def publish_places(where, moved=""):
        line = Growing(by_place, REFILL, shape=shape)
        places = {p: "west" if p in "ABC" else "east" for p in people}
        line.publish(people, places)
        places |= dict.fromkeys(moved, "east")
        line.publish(people, places)
        now = people_without(people, "A", X="1")
        line.publish(now, {**places, "X": where} if "A" not in now else places)
        return line.evolved[-1].counts["refilled"]

    assert publish_places("west") == 1
    assert publish_places("east") == 0
    assert publish_places("west", moved="B") == 0
    assert publish_places("east", moved="ABC") == 1


def by_place(rows, randomness):
    return Partition(rows["where"].codes.astype(np.int64))


@pytest.mark.parametrize("guard", ["who held it", "the same value", "nobody else's", "for ever"])
def test_the_gate_finds_out_slots_that_were_given_away_wrongly(guard):
    """Each is what a pipeline without that rule would leave in the map."""
    line = line_of("refill", dict(zip("ABCDEF", "111122", strict=True)), deal_rows, seed=1)
    first = line.maps[0]
    now = line.publish({**dict(zip("BCDEF", "11122", strict=True)), "X": "1"})
    assert now.past.key.tolist() == [b"A"]
    position = int(np.flatnonzero(now.key == b"X")[0])
    lost = members_of(first, now, ["s"]).lost
    assert lost == 0
    if guard == "who held it":
        wrong = replace(now, past=FormerHolders())
        assert members_of(first, wrong, ["s"]).lost == 1
    elif guard == "the same value":
        codes = now.rows["s"].codes.copy()
        codes[position] = codes.max()
        rows = replace(now.rows, columns=(replace(now.rows["s"], codes=codes),))
        assert members_of(first, replace(now, rows=rows), ["s"]).lost == 1
    elif guard == "nobody else's":
        forgotten = replace(first, key=np.where(first.key == b"A", b"", first.key).astype("S16"))
        assert members_of(forgotten, now, ["s"]).lost == 1
    else:
        key = now.key.copy()
        group = now.group == now.group[position]
        mate = int(np.flatnonzero(~group & (now.kind == LIVE))[0])
        key[mate] = b"A"
        wrong = replace(now, key=key, past=now.past.with_others(now.key[[mate]], now.group[[mate]]))
        assert "may have kept a value" in str(judge_map(now, wrong, [distinct(1)]))
