"""A release that is asked again and again: what answers is opened once and kept."""

from contextlib import ExitStack
from types import TracebackType
from typing import Self

from sfumato.tasks.declaration.opened import Release
from sfumato.tasks.query.answer import Answer
from sfumato.tasks.query.ask import answer_with, open_release
from sfumato.tasks.query.inquiries.answering import OpenTables
from sfumato.tasks.query.question.joined import OwnTables
from sfumato.tasks.query.sql.conditions.marginal_counts import Estimator

_QUESTIONS = 1_000  # an engine remembers parts of conditions: after as many it is opened anew


class Conversation:
    """Queries on one release, one after the other, until the `with` block ends."""

    def __init__(self, release: Release) -> None:
        """Open nothing yet."""
        self._release, self._asked = release, 0
        self._open: dict[Estimator, OpenTables] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._stack.close()

    def answer(
        self, sql: str, estimator: Estimator = "weighted", own: OwnTables | None = None
    ) -> Answer:
        """Answer a query, as `answer` does.

        Raises:
            QueryError: where the query is not allowed, or cannot be evaluated.
            Fault: where what was found cannot be right.
            InputError: where a file of the release is missing.
        """
        if self._asked == _QUESTIONS:
            self._stack.close()
            self._open, self._asked = {}, 0
        self._asked += 1
        if estimator not in self._open:
            sensitive = self._release.declared.named("sensitive")
            opened = open_release(self._release, sensitive, estimator)
            self._open[estimator] = self._stack.enter_context(opened)
        return answer_with(self._open[estimator], self._release, sql, own)
