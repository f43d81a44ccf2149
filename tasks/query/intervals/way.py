"""The protocol of likely answers, implemented for each way in which a form shows a person."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from sfumato.tasks.query.intervals.spread import AnswerLaw
from sfumato.tasks.query.question.question import Aggregate, Key, Question

Spreads = Mapping[Key, Mapping[Aggregate, AnswerLaw]]
"""The law of each aggregate that has one, by the values of the group columns."""


class LikelyAnswers(Protocol):
    """The laws of answers over published tables.

    Attributes:
        laws: the first parts of the names of the families that have laws, such as "count" of
            "count-by-one".
        laws_over_nulls: the first parts of those that also have laws for sensitive columns with
            published nulls.
    """

    laws: frozenset[str]
    laws_over_nulls: frozenset[str]

    def spreads(self, question: Question) -> Spreads:
        """Return the law of each aggregate by the values of the group columns."""
        ...

    def domain(self, name: str) -> Sequence[Any]:
        """Return the values of a column that queries may select, ascending if ordered."""
        ...

    def times_of(self, name: str) -> np.ndarray:
        """Return about how often each value of a sensitive column is published (int64), no null."""
        ...
