"""What an attacker believes of people's own values, and what follows for a bar on it.

People who are alike to the attacker, and have the same value, are counted together. Shares are of
people; beliefs are floats of fractions, whose rounding keeps their order.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from sfumato.expectations.groups.counts import Counts


@dataclass(frozen=True, eq=False)
class OwnValueBeliefs:
    """OwnValueBeliefs in the own values of people, by kinds of people who are alike.

    Attributes:
        people: of each kind (int64).
        belief: in their own value (float64).
        guessed: the chance that it is the attacker's top guess; a coin decides between equal ones
            (float64).
        alone: the same for who knows the values of the group, and nothing else (float64).
    """

    people: np.ndarray
    belief: np.ndarray
    guessed: np.ndarray
    alone: np.ndarray

    @property
    def number(self) -> int:
        """How many people there are."""
        return int(self.people.sum())

    def hits(self) -> float:
        """The share of people whose own value is the top guess."""
        return float((self.people * self.guessed).sum() / self.number)

    def lift(self) -> float:
        """How many more of the people are guessed than from the group alone, as a share of all."""
        return float((self.people * (self.guessed - self.alone)).sum() / self.number)

    def believed(self, least: float) -> float:
        """The share of people whose own value is believed at least so much."""
        return int(self.people[self.belief >= least].sum()) / self.number


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
