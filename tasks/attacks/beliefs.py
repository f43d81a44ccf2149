"""What an attacker believes of people's own values, and what follows for a bar on it.

People who are alike to the attacker, and have the same value, are counted together. Shares are of
people; beliefs are floats of fractions, whose rounding keeps their order.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.tasks.schema.stated import KeptBar


class LimitedFigures(Protocol):
    """What a bar on an attack is judged on."""

    @property
    def number(self) -> int:
        """How many people there are."""
        ...

    def observed(self, limit: KeptBar) -> float:
        """The figure that a limit is about."""
        ...


@dataclass(frozen=True)
class SuccessShare:
    """How often an attack succeeds.

    Attributes:
        number: how many people there are.
        share: of people, or tries; of some tries, what it is of all, nearly surely, at most.
    """

    number: int
    share: float

    def observed(self, limit: KeptBar) -> float:  # noqa: ARG002 - there is one figure
        """See `LimitedFigures`."""
        return self.share


@dataclass(frozen=True, eq=False)
class TrueBeliefs:
    """Beliefs in what is true of people, by kinds of people who are alike.

    Attributes:
        people: of each kind (int64).
        belief: in what is true of them (float64).
    """

    people: np.ndarray
    belief: np.ndarray

    @property
    def number(self) -> int:
        """See `LimitedFigures`."""
        return int(self.people.sum())

    def believed(self, least: float) -> float:
        """The share of people of whom what is true is believed at least so much."""
        return int(self.people[self.belief >= least].sum()) / self.number

    def observed(self, limit: KeptBar) -> float:
        """See `LimitedFigures`."""
        if limit.belief is None:
            raise ValueError("of beliefs there is a share above one")
        return self.believed(limit.belief)


@dataclass(frozen=True, eq=False)
class OwnValueBeliefs(TrueBeliefs):
    """Beliefs in the own values of people, by kinds of people who are alike.

    Attributes:
        people: of each kind (int64).
        belief: in their own value (float64).
        guessed: the chance that it is the attacker's top guess; a coin decides between equal ones
            (float64).
        alone: the same for who knows the values of the group, and nothing else (float64).
    """

    guessed: np.ndarray
    alone: np.ndarray

    def hits(self) -> float:
        """The share of people whose own value is the top guess."""
        return float((self.people * self.guessed).sum() / self.number)

    def lift(self) -> float:
        """How many more of the people are guessed than from the group alone, as a share of all."""
        return float((self.people * (self.guessed - self.alone)).sum() / self.number)

    def observed(self, limit: KeptBar) -> float:
        """See `LimitedFigures`."""
        return self.lift() if limit.belief is None else self.believed(limit.belief)


def join_beliefs(parts: Sequence[OwnValueBeliefs]) -> OwnValueBeliefs:
    """Beliefs about people who are told of in parts; at least one."""
    names = [field.name for field in fields(OwnValueBeliefs)]
    return OwnValueBeliefs(
        **{name: np.concatenate([getattr(one, name) for one in parts]) for name in names}
    )


def top_in_group(counts: Counts) -> np.ndarray:
    """The chance that each value is the top guess in its group (float64, one per entry)."""
    top = (counts.count == counts.largest[counts.group]).astype(np.int64)
    return np.asarray(top / np.add.reduceat(top, counts.starts)[counts.group])
