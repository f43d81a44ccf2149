"""Batches of counts: ranges of random quasi-identifiers, and a sensitive value of random rows.

Source: Wang, Ambiguity: hide the presence of individuals and their privacy with low information
loss, whose batches have selectivities of 1, 5 and 10 %; how they were drawn is not said there.
"""

from dataclasses import replace
from fractions import Fraction

from sfumato.tasks.declaration.opened import Release
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.query.accuracy.random_query import OriginalColumn, Outcome, outcome_of
from sfumato.tasks.query.accuracy.workloads.drawing import CountsDrawing
from sfumato.tasks.query.accuracy.workloads.frequent import frequent_values
from sfumato.tasks.query.accuracy.workloads.parameters import CountsWorkload
from sfumato.tasks.query.ask import ask
from sfumato.tasks.query.engines.engine import Engine
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.conditions import question_of


class CountsQueries:
    """Random counts of a release, whose ranges are drawn among what is published."""

    def __init__(
        self,
        workload: CountsWorkload,
        aggregate: Aggregate,
        asking: Engine,
        release: Release,
        original: Microdata,
    ) -> None:
        """Find what is published of each quasi-identifier."""
        declared = release.declared
        self._asking, self._declared = asking, declared
        self._count = replace(aggregate, sensitive=None)  # rows, whose value may be missing
        of = workload.of or declared.named("sensitive")[0]
        values = frequent_values(of, [original[of]])
        self._drawing = CountsDrawing(workload, asking, declared, values)
        self._known = {name: OriginalColumn(original[name]) for name in self._drawing.names}

    def ask(self, level: int, randomness: Randomness) -> Outcome | None:
        """The next count; None where nothing is represented."""
        drawn = self._drawing.draw(level, randomness)
        if drawn is None:
            return None
        question = question_of(self._count, drawn.where, self._declared)
        bounds = ask(self._asking, self._declared, question).rows[0][self._count.label]
        return outcome_of(bounds, Fraction(int(drawn.rows(self._known).sum())))
