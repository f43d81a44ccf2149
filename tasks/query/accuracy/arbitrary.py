"""Workloads of random sets of vectors of quasi-identifiers that are published exactly."""

import numpy as np

from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.query.accuracy.parameters import ArbitraryWorkload
from sfumato.tasks.query.accuracy.vectors import vectors
from sfumato.tasks.query.ask import files_of_tables
from sfumato.tasks.query.engines.engine import Engine, read_table
from sfumato.tasks.query.engines.truth import Outcome, read_help, truth_of
from sfumato.tasks.query.help_tables.rows import help_name
from sfumato.tasks.query.question.question import Aggregate
from sfumato.tasks.query.question.ways import relations
from sfumato.tasks.terms.opened import Release

_SPARSE = 4  # times as many numbers, and few are drawn twice


def draw_vectors(sizes: np.ndarray, level: int, randomness: Randomness) -> np.ndarray | None:
    """Draw vectors in random order until they select enough rows (int64); None if there is none.

    Args:
        sizes: the rows of each vector (int64).
        level: the number of rows that is enough.
        randomness: the source of random numbers.
    """
    if not len(sizes):
        return None
    order = some_in_random_order(len(sizes), level, randomness)
    enough = int(np.searchsorted(np.cumsum(sizes[order]), level)) + 1
    return order[:enough]


def some_in_random_order(number: int, least: int, randomness: Randomness) -> np.ndarray:
    """Return at least `least` numbers below `number`, as a random order of all begins (int64).

    Few numbers are drawn one by one, and numbers drawn before are skipped.
    """
    if _SPARSE * least >= number:
        return np.argsort(randomness(number), kind="stable")
    last = np.uint64(2**64 // number * number - 1)  # beyond it some would be drawn more often
    numbers = np.empty(0, dtype=np.int64)
    while len(numbers) < least:
        keys = randomness(2 * least)
        candidates = np.concatenate(
            [numbers, (keys[keys <= last] % np.uint64(number)).astype(np.int64)]
        )
        numbers = candidates[np.sort(np.unique(candidates, return_index=True)[1])]
    return numbers


class ArbitraryQueries:
    """Queries on random sets of vectors of quasi-identifiers that select enough rows."""

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
        columns = declared.names_with_roles("quasi-identifier")
        rows = release.table(relations(declared).rows)
        self._kind = aggregate.kind
        self._group = rows["group_id"].to_numpy()
        self._vector, self._original = vectors(rows, columns, original)
        self._size = np.bincount(self._vector)
        sensitive = aggregate.sensitive or declared.names_with_roles("sensitive")[0]
        helping = files_of_tables(release, [sensitive])[help_name(sensitive)]
        self._helped = read_help(read_table(helping), self._kind)
        self._truth = truth_of(original[sensitive], aggregate)

    def ask(self, level: int, randomness: Randomness) -> Outcome | None:
        """Ask about the next set of vectors; return None if nothing is published."""
        selection = draw_vectors(self._size, level, randomness)
        if selection is None:
            return None
        chosen = np.zeros(len(self._size) + 1, dtype=bool)  # the last one: not published
        chosen[selection] = True
        hits = np.bincount(self._group[chosen[self._vector]], minlength=len(self._helped.start))
        lower, upper = self._helped.bounds(hits)
        return Outcome(lower, upper, self._truth.answer(self._kind, chosen[self._original]))
