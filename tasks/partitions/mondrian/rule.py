"""Promises that are decided by counts of one sensitive attribute, in a part and in all rows.

`LOOPS` has the functions that are compiled, in the order in which they call one another.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from sfumato.expectations.models.alpha_k import AlphaK
from sfumato.expectations.models.beta_likeness import BetaLikeness
from sfumato.expectations.models.delta_disclosure import DeltaDisclosure
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.models.l_diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.t_closeness import TCloseness
from sfumato.expectations.shared.exact import INT64_MAX
from sfumato.tasks.partitions.mondrian.shares import LOOPS as SHARE_LOOPS
from sfumato.tasks.partitions.mondrian.shares import ShareRule, is_shared, share_rule
from sfumato.tasks.partitions.mondrian.spread import LOOPS as SPREAD_LOOPS
from sfumato.tasks.partitions.mondrian.spread import (
    SpreadRule,
    fits,
    is_near,
    is_uncertain,
    spread_rule,
)
from sfumato.tasks.partitions.shared.judging import PartJudge
from sfumato.tasks.partitions.shared.thresholds import (
    largest_k,
    largest_l,
    smallest_alpha,
    strictest_ke,
)

_INT32 = 2**31 - 1
_RANKS = 16  # of values by frequency, found one after the other


class CountRule(NamedTuple):
    """Limits of a part: integers, and two arrays with a number for each sensitive value (int64).

    A part has at least `rows` rows and `values` distinct values; the most frequent value has a
    share of at most `numerator / denominator`. If `rank` is not 0, that value is rarer than `more /
    less` times all values from this rank on. If `units` has numbers, the values span at least
    `gap`. Compared with all rows, the values keep `spread` and `shares`.
    """

    rows: int
    values: int
    numerator: int
    denominator: int
    rank: int
    more: int
    less: int
    gap: int
    units: np.ndarray
    spread: SpreadRule
    shares: ShareRule


def count_rule(judge: PartJudge) -> CountRule | None:
    """Return the rule that parts with all promises keep; None if counts do not decide."""
    promises = judge.promises
    named = {promise.sensitive for promise in promises if promise.sensitive}
    if len(named) > 1 or judge.person is not None or not all(map(_is_counted, promises)):
        return None
    share = Fraction(smallest_alpha(promises))
    rank, more, less = _recursive(promises)
    k, gap, units = _gap_rule(judge)
    coded = next(iter(judge.sensitive.values()), None)
    spread, shares = spread_rule(promises, coded), share_rule(promises, coded)
    if spread is None or shares is None:
        return None
    rule = CountRule(
        rows=largest_k(promises),
        values=max(k, largest_l(promises)),
        numerator=share.numerator,
        denominator=share.denominator,
        rank=rank,
        more=more,
        less=less,
        gap=gap,
        units=units,
        spread=spread,
        shares=shares,
    )
    return rule if _fits(rule, judge.rows) else None


def _is_counted(promise: PrivacyModel) -> bool:
    """Return True if the counts of a part and of all rows decide."""
    match promise:
        case AlphaK():
            return promise.values is None
        case DistinctLDiversity() | RecursiveLDiversity() | EntropyLDiversity():
            return promise.by_ranks
    beside_all = TCloseness | DeltaDisclosure | BetaLikeness
    return isinstance(promise, KAnonymity | KEAnonymity | beside_all)


def _recursive(promises: Sequence[PrivacyModel]) -> tuple[int, int, int]:
    """Return the rank and c of the promise that bounds the commonest value by rarer ones.

    The rank is 0 if there is no such promise, and too large for `_fits` if there are several, which
    one rule cannot express. c is returned as numerator and denominator.
    """
    recursive = [promise for promise in promises if isinstance(promise, RecursiveLDiversity)]
    if not recursive:
        return 0, 1, 1
    c = Fraction(recursive[0].c)
    return (recursive[0].l if len(recursive) == 1 else _RANKS + 1), c.numerator, c.denominator


def _gap_rule(judge: PartJudge) -> tuple[int, int, np.ndarray]:
    """Return the least number of distinct values, the least range, and the values, both in units.

    If the values have no order, the range is too large for `_fits`.
    """
    promises = [promise for promise in judge.promises if isinstance(promise, KEAnonymity)]
    if not promises:
        return 1, 0, np.zeros(0, dtype=np.int64)
    strictest = strictest_ke(promises)
    numbers = judge.sensitive[str(strictest.sensitive)].numbers
    if numbers is None:
        return strictest.k, INT64_MAX + 1, np.zeros(0, dtype=np.int64)
    return strictest.k, numbers.at_least(strictest.e), numbers.units


def _fits(rule: CountRule, rows: int) -> bool:
    """Return True if loops can judge by the rule: no product overflows, and the rank is small."""
    small = max(rule.denominator, rule.more, rule.less) <= _INT32 and rule.rank <= _RANKS
    whole = fits(rule.spread, rows) and rule.gap <= INT64_MAX and rows <= _INT32
    return small and whole and rule.units.dtype == np.int64


def _count(values: np.ndarray, tally: np.ndarray, enough: int) -> int:
    """Count each value in the first half of `tally`, until `enough` values are distinct.

    The distinct values are listed in the second half. Returns their number. If `enough` is -1, all
    values are counted.
    """
    half, distinct = len(tally) // 2, 0
    for value in values:
        if tally[value] == 0:
            tally[half + distinct] = value
            distinct += 1
        tally[value] += 1
        if distinct == enough:
            break
    return distinct


def _enough(rule: CountRule) -> int:
    """Return the number of distinct values that suffices, -1 if the rule asks for more."""
    shares = rule.numerator < rule.denominator or rule.rank > 0 or rule.spread.uncertainty > 0
    spread = len(rule.spread.totals) + len(rule.spread.below) + len(rule.spread.nodes) > 0
    others = len(rule.shares.most) + len(rule.units) > 0
    return -1 if shares or spread or others else rule.values


def _is_rare(
    most: Any, different: np.ndarray, rows: int, rule: CountRule, tally: np.ndarray
) -> bool:
    """Return True if the commonest value is rare beside those from a rank on.

    Reorders `different`.
    """
    tail = rows
    for rank in range(min(rule.rank - 1, len(different))):
        for other in range(rank + 1, len(different)):
            if tally[different[other]] > tally[different[rank]]:
                different[other], different[rank] = different[rank], different[other]
        tail -= tally[different[rank]]
    return bool(rule.rank == 0 or most * rule.less < tail * rule.more)


def _is_wide(different: np.ndarray, rule: CountRule) -> bool:
    """Return True if the values span enough; they are numbered in ascending order."""
    if len(rule.units) == 0:
        return True
    return bool(rule.units[different.max()] - rule.units[different.min()] >= rule.gap)


def _keeps(values: np.ndarray, rule: CountRule, tally: np.ndarray) -> bool:
    """Return True if the sensitive values of a part keep the rule.

    `tally` is 0 before and after.
    """
    rows, most, distinct = len(values), 0, _count(values, tally, _enough(rule))
    different = tally[len(tally) // 2 :][:distinct]
    for value in different:
        most = max(most, tally[value])
    keeps = (
        distinct >= rule.values
        and most * rule.denominator <= rule.numerator * rows
        and _is_rare(most, different, rows, rule, tally)
        and is_near(different, rows, rule.spread, tally)
        and is_uncertain(different, rows, rule.spread, tally)
        and is_shared(different, rows, rule.shares, tally)
        and _is_wide(different, rule)
    )
    for value in different:
        tally[value] = 0
    return keeps


def all_keep(values: np.ndarray, ends: np.ndarray, rule: CountRule, tally: np.ndarray) -> bool:
    """Return True if all parts keep the rule about sensitive values.

    Args:
        values: the sensitive values of the parts' rows, one part after the other (int32).
        ends: where each part ends in `values` (int32).
        rule: the rule.
        tally: room for every value, twice (int32); the first half is 0 before and after.
    """
    begin = 0
    for end in ends:
        if not _keeps(values[begin:end], rule, tally):
            return False
        begin = end
    return True


LOOPS = (*SPREAD_LOOPS, *SHARE_LOOPS, _count, _enough, _is_rare, _is_wide, _keeps, all_keep)
