"""Shares of the people of parts, as shares of all of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sfumato.tasks.attacks.attack import Score
from sfumato.tasks.attacks.bars import MeasuredLimit

_WHOLE = 1e-6  # from a whole number of people that is meant


@dataclass(frozen=True)
class AttackedPart:
    """What was found of one part.

    Attributes:
        rows: that it shows.
        scores: by sensitive column.
        measured: what each limit is about.
        missing: the attacks that could not be scored, by column and name.
    """

    rows: int
    scores: Mapping[str, Sequence[Score]]
    measured: Sequence[MeasuredLimit]
    missing: Sequence[str] = ()


def pool_scores(parts: Sequence[AttackedPart]) -> dict[str, list[Score]]:
    """The scores of all parts together, by sensitive column; parts count by their rows."""
    columns = dict.fromkeys(name for part in parts for name in part.scores)
    return {name: _of_column(parts, name) for name in columns}


def _of_column(parts: Sequence[AttackedPart], name: str) -> list[Score]:
    found: dict[str, list[tuple[int, Score]]] = {}
    for part in parts:
        for score in part.scores.get(name, ()):
            found.setdefault(score.measure, []).append((part.rows, score))
    return [_mean(of) for of in found.values()]


def _mean(of: Sequence[tuple[int, Score]]) -> Score:
    rows = sum(number for number, _ in of)
    share = sum(number * score.share for number, score in of) / rows
    beside = {
        words: sum(number * score.references[words] for number, score in of) / rows
        for words in of[0][1].references
    }
    return replace(of[0][1], share=share, references=beside)


def pool_limits(parts: Sequence[AttackedPart]) -> list[MeasuredLimit]:
    """What each limit is about, of the people of all parts; not known where it is not of one."""
    return [_of_all(of) for of in zip(*(part.measured for part in parts), strict=True)]


def _of_all(of: Sequence[MeasuredLimit]) -> MeasuredLimit:
    number = sum(one.number for one in of)
    shares = [one.share for one in of if one.share is not None]
    if len(shares) < len(of) or not number:
        return replace(of[0], number=number, share=None)
    people = [_people(one.number * share) for one, share in zip(of, shares, strict=True)]
    return replace(of[0], number=number, share=sum(people) / number)


def _people(number: float) -> float:
    """A number of people; whole where that is meant, so that shares of all are exact."""
    return round(number) if abs(number - round(number)) < _WHOLE else number
