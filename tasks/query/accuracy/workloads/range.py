"""Queries of ranges: windows of a quasi-identifier, as wide as a workload says."""

from sfumato.tasks.declaration.opened import Release
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.query.accuracy.random_query import OriginalColumn, Outcome, outcome_of
from sfumato.tasks.query.accuracy.truth import truth_of
from sfumato.tasks.query.accuracy.workloads.drawing import RangeDrawing
from sfumato.tasks.query.accuracy.workloads.parameters import RangeWorkload
from sfumato.tasks.query.ask import ask
from sfumato.tasks.query.engines.engine import Engine
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.conditions import question_of
from sfumato.tasks.query.question.ways.registry import WAYS


class RangeQueries:
    """Windows [x, x + span] of a quasi-identifier, x drawn among what is published of it."""

    def __init__(
        self,
        workload: RangeWorkload,
        aggregate: Aggregate,
        asking: Engine,
        release: Release,
        original: Microdata,
    ) -> None:
        """Find what is published of the quasi-identifier."""
        over = workload.over
        self._asking, self._declared, self._aggregate = asking, release.declared, aggregate
        self._estimates = WAYS[self._declared.form.shows].scores_estimates
        self._drawing = RangeDrawing(workload, asking)
        self._known = {over: OriginalColumn(original[over])}
        counted = [*self._declared.named("sensitive"), over][0]  # of COUNT(*), which has none
        self._truth = truth_of(original[aggregate.sensitive or counted], aggregate)

    def ask(self, level: int, randomness: Randomness) -> Outcome | None:
        """The next window; None where the column has no values."""
        drawn = self._drawing.draw(level, randomness)
        if drawn is None:
            return None
        question = question_of(self._aggregate, drawn.where, self._declared)
        answer = ask(self._asking, self._declared, question, self._estimates)
        truth = self._truth.answer(self._aggregate.kind, drawn.rows(self._known))
        return outcome_of(answer.rows[0][self._aggregate.label], truth)
