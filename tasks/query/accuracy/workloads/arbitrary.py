"""Arbitrary queries: random sets of vectors of quasi-identifiers that are published exactly."""

import numpy as np

from sfumato.tasks.declaration.opened import Release
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.query.accuracy.random_query import Outcome
from sfumato.tasks.query.accuracy.truth import read_help, truth_of
from sfumato.tasks.query.accuracy.vectors import vectors
from sfumato.tasks.query.accuracy.workloads.parameters import ArbitraryWorkload
from sfumato.tasks.query.accuracy.workloads.sets import draw_vectors
from sfumato.tasks.query.ask import files_of_tables
from sfumato.tasks.query.engines.engine import Engine, read_table
from sfumato.tasks.query.help_tables.rows import help_name
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.relations import relations


class ArbitraryQueries:
    """Random sets of vectors of quasi-identifiers, drawn until enough rows are selected."""

    def __init__(
        self,
        _workload: ArbitraryWorkload,
        aggregate: Aggregate,
        _asking: Engine,
        release: Release,
        original: Microdata,
    ) -> None:
        """Read the vectors, and the help table of the aggregated column."""
        declared = release.declared
        columns = declared.named("quasi-identifier")
        rows = release.table(relations(declared).rows)
        self._kind = aggregate.kind
        self._group = rows["group_id"].to_numpy()
        self._vector, self._original = vectors(rows, columns, original)
        self._size = np.bincount(self._vector)
        sensitive = aggregate.sensitive or declared.named("sensitive")[0]
        helping = files_of_tables(release, [sensitive])[help_name(sensitive)]
        self._helped = read_help(read_table(helping), self._kind)
        self._truth = truth_of(original[sensitive], aggregate)

    def ask(self, level: int, randomness: Randomness) -> Outcome | None:
        """The next set; None where nothing is published."""
        drawn = draw_vectors(self._size, level, randomness)
        if drawn is None:
            return None
        chosen = np.zeros(len(self._size) + 1, dtype=bool)  # the last one: not published
        chosen[drawn] = True
        hits = np.bincount(self._group[chosen[self._vector]], minlength=len(self._helped.start))
        lower, upper = self._helped.bounds(hits)
        return Outcome(lower, upper, self._truth.answer(self._kind, chosen[self._original]))
