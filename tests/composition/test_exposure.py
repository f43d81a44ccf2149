"""Exposure by intersection and subtraction, against Python's own sets."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from sfumato.expectations.composition.exposure import (
    CombinedExposure,
    Faced,
    exposure,
    values_by_intersection,
    values_by_subtraction,
)
from sfumato.expectations.composition.gate import Passed
from tests.composition.lines import judge, show_version
from tests.composition.oracle import candidates, read
from tests.composition.random_lines import mixing
from tests.composition.vectors import T1, T3, T5, T7, T9, T13, distinct


def exposure_of(line, most=3):
    return exposure([show_version(version) for version in read(line)], "s", most)


def test_intersection_alone_does_not_see_who_came_and_left():
    faced = exposure_of(T1)
    assert faced == CombinedExposure(Faced(4, 0, 2), Faced(1, 1, 1), Faced(1, 1, 1))


@pytest.mark.parametrize(("line", "newcomers"), [(T7, Faced(1, 1, 1)), (T5, Faced(3, 0, 0))])
def test_newcomers(line, newcomers):
    assert exposure_of(line).newcomers == newcomers


def test_those_who_leave_as_they_came_face_what_they_did():
    assert exposure_of(T9).leavers == Faced(3, 0, 0)


def test_sets_that_are_mixed_tell_nothing():
    assert exposure_of(T3) == CombinedExposure(Faced(6, 0, 0), Faced(0, 0, 0), Faced(0, 0, 0))


def test_two_lines_intersect():
    assert exposure_of(T13, 2).intersection == Faced(6, 2, 2)  # and one world in truth


@pytest.mark.parametrize("line", ["AB:12 / AB:34", "AB:34 / AB:12"])
def test_whose_value_changed_is_not_counted(line):
    assert exposure_of(line) == CombinedExposure(Faced(2, 0, 0), Faced(0, 0, 0), Faced(0, 0, 0))


def test_large_groups_are_compared_in_parts(monkeypatch):
    rng = np.random.default_rng(3)
    line = [mixing(rng) for _ in range(20)]
    whole = [[show_version(v) for v in versions] for versions in line]
    expected = [exposure(versions, "s", 2) for versions in whole]
    monkeypatch.setattr("sfumato.expectations.composition.exposure._AT_ONCE", 2)
    assert [exposure(versions, "s", 2) for versions in whole] == expected


def sets(line):
    """The common values of each live person's groups."""
    possible = {}
    for version in line:
        for people, values in version:
            for person in filter(str.isupper, people):
                possible[person] = possible.get(person, set(values)) & set(values)
    return possible


def differences(first, other):
    """Yield what newcomers of `other` face, by their groups and all groups that share people."""
    merged = [({*past.upper()}, Counter(values), set()) for past, values in first]
    merged += [({*people.upper()}, Counter(), {g}) for g, (people, _) in enumerate(other)]
    while True:
        pair = next(((a, b) for i, a in enumerate(merged) for b in merged[:i] if a[0] & b[0]), None)
        if pair is None:
            break
        a, b = pair
        merged = [m for m in merged if m is not a and m is not b]
        merged.append((a[0] | b[0], a[1] + b[1], a[2] | b[2]))
    before = {u for people, _ in first for u in people.upper()}
    for people, counts, groups in merged:
        more = sum((Counter(other[g][1]) for g in groups), Counter()) - counts
        new = people - before
        for g in groups:
            for person in set(filter(str.isupper, other[g][0])) & new:
                is_told = more.total() == len(new)
                yield person, len(set(other[g][1]) & set(more) if is_told else set(other[g][1]))


def test_both_attacks_are_those_of_sets():
    rng = np.random.default_rng(8)
    exact = 0
    for _ in range(400):
        line = mixing(rng)
        versions = [show_version(version) for version in line]
        faced = sets(line)
        assert sorted(values_by_intersection(versions, "s")) == sorted(map(len, faced.values()))
        for i in range(1, len(line)):
            for a, b in ((i - 1, i), (i, i - 1)):
                expected = sorted(n for _, n in differences(line[a], line[b]))
                assert sorted(values_by_subtraction(versions[a], versions[b], "s")) == expected
                exact += expected.count(1)
    assert exact > 50


def test_attacks_find_no_more_than_worlds_tell():
    rng = np.random.default_rng(9)
    for _ in range(150):
        line = mixing(rng)
        true = candidates(line)
        for person, values in sets(line).items():
            assert true[person] <= values
        for a, b in pairwise(line):
            for first, other in ((a, b), (b, a)):
                for person, number in differences(first, other):
                    assert len(true[person]) <= number


def test_what_passes_by_atoms_is_not_exposed():
    rng = np.random.default_rng(10)
    passed = 0
    for _ in range(400):
        line = mixing(rng)
        *_, verdict = judge(line, [distinct(2)])
        if isinstance(verdict, Passed):
            faced = exposure([show_version(version) for version in line], "s", 2)
            assert {f.few for f in (faced.intersection, faced.newcomers, faced.leavers)} == {0}
            passed += 1
    assert passed > 30
