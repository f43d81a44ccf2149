"""Widths and errors in words that everybody understands."""

from collections.abc import Mapping, Sequence
from typing import Any

_TIMES = 10  # from there on a share is told as so many times
_NOTHING_TOLD = 2.0  # a width by its middle: from nought, or below, to twice the middle


def share_in_words(share: float) -> str:
    """A width or an error by what it is of: three digits at most, and never thousands of percent.

    >>> [share_in_words(share) for share in (0.0714, 0.00042, 1.5, 183.6499)]
    ['7.1 %', '0.042 %', '150 %', '184 times']
    """
    if share >= _TIMES:
        return f"{share:,.0f} times"
    percent = 100 * share
    if percent >= 100:
        return f"{percent:.0f} %"
    return f"{percent:.2g} %" if percent < 10 else f"{percent:.3g} %"


def width_in_words(median: float | None) -> str:
    """What a median width by the middle of the bounds says about half of the queries.

    >>> width_in_words(0.14)
    'within ±7 % for half of the questions'
    >>> width_in_words(2.5)
    'tells little: for half of the questions the bounds begin at nought or below it'
    >>> width_in_words(0.0), width_in_words(None)
    ('exact for half of the questions', 'not told: no question had an answer with a size')
    """
    if median is None:
        return "not told: no question had an answer with a size"
    if not median:
        return "exact for half of the questions"
    if median >= _NOTHING_TOLD:
        return "tells little: for half of the questions the bounds begin at nought or below it"
    return f"within ±{share_in_words(median / 2)} for half of the questions"


def accuracy_lines(summaries: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each workload and level of a public summary."""
    told = [s for s in summaries if {"workload", "level", "median"} <= set(s)]
    return [f"{s['workload']}, {s['level']}: {width_in_words(s['median'])}" for s in told]
