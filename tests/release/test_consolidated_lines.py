"""Lines in which groups that few are left in are closed, and their people moved to others."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from sfumato.expectations.composition.gate import Passed
from sfumato.expectations.composition.state import Refused
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.private.people.members import count_strays, members_of
from sfumato.tasks.private.people.seen import MapOfLine, SeenPeople
from sfumato.tasks.private.people.slots import LIVE, MOVED, VACANT
from tests.composition.lines import LETTERS
from tests.composition.oracle import posterior
from tests.composition.vectors import entropy
from tests.release.growing import (
    GROUPED,
    Growing,
    judge_map,
    sets,
    supports,
)

CLOSING = {"vacancies": "refill", "consolidate": True}


def vacant(slots):
    """Count the values shown that are nobody's, and the values shown."""
    is_shown = slots.published >= 0
    return int((is_shown & (slots.kind != LIVE)).sum()), int(is_shown.sum())


def leaving(rng, values, versions, most=13):
    """People of several versions, many of whom leave, and few come or return."""
    value = {LETTERS[p]: values[p % len(values)] for p in range(most)}
    people = 9 if len(values) == 3 else 8
    here, out, next_ = list(value)[:people], [], people
    for _ in range(versions):
        yield {person: value[person] for person in rng.permutation(here)}
        back = [person for person in out if rng.random() < 0.3]
        stay = [person for person in here if person == "A" or rng.random() < 0.6]
        out = [person for person in (*here, *out) if person not in {*stay, *back}]
        came = list(value)[next_ : next_ + int(rng.integers(0, 3))]
        here, next_ = [*stay, *back, *came], next_ + len(came)


def going_on(wish, lines, values="123", l=3, seed=1, versions=4):
    """Random lines, each version of which passes by atoms or signatures."""
    for number in range(lines):
        rng = np.random.default_rng([seed, number])
        line = Growing(sets(l), wish, seed=number, promises=(entropy(l),))
        for people in leaving(rng, values, versions):
            line.publish(people)
            assert isinstance(line.verdicts[-1], Passed), str(line.verdicts[-1])
            assert line.verdicts[-1].route in ("A", "S")
        yield line


def require_uniform(line):
    written = line.letters()
    first = supports(written)
    for person, shares in posterior(written).items():
        assert shares == dict.fromkeys(first[person], Fraction(1, len(first[person])))


@pytest.mark.parametrize(
    ("vacancies", "values"), [("paired", "123"), ("refill", "123"), ("refill", "12")]
)
def test_everybody_keeps_every_value_as_likely(vacancies, values):
    """Theorem S, by enumeration of all worlds of versions that the pipeline makes."""
    moved, lines = 0, 30 if vacancies == "paired" else 20
    for line in going_on({**CLOSING, "vacancies": vacancies}, lines, values, len(values)):
        require_uniform(line)
        moved += sum(evolution.counts["moved"] for evolution in line.evolved)
    assert moved > (0 if vacancies == "paired" else 5)


def closing(people_kept, seed):
    """A line of groups {1, 2, 3} after all but some people left."""
    everybody = dict(zip(LETTERS, "123" * 4, strict=False))
    line = Growing(sets(3), CLOSING, seed=seed)
    line.publish(everybody)
    line.publish({person: everybody[person] for person in people_kept})
    return line


def letters_held(slots):
    """The letters in each group of a version that shows them, by its number in the line."""
    letters = {}
    for key, group, kind in zip(slots.key, slots.group, slots.kind, strict=True):
        if kind == LIVE:
            letters.setdefault(int(group), set()).add(key.decode())
    return letters


def fewest_moves(groups, value):
    """Return how many groups can be closed at most, and how few people are moved, by trial."""
    best = (0, 0)
    for number in range(len(groups)):
        for closed in combinations(groups, number):
            open_ = [g for g in groups if g not in closed]
            going = [p for g in closed for p in groups[g]]
            free = Counter(
                v for g in open_ for v in {"1", "2", "3"} - {value[p] for p in groups[g]}
            )
            if not Counter(value[p] for p in going) - free:
                best = max(best, (number, -len(going)))
    return best[0], -best[1]


