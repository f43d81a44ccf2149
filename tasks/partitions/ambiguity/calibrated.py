"""Groups that grow until all of them together keep α: calibrated ambiguity, decided exactly.

Where many groups cover the same vectors, their presences add up. A group stops at a presence of its
own, α' < α, the largest that a search finds; leftover rows then join groups as well. The combined
presence is nearly proportional to α', but for jumps: the search follows the line between the two
nearest ends in logarithms, and halves what is left once that stays on one side. The construction
is this project's own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, log
from typing import NamedTuple

import numpy as np

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.groups.counting import cover
from sfumato.expectations.groups.covering import Covering, covering
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.measures.joined_presence import joint_presence
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.partitions.ambiguity.groups import Stratum, grow
from sfumato.tasks.partitions.ambiguity.residue import place_rows
from sfumato.tasks.partitions.ambiguity.rule import AmbiguityRule

_ROUNDS = 3
_SURELY = 1 + 1e-9  # above what rounding adds
_LEAST = 1e-6
_STEPS = 12
_NEAR = 0.01  # in logarithms: α is reached as well as that
_ON_THE_LINE = 3  # steps that may move one end alone
_EDGE = 0.05  # of what is between the ends, to stay away from both
_DIGITS = 10**12


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


@dataclass(frozen=True, eq=False)
class CalibratedGroups:
    """The group of each row (int64, -1 for none), and the number of leftover rows placed."""

    group: np.ndarray
    placed: int


def group_rows(
    rows: int,
    parts: Sequence[Stratum],
    rule: AmbiguityRule,
    stop: Fraction,
    probes: int,
    repeats: bool,
) -> CalibratedGroups:
    """Groups of all strata, each grown until its presence is `stop`, and leftover rows placed.

    Args:
        rows: the number of rows in all strata.
        parts: the strata.
        rule: the rule that a group must keep after leftover rows joined.
        stop: the presence at which a group stops growing.
        probes: the number of rows looked at for each one that a group takes.
        repeats: whether a sensitive value may occur several times in a group.
    """
    group, groups, joined = np.full(rows, -1, dtype=np.int64), 0, 0
    for part in parts:
        many = len(part.rows)
        grown = grow(part, rule.limits(stop, many, part.domain, repeats), probes)
        found = place_rows(part, grown, rule.limits(rule.alpha, many, part.domain, repeats))
        group[part.rows] = np.where(found >= 0, found + groups, -1)
        groups += int(found.max(initial=-1)) + 1
        joined += int((found >= 0).sum() - (grown >= 0).sum())
    return CalibratedGroups(group, joined)


def calibrate(
    microdata: Microdata, parts: Sequence[Stratum], rule: AmbiguityRule, probes: int
) -> tuple[CalibratedGroups, Fraction]:
    """Groups whose combined presence is at most α, and the presence at which each stopped.

    Of the solutions found, it is the one that leaves out the fewest rows, then has the most groups.

    Raises:
        PromiseError: where no presence to stop at gives groups that are proven to keep α.
    """
    search = _StopSearch(log(_LEAST), log(rule.alpha))
    best, fewest = None, (microdata.rows, 0)
    for _ in range(_STEPS):
        tried = search.next()
        stop = Fraction(int(exp(tried) * _DIGITS), _DIGITS)
        found = group_rows(microdata.rows, parts, rule, stop, probes, repeats=True)
        shown = covering(covers_of(microdata, found.group), rule.quasi_identifiers)
        reached = NOTHING_SHOWN if shown is None else together(shown, rule.alpha)
        search.note(tried, reached, rule.alpha)
        left = int((found.group < 0).sum()), -int(found.group.max())
        if reached.kept is not None and left < fewest:
            best, fewest = (found, stop), left
        if search.ended:
            break
    if best is None:
        raise PromiseError("no groups were found that are proven to keep α together")
    return best


@dataclass
class _StopSearch:
    """Where α' may lie, in logarithms: α is kept at `low`, and not at `high`.

    `under` and `over` are how far the combined presence was below α and above it at these ends,
    None where it was not measured. `run` is how often the same end, the lower one if `kept`, has
    moved in a row; once that is often, what is left is always halved.
    """

    low: float
    high: float
    under: float | None = None
    over: float | None = None
    run: int = 0
    kept: bool = False
    halving: bool = False

    def next(self) -> float:
        """What to try next, inside of both ends."""
        middle = (self.low + self.high) / 2
        if self.halving:
            return middle
        inside = self._on_the_line(middle)
        edge = min((self.high - self.low) * _EDGE, _NEAR / 2)
        return min(max(inside, self.low + edge), self.high - edge)

    def _on_the_line(self, middle: float) -> float:
        """Where it would be nearly α; of one end alone, if it were proportional to α'."""
        if self.under is not None and self.over is not None:
            share = (self.under - _NEAR / 2) / (self.under + self.over)
            return self.low + (self.high - self.low) * share
        if self.over is not None:
            found = self.high - self.over - _NEAR / 2
        elif self.under is not None:
            found = self.low + self.under - _NEAR / 2
        else:
            return middle
        return found if self.low < found < self.high else middle

    def note(self, tried: float, reached: JoinedPresence, alpha: Fraction) -> None:
        """Move an end to what was tried."""
        kept = reached.kept is not None
        if kept:
            self.low, self.under = tried, _apart(reached.about, alpha)
        else:
            self.high, self.over = tried, _apart(alpha, reached.about)
        self.run, self.kept = 1 + self.run * (kept == self.kept), kept
        self.halving |= self.run >= _ON_THE_LINE

    @property
    def ended(self) -> bool:
        """Whether nothing better is to be expected."""
        near = self.under is not None and self.under <= _NEAR
        return near or self.high - self.low <= _NEAR


def _apart(less: Fraction | float, more: Fraction | float) -> float | None:
    """How far two presences are apart in logarithms; None where that tells nothing."""
    return log(more) - log(less) if 0 < less <= more else None
