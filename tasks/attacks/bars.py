"""Judgement of a release by the bars on attacks that its spec sets, over all of its parts.

Bars are judged on all people whom a release represents; fewer than a hundred are not enough. An
attack that would need too many pairs of people and values is not judged, and a bar that is not
judged is not kept. Attacks that make tries are judged by the one-sided limit of 95 %.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sfumato.tasks.attacks.declared import JUDGED, Bar
from sfumato.tasks.attacks.registry import FIGURES
from sfumato.tasks.attacks.shared.attack import AttackedRelease, Score
from sfumato.tasks.schema.columns import ORDERED
from sfumato.tasks.schema.stated import KeptBar

FEWEST = 100  # no figure about fewer people is judged
_WHOLE = 1e-6  # largest distance of a figure from the whole number of people that it means


@dataclass(frozen=True)
class JudgedBar:
    """One limit, the figure observed, and the verdict.

    Attributes:
        limit: the limit, as a release may state it.
        column: the sensitive column that is attacked, or *identities*.
        observed: the figure; None if it was not judged.
        refuses: whether a release is refused if it does not keep the limit.
    """

    limit: KeptBar
    column: str
    observed: float | None
    refuses: bool

    @property
    def most(self) -> float:
        """The largest figure that the limit allows."""
        return self.limit.most

    @property
    def is_kept(self) -> bool:
        """True if the limit was judged and the figure is within it."""
        return self.observed is not None and self.observed <= self.most

    @property
    def words(self) -> str:
        """The limit as a spec writes it, with its column and without the observed figure."""
        why = "" if self.observed is not None else " (could not be judged)"
        limit = self.limit
        return f"attacks.{limit.attack}.{limit.limit}: {limit.most:g} of {self.column!r}{why}"

    def document(self) -> dict[str, Any]:
        """Return the limit and the observed figure for private reports."""
        judged = {"column": self.column, "observed": self.observed, "refuses": self.refuses}
        return {**self.limit.model_dump(mode="json"), **judged, "kept": self.is_kept}


@dataclass(frozen=True)
class MeasuredLimit:
    """A limit and the figure that some people give it.

    Attributes:
        limit: the limit, as a release may state it.
        column: the sensitive column that is attacked, or *identities*.
        refuses: whether a release beyond it is refused.
        number: the number of people.
        share: the figure; None if it cannot be measured.
    """

    limit: KeptBar
    column: str
    refuses: bool
    number: int
    share: float | None

    @property
    def judged_bar(self) -> JudgedBar:
        """The limit with its verdict; a figure about fewer than 100 people is not judged."""
        observed = self.share if self.number >= FEWEST else None
        return JudgedBar(self.limit, self.column, observed, self.refuses)


def judge_bars(bars: Mapping[str, Bar], targets: Sequence[AttackedRelease]) -> list[JudgedBar]:
    """Judge a release by all limits, for each sensitive column that they are about.

    Args:
        bars: the bars of its spec.
        targets: the release, by its sensitive columns.
    """
    return [measured.judged_bar for measured in measure_limits(bars, targets)]


def measure_limits(
    bars: Mapping[str, Bar], targets: Sequence[AttackedRelease]
) -> list[MeasuredLimit]:
    """Measure the figures of all limits on the people of a release, or of one part of it."""
    return [
        measured
        for name, bar in bars.items()
        for target in _targets_about(name, targets)
        for measured in _measure(name, bar, target)
    ]


def _targets_about(name: str, targets: Sequence[AttackedRelease]) -> Sequence[AttackedRelease]:
    """Return the targets that an attack is about, or the first, which then cannot be judged."""
    return [target for target in targets if _is_about(name, target)] or targets[:1]


def _is_about(name: str, target: AttackedRelease) -> bool:
    about = JUDGED[name].about
    if about is None:
        return True
    column = target.declared.columns[target.sensitive]
    return column.type in ORDERED if about == "numbers" else column.hierarchy is not None


def _measure(name: str, bar: Bar, target: AttackedRelease) -> Iterator[MeasuredLimit]:
    limits = list(bar.limits(name))
    figures = FIGURES[name](target, bar) if limits else None
    for limit in limits:
        number, share = (
            (0, None) if figures is None else (figures.number, figures.figure_for(limit))
        )
        refuses = bar.on_failure == "refuse"
        yield MeasuredLimit(limit, target.subject, refuses, number, share)


@dataclass(frozen=True)
class AttackedPart:
    """Results of all attacks on one part of a release.

    Attributes:
        rows: the number of its published rows.
        scores: its scores, by sensitive column.
        measured: each limit with the figure of this part.
        missing: the attacks that could not be scored, by column and name.
    """

    rows: int
    scores: Mapping[str, Sequence[Score]]
    measured: Sequence[MeasuredLimit]
    missing: Sequence[str] = ()


def pool_scores(parts: Sequence[AttackedPart]) -> dict[str, list[Score]]:
    """Return the scores of all parts together, by sensitive column; parts count by their rows."""
    columns = dict.fromkeys(name for part in parts for name in part.scores)
    return {name: _pool_column(parts, name) for name in columns}


def _pool_column(parts: Sequence[AttackedPart], name: str) -> list[Score]:
    scores_by_measure: dict[str, list[tuple[int, Score]]] = {}
    for part in parts:
        for score in part.scores.get(name, ()):
            scores_by_measure.setdefault(score.measure, []).append((part.rows, score))
    return [_mean(weighted) for weighted in scores_by_measure.values()]


def _mean(weighted: Sequence[tuple[int, Score]]) -> Score:
    rows = sum(number for number, _ in weighted)
    share = sum(number * score.share for number, score in weighted) / rows
    beside = {
        words: sum(number * score.references[words] for number, score in weighted) / rows
        for words in weighted[0][1].references
    }
    return replace(weighted[0][1], share=share, references=beside)


def pool_limits(parts: Sequence[AttackedPart]) -> list[MeasuredLimit]:
    """Return each limit with its figure over all parts; None if one part has no figure."""
    return [
        _pool_limit(measured) for measured in zip(*(part.measured for part in parts), strict=True)
    ]


def _pool_limit(measured: Sequence[MeasuredLimit]) -> MeasuredLimit:
    number = sum(part.number for part in measured)
    shares = [part.share for part in measured if part.share is not None]
    if len(shares) < len(measured) or not number:
        return replace(measured[0], number=number, share=None)
    people = [_people(part.number * share) for part, share in zip(measured, shares, strict=True)]
    return replace(measured[0], number=number, share=sum(people) / number)


def _people(number: float) -> float:
    """Round a number of people that is meant to be whole, so that shares of all are exact."""
    return round(number) if abs(number - round(number)) < _WHOLE else number
