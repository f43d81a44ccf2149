"""Groups that grow until all of them together keep α: calibrated ambiguity, decided exactly.

A vector is a combination of one value of each quasi-identifier. If many groups cover the same
vectors, their presences add up to the combined presence. A group therefore stops at a smaller
presence of its own, α' < α, the largest that a search finds; leftover rows then join groups as
well. The combined presence is nearly proportional to α', apart from jumps. The search interpolates
between the two nearest ends in logarithms, and halves the interval once several steps in a row
moved the same end. The construction is this project's own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, log
from typing import NamedTuple

import numpy as np

from sfumato.expectations.groups.counting import cover
from sfumato.expectations.groups.covering import Covering, covering
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.measures.joined_presence import joint_presence
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.partitions.ambiguity.groups import Stratum, grow
from sfumato.tasks.partitions.ambiguity.residue import place_rows
from sfumato.tasks.partitions.ambiguity.rule import AmbiguityRule

_ROUNDS = 3  # of the ascent, over all quasi-identifiers
_SURELY = 1 + 1e-9  # above what rounding adds
_LEAST = 1e-6  # smallest α' that is tried
_STEPS = 12  # values of α' that are tried, at most
_NEAR = 0.01  # in logarithms: α is reached as well as that
_ON_THE_LINE = 3  # steps in a row that may move one end
_EDGE = 0.05  # of what is between the ends, to stay away from both
_DIGITS = 10**12  # denominator of α'


class JoinedPresence(NamedTuple):
    """The largest presence by all groups: approximately, and exactly.

    `exact` is None if it is above α, or could not be decided.
    """

    about: float
    exact: Fraction | None


NOTHING_SHOWN = JoinedPresence(0.0, Fraction(0))


def covers_of(microdata: Microdata, group: np.ndarray) -> Groups:
    """Return the groups as their quasi-identifiers are published.

    `group` is the group of each row (int64, -1 for none).
    """
    inside = np.flatnonzero(group >= 0)
    covers = {
        column.name: cover(group[inside], column.category()[0][inside], column.category()[1])
        for column in microdata.with_roles("quasi-identifier")
    }
    return Groups(np.bincount(group[inside]), {}, covers)


def combined_presence(coverage: Covering, alpha: Fraction) -> JoinedPresence:
    """Return the largest combined presence; `exact` is None if it is above α or undecided."""
    about = _climb(coverage)
    if about > float(alpha) * _SURELY:
        return JoinedPresence(about, None)
    joint = joint_presence(coverage)
    if joint is None or joint.largest > alpha:
        return JoinedPresence(about, None)
    return JoinedPresence(float(joint.largest), joint.largest)


def _climb(coverage: Covering) -> float:
    """Return the presence of a vector that many groups cover, found by coordinate ascent.

    In turn, the vector's value of each quasi-identifier becomes the best one, given its other
    values. In the first round a quasi-identifier that has no value yet excludes no group, so that
    the result can be above the presence of every vector.
    """
    weights = coverage.rounded_presences()
    # hit[i, j]: group j admits the vector's value of quasi-identifier i, or there is no value yet
    hit = np.ones((len(coverage.covers), len(weights)), dtype=bool)
    best = 0.0
    for _ in range(_ROUNDS):
        for column, admitted in enumerate(coverage.covers):
            others = np.delete(hit, column, axis=0).all(axis=0)
            totals = np.bincount(admitted.value, (weights * others)[admitted.group])
            hit[column] = False
            hit[column, admitted.group[admitted.value == totals.argmax()]] = True
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
    """Return groups of all strata, grown until their presence is `stop`, with leftover rows placed.

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
        placed = place_rows(part, grown, rule.limits(rule.alpha, many, part.domain, repeats))
        group[part.rows] = np.where(placed >= 0, placed + groups, -1)
        groups += int(placed.max(initial=-1)) + 1
        joined += int((placed >= 0).sum() - (grown >= 0).sum())
    return CalibratedGroups(group, joined)


def calibrate(
    microdata: Microdata, parts: Sequence[Stratum], rule: AmbiguityRule, probes: int
) -> tuple[CalibratedGroups, Fraction]:
    """Return groups whose combined presence is at most α, and the presence at which each stopped.

    Of the solutions found, it takes the one that leaves out the fewest rows, then has the most
    groups.

    Raises:
        PromiseError: if no presence to stop at gives groups that are proven to keep α.
    """
    search = _StopSearch(log(_LEAST), log(rule.alpha))
    best, fewest = None, (microdata.rows, 0)
    for _ in range(_STEPS):
        tried = search.next()
        stop = Fraction(int(exp(tried) * _DIGITS), _DIGITS)
        grouping = group_rows(microdata.rows, parts, rule, stop, probes, repeats=True)
        coverage = covering(covers_of(microdata, grouping.group), rule.quasi_identifiers)
        reached = NOTHING_SHOWN if coverage is None else combined_presence(coverage, rule.alpha)
        search.note(tried, reached, rule.alpha)
        loss = int((grouping.group < 0).sum()), -int(grouping.group.max())
        if reached.exact is not None and loss < fewest:
            best, fewest = (grouping, stop), loss
        if search.is_done:
            break
    if best is None:
        raise PromiseError(
            "no groups were found that are proven to keep α together; raise alpha, or use "
            "`method: disjoint-cover`"
        )
    return best


@dataclass
class _StopSearch:
    """The interval of α', in logarithms: α is kept at `low`, and not at `high`.

    `under` and `over` are the distances of the combined presence below α and above it at these
    ends, None if it was not measured. `run` counts the steps in a row that moved the same end
    (the lower one if `kept`); once it is large, the interval is always halved.
    """

    low: float
    high: float
    under: float | None = None
    over: float | None = None
    run: int = 0
    kept: bool = False
    halving: bool = False

    def next(self) -> float:
        """Return the next point to try, inside of both ends."""
        middle = (self.low + self.high) / 2
        if self.halving:
            return middle
        inside = self._interpolate(middle)
        edge = min((self.high - self.low) * _EDGE, _NEAR / 2)
        return min(max(inside, self.low + edge), self.high - edge)

    def _interpolate(self, middle: float) -> float:
        """Return the point where the presence would be nearly α.

        If only one end was measured, presence is taken as proportional to α'.
        """
        if self.under is not None and self.over is not None:
            share = (self.under - _NEAR / 2) / (self.under + self.over)
            return self.low + (self.high - self.low) * share
        if self.over is not None:
            guess = self.high - self.over - _NEAR / 2
        elif self.under is not None:
            guess = self.low + self.under - _NEAR / 2
        else:
            return middle
        return guess if self.low < guess < self.high else middle

    def note(self, tried: float, reached: JoinedPresence, alpha: Fraction) -> None:
        """Move an end to the point that was tried."""
        holds = reached.exact is not None
        if holds:
            self.low, self.under = tried, _log_distance(reached.about, alpha)
        else:
            self.high, self.over = tried, _log_distance(alpha, reached.about)
        self.run, self.kept = 1 + self.run * (holds == self.kept), holds
        self.halving |= self.run >= _ON_THE_LINE

    @property
    def is_done(self) -> bool:
        """True if no better point is to be expected."""
        near = self.under is not None and self.under <= _NEAR
        return near or self.high - self.low <= _NEAR


def _log_distance(less: Fraction | float, more: Fraction | float) -> float | None:
    """Return the distance of two presences in logarithms, or None if it is not defined."""
    return log(more) - log(less) if 0 < less <= more else None
