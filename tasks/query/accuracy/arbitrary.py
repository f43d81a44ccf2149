"""Workloads of random sets of vectors of quasi-identifiers that are published exactly."""

import numpy as np

from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.query.accuracy.parameters import ArbitraryWorkload
from sfumato.tasks.query.accuracy.truth import Outcome, read_help, truth_of
from sfumato.tasks.query.accuracy.vectors import vectors
from sfumato.tasks.query.ask import files_of_tables
from sfumato.tasks.query.engines.engine import Engine, read_table
from sfumato.tasks.query.help_tables.rows import help_name
from sfumato.tasks.query.question.question import Aggregate
from sfumato.tasks.query.question.ways import relations
from sfumato.tasks.terms.opened import Release

_SPARSE = 4  # times as many numbers, and few are drawn twice


def draw_vectors(sizes: np.ndarray, level: int, randomness: Randomness) -> np.ndarray | None:
    """Vectors in random order until they select enough rows (int64); None where there are none.

    Args:
        sizes: the rows of each vector (int64).
        level: how many rows are enough.
        randomness: what is drawn from.
    """
    if not len(sizes):
        return None
    order = some_in_random_order(len(sizes), level, randomness)
    enough = int(np.searchsorted(np.cumsum(sizes[order]), level)) + 1
    return order[:enough]


def some_in_random_order(number: int, wanted: int, randomness: Randomness) -> np.ndarray:
    """So many of the numbers below `number`, or more, as a random order of all begins (int64).

    Where few are wanted, they are drawn one by one, and those that were drawn before passed over.
    """
    if _SPARSE * wanted >= number:
        return np.argsort(randomness(number), kind="stable")
    last = np.uint64(2**64 // number * number - 1)  # beyond it some would be drawn more often
    found = np.empty(0, dtype=np.int64)
    while len(found) < wanted:
        keys = randomness(2 * wanted)
        drawn = np.concatenate([found, (keys[keys <= last] % np.uint64(number)).astype(np.int64)])
        found = drawn[np.sort(np.unique(drawn, return_index=True)[1])]
    return found


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
