"""Whether a release keeps the bars on attacks that its spec sets, over all of its parts.

They are judged of all people whom a release represents; fewer than a hundred are not enough. An
attack that would need more pairs of people and values than it looks at is not judged, and what is
not judged is not kept. Attacks that make tries are judged by what the tries leave open: the
one-sided limit of 95 %.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sfumato.tasks.attacks.attack import AttackedRelease, Score
from sfumato.tasks.attacks.declared import JUDGED, Bar
from sfumato.tasks.attacks.registry import FIGURES
from sfumato.tasks.schema.columns import ORDERED
from sfumato.tasks.schema.stated import KeptBar

FEWEST = 100  # people of whom anything is judged
_WHOLE = 1e-6  # from a whole number of people that is meant


@dataclass(frozen=True)
class JudgedBar:
    """One limit, and whether a release keeps it.

    Attributes:
        limited: the limit, as a release may state it.
        column: the sensitive column that is attacked, or *identities*.
        observed: what is; None where it was not judged.
        refuses: whether a release that does not keep it is refused.
    """

    limited: KeptBar
    column: str
    observed: float | None
    refuses: bool

    @property
    def most(self) -> float:
        """What is allowed."""
        return self.limited.most

    @property
    def kept(self) -> bool:
        """Whether it was judged, and nothing is beyond it."""
        return self.observed is not None and self.observed <= self.most

    @property
    def words(self) -> str:
        """The limit as a spec says it, and of which column; nothing that was observed."""
        why = "" if self.observed is not None else " (could not be judged)"
        of = self.limited
        return f"attacks.{of.attack}.{of.limit}: {of.most:g} of {self.column!r}{why}"

    def document(self) -> dict[str, Any]:
        """The limit and what was observed, for private reports."""
        judged = {"column": self.column, "observed": self.observed, "refuses": self.refuses}
        return {**self.limited.model_dump(mode="json"), **judged, "kept": self.kept}


@dataclass(frozen=True)
class MeasuredLimit:
    """What a limit is about, as it is of some people.

    Attributes:
        limit: as a release may state it.
        column: the sensitive column that is attacked, or *identities*.
        refuses: whether a release beyond it is refused.
        number: how many people there are.
        share: what is found; None where nothing can be.
    """

    limit: KeptBar
    column: str
    refuses: bool
    number: int
    share: float | None

    @property
    def judged(self) -> JudgedBar:
        """Whether it is kept; of too few people nothing is judged."""
        observed = self.share if self.number >= FEWEST else None
        return JudgedBar(self.limit, self.column, observed, self.refuses)


def judge_bars(bars: Mapping[str, Bar], targets: Sequence[AttackedRelease]) -> list[JudgedBar]:
    """Judge a release by all limits, of each sensitive column that they are about.

    Args:
        bars: of its spec.
        targets: the release, by its sensitive columns.
    """
    return [measured.judged for measured in measure_limits(bars, targets)]


def measure_limits(
    bars: Mapping[str, Bar], targets: Sequence[AttackedRelease]
) -> list[MeasuredLimit]:
    """What all limits are about, of the people of a release, or of a part of one."""
    return [
        measured
        for name, bar in bars.items()
        for target in _attacked(name, targets)
        for measured in _measured(name, bar, target)
    ]


def _attacked(name: str, targets: Sequence[AttackedRelease]) -> Sequence[AttackedRelease]:
    """The columns that an attack is about; where it is about none, one that cannot be judged."""
    return [target for target in targets if _is_about(name, target)] or targets[:1]


def _is_about(name: str, target: AttackedRelease) -> bool:
    about = JUDGED[name].about
    if about is None:
        return True
    column = target.declared.columns[target.sensitive]
    return column.type in ORDERED if about == "numbers" else column.hierarchy is not None


def _measured(name: str, bar: Bar, target: AttackedRelease) -> Iterator[MeasuredLimit]:
    limits = list(bar.limits(name))
    found = FIGURES[name](target, bar) if limits else None
    for limit in limits:
        number, share = (0, None) if found is None else (found.number, found.observed(limit))
        refuses = bar.on_failure == "refuse"
        yield MeasuredLimit(limit, target.called, refuses, number, share)


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
