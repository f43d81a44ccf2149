"""Random sets of vectors of quasi-identifiers, whose rows may be in any part."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.expectations.sorting import stable_order
from sfumato.tasks.declaration.opened import Release
from sfumato.tasks.microdata.randomness import Randomness
from sfumato.tasks.query.accuracy.in_parts.joined import joined_ends, joined_truth
from sfumato.tasks.query.accuracy.in_parts.keys import VectorKeys, count_vectors
from sfumato.tasks.query.accuracy.original import OriginalInParts
from sfumato.tasks.query.accuracy.random_query import Outcome
from sfumato.tasks.query.accuracy.truth import read_help, truth_of
from sfumato.tasks.query.accuracy.workloads.parameters import ArbitraryWorkload
from sfumato.tasks.query.accuracy.workloads.sets import draw_vectors
from sfumato.tasks.query.ask import files_of_tables
from sfumato.tasks.query.engines.engine import Engine, Source
from sfumato.tasks.query.help_tables.rows import help_name
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.relations import relations
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.sql.parted import TableInParts


class VectorsInParts:
    """Random sets of vectors, drawn until enough rows are selected."""

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
        self._names = declared.named("quasi-identifier")
        self._of = aggregate.sensitive or declared.named("sensitive")[0]
        files = files_of_tables(release, [self._of])
        self._rows = _in_parts(files[relations(declared).rows])
        self._help = _in_parts(files[help_name(self._of)])
        self._keys = VectorKeys.of(self._names, self._rows.tables(self._names))
        keys = (self._keys.of_rows(rows) for rows in self._rows.tables(self._names))
        self._vectors, self._sizes = count_vectors(keys)

    def outcomes(self, levels: Sequence[int], randomness: Randomness) -> Iterator[Outcome | None]:
        """The outcomes of a query of each level; None where nothing is published."""
        drawn = [draw_vectors(self._sizes, level, randomness) for level in levels]
        chosen = [self._vectors[np.sort(one)] for one in drawn if one is not None]
        found = zip(self._bounds(chosen), self._truths(chosen), strict=True)
        for one in drawn:
            if one is None:
                yield None
                continue
            bounds, truth = next(found)
            yield Outcome(*bounds, truth)

    def _bounds(
        self, chosen: Sequence[np.ndarray]
    ) -> Iterator[tuple[Fraction | None, Fraction | None]]:
        """Both ends of the answer to each query, whose vectors are chosen."""
        joined = [joined_ends(self._kind) for _ in chosen]
        read = zip(self._rows.tables([*self._names, GROUP_ID]), self._help.tables(), strict=True)
        for rows, table in read:
            known, helped = _SortedRows.of(self._keys.of_rows(rows)), read_help(table, self._kind)
            group = rows[GROUP_ID].to_numpy()
            first = int(group.min()) if len(group) else 0  # ids run on from part to part
            for vectors, ends in zip(chosen, joined, strict=True):
                hits = np.bincount(group[known.among(vectors)] - first, minlength=len(helped.start))
                for end, answer in zip(ends, helped.bounds(hits), strict=True):
                    end.add(int(hits.sum()), answer)
        yield from ((lower.answer, upper.answer) for lower, upper in joined)

    def _truths(self, chosen: Sequence[np.ndarray]) -> list[Fraction | None]:
        joined = [joined_truth(self._kind) for _ in chosen]
        for rows in self._original.each(list(dict.fromkeys([*self._names, self._of]))):
            keys = self._keys.of_original([rows[name] for name in self._names])
            known, truth = _SortedRows.of(keys), truth_of(rows[self._of], self._aggregate)
            for vectors, one in zip(chosen, joined, strict=True):
                selected = known.among(vectors)
                one.add(truth.counted(selected), truth.answer(self._kind, selected))
        return [one.answer for one in joined]


@dataclass(frozen=True, eq=False)
class _SortedRows:
    """Rows by their keys: where each key's stand, and their numbers."""

    keys: np.ndarray
    rows: np.ndarray

    @classmethod
    def of(cls, keys: np.ndarray) -> "_SortedRows":
        """The rows that have these keys (one per row)."""
        order = stable_order(keys) if keys.dtype == np.int64 else np.argsort(keys, kind="stable")
        return cls(keys[order], order)

    def among(self, keys: np.ndarray) -> np.ndarray:
        """The numbers of the rows that have one of some keys, each of which stands once (int64)."""
        first = np.searchsorted(self.keys, keys, side="left")
        sizes = np.searchsorted(self.keys, keys, side="right") - first
        before = np.cumsum(sizes) - sizes
        found: np.ndarray = self.rows[np.repeat(first - before, sizes) + np.arange(sizes.sum())]
        return found


def _in_parts(table: Source) -> TableInParts:
    if not isinstance(table, TableInParts):
        raise TypeError(type(table).__name__)
    return table
