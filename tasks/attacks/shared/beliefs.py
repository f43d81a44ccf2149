"""Beliefs of an attacker in people's own values, and the figures that bars limit.

People who look alike to the attacker and have the same value are counted together. Shares are
shares of people; beliefs are floats of fractions, whose rounding keeps their order.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.tasks.schema.stated import KeptBar


class LimitedFigures(Protocol):
    """Figures of an attack that a bar limits."""

    @property
    def number(self) -> int:
        """The number of people."""
        ...

    def figure_for(self, limit: KeptBar) -> float | None:
        """Return the figure that a limit is about; None if it cannot be computed."""
        ...


@dataclass(frozen=True)
class SuccessShare:
    """Share of people, or of tries, with which an attack succeeds.

    Attributes:
        number: the number of people.
        share: the share of people or tries; for a sample of tries, the upper limit for all tries.
    """

    number: int
    share: float

    def figure_for(self, limit: KeptBar) -> float:  # noqa: ARG002 - there is one figure
        """See `LimitedFigures`."""
        return self.share


@dataclass(frozen=True, eq=False)
class TrueBeliefs:
    """Beliefs in the truth about people, by kinds of people who look alike to the attacker.

    Attributes:
        people: the number of people of each kind (int64).
        belief: the belief in the truth about them (float64).
    """

    people: np.ndarray
    belief: np.ndarray

    @property
    def number(self) -> int:
        """See `LimitedFigures`."""
        return int(self.people.sum())

    def share_above(self, least: float) -> float:
        """Return the share of people whose truth is believed with at least `least`."""
        return int(self.people[self.belief >= least].sum()) / self.number

    def figure_for(self, limit: KeptBar) -> float:
        """See `LimitedFigures`."""
        if limit.belief is None:
            raise ValueError("a share of beliefs needs a threshold")
        return self.share_above(limit.belief)


@dataclass(frozen=True, eq=False)
class OwnValueBeliefs(TrueBeliefs):
    """Beliefs in people's own values, by kinds of people who look alike to the attacker.

    Attributes:
        people: the number of people of each kind (int64).
        belief: the belief in their own value (float64).
        guessed: the chance that their own value is the attacker's top guess; ties are shared
            equally (float64).
        alone: the same chance for an attacker who knows only the group's values (float64).
    """

    guessed: np.ndarray
    alone: np.ndarray

    def hits(self) -> float:
        """Return the share of people whose own value is the top guess."""
        return float((self.people * self.guessed).sum() / self.number)

    def lift(self) -> float:
        """Return the share of all people guessed beyond those guessed from their group only."""
        return float((self.people * (self.guessed - self.alone)).sum() / self.number)

    def figure_for(self, limit: KeptBar) -> float:
        """See `LimitedFigures`."""
        return self.lift() if limit.belief is None else self.share_above(limit.belief)


def join_beliefs(parts: Sequence[OwnValueBeliefs]) -> OwnValueBeliefs:
    """Join the beliefs about parts of the people; at least one part."""
    names = [field.name for field in fields(OwnValueBeliefs)]
    return OwnValueBeliefs(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    )


def top_in_group(counts: Counts) -> np.ndarray:
    """Return the chance that each value is the top guess in its group (float64, one per entry)."""
    top = (counts.count == counts.largest[counts.group]).astype(np.int64)
    return np.asarray(top / np.add.reduceat(top, counts.starts)[counts.group])
