"""Why an answer of a calibrated release has no interval beside its bounds."""

from dataclasses import replace

from sfumato.tasks.query.bounds.bounds import Bounds, Likely
from sfumato.tasks.query.intervals.shapes.limits import LEAST_GROUPS, LEAST_ROWS

EXACT = "the answer is exact: both bounds are it"
NOTHING = "no row is selected"
SMALL = f"fewer than {LEAST_ROWS} rows or {LEAST_GROUPS} groups are selected, or may be"
OUTSIDE = "the query is of none of the families that the publisher calibrated"
CALCULATED = "it is calculated of several columns or aggregates, of which no family is calibrated"


def with_reason(bounds: Bounds) -> Bounds:
    """Bounds that have an interval, or the reason why there is none."""
    if bounds.likely is not None:
        return bounds
    if bounds.lower is None or bounds.upper is None:
        reason = NOTHING
    else:
        reason = EXACT if bounds.lower == bounds.upper else CALCULATED
    return replace(bounds, likely=Likely(None, reason))
