"""Whether a release keeps the bars on attacks that its spec sets.

They are judged of all people whom a release represents; fewer than a hundred are not enough. An
attack that would need more pairs of people and values than it looks at is not judged, and what is
not judged is not kept.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.tasks.attacks.attack import AttackedRelease
from sfumato.tasks.attacks.beliefs import OwnValueBeliefs
from sfumato.tasks.attacks.declared import Bar
from sfumato.tasks.attacks.registry import BELIEFS
from sfumato.tasks.schema.stated.bars import KeptBar

FEWEST = 100  # people of whom anything is judged


@dataclass(frozen=True)
class JudgedBar:
    """One limit, and whether a release keeps it.

    Attributes:
        attack: its name.
        column: the sensitive column that is attacked.
        limit: the key of the spec.
        most: what is allowed.
        observed: what is; None where it was not judged.
        refuses: whether a release that does not keep it is refused.
        belief: from which on a value counts as believed, where that is limited.
        known: how many values are ruled out, where some are.
    """

    attack: str
    column: str
    limit: str
    most: float
    observed: float | None
    refuses: bool
    belief: float | None = None
    known: int | None = None

    @property
    def kept(self) -> bool:
        """Whether it was judged, and nothing is beyond it."""
        return self.observed is not None and self.observed <= self.most

    @property
    def limited(self) -> KeptBar:
        """The limit alone, as a release may state it."""
        return KeptBar.model_validate({name: getattr(self, name) for name in KeptBar.model_fields})

    @property
    def words(self) -> str:
        """The limit as a spec says it, and of which column; nothing that was observed."""
        why = "" if self.observed is not None else " (could not be judged)"
        return f"attacks.{self.attack}.{self.limit}: {self.most:g} of {self.column!r}{why}"

    def document(self) -> dict[str, Any]:
        """The limit and what was observed, for private reports."""
        return {**vars(self), "kept": self.kept}


def judge_bars(bars: Mapping[str, Bar], targets: Sequence[AttackedRelease]) -> list[JudgedBar]:
    """Judge a release by all limits, of each sensitive column.

    Args:
        bars: of its spec.
        targets: the release, by its sensitive columns.
    """
    return [
        judged
        for name, bar in bars.items()
        for target in targets
        for judged in _judged(name, bar, target)
    ]


def _judged(name: str, bar: Bar, target: AttackedRelease) -> Iterator[JudgedBar]:
    found = BELIEFS[name](target, bar.known or 0)
    known = found if found is not None and found.number >= FEWEST else None
    refuses = bar.on_failure == "refuse"
    for limit in bar.limits(name):
        observed = None if known is None else _observed(known, limit)
        yield JudgedBar(
            name,
            target.sensitive,
            limit.limit,
            limit.most,
            observed,
            refuses,
            belief=limit.belief,
            known=limit.known,
        )


def _observed(known: OwnValueBeliefs, limit: KeptBar) -> float:
    return known.lift() if limit.belief is None else known.believed(limit.belief)
