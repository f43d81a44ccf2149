"""Promises that counts decide: of a part's rows, its different values and the most frequent one.

`LOOPS` has the functions that are compiled, in the order in which they call one another.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from sfumato.expectations.models.alpha_k import AlphaK
from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.l_diversity import DistinctLDiversity
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.partitions.shared.thresholds import largest_k, largest_l, smallest_alpha

_INT32 = 2**31 - 1


class CountRule(NamedTuple):
    """The least rows and different sensitive values of a part, and the largest share of a value."""

    rows: int
    values: int
    numerator: int
    denominator: int


def count_rule(promises: Sequence[PrivacyModel]) -> CountRule | None:
    """The rule that a part keeps where it keeps all promises; None where counts do not decide."""
    if not all(map(_is_counted, promises)):
        return None
    share = Fraction(smallest_alpha(promises))
    return CountRule(largest_k(promises), largest_l(promises), share.numerator, share.denominator)


def _is_counted(promise: PrivacyModel) -> bool:
    """True where a part's rows, different values and most frequent value decide."""
    if isinstance(promise, AlphaK):
        return promise.values is None and Fraction(promise.alpha).denominator <= _INT32
    return isinstance(promise, KAnonymity) or (
        isinstance(promise, DistinctLDiversity) and not promise.known
    )


def _keeps(values: np.ndarray, rule: CountRule, tally: np.ndarray) -> bool:
    """True where sensitive values are different and rare enough; `tally` is 0 before and after."""
    distinct, most, seen = 0, 0, 0
    for value in values:
        tally[value] += 1
        distinct += tally[value] == 1
        most = max(most, tally[value])
        seen += 1
        if distinct >= rule.values and rule.numerator == rule.denominator:
            break
    for value in values[:seen]:
        tally[value] = 0
    return distinct >= rule.values and most * rule.denominator <= rule.numerator * len(values)


def all_keep(values: np.ndarray, ends: np.ndarray, rule: CountRule, tally: np.ndarray) -> bool:
    """True where all parts keep the rule about sensitive values.

    Args:
        values: the sensitive values of the parts' rows, one part after the other (int32).
        ends: where each part ends in `values` (int32).
        rule: the rule.
        tally: room for every value (int32), 0 before and after.
    """
    begin = 0
    for end in ends:
        if not _keeps(values[begin:end], rule, tally):
            return False
        begin = end
    return True


LOOPS = (_keeps, all_keep)
