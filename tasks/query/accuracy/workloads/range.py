"""Queries of ranges: windows of a quasi-identifier, as wide as a workload says."""

from sfumato.tasks.declaration.opened import Release
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.query.accuracy.random_query import OriginalColumn, Outcome
from sfumato.tasks.query.accuracy.truth import as_fraction, truth_of
from sfumato.tasks.query.accuracy.workloads.conditions import between, end_of_window
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
        self._asking, self._release, self._aggregate = asking, release, aggregate
        self._over = over
        self._estimates = WAYS[release.declared.form.shows].scores_estimates
        self._starts = asking.starts(over)
        self._known = OriginalColumn(original[over])
        counted = [*release.declared.named("sensitive"), over][0]  # of COUNT(*), which has none
        self._truth = truth_of(original[aggregate.sensitive or counted], aggregate)

    def ask(self, level: int, randomness: Randomness) -> Outcome | None:
        """The next window; None where the column has no values."""
        if not self._starts:
            return None
        low = self._starts[int(randomness(1)[0]) % len(self._starts)]
        high = end_of_window(low, level)
        within = between(self._over, low, high)
        question = question_of(self._aggregate, within, self._release.declared)
        answer = ask(self._asking, self._release.declared, question, self._estimates)
        bounds = answer.rows[0][self._aggregate.label]
        truth = self._truth.answer(self._aggregate.kind, self._known.between(low, high))
        limits = as_fraction(bounds.lower), as_fraction(bounds.upper)
        return Outcome(*limits, truth, bounds.may_be_empty, as_fraction(bounds.estimate))
