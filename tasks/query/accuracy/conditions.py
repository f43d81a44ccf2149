"""Workloads of conditions: ranges of a quasi-identifier, and batches of counts.

Source: Wang, Ambiguity: hide the presence of individuals and their privacy with low information
loss, whose batches have selectivities of 1, 5 and 10 %; it does not say how they were drawn.
"""

from dataclasses import replace
from fractions import Fraction

from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.query.accuracy.drawing import CountsDrawing, RangeDrawing, frequent_values
from sfumato.tasks.query.accuracy.parameters import CountsWorkload, RangeWorkload
from sfumato.tasks.query.ask import ask
from sfumato.tasks.query.engines.engine import Engine
from sfumato.tasks.query.engines.truth import OriginalColumn, Outcome, outcome_of, truth_of
from sfumato.tasks.query.question.conditions import question_of
from sfumato.tasks.query.question.question import Aggregate
from sfumato.tasks.query.question.ways import WAYS
from sfumato.tasks.terms.opened import Release


class RangeQueries:
    """Queries on windows [x, x + span] of a quasi-identifier, x drawn from its published values."""

    def __init__(
        self,
        workload: RangeWorkload,
        aggregate: Aggregate,
        asking: Engine,
        release: Release,
        original: Microdata,
    ) -> None:
        """Read the published values of the quasi-identifier."""
        over = workload.over
        self._asking, self._declared, self._aggregate = asking, release.declared, aggregate
        self._estimates = WAYS[self._declared.form.shows].scores_estimates
        self._drawing = RangeDrawing(workload, asking)
        self._known = {over: OriginalColumn(original[over])}
        counted = [*self._declared.names_with_roles("sensitive"), over][
            0
        ]  # of COUNT(*), which has none
        self._truth = truth_of(original[aggregate.sensitive or counted], aggregate)

    def ask(self, level: int, randomness: Randomness) -> Outcome | None:
        """Ask about the next window; return None if the column has no values."""
        query = self._drawing.draw(level, randomness)
        if query is None:
            return None
        question = question_of(self._aggregate, query.where, self._declared)
        answer = ask(self._asking, self._declared, question, self._estimates)
        truth = self._truth.answer(self._aggregate.kind, query.rows(self._known))
        return outcome_of(answer.rows[0][self._aggregate.label], truth)


class CountsQueries:
    """Random counts of a release, with ranges drawn from the published values."""

    def __init__(
        self,
        workload: CountsWorkload,
        aggregate: Aggregate,
        asking: Engine,
        release: Release,
        original: Microdata,
    ) -> None:
        """Read the published values of each quasi-identifier."""
        declared = release.declared
        self._asking, self._declared = asking, declared
        self._count = replace(aggregate, sensitive=None)  # rows, whose value may be missing
        sensitive = workload.of or declared.names_with_roles("sensitive")[0]
        values = frequent_values(sensitive, [original[sensitive]])
        self._drawing = CountsDrawing(workload, asking, declared, values)
        self._known = {name: OriginalColumn(original[name]) for name in self._drawing.names}

    def ask(self, level: int, randomness: Randomness) -> Outcome | None:
        """Ask for the next count; return None if the release contains no rows."""
        query = self._drawing.draw(level, randomness)
        if query is None:
            return None
        question = question_of(self._count, query.where, self._declared)
        bounds = ask(self._asking, self._declared, question).rows[0][self._count.label]
        return outcome_of(bounds, Fraction(int(query.rows(self._known).sum())))
