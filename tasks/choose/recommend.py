"""The recommendation of a comparison, from the candidates' own tables and never from the truth."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.tasks.choose.alternative import TriedOutcome

_AS_GOOD = 1.02
_IN_GROUP = "own value guessed from the group alone"
_OWN_ROWS = re.compile(r"a value of their own in \w+ guessed from the group alone")
_LEARNED = "own value guessed by deFinetti's attack"
_BASE = "without the release"


@dataclass(frozen=True)
class Ranked:
    """An alternative with the figures that it is ranked by.

    Attributes:
        outcome: the outcome of the alternative.
        width: the mean width of its answers, each relative to the widest answer of any alternative
            to the same query: the mean over the topics, each of which has one vote however many
            queries were drawn for it. A query that it cannot answer, and a row that it suppresses,
            count as 1. From 0 (all exact) to 1.
        in_groups: the greatest share of people who have the most frequent value of their group.
        guessed: the greatest share of people whose value an attacker guesses; it needs the truth.
            None for an alternative that was not attacked.
        base: the share of people whose own value is guessed without a release.
    """

    outcome: TriedOutcome
    width: float
    in_groups: float
    guessed: float | None
    base: float


def rank(outcomes: Sequence[TriedOutcome], topics: Sequence[str]) -> list[Ranked]:
    """Return the alternatives that keep their promises, those with the narrowest answers first.

    Args:
        outcomes: the outcomes of all alternatives.
        topics: the topic of each query; each topic has one vote.
    """
    made = [outcome for outcome in outcomes if not outcome.refused]
    widths = _mean_shares_of_widest(made, topics)
    ranked = [_rank_outcome(*pair) for pair in zip(made, widths, strict=True)]
    return sorted(ranked, key=lambda entry: (entry.width, entry.in_groups))


def recommend(ranked: Sequence[Ranked]) -> Ranked | None:
    """Return the alternative with the narrowest answers; None if all of them empty a column.

    Only alternatives that were asked all queries are considered.

    Among alternatives as good, it returns the one whose groups disclose least.

    An alternative is as good if its answers are at most 2 % wider. An alternative that empties a
    column is never recommended: without the column in the spec, there are better ones.
    """
    useful = [
        entry
        for entry in ranked
        if entry.outcome.positions is None and not entry.outcome.emptied_columns
    ]
    if not useful:
        return None
    best = min(entry.width for entry in useful)
    as_good = [entry for entry in useful if entry.width <= best * _AS_GOOD]
    return min(as_good, key=lambda entry: (entry.in_groups, entry.width))


def _mean_shares_of_widest(outcomes: Sequence[TriedOutcome], topics: Sequence[str]) -> list[float]:
    """Return for each outcome the mean width relative to the widest answer to the same query.

    The mean is one over topics of the means over their queries that the alternative was asked.
    """
    if not outcomes or not len(topics):
        return [0.0] * len(outcomes)
    by_query = np.array(
        [[np.nan if w is None else w for w in outcome.widths] for outcome in outcomes]
    )
    widest = np.nanmax(np.where(np.isnan(by_query), 0, by_query), axis=0)
    shares = np.divide(by_query, widest, out=np.zeros_like(by_query), where=widest > 0)
    shares = np.where(np.isnan(by_query), 1.0, shares)
    _, topic = np.unique(topics, return_inverse=True)
    return [
        _mean_of_topics(share, topic, outcome.positions)
        for share, outcome in zip(shares, outcomes, strict=True)
    ]


def _mean_of_topics(
    shares: np.ndarray, topic: np.ndarray, positions: Sequence[int] | None
) -> float:
    """Return the mean over topics of the mean shares of the queries that were asked."""
    places = np.arange(len(shares)) if positions is None else np.array(positions, dtype=np.int64)
    queries = np.bincount(topic[places])
    totals = np.bincount(topic[places], weights=shares[places])
    return float((totals[queries > 0] / queries[queries > 0]).mean())


def _rank_outcome(outcome: TriedOutcome, width: float) -> Ranked:
    rows = outcome.published + outcome.suppressed
    lost = outcome.suppressed / rows if rows else 0.0
    scores = [_as_guesses(score) for of_column in outcome.attacks.values() for score in of_column]
    in_groups = _greatest(scores, (_IN_GROUP,))
    own = [score for score in scores if score["measure"] in (_IN_GROUP, _LEARNED)]
    return Ranked(
        outcome=outcome,
        width=lost + (1 - lost) * width,
        in_groups=in_groups,
        guessed=_greatest(scores, (_IN_GROUP, _LEARNED)) if outcome.positions is None else None,
        base=max((score.get(_BASE, 0.0) for score in own), default=0.0),
    )


def _as_guesses(score: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the score of guesses about rows of a second table as that of guesses about rows."""
    if _OWN_ROWS.fullmatch(str(score.get("measure"))):
        return {**score, "measure": _IN_GROUP}
    return score


def _greatest(scores: Sequence[Mapping[str, Any]], measures: Sequence[str]) -> float:
    return max((s["share"] for s in scores if s["measure"] in measures), default=0.0)
