"""The recommendation of a comparison, from the candidates' own tables and never from the truth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.tasks.choose.alternative import TriedOutcome

_AS_GOOD = 1.02
_IN_GROUP = "own value guessed from the group alone"
_LEARNED = "own value guessed by deFinetti's attack"
_BASE = "without the release"


@dataclass(frozen=True)
class Ranked:
    """An alternative with the figures that it is ranked by.

    Attributes:
        outcome: the outcome of the alternative.
        width: the mean width of its answers, each relative to the widest answer of any alternative
            to the same query; a query that it cannot answer, and a row that it suppresses, count as
            1. From 0 (all exact) to 1.
        in_groups: the greatest share of people who have the most frequent value of their group.
        guessed: the greatest share of people whose value an attacker guesses; it needs the truth.
        base: the share of people whose own value is guessed without a release.
    """

    outcome: TriedOutcome
    width: float
    in_groups: float
    guessed: float
    base: float


def rank(outcomes: Sequence[TriedOutcome]) -> list[Ranked]:
    """Return the alternatives that keep their promises, those with the narrowest answers first."""
    made = [outcome for outcome in outcomes if not outcome.refused]
    widths = _mean_shares_of_widest([outcome.widths for outcome in made])
    ranked = [_rank_outcome(*pair) for pair in zip(made, widths, strict=True)]
    return sorted(ranked, key=lambda entry: (entry.width, entry.in_groups))


def recommend(ranked: Sequence[Ranked]) -> Ranked | None:
    """Return the alternative with the narrowest answers.

    Among alternatives as good, it returns the one whose groups disclose least.

    An alternative is as good if its answers are at most 2 % wider.
    """
    if not ranked:
        return None
    best = min(entry.width for entry in ranked)
    as_good = [entry for entry in ranked if entry.width <= best * _AS_GOOD]
    return min(as_good, key=lambda entry: (entry.in_groups, entry.width))


def _mean_shares_of_widest(widths: Sequence[Sequence[float | None]]) -> list[float]:
    """Return for each candidate the mean width relative to the widest answer to the same query."""
    if not widths or not widths[0]:
        return [0.0] * len(widths)
    by_query = np.array(
        [[np.nan if w is None else w for w in of_candidate] for of_candidate in widths]
    )
    widest = np.nanmax(np.where(np.isnan(by_query), 0, by_query), axis=0)
    shares = np.divide(by_query, widest, out=np.zeros_like(by_query), where=widest > 0)
    means: list[float] = np.where(np.isnan(by_query), 1.0, shares).mean(axis=1).tolist()
    return means


def _rank_outcome(outcome: TriedOutcome, width: float) -> Ranked:
    rows = outcome.published + outcome.suppressed
    lost = outcome.suppressed / rows if rows else 0.0
    scores = [score for of_column in outcome.attacks.values() for score in of_column]
    in_groups = _greatest(scores, (_IN_GROUP,))
    own = [score for score in scores if score["measure"] in (_IN_GROUP, _LEARNED)]
    return Ranked(
        outcome=outcome,
        width=lost + (1 - lost) * width,
        in_groups=in_groups,
        guessed=_greatest(scores, (_IN_GROUP, _LEARNED)),
        base=max((score.get(_BASE, 0.0) for score in own), default=0.0),
    )


def _greatest(scores: Sequence[Mapping[str, Any]], measures: Sequence[str]) -> float:
    return max((s["share"] for s in scores if s["measure"] in measures), default=0.0)
