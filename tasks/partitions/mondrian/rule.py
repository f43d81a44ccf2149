"""Promises that counts decide, of one sensitive attribute in a part and in all rows.

`LOOPS` has the functions that are compiled, in the order in which they call one another.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from sfumato.expectations.exact import INT64_MAX
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
    """What a part keeps: integers, but for two arrays of a number for each sensitive value (int64).

    It has at least so many `rows` and different `values`; the most frequent value is a share of at
    most `numerator / denominator`. Where `rank` is not 0, that value is rarer than `more / less`
    times all from this rank on. Where `units` has numbers, the values are at least `gap` apart.
    Beside those of all rows they keep `spread` and `shares`.
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
    """The rule that a part keeps where it keeps all promises; None where counts do not decide."""
    promises = judge.promises
    named = {promise.sensitive for promise in promises if promise.sensitive}
    if len(named) > 1 or judge.person is not None or not all(map(_is_counted, promises)):
        return None
    share = Fraction(smallest_alpha(promises))
    rank, more, less = _recursive(promises)
    k, gap, units = _apart(judge)
    coded = next(iter(judge.sensitive.values()), None)
    spread, shares = spread_rule(promises, coded), share_rule(promises, coded)
    if spread is None or shares is None:
        return None
    found = CountRule(
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
    return found if _fits(found, judge.rows) else None


def _is_counted(promise: PrivacyModel) -> bool:
    """True where the counts of a part and of all rows decide."""
    match promise:
        case AlphaK():
            return promise.values is None
        case DistinctLDiversity() | RecursiveLDiversity() | EntropyLDiversity():
            return promise.by_ranks
    beside_all = TCloseness | DeltaDisclosure | BetaLikeness
    return isinstance(promise, KAnonymity | KEAnonymity | beside_all)


def _recursive(promises: Sequence[PrivacyModel]) -> tuple[int, int, int]:
    """The rank and c of the only promise that bounds the most frequent value by rarer ones."""
    found = [promise for promise in promises if isinstance(promise, RecursiveLDiversity)]
    if not found:
        return 0, 1, 1
    c = Fraction(found[0].c)
    return (found[0].l if len(found) == 1 else _RANKS + 1), c.numerator, c.denominator


def _apart(judge: PartJudge) -> tuple[int, int, np.ndarray]:
    """The least number of different values, and by how much they are apart, in units."""
    found = [promise for promise in judge.promises if isinstance(promise, KEAnonymity)]
    if not found:
        return 1, 0, np.zeros(0, dtype=np.int64)
    asked = strictest_ke(found)
    numbers = judge.sensitive[str(asked.sensitive)].numbers
    if numbers is None:
        return asked.k, INT64_MAX + 1, np.zeros(0, dtype=np.int64)
    return asked.k, numbers.at_least(asked.e), numbers.units


def _fits(rule: CountRule, rows: int) -> bool:
    """True where no product overflows."""
    small = max(rule.denominator, rule.more, rule.less) <= _INT32 and rule.rank <= _RANKS
    whole = fits(rule.spread, rows) and rule.gap <= INT64_MAX and rows <= _INT32
    return small and whole and rule.units.dtype == np.int64


def _count(values: np.ndarray, tally: np.ndarray, enough: int) -> int:
    """Count each value until enough are different, list those in the second half; their number."""
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
    """The number of different values that suffices, -1 where something else is asked for."""
    shares = rule.numerator < rule.denominator or rule.rank > 0 or rule.spread.uncertainty > 0
    spread = len(rule.spread.totals) + len(rule.spread.below) + len(rule.spread.nodes) > 0
    others = len(rule.shares.most) + len(rule.units) > 0
    return -1 if shares or spread or others else rule.values


def _is_rare(most: Any, found: np.ndarray, rows: int, rule: CountRule, tally: np.ndarray) -> bool:
    """True where the most frequent value is rare beside those from a rank on; reorders `found`."""
    tail = rows
    for rank in range(min(rule.rank - 1, len(found))):
        for at in range(rank + 1, len(found)):
            if tally[found[at]] > tally[found[rank]]:
                found[at], found[rank] = found[rank], found[at]
        tail -= tally[found[rank]]
    return bool(rule.rank == 0 or most * rule.less < tail * rule.more)


def _is_wide(found: np.ndarray, rule: CountRule) -> bool:
    """True where the values are far enough apart; they are numbered in ascending order."""
    if len(rule.units) == 0:
        return True
    return bool(rule.units[found.max()] - rule.units[found.min()] >= rule.gap)


def _keeps(values: np.ndarray, rule: CountRule, tally: np.ndarray) -> bool:
    """True where the sensitive values of a part keep the rule; `tally` is 0 before and after."""
    rows, most, distinct = len(values), 0, _count(values, tally, _enough(rule))
    found = tally[len(tally) // 2 :][:distinct]
    for value in found:
        most = max(most, tally[value])
    kept = (
        distinct >= rule.values
        and most * rule.denominator <= rule.numerator * rows
        and _is_rare(most, found, rows, rule, tally)
        and is_near(found, rows, rule.spread, tally)
        and is_uncertain(found, rows, rule.spread, tally)
        and is_shared(found, rows, rule.shares, tally)
        and _is_wide(found, rule)
    )
    for value in found:
        tally[value] = 0
    return kept


def all_keep(values: np.ndarray, ends: np.ndarray, rule: CountRule, tally: np.ndarray) -> bool:
    """True where all parts keep the rule about sensitive values.

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
