"""Advice where answers would be too wide: what is narrower on this table, and what it discloses.

The figures come from the private table. They belong into `plan` and private reports only.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from sfumato.expectations.shared.errors import SfumatoError
from sfumato.flows.choice.compare import ask_few_alternatives
from sfumato.flows.inputs.overrides import Overrides
from sfumato.tasks.choose.alternative import Alternative, TriedOutcome
from sfumato.tasks.private.failure import stage
from sfumato.tasks.report.numbers import half_width
from sfumato.tasks.report.steward.draft import DraftContent

TOO_WIDE = 0.5
"""The width of bounds, relative to their middle, from which plan looks for something narrower."""
_MOST_ROWS = 200_000  # of a table on which others are tried: with more, that takes minutes
_NARROWER = 0.8  # of the own width: less is worth a word
_TRIED = {
    False: {"full-domain", "mondrian", "auto", "anatomy", "ke", "disjoint-cover"},
    True: {"ke", "anatomy", "auto"},
}
"""The partitions that are tried, with the spec's own promises and with others."""
Tried = tuple[Alternative, TriedOutcome]


def typical_accuracy(accuracy: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the median over workloads of the median of their levels; None without widths.

    >>> by_age = {"workload": "avg(cost) by range of age", "level": 5, "median": 0.2}
    >>> typical_accuracy([by_age, {**by_age, "level": 10, "median": 0.1}])
    0.15000000000000002
    """
    by_workload: dict[str, list[float]] = {}
    for level in accuracy:
        if level.get("median") is not None:
            by_workload.setdefault(str(level.get("workload")), []).append(level["median"])
    return median(map(median, by_workload.values())) if by_workload else None


def advise(path: Path, overrides: Overrides, drafted: DraftContent) -> list[str]:
    """Return what answers more narrowly than a draft; empty if its answers are narrow enough.

    Args:
        path: the spec.
        overrides: the keys that the run changes.
        drafted: the content of the draft's report, with its rows and its accuracy.

    Returns:
        A verdict, then at most one alternative with the spec's own promises and one with others,
        each with its accuracy and what it does not protect.
    """
    own = typical_accuracy(drafted.accuracy)
    if own is None or own <= TOO_WIDE:
        return []
    verdict = f"{half_width(own)} is too wide for most uses (median of the workloads' queries)"
    if drafted.related:
        return [
            f"{verdict}; to see what a smaller k or l, a limit (maximum) and one joined table "
            f"give, type sfumato compare {path}"
        ]
    if drafted.rows.get("published", 0) > _MOST_ROWS:
        return [f"{verdict}; to try other partitions and forms, type sfumato compare {path}"]
    try:
        with stage("compare"):
            tried = ask_few_alternatives(path, overrides, _few)
    except SfumatoError as error:  # a table in parts, or a spec that admits no alternative
        return [f"{verdict}; other partitions and forms could not be tried ({error})"]
    better = [_in_words(*pair) for pair in _better(tried, own)]
    if not better:
        return [f"{verdict}; the {len(tried)} other methods are not better on this table"]
    return [f"{verdict}; on this table these are better, by a few queries of each:", *better]


def _better(tried: Sequence[Tried], own: float) -> list[Tried]:
    """Return the narrowest alternative with the spec's own promises, and that with others."""
    useful = [
        (alternative, outcome)
        for alternative, outcome in tried
        if outcome.typical is not None
        and outcome.typical < own * _NARROWER
        and not outcome.emptied_columns
    ]
    best = [_narrowest(useful, other=other) for other in (False, True)]
    return [pair for pair in best if pair is not None]


def _few(admitted: Sequence[Alternative]) -> list[Alternative]:
    """Return an alternative for each partition and form that is tried."""
    by_choice = {
        (alternative.terms.partition.method, alternative.terms.form.method): alternative
        for alternative in reversed(admitted)
        if alternative.terms.partition.method in _TRIED[alternative.other_promise]
    }
    return list(by_choice.values())[::-1]


def _narrowest(tried: Sequence[Tried], *, other: bool) -> Tried | None:
    pairs = [pair for pair in tried if pair[0].other_promise == other]
    return min(pairs, key=lambda pair: (pair[1].typical, pair[1].suppressed), default=None)


def _in_words(alternative: Alternative, outcome: TriedOutcome) -> str:
    """Return a name such as `ke · permuted · promises instead: …` in words, and its figures."""
    partition, form, *others = outcome.name.split(" · ")
    changes = [f"partition {partition}", f"form {form}", *others]
    return f"{', '.join(changes)}: {half_width(outcome.typical)}. {_limits(alternative)}"


def _limits(alternative: Alternative) -> str:
    if not alternative.other_promise:
        return "It keeps the same promises."
    names = alternative.terms.names_with_roles("quasi-identifier")
    return (
        f"It publishes {', '.join(names)} unchanged: it hides which sensitive value a "
        "person has, and does not hide who is in the table."
    )
