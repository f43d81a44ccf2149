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


def judged(line):
    """What the bar is judged on, of the last version beside those before it."""
    found = exposure([show_version(version) for version in line], "s", 2)
    parts = {name: FacedPeople(**vars(of)) for name, of in vars(found).items()}
    column = ColumnExposure(column="s", asked=2, **parts)
    told = JointExposure(versions=len(line), lines=1, columns=(column,))
    return composition.successes(
        SimpleNamespace(declared=SimpleNamespace(exposure=told), sensitive="s")
    )


def live(version):
    return {person for people, _ in version for person in people if person.isupper()}


def alone_by_intersection(line):
    """Who has one value that each version by itself allows them, in some world of its own."""
    left = {}
    for version in line:
        of = candidates([version])
        for person in live(version):
            left[person] = left.get(person, of[person]) & of[person]
    return {person for person, values in left.items() if len(values) == 1}


def known_who_came(line):
    """Who came after one version, and has one value in all worlds of it and the next, each time."""
    found = []
    for one, other in pairwise(line):
        before = {person.upper() for people, _ in one for person in people}
        of = candidates([one, other])
        found += [p for p in live(other) - before if len(of[p]) == 1]
    return found


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
    assert judged(read(line)).share == share


@pytest.mark.parametrize("seed", range(120))
def test_who_faces_one_value_alone_has_it_in_every_world(seed):
    line = mixing(np.random.default_rng(seed), people=7)
    found = exposure([show_version(version) for version in line], "s", 2)
    alone, joint = alone_by_intersection(line), candidates(line)
    known = {person for person in everybody(line) if len(joint[person]) == 1}
    assert found.intersection.one == len(alone)
    assert found.intersection.people == len(everybody(line))
    assert alone <= known
    came, left = known_who_came(line), known_who_came(line[::-1])
    assert found.newcomers.one <= len(came)
    assert found.leavers.one <= len(left)
    assert {*came, *left} <= known
    most = len(alone) + len(came) + len(left)
    least = len(alone) / len(everybody(line))
    assert least <= judged(line).share <= min(1, most / len(everybody(line)))
    assert bool(judged(line).share) <= bool(known), "nobody is counted whom no world tells"


def test_what_all_worlds_tell_beyond_it_is_seen_in_few_lines():
    """The guide says so: who is known is not counted in some lines, and never the other way."""
    missed = met = 0
    for seed in range(400):
        line = mixing(np.random.default_rng(seed), people=7)
        joint = candidates(line)
        known = sum(len(joint[person]) == 1 for person in everybody(line))
        met += known > 0
        missed += known > 0 and not judged(line).share
    assert 0 < missed < met / 5


def test_nobody_is_counted_where_nobody_is_in_another_version():
    nothing = SimpleNamespace(
        declared=SimpleNamespace(exposure=None), sensitive="s", people=SimpleNamespace(rows=7)
    )
    assert composition.successes(nothing) == SuccessShare(7, 0.0)
