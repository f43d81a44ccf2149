"""Workloads of random sets of vectors of quasi-identifiers that are published exactly."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
import pyarrow as pa

from sfumato.expectations.shared.sorting import stable_order
from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.query.accuracy.joined import (
    PreparedParts,
    ask_in_turn,
    joined_ends,
    joined_truth,
)
from sfumato.tasks.query.accuracy.parameters import ArbitraryWorkload
from sfumato.tasks.query.accuracy.vectors import VectorKeys, count_vectors
from sfumato.tasks.query.ask import files_of_tables
from sfumato.tasks.query.engines.engine import Engine, as_parts
from sfumato.tasks.query.engines.truth import (
    HelpedBounds,
    OriginalInParts,
    Outcome,
    Truth,
    read_help,
    truth_of,
)
from sfumato.tasks.query.help_tables.rows import help_name
from sfumato.tasks.query.question.question import Aggregate
from sfumato.tasks.query.question.ways import relations
from sfumato.tasks.schema.names import GROUP_ID
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


class VectorQueries:
    """Queries on random sets of vectors that select enough rows."""

    def __init__(
        self,
        _workload: ArbitraryWorkload,
        aggregate: Aggregate,
        _asking: Engine,
        release: Release,
        original: OriginalInParts,
    ) -> None:
        """Count the rows of each vector that is published."""
        declared = release.declared
        self._kind, self._aggregate, self._original = aggregate.kind, aggregate, original
        self._names = declared.names_with_roles("quasi-identifier")
        self._aggregated = aggregate.sensitive or declared.names_with_roles("sensitive")[0]
        files = files_of_tables(release, [self._aggregated])
        self._rows = as_parts(files[relations(declared).rows])
        self._help = as_parts(files[help_name(self._aggregated)])
        self._keys = VectorKeys.for_parts(self._names, self._rows.tables(self._names))
        keys = (self._keys.of_rows(rows) for rows in self._rows.tables(self._names))
        self._vectors, self._sizes = count_vectors(keys)
        number = len(original.parts)
        self._published = PreparedParts(number, self._read_published)
        self._originals = PreparedParts(number, self._read_originals)

    def outcomes(self, levels: Sequence[int], randomness: Randomness) -> Iterator[Outcome | None]:
        """Yield the outcome of one query per level; None if nothing is published."""
        draw = partial(self._draw, randomness)
        return ask_in_turn(levels, self._originals.at_once, draw, self._ask)

    def _draw(self, randomness: Randomness, level: int) -> np.ndarray | None:
        """Draw the vectors that a query selects; None if nothing is published."""
        selection = draw_vectors(self._sizes, level, randomness)
        return None if selection is None else self._vectors[np.sort(selection)]

    def _ask(self, chosen: Sequence[np.ndarray]) -> Iterator[Outcome]:
        for bounds, truth in zip(self._bounds(chosen), self._truths(chosen), strict=True):
            yield Outcome(*bounds, truth)

    def _bounds(
        self, chosen: Sequence[np.ndarray]
    ) -> Iterator[tuple[Fraction | None, Fraction | None]]:
        """Yield both ends of the answer to each query, which selects the `chosen` vectors."""
        totals = [joined_ends(self._kind) for _ in chosen]
        for rows, group, helped in self._published:
            for vectors, ends in zip(chosen, totals, strict=True):
                selected = group[rows.numbers_with(vectors)]
                hits = np.bincount(selected, minlength=len(helped.start))
                for end, answer in zip(ends, helped.bounds(hits), strict=True):
                    end.add(int(hits.sum()), answer)
            del rows, group, helped  # before the next part is read
        yield from ((lower.answer, upper.answer) for lower, upper in totals)

    def _truths(self, chosen: Sequence[np.ndarray]) -> list[Fraction | None]:
        totals = [joined_truth(self._kind) for _ in chosen]
        for rows, truth in self._originals:
            for vectors, total in zip(chosen, totals, strict=True):
                selected = rows.numbers_with(vectors)
                total.add(truth.count(selected), truth.answer(self._kind, selected))
            del rows, truth  # before the next part is read
        return [total.answer for total in totals]

    def _read_published(self) -> Iterator[tuple["_SortedRows", np.ndarray, HelpedBounds]]:
        rows = self._rows.tables([*self._names, GROUP_ID])
        return map(self._prepare_published, rows, self._help.tables())

    def _prepare_published(
        self, rows: pa.Table, help_table: pa.Table
    ) -> tuple["_SortedRows", np.ndarray, HelpedBounds]:
        """Return the rows of a part by their vectors, the group of each, and its help table."""
        group = rows[GROUP_ID].to_numpy()
        first = int(group.min()) if len(group) else 0  # ids run on from part to part
        sorted_rows = _SortedRows.by_keys(self._keys.of_rows(rows))
        return sorted_rows, group - first, read_help(help_table, self._kind)

    def _read_originals(self) -> Iterator[tuple["_SortedRows", Truth]]:
        names = dict.fromkeys([*self._names, self._aggregated])
        return map(self._prepare_originals, self._original.each(list(names)))

    def _prepare_originals(self, rows: Microdata) -> tuple["_SortedRows", Truth]:
        """Return the original rows of a part by their vectors, and the aggregated column."""
        keys = self._keys.of_original([rows[name] for name in self._names])
        return _SortedRows.by_keys(keys), truth_of(rows[self._aggregated], self._aggregate)


@dataclass(frozen=True, eq=False)
class _SortedRows:
    """Row numbers sorted by the keys of the rows."""

    keys: np.ndarray
    rows: np.ndarray

    @classmethod
    def by_keys(cls, keys: np.ndarray) -> "_SortedRows":
        """Sort the rows that have these keys (one per row)."""
        order = stable_order(keys) if keys.dtype == np.int64 else np.argsort(keys, kind="stable")
        return cls(keys[order], order)

    def numbers_with(self, keys: np.ndarray) -> np.ndarray:
        """Return the numbers of the rows whose key is among `keys`, which are distinct (int64)."""
        first = np.searchsorted(self.keys, keys, side="left")
        sizes = np.searchsorted(self.keys, keys, side="right") - first
        before = np.cumsum(sizes) - sizes
        numbers: np.ndarray = self.rows[np.repeat(first - before, sizes) + np.arange(sizes.sum())]
        return numbers
