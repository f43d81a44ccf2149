"""Queries with conditions on columns, all of which are asked of each part while it is open."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from sfumato.tasks.declaration.opened import Release
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.query.accuracy.in_parts.joined import JoinedAnswer, joined_truth
from sfumato.tasks.query.accuracy.original import OriginalInParts
from sfumato.tasks.query.accuracy.random_query import OriginalColumn, Outcome, outcome_of
from sfumato.tasks.query.accuracy.truth import truth_of
from sfumato.tasks.query.accuracy.workloads.drawing import (
    CountsDrawing,
    Drawing,
    RangeDrawing,
)
from sfumato.tasks.query.accuracy.workloads.drawn import DrawnQuery
from sfumato.tasks.query.accuracy.workloads.frequent import frequent_values
from sfumato.tasks.query.accuracy.workloads.parameters import CountsWorkload, RangeWorkload
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.engines.engine import Engine
from sfumato.tasks.query.engines.in_parts.several import ask_each
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.conditions import question_of
from sfumato.tasks.query.question.ways.registry import WAYS

_AT_ONCE = 200
"""Queries that are asked while the parts are open once: each keeps what parts contribute to it."""


class ConditionsInParts:
    """Queries of a workload, whose rows conditions tell."""

    def __init__(
        self,
        drawing: Drawing,
        names: Sequence[str],
        aggregate: Aggregate,
        asking: Engine,
        release: Release,
        original: OriginalInParts,
        estimates: bool,
    ) -> None:
        """Ask nothing yet; `names` are the columns on which there may be conditions."""
        self._drawing, self._names, self._aggregate = drawing, names, aggregate
        self._asking, self._declared, self._original = asking, release.declared, original
        self._estimates = estimates
        of = [*release.declared.named("sensitive"), *names][0]  # of COUNT(*), which has none
        self._of = aggregate.sensitive or of

    def outcomes(self, levels: Sequence[int], randomness: Randomness) -> Iterator[Outcome | None]:
        """The outcomes of a query of each level; None for one that cannot be asked."""
        drawn = [self._drawing.draw(level, randomness) for level in levels]
        for first in range(0, len(drawn), _AT_ONCE):
            some = drawn[first : first + _AT_ONCE]
            asked = [query for query in some if query is not None]
            found = zip(self._bounds(asked), self._truths(asked), strict=True)
            yield from (None if query is None else outcome_of(*next(found)) for query in some)

    def _bounds(self, drawn: Sequence[DrawnQuery]) -> Iterator[Bounds]:
        questions = [question_of(self._aggregate, one.where, self._declared) for one in drawn]
        for found in ask_each(self._asking, questions, estimates=self._estimates):
            yield found[()][self._aggregate]

    def _truths(self, drawn: Sequence[DrawnQuery]) -> list[Fraction | None]:
        joined = [joined_truth(self._aggregate.kind) for _ in drawn]
        for rows in self._original.each(list(dict.fromkeys([*self._names, self._of]))):
            self._add(rows, drawn, joined)
        return [one.answer for one in joined]

    def _add(
        self, rows: Microdata, drawn: Sequence[DrawnQuery], joined: Sequence[JoinedAnswer]
    ) -> None:
        """Add what the rows of a part contribute to the truth of each query."""
        columns = {name: OriginalColumn(rows[name]) for name in self._names}
        truth, kind = truth_of(rows[self._of], self._aggregate), self._aggregate.kind
        for query, one in zip(drawn, joined, strict=True):
            chosen = query.rows(columns)
            one.add(truth.counted(chosen), truth.answer(kind, chosen))


def ranges_in_parts(
    workload: RangeWorkload,
    aggregate: Aggregate,
    asking: Engine,
    release: Release,
    original: OriginalInParts,
) -> ConditionsInParts:
    """Windows [x, x + span] of a quasi-identifier, x drawn among what is published of it."""
    estimates = WAYS[release.declared.form.shows].scores_estimates
    drawing = RangeDrawing(workload, asking)
    return ConditionsInParts(
        drawing, [workload.over], aggregate, asking, release, original, estimates
    )


def counts_in_parts(
    workload: CountsWorkload,
    aggregate: Aggregate,
    asking: Engine,
    release: Release,
    original: OriginalInParts,
) -> ConditionsInParts:
    """Random counts of a release, whose ranges are drawn among what is published."""
    of = workload.of or release.declared.named("sensitive")[0]
    values = frequent_values(of, (rows[of] for rows in original.each([of])))
    drawing = CountsDrawing(workload, asking, release.declared, values)
    count = replace(aggregate, sensitive=None)  # rows, whose value may be missing
    return ConditionsInParts(drawing, drawing.names, count, asking, release, original, True)
