"""The likely intervals of a release in words: which queries have them, and their factors."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sfumato.tasks.query.intervals.shapes import FAMILIES, LEAST_GROUPS, LEAST_ROWS
from sfumato.tasks.terms.terms import Declared

_SHOWN = 6  # factors, before `and so on`


@dataclass(frozen=True)
class LikelyLine:
    """A family of queries: what they ask, of which column, and by what intervals are widened."""

    words: str
    of: str
    factor: str


def likely_intervals(declared: Declared) -> dict[str, Any]:
    """What the page tells of intervals; no lines where there are none."""
    if declared.intervals is None:
        return {"likely": []}
    factors = declared.intervals.factors
    return {
        "likely": [
            LikelyLine(FAMILIES[one.family].words, one.of, str(one.factor))
            for one in declared.intervals.families
        ],
        "least": {"rows": LEAST_ROWS, "groups": LEAST_GROUPS},
        "grid": ", ".join(map(str, factors[factors.index(Decimal(1)) :][:_SHOWN])),
    }
