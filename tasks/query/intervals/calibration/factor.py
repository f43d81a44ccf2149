"""The factor that makes intervals meet as many queries as they are said to.

Source: Vovk, Gammerman, Shafer, Algorithmic learning in a random world; Lei, G'Sell, Rinaldo,
Tibshirani, Wasserman, Distribution-free predictive inference for regression (split conformal).
"""

import math
from collections.abc import Sequence
from decimal import Decimal

from sfumato.tasks.schema.stated.intervals import rounded_up

FEWEST = 1_000
"""On fewer queries nothing is calibrated."""


def conformal_quantile(scores: Sequence[float]) -> float:
    """The ⌈(n + 1) · 0.95⌉-th least score; infinite where there are fewer.

    >>> conformal_quantile(range(1, 20)), conformal_quantile(range(1, 19))
    (19.0, inf)
    """
    rank = -(-(len(scores) + 1) * 95 // 100)
    return math.inf if rank > len(scores) else float(sorted(scores)[rank - 1])


def factor_of(scores: Sequence[float]) -> Decimal | None:
    """The quantile rounded up to the grid; None of too few scores, or beyond the grid."""
    return None if len(scores) < FEWEST else rounded_up(conformal_quantile(scores))
