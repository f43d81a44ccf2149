"""Claims: what is said of an experiment, and the test that decides it, fixed before it is run."""

from dataclasses import dataclass
from typing import Literal, Protocol

from sfumato.tasks.experiments.protocol.points import Results


@dataclass(frozen=True)
class Weight:
    """The evidence for and against a claim.

    Attributes:
        agree: the p-value of what was measured, were the claim just not true.
        disagree: that p-value, were the claim just true.
        numbers: what was measured, in words.
    """

    agree: float
    disagree: float
    numbers: str

    @property
    def p(self) -> float:
        """The p-value of both sides together."""
        return min(1.0, 2 * min(self.agree, self.disagree))


class ClaimTest(Protocol):
    """A test of what was measured of some data."""

    @property
    def words(self) -> str:
        """The test in words."""
        ...

    def weigh(self, results: Results, data: str) -> Weight:
        """The evidence in some results."""
        ...


@dataclass(frozen=True)
class Claim:
    """Something that is said of an experiment's outcome.

    Attributes:
        text: what is claimed.
        data: the key of the data that it is tested on.
        test: what decides it.
        by: who says it: the paper, or this project of the paper.
    """

    text: str
    data: str
    test: ClaimTest
    by: Literal["paper", "project"] = "paper"
