"""Groups that grow until all of them together keep α, not each by itself: calibrated ambiguity.

Where many groups cover the same vectors, their presences add up. A group stops at a presence of its
own, α' < α, the largest that a bisection of ln α' finds; leftover rows then join groups as well.
The construction is this project's own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, log

import numpy as np

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.groups.covering import covering
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.partitions.ambiguity.groups import Stratum, grow
from sfumato.tasks.partitions.ambiguity.presence import covers_of, together
from sfumato.tasks.partitions.ambiguity.residue import place_rows
from sfumato.tasks.partitions.ambiguity.rule import AmbiguityRule

_LEAST = 1e-6
_STEPS = 12
_DIGITS = 10**12


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
    low, high = log(_LEAST), log(rule.alpha)
    best, fewest = None, (microdata.rows, 0)
    for _ in range(_STEPS):
        stop = Fraction(int(exp((low + high) / 2) * _DIGITS), _DIGITS)
        found = group_rows(microdata.rows, parts, rule, stop, probes, repeats=True)
        shown = covering(covers_of(microdata, found.group), rule.quasi_identifiers)
        if shown is not None and together(shown, rule.alpha) is None:
            high = (low + high) / 2
            continue
        low = (low + high) / 2
        unplaced = int((found.group < 0).sum())
        if (unplaced, -int(found.group.max())) < fewest:
            best, fewest = (found, stop), (unplaced, -int(found.group.max()))
    if best is None:
        raise PromiseError("no groups were found that are proven to keep α together")
    return best
