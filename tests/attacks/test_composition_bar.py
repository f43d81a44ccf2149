"""The bar on composition, against all worlds of small lines: who is told is known in each world."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from sfumato.expectations.composition.exposure import exposure
from sfumato.tasks.attacks.linking import composition
from sfumato.tasks.attacks.shared.beliefs import SuccessShare
from sfumato.tasks.terms.terms import ColumnExposure, FacedPeople, JointExposure
from tests.composition.lines import show_version
from tests.composition.oracle import candidates, read
from tests.composition.random_lines import mixing


def judge_line(line):
    """Return what the bar is judged on, of the last version beside those before it."""
    faced = exposure([show_version(version) for version in line], "s", 2)
    parts = {name: FacedPeople(**vars(faced_people)) for name, faced_people in vars(faced).items()}
    column = ColumnExposure(column="s", asked=2, **parts)
    joint = JointExposure(versions=len(line), lines=1, columns=(column,))
    return composition.successes(
        SimpleNamespace(declared=SimpleNamespace(exposure=joint), sensitive="s")
    )


def live(version):
    return {person for people, _ in version for person in people if person.isupper()}


def alone_by_intersection(line):
    """Who has one value that each version by itself allows them, in some world of its own."""
    remaining = {}
    for version in line:
        candidates_of = candidates([version])
        for person in live(version):
            remaining[person] = remaining.get(person, candidates_of[person]) & candidates_of[person]
    return {person for person, values in remaining.items() if len(values) == 1}


def known_who_came(line):
    """Who came after one version, and has one value in all worlds of it and the next, each time."""
    people = []
    for earlier, other in pairwise(line):
        before = {person.upper() for people, _ in earlier for person in people}
        candidates_of = candidates([earlier, other])
        people += [p for p in live(other) - before if len(candidates_of[p]) == 1]
    return people


def everybody(line):
    return set().union(*map(live, line))


@pytest.mark.parametrize(
    ("line", "share"),
    [
        ("AB:12 / AC:13", 1),  # A has 1, so B has 2 and C has 3: three, and each once more
        ("AB:12 CD:12 / AC:12 BD:12", 0),
        ("ABC:123 / ABCD:1234", 1 / 4),
        ("ABCD:1234 / ABC:123", 1 / 4),
    ],
)
def test_by_hand(line, share):
    assert judge_line(read(line)).share == share


@pytest.mark.parametrize("seed", range(120))
def test_who_faces_one_value_alone_has_it_in_every_world(seed):
    line = mixing(np.random.default_rng(seed), people=7)
    faced = exposure([show_version(version) for version in line], "s", 2)
    alone, joint = alone_by_intersection(line), candidates(line)
    exposed = {person for person in everybody(line) if len(joint[person]) == 1}
    assert faced.intersection.one == len(alone)
    assert faced.intersection.people == len(everybody(line))
    assert alone <= exposed
    came, leavers = known_who_came(line), known_who_came(line[::-1])
    assert faced.newcomers.one <= len(came)
    assert faced.leavers.one <= len(leavers)
    assert {*came, *leavers} <= exposed
    most = len(alone) + len(came) + len(leavers)
    least = len(alone) / len(everybody(line))
    assert least <= judge_line(line).share <= min(1, most / len(everybody(line)))
    assert bool(judge_line(line).share) <= bool(exposed), "nobody is counted whom no world tells"


def test_what_all_worlds_tell_beyond_it_is_seen_in_few_lines():
    """The guide says so: who is known is not counted in some lines, and never the other way."""
    missed = met = 0
    for seed in range(400):
        line = mixing(np.random.default_rng(seed), people=7)
        joint = candidates(line)
        count = sum(len(joint[person]) == 1 for person in everybody(line))
        met += count > 0
        missed += count > 0 and not judge_line(line).share
    assert 0 < missed < met / 5


def test_nobody_is_counted_where_nobody_is_in_another_version():
    nothing = SimpleNamespace(
        declared=SimpleNamespace(exposure=None), sensitive="s", people=SimpleNamespace(rows=7)
    )
    assert composition.successes(nothing) == SuccessShare(7, 0.0)
