"""What is likely of answers, described for each way in which forms show a person."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from sfumato.tasks.query.intervals.spread import AnswerLaw
from sfumato.tasks.query.question.question import Aggregate, Key, Question

Spreads = Mapping[Key, Mapping[Aggregate, AnswerLaw]]
"""By the values of the group columns, of each aggregate that a law is known of."""


class LikelyAnswers(Protocol):
    """Something that knows the published tables, and what is likely of answers.

    `laws` are the beginnings of the names of the families that it has laws of, `laws_over_nulls`
    those that it has of sensitive columns with published nulls.
    """

    laws: frozenset[str]
    laws_over_nulls: frozenset[str]

    def spreads(self, question: Question) -> Spreads:
        """The law of each aggregate by the values of the group columns."""
        ...

    def domain(self, name: str) -> Sequence[Any]:
        """The values of a column that queries may select, ascending where they have an order."""
        ...

    def times_of(self, name: str) -> np.ndarray:
        """How often each value of a sensitive column is published, about (int64), without null."""
        ...
