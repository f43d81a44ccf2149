"""The recommendation of a comparison: from the candidates' own tables, never from the truth."""

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
    """An alternative beside the others.

    Attributes:
        outcome: what became of it.
        width: the mean width of its answers, each by that of the alternative whose answer to the
            same query is widest; a query that it cannot answer, and a row that it suppresses,
            count as one. From 0, all exact, to 1.
        in_groups: the greatest share of people who have the most frequent value of their group.
        guessed: the greatest share of people whose value an attacker guesses, which takes the truth
            to be known.
        base: the share of them whose own value is guessed without a release.
    """

    outcome: TriedOutcome
    width: float
    in_groups: float
    guessed: float
    base: float


def rank(outcomes: Sequence[TriedOutcome]) -> list[Ranked]:
    """The alternatives that keep their promises, those of the narrowest answers first."""
    made = [outcome for outcome in outcomes if not outcome.refused]
    widths = _by_widest([outcome.widths for outcome in made])
    ranked = [_ranked(*pair) for pair in zip(made, widths, strict=True)]
    return sorted(ranked, key=lambda one: (one.width, one.in_groups))


def recommend(ranked: Sequence[Ranked]) -> Ranked | None:
    """The alternative of the narrowest answers; of those as good, that whose groups tell least.

    As good are answers that are at most two hundredths wider.
    """
    if not ranked:
        return None
    best = min(one.width for one in ranked)
    as_good = [one for one in ranked if one.width <= best * _AS_GOOD]
    return min(as_good, key=lambda one: (one.in_groups, one.width))


def _by_widest(widths: Sequence[Sequence[float | None]]) -> list[float]:
    """The mean over queries of each width by the widest of the same query (one per candidate)."""
    if not widths or not widths[0]:
        return [0.0] * len(widths)
    known = np.array([[np.nan if w is None else w for w in of] for of in widths])
    widest = np.nanmax(np.where(np.isnan(known), 0, known), axis=0)
    shares = np.divide(known, widest, out=np.zeros_like(known), where=widest > 0)
    means: list[float] = np.where(np.isnan(known), 1.0, shares).mean(axis=1).tolist()
    return means


def _ranked(outcome: TriedOutcome, width: float) -> Ranked:
    rows = outcome.published + outcome.suppressed
    lost = outcome.suppressed / rows if rows else 0.0
    scores = [score for of in outcome.attacks.values() for score in of]
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