def test_as_few_groups_are_broken_as_can_be_and_no_more_are_shown_than_needed():
    moved = 0
    for number in range(40):
        rng = np.random.default_rng([3, number])
        stayers = [p for p in LETTERS[:12] if rng.random() < 0.45] or ["A"]
        line = closing(rng.permutation(stayers), seed=number)
        first, now = line.maps
        value = dict(zip(LETTERS, "123" * 4, strict=False))
        groups_left = {g: people & set(stayers) for g, people in letters_held(first).items()}
        groups_left = {g: people for g, people in groups_left.items() if people}
        closed, people = fewest_moves(groups_left, value)
        counts = line.evolved[-1].counts
        assert len(groups_left) - len(letters_held(now)) == closed
        assert counts["moved"] == people == (now.kind == MOVED).sum()
        assert len(letters_held(now)) == max(Counter(value[p] for p in stayers).values())
        assert set().union(*letters_held(now).values()) == set(stayers)
        assert isinstance(line.verdicts[-1], Passed)
        moved += people
    assert moved > 30


def in_their_order(rows, _randomness):
    """Groups of three: A, B and C, then D, E and F."""
    return Partition(np.arange(rows.rows) // 3)


def in_threes(here, wish=CLOSING, seed=0, people="123" * 3, shuffled=True, **came):
    """Groups of A, B, C and D, E, F and so on, of whom some are still there."""
    line = Growing(in_their_order, wish, seed=seed)
    everybody = dict(zip(LETTERS, people, strict=False))
    line.publish(everybody)
    now = {person: everybody[person] for person in here} | came
    order = np.random.default_rng(seed).permutation(list(now)) if shuffled else list(now)
    line.publish({person: now[person] for person in order})
    return line


def test_fewer_values_are_vacant_than_without():
    shares = {}
    for name, wish in (("refill", {"vacancies": "refill"}), ("closing", CLOSING)):
        rng, line = np.random.default_rng(4), Growing(sets(3), wish)
        people = {f"{n}": "123"[n % 3] for n in range(600)}
        for version in range(4):
            line.publish(people)
            people = {p: v for p, v in people.items() if p == "0" or rng.random() < 0.85}
            people |= {f"{version}-{n}": "123"[n % 3] for n in range(60)}
        unheld, number_shown = vacant(line.maps[-1])
        shares[name] = unheld / number_shown
    assert shares["closing"] < 0.6 * shares["refill"]


def test_who_moves_is_drawn_by_fresh_keys_and_never_by_the_order_of_rows():
    """Of three groups with one person each two are closed: each stays as often."""
    stays = Counter()
    for seed in range(60):
        line = in_threes("AEI", seed=seed, shuffled=False)
        (group,) = letters_held(line.maps[-1])
        stays[group] += 1
    assert all(9 < stays[group] < 32 for group in range(3))  # about 20


def test_where_somebody_moves_is_drawn_by_fresh_keys_and_never_by_the_order_of_rows():
    """H moves beside A or D, where the slots of B and E are vacant."""
    places = Counter()
    for seed in range(80):
        line = in_threes("ADH", seed=seed, shuffled=False)
        if (line.maps[-1].group[line.maps[-1].key == b"H"] == 2).sum() == 1:
            (former,) = line.maps[-1].past.key.tolist() or [None]
            places[former] += 1
    assert places[b"B"] + places[b"E"] > 12
    assert min(places[b"B"], places[b"E"]) > 4


def test_those_with_the_fewest_people_are_closed():
    line = in_threes("ABEI")
    assert (
        letters_held(line.maps[-1]) == {0: {"A", "B", "I"}} or len(letters_held(line.maps[-1])) == 2
    )
    line = in_threes("ABI")
    assert letters_held(line.maps[-1]) == {0: {"A", "B", "I"}}
    assert line.evolved[-1].counts["moved"] == 1
    assert line.maps[-1].past.key.tolist() == [b"C"]


def test_whoever_comes_back_to_a_slot_of_somebody_who_moved_stays_out_for_ever():
    line = in_threes("ABI")
    everybody = dict(zip("ABCI", "1233", strict=True))
    for _ in range(2):
        now = line.publish(everybody)
        counts = line.evolved[-1].counts
        assert (counts["withheld"], counts["new"], counts["waiting"], counts["moved"]) == (
            1,
            0,
            0,
            0,
        )
        assert b"C" not in now.key
        assert isinstance(line.verdicts[-1], Passed)


def test_whoever_comes_back_to_a_group_that_was_closed_stays_out():
    line = in_threes("ABI")
    line.publish(dict(zip("ABHI", "1223", strict=True)))
    assert line.evolved[-1].counts["in_retired_groups"] == 1
    assert letters_held(line.maps[-1]) == {0: {"A", "B", "I"}}
    assert isinstance(line.verdicts[-1], Passed)


def moved_twice():
    """A line in which I moved from group 2 to group 0, and on to group 3."""
    for seed in range(20):
        line = in_threes("AIJKL", seed=seed, people="123" * 4)
        if letters_held(line.maps[-1]) == {0: {"A", "I"}, 3: {"J", "K", "L"}}:
            line.publish(dict(zip("IJK", "312", strict=True)))
            return line
    raise AssertionError


def test_whoever_moved_may_move_again_and_leave_and_come_back():
    line = moved_twice()
    assert letters_held(line.maps[-1]) == {3: {"I", "J", "K"}}
    require_uniform(line)
    now = line.maps[-1]
    places = zip(now.group.tolist(), now.kind.tolist(), now.key == b"I", strict=True)
    assert {group: kind for group, kind, members in places if members} == {
        0: MOVED,
        2: MOVED,
        3: LIVE,
    }
    line.publish({"J": "1", "K": "2"})
    assert line.evolved[-1].counts["vacant"] == 1
    line.publish({"I": "3", "J": "1"})
    assert letters_held(line.maps[-1]) == {3: {"I", "J"}}
    line.publish({"J": "1", "X": "3"})
    assert letters_held(line.maps[-1]) == {3: {"J", "X"}}
    line.publish({"J": "1", "I": "3", "X": "3"})
    assert line.evolved[-1].counts["withheld"] == 1
    assert letters_held(line.maps[-1]) == {3: {"J", "X"}}
    assert all(isinstance(verdict, Passed) for verdict in line.verdicts)


def test_whoever_moved_is_one_person_in_every_version():
    line = moved_twice()
    versions = SeenPeople([MapOfLine(0, map_) for map_ in line.maps]).versions_showing("s")
    assert all(len(np.unique(version.person)) == len(version.person) for version in versions)
    groups = [
        dict(zip(version.person.tolist(), version.group.tolist(), strict=True))
        for version in versions
    ]
    moved = [
        p
        for p in groups[0]
        if [groups_of_version.get(p) for groups_of_version in groups] == [2, 0, 3]
    ]
    assert len(moved) == 1
    assert all(version.live[version.person == moved[0]].all() for version in versions)


def test_newcomers_move_too_and_are_nobody_who_was_moved():
    """X has the slot of somebody of a group that is closed, and ends in another."""
    counts_found = Counter()
    for seed in range(30):
        line = in_threes("AI", seed=seed, X="2")
        now = line.maps[-1]
        counts = line.evolved[-1].counts
        assert (counts["refilled"], counts["moved"]) == (1, 1)
        assert len(letters_held(now)) == 1
        assert (now.key == b"X").sum() == 1
        assert now.past.key.tolist().count(b"X") == 0
        assert isinstance(line.verdicts[-1], Passed)
        counts_found[now.past.key.tolist()[0]] += 1
    assert len(counts_found) > 1


def test_where_slots_are_given_in_pairs_nobody_comes_to_a_group_alone():
    wish = {**CLOSING, "vacancies": "paired"}
    assert in_threes("ABI", wish).evolved[-1].counts["moved"] == 0
    line = in_threes("AHI", wish)
    assert line.evolved[-1].counts["moved"] in (0, 2)
    moved = Counter()
    for seed in range(25):
        rng = np.random.default_rng([6, seed])
        line = Growing(sets(3), wish, seed=seed)
        people = {f"{n}": "123"[n % 3] for n in range(45)}
        line.publish(people)
        stay = [person for person in people if person == "0" or rng.random() < 0.4]
        line.publish({person: people[person] for person in stay})
        before, now = line.maps
        was = {p: g for g, all_ in letters_held(before).items() for p in all_}
        came = Counter(g for g, all_ in letters_held(now).items() for p in all_ if was[p] != g)
        assert 1 not in came.values()
        moved[min(came.values(), default=0)] += 1
    assert moved[2] > 4


def test_nobody_moves_out_of_or_into_a_group_of_which_somebody_was_forgotten():
    line = Growing(in_their_order, CLOSING)
    everybody = dict(zip(LETTERS, "123" * 2, strict=False))
    line.publish(everybody)
    first = line.maps[0]
    first.key[first.key == b"B"] = b""
    line.publish({"A": "1", "F": "3"})
    assert line.evolved[-1].counts["moved"] == 0
    assert isinstance(line.verdicts[-1], Passed)


def test_nobody_moves_between_groups_of_other_values_or_of_values_that_repeat():
    for people in ("123124", "112112"):
        here = "AE" if people == "123124" else "AF"
        assert in_threes(here, people=people).evolved[-1].counts["moved"] == 0


def test_nobody_moves_to_another_stratum():
    shape = replace(GROUPED, frozen=frozenset(["s"]))
    everybody = dict(zip(LETTERS, "123" * 2, strict=False))

    def publish_strata(places, then=None):
        line = Growing(in_their_order, CLOSING, shape=shape)
        line.publish(everybody, places)
        line.publish({"A": "1", "B": "2", "F": "3"}, then or places)
        return line.evolved[-1].counts["moved"]

    alike = dict.fromkeys(everybody, "west")
    assert publish_strata(alike) == 1
    assert publish_strata({**alike, "D": "east", "E": "east", "F": "east"}) == 0
    assert publish_strata(alike, {**alike, "F": "east"}) == 0
    assert publish_strata(alike, {**alike, "B": "east", "F": "east"}) == 0


def test_groups_of_too_few_are_closed_instead_of_shown_no_more_with_their_people():
    line = in_threes("ABI", {**CLOSING, "retire": "2/3"})
    assert line.evolved[-1].counts["in_retired_groups"] == 0
    assert letters_held(line.maps[-1]) == {0: {"A", "B", "I"}}


def strays(line, movable=("s",)):
    before, now = line.maps[-2:]
    members = members_of(before, now, ["s"])
    is_shown = now.published >= 0
    previous = np.full(int(now.published.max()) + 1, -1)
    of_before = dict(zip(before.group.tolist(), before.published.tolist(), strict=True))
    previous[now.published[is_shown]] = [of_before.get(g, -1) for g in now.group[is_shown].tolist()]
    return count_strays(before, now, members, previous, movable)


def test_people_move_only_where_the_line_says_so():
    line = in_threes("ABI")
    assert strays(line) == 0
    assert strays(line, movable=()) == 1


@pytest.mark.parametrize("guard", ["a set", "the same set", "said to have moved"])
def test_the_gate_finds_out_people_who_were_moved_wrongly(guard):
    """Each is what a pipeline without that rule would leave in the map."""
    line = in_threes("ABI")
    before, now = line.maps
    if guard == "said to have moved":
        kind = np.where(now.kind == MOVED, VACANT, now.kind).astype(np.int8)
        line.maps[-1] = replace(now, kind=kind)
        assert members_of(before, line.maps[-1], ["s"]).lost or strays(line)
        return
    for slots in (before, now):
        codes = slots.rows["s"].codes.copy()
        groups = {2} if guard == "the same set" else {0, 2}
        codes[np.isin(slots.group, list(groups)) & (codes == 1)] = 0
        rows = replace(slots.rows, columns=(replace(slots.rows["s"], codes=codes),))
        line.maps[line.maps.index(slots)] = replace(slots, rows=rows)
    assert strays(line) == 1
    assert isinstance(judge_map(*line.maps, promises=[entropy("1.5")]), Refused)
