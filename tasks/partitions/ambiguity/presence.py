"""The largest presence of any vector by all groups together, decided exactly."""

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from sfumato.expectations.groups.counting import cover
from sfumato.expectations.groups.covering import Covering
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.measures.joined_presence import joint_presence
from sfumato.tasks.microdata.table import Microdata

_ROUNDS = 3
_SURELY = 1 + 1e-9  # above what rounding adds


class JoinedPresence(NamedTuple):
    """About how large the largest presence by all groups is, and exactly: None where not kept."""

    about: float
    kept: Fraction | None


NOTHING_SHOWN = JoinedPresence(0.0, Fraction(0))


def covers_of(microdata: Microdata, group: np.ndarray) -> Groups:
    """The groups as their quasi-identifiers are published; `group` (int64, -1 for none) per row."""
    inside = np.flatnonzero(group >= 0)
    covers = {
        column.name: cover(group[inside], column.category()[0][inside], column.category()[1])
        for column in microdata.with_roles("quasi-identifier")
    }
    return Groups(np.bincount(group[inside]), {}, covers)


def together(shown: Covering, alpha: Fraction) -> JoinedPresence:
    """The largest combined presence; not kept where it is above α, or could not be found."""
    about = _climbed(shown)
    if about > float(alpha) * _SURELY:
        return JoinedPresence(about, None)
    found = joint_presence(shown)
    if found is None or found.largest > alpha:
        return JoinedPresence(about, None)
    return JoinedPresence(float(found.largest), found.largest)


def _climbed(shown: Covering) -> float:
    """The presence of a vector that many groups cover, each value the best given the others."""
    weights = shown.rounded()
    hit = np.ones((len(shown.covers), len(weights)), dtype=bool)
    best = 0.0
    for _ in range(_ROUNDS):
        for at, admitted in enumerate(shown.covers):
            others = np.delete(hit, at, axis=0).all(axis=0)
            totals = np.bincount(admitted.value, (weights * others)[admitted.group])
            hit[at] = False
            hit[at, admitted.group[admitted.value == totals.argmax()]] = True
            best = max(best, float(totals.max()))
    return best
