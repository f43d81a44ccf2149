"""What a page says beside promises: guesses, likely intervals, and why answers may be useless.

The queries of a spec's workload are not among the files, nor is how they were answered: what is
said of these stands on the line's page. Here it is one selection that anybody can draw.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.shared.numbers import plain
from sfumato.tasks.attacks.attack import Score
from sfumato.tasks.attacks.from_files import Guesses
from sfumato.tasks.query.accuracy.usefulness import ONE_GROUP, TRIVIAL, mean_by_range
from sfumato.tasks.query.intervals.shapes import FAMILIES, LEAST_GROUPS, LEAST_ROWS
from sfumato.tasks.schema.stated import KeptBar
from sfumato.tasks.terms.terms import Declared

_WHO: Mapping[str, str] = {
    "homogeneity": "finds a person's group, and guesses its most frequent value",
    "background": "can rule out {values} for a person, the worst for that person",
    "known-people": "knows {people} of the group, the worst for that person",
    "several-rows": "knows which rows are one person's, and guesses what one of them has",
    "small-range": "is content with a range as wide as {width}",
    "similarity": "is content with the kind of a value, at {level} of its hierarchy",
    "skewness": "compares a person's group with all people",
    "minimality": "knows which finer groups were tried, and broke a promise",
    "definetti": "learns from all groups which values go with which quasi-identifiers",
    "subdomains": "takes the declared distribution as the prior, within the ranges of the group",
    "linkage": "has a register of everybody, and asks which row is whose",
    "presence": "has a register of everybody, and asks who is there",
    "composition": "has all versions about these people that the publisher knows",
    "matches": "looks for records that are like nobody else's",
    "singling-out": "makes conditions that one published row meets",
    "linkability": "has half of the quasi-identifiers in each of two registers",
    "inference": "takes the value of the nearest row",
}
_ANY: Mapping[str, str] = {
    "values": "some values",
    "people": "some others",
    "width": "the one that is named",
    "level": "a level",
}
_NARROW = "a fifth of the promised e, or a twentieth of all numbers"
_BELIEVED: Mapping[str, str] = {
    "small-range": "own number believed in such a range",
    "similarity": "kind of the own value believed",
    "linkage": "own row picked",
    "presence": "believed to be there",
}
_COUNTED: Mapping[str, str] = {
    "skewness": "own value {times} times as likely there, or more",
    "composition": "own value the only one that is left",
    "matches": "own record like nobody else's, and published as it is",
    "singling-out": "conditions that single somebody out",
    "linkability": "halves that the nearest row joins",
    "inference": "own value in the nearest row",
}
_SHOWN = 6  # factors, before `and so on`


@dataclass(frozen=True)
class GuessLine:
    """What is guessed, the share of rows of which it is right, and what is known instead."""

    words: str
    share: str
    instead: str


@dataclass(frozen=True)
class GuessesOfAttack:
    """An attack that nothing but the files are needed for: who attacks, and what is guessed."""

    attack: str
    who: str
    lines: Sequence[GuessLine]


@dataclass(frozen=True)
class BarLine:
    """A bar: who attacks, what is limited, and how much of it there may be at most."""

    attack: str
    who: str
    limit: str
    most: str


def guess_lines(guesses: Guesses, declared: Declared) -> dict[str, Any]:
    """What the page tells of guesses; no lines where nothing can be guessed from files alone."""
    stated = () if declared.bars is None else declared.bars.bars
    return {
        "guessed": {name: _guessed(attacks) for name, attacks in guesses.items()},
        "bars": [_bar_line(bar) for bar in stated],
    }


def _guessed(attacks: Mapping[str, Sequence[Score]]) -> list[GuessesOfAttack]:
    return [
        GuessesOfAttack(name, _who(name, _ANY), [_guess_line(one) for one in scores])
        for name, scores in attacks.items()
    ]


def _who(attack: str, said: Mapping[str, str]) -> str:
    return _WHO.get(attack, "").format(**said)


def _guess_line(score: Score) -> GuessLine:
    instead = (f"{words}: {_percent(share)}" for words, share in score.references.items())
    return GuessLine(score.measure, _percent(score.share), "; ".join(instead))


def _bar_line(bar: KeptBar) -> BarLine:
    said = {
        "values": "1 other value" if bar.known == 1 else f"{bar.known} other values",
        "people": "1 other person" if bar.known == 1 else f"{bar.known} others",
        "width": _NARROW if bar.width is None else str(plain(bar.width)),
        "level": f"level {bar.level}",
        "times": f"{bar.times or 0:g}",
    }
    return BarLine(
        bar.attack, _who(bar.attack, said), _limit(bar).format(**said), _percent(bar.most)
    )


def _limit(bar: KeptBar) -> str:
    """What of people is limited, with names for what the bar says."""
    if bar.limit == "max-share":
        return _COUNTED.get(bar.attack, "")
    if bar.belief is None:
        return "guessed beyond the group alone"
    words = _BELIEVED.get(bar.attack, "own value believed")
    return f"{words} with {_percent(bar.belief)} or more"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


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


def little_left(groups: Groups, declared: Declared) -> tuple[str, ...]:
    """Why little is left, in words.

    Nothing is said of forms that declare distributions, or where values of people who left stand
    among the others: what is selected of those is not known.
    """
    if declared.form.declares or declared.rows.vacant or not len(groups):
        return ()
    one = (ONE_GROUP,) if len(groups) == 1 else ()
    return (*one, *_wide_means(groups, declared))


def _wide_means(groups: Groups, declared: Declared) -> Iterator[str]:
    for name in declared.named("sensitive"):
        number = declared.columns[name].type in ("integer", "decimal", "float")
        share = mean_by_range(groups.sensitive[name]) if number else None
        if share is not None and share >= TRIVIAL:
            yield (
                f"the mean of {name} over one in twenty rows of every group is bounded no closer "
                f"than within {float(share):.0%} of the range of all its values, which is known "
                "without the groups"
            )
