"""Workloads of conditions: ranges of a quasi-identifier, and batches of counts.

Source: Wang, Ambiguity: hide the presence of individuals and their privacy with low information
loss, whose batches have selectivities of 1, 5 and 10 %; it does not say how they were drawn.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.query.accuracy.drawing import (
    CountsDrawing,
    Drawing,
    DrawnQuery,
    RangeDrawing,
    frequent_values,
)
from sfumato.tasks.query.accuracy.joined import (
    PreparedParts,
    ask_in_turn,
    first_sensitive,
    joined_truth,
)
from sfumato.tasks.query.accuracy.parameters import CountsWorkload, RangeWorkload
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.engines.engine import Engine, ask_each
from sfumato.tasks.query.engines.truth import (
    OriginalColumn,
    OriginalInParts,
    Outcome,
    Truth,
    outcome_of,
    truth_of,
)
from sfumato.tasks.query.question.conditions import question_of
from sfumato.tasks.query.question.question import Aggregate
from sfumato.tasks.query.question.ways import WAYS
from sfumato.tasks.terms.opened import Release


class ConditionQueries:
    """Queries of a workload whose rows are selected by conditions."""

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
        """Prepare the workload; `names` are the columns that queries may have conditions on."""
        self._drawing, self._names, self._aggregate = drawing, names, aggregate
        self._asking, self._declared, self._estimates = asking, release.declared, estimates
        # COUNT(*) is over no column: any one tells how many rows there are
        counted = [*release.declared.names_with_roles("sensitive"), *names][0]
        self._aggregated = aggregate.sensitive or counted
        self._parts = PreparedParts(len(original.parts), self._read)
        self._original = original

    def outcomes(self, levels: Sequence[int], randomness: Randomness) -> Iterator[Outcome | None]:
        """Yield the outcome of one query per level; None for a query that cannot be asked."""

        def draw(level: int) -> DrawnQuery | None:
            return self._drawing.draw(level, randomness)

        return ask_in_turn(levels, self._parts.at_once, draw, self._ask)

    def _ask(self, queries: Sequence[DrawnQuery]) -> Iterator[Outcome]:
        return map(outcome_of, self._bounds(queries), self._truths(queries))

    def _bounds(self, queries: Sequence[DrawnQuery]) -> Iterator[Bounds]:
        questions = [question_of(self._aggregate, query.where, self._declared) for query in queries]
        for answers in ask_each(self._asking, questions, estimates=self._estimates):
            yield answers[()][self._aggregate]

    def _truths(self, queries: Sequence[DrawnQuery]) -> list[Fraction | None]:
        kind = self._aggregate.kind
        totals = [joined_truth(kind) for _ in queries]
        for columns, truth in self._parts:
            for query, total in zip(queries, totals, strict=True):
                chosen = query.rows(columns)
                total.add(truth.count(chosen), truth.answer(kind, chosen))
            del columns, truth  # before the next part is read
        return [total.answer for total in totals]

    def _read(self) -> Iterator[tuple[Mapping[str, OriginalColumn], Truth]]:
        names = dict.fromkeys([*self._names, self._aggregated])
        return map(self._prepare, self._original.each(list(names)))

    def _prepare(self, rows: Microdata) -> tuple[Mapping[str, OriginalColumn], Truth]:
        """Return the columns that queries have conditions on, and the aggregated one."""
        columns = {name: OriginalColumn(rows[name]) for name in self._names}
        return columns, truth_of(rows[self._aggregated], self._aggregate)


def range_queries(
    workload: RangeWorkload,
    aggregate: Aggregate,
    asking: Engine,
    release: Release,
    original: OriginalInParts,
) -> ConditionQueries:
    """Return queries on windows [x, x + span] of a quasi-identifier.

    x is drawn from its published values.
    """
    estimates = WAYS[release.declared.form.shows].scores_estimates
    drawing = RangeDrawing(workload, asking)
    return ConditionQueries(
        drawing, [workload.over], aggregate, asking, release, original, estimates
    )


def counts_queries(
    workload: CountsWorkload,
    aggregate: Aggregate,
    asking: Engine,
    release: Release,
    original: OriginalInParts,
) -> ConditionQueries:
    """Return random counts of a release, with ranges drawn from the published values."""
    sensitive = workload.of or first_sensitive(release.declared)
    values = frequent_values(sensitive, (rows[sensitive] for rows in original.each([sensitive])))
    drawing = CountsDrawing(workload, asking, release.declared, values)
    count = replace(aggregate, sensitive=None)  # rows, whose value may be missing
    return ConditionQueries(drawing, drawing.names, count, asking, release, original, True)
