"""What can be guessed of a release in words: from its files alone, and by attacks with bars."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.tasks.attacks.attack import Score
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.schema.stated.bars import KeptBar

_WHO: Mapping[str, str] = {
    "homogeneity": "finds a person's group, and guesses its most frequent value",
    "background": "can rule out {known} for a person, the worst for that person",
    "several-rows": "knows which rows are one person's, and guesses what one of them has",
    "minimality": "knows which finer groups were tried, and broke a promise",
    "definetti": "learns from all groups which values go with which quasi-identifiers",
    "subdomains": "takes the declared distribution as the prior, within the ranges of the group",
}


@dataclass(frozen=True)
class GuessLine:
    """What is guessed, the share of rows of which it is right, and what is known instead."""

    words: str
    share: str
    instead: str


@dataclass(frozen=True)
class BarLine:
    """A bar: who attacks, what is limited, and how much of it there may be at most."""

    attack: str
    who: str
    limit: str
    most: str


def guess_lines(guesses: Mapping[str, Sequence[Score]], declared: Declared) -> dict[str, Any]:
    """What the page tells of guesses; no lines where nothing can be guessed from files alone."""
    stated = () if declared.bars is None else declared.bars.bars
    return {
        "guessed": {name: [_guess_line(one) for one in scores] for name, scores in guesses.items()},
        "bars": [_bar_line(bar) for bar in stated],
    }


def _guess_line(score: Score) -> GuessLine:
    instead = (f"{words}: {_percent(share)}" for words, share in score.references.items())
    return GuessLine(score.measure, _percent(score.share), "; ".join(instead))


def _bar_line(bar: KeptBar) -> BarLine:
    who = _WHO.get(bar.attack, "").format(known=_values(bar.known or 0))
    if bar.belief is None:
        return BarLine(bar.attack, who, "guessed beyond the group alone", _percent(bar.most))
    limit = f"own value believed with {_percent(bar.belief)} or more"
    return BarLine(bar.attack, who, limit, _percent(bar.most))


def _values(known: int) -> str:
    return "1 other value" if known == 1 else f"{known} other values"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
