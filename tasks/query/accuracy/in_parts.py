"""The accuracy of a release in parts, where each query is asked of one part after the other."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from sfumato.expectations.shared.exact import INT64_MAX
from sfumato.expectations.shared.sorting import stable_order
from sfumato.tasks.microdata.table import Column, Microdata, Randomness, encode
from sfumato.tasks.query.accuracy.arbitrary import draw_vectors
from sfumato.tasks.query.accuracy.drawing import (
    CountsDrawing,
    Drawing,
    DrawnQuery,
    RangeDrawing,
    frequent_values,
)
from sfumato.tasks.query.accuracy.parameters import ArbitraryWorkload, CountsWorkload, RangeWorkload
from sfumato.tasks.query.aggregates.kind import AggregateKind, HelpColumn
from sfumato.tasks.query.ask import files_of_tables
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.engines.engine import Engine, Source
from sfumato.tasks.query.engines.in_parts import ask_each
from sfumato.tasks.query.engines.truth import (
    OriginalColumn,
    OriginalInParts,
    Outcome,
    outcome_of,
    read_help,
    truth_of,
)
from sfumato.tasks.query.help_tables.rows import help_name
from sfumato.tasks.query.question.conditions import question_of
from sfumato.tasks.query.question.question import Aggregate
from sfumato.tasks.query.question.ways import WAYS, relations
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.sql.parted import TableInParts
from sfumato.tasks.terms.opened import Release

_AT_ONCE = 200
"""Queries that are asked while the parts are open once; each keeps a running answer in memory."""


@dataclass
class JoinedAnswer:
    """The answer over all parts, which grows by the answer of each part.

    Attributes:
        column: its function combines the parts' answers; None if rows are counted.
        per_row: whether an answer is divided by its number of rows.
        rows: the number of rows so far.
        total: the combined answers so far, not divided by rows.
    """

    column: HelpColumn | None
    per_row: bool = False
    rows: int = 0
    total: Fraction | None = None

    def add(self, rows: int, answer: Fraction | None) -> None:
        """Add the answer of a part that has `rows` rows."""
        self.rows += rows
        if self.column is None or answer is None:
            return
        more = answer * rows if self.per_row else answer
        before, join = self.total, _JOINED[self.column.function]
        self.total = more if before is None else join(before, more)

    @property
    def answer(self) -> Fraction | None:
        """The answer over all rows; None if there are no rows."""
        if self.column is None:
            return Fraction(self.rows)
        if self.total is None or not self.per_row:
            return self.total
        return self.total / self.rows


def joined_ends(kind: AggregateKind) -> tuple[JoinedAnswer, JoinedAnswer]:
    """Return empty answers for the lower and the upper end of an aggregate's bounds."""
    if kind.help is None:
        return JoinedAnswer(None), JoinedAnswer(None)
    lower, upper = (
        JoinedAnswer(column, kind.help.per_row) for column in (kind.help.lower, kind.help.upper)
    )
    return lower, upper


def joined_truth(kind: AggregateKind) -> JoinedAnswer:
    """Return an empty answer for an aggregate's exact value, which lies between both ends."""
    return joined_ends(kind)[0]


def _sum(first: Fraction, second: Fraction) -> Fraction:
    return first + second


_JOINED: Mapping[type[exp.AggFunc], Callable[[Any, Any], Any]] = {
    exp.Sum: _sum,
    exp.Min: min,
    exp.Max: max,
}
"""Combine the answers of two parts, by the function that combines an answer over groups."""


class ConditionsInParts:
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
        self._asking, self._declared, self._original = asking, release.declared, original
        self._estimates = estimates
        counted = [*release.declared.names_with_roles("sensitive"), *names][
            0
        ]  # of COUNT(*), which has none
        self._aggregated = aggregate.sensitive or counted

    def outcomes(self, levels: Sequence[int], randomness: Randomness) -> Iterator[Outcome | None]:
        """Yield the outcome of one query per level; None for a query that cannot be asked."""
        drawn_queries = [self._drawing.draw(level, randomness) for level in levels]
        for first in range(0, len(drawn_queries), _AT_ONCE):
            batch = drawn_queries[first : first + _AT_ONCE]
            queries = [query for query in batch if query is not None]
            answers = zip(self._bounds(queries), self._truths(queries), strict=True)
            yield from (None if query is None else outcome_of(*next(answers)) for query in batch)

    def _bounds(self, queries: Sequence[DrawnQuery]) -> Iterator[Bounds]:
        questions = [question_of(self._aggregate, query.where, self._declared) for query in queries]
        for answers in ask_each(self._asking, questions, estimates=self._estimates):
            yield answers[()][self._aggregate]

    def _truths(self, queries: Sequence[DrawnQuery]) -> list[Fraction | None]:
        totals = [joined_truth(self._aggregate.kind) for _ in queries]
        for rows in self._original.each(list(dict.fromkeys([*self._names, self._aggregated]))):
            self._add(rows, queries, totals)
        return [total.answer for total in totals]

    def _add(
        self, rows: Microdata, queries: Sequence[DrawnQuery], totals: Sequence[JoinedAnswer]
    ) -> None:
        """Add the contribution of a part's rows to the exact answer of each query."""
        columns = {name: OriginalColumn(rows[name]) for name in self._names}
        truth, kind = truth_of(rows[self._aggregated], self._aggregate), self._aggregate.kind
        for query, total in zip(queries, totals, strict=True):
            chosen = query.rows(columns)
            total.add(truth.count(chosen), truth.answer(kind, chosen))


def ranges_in_parts(
    workload: RangeWorkload,
    aggregate: Aggregate,
    asking: Engine,
    release: Release,
    original: OriginalInParts,
) -> ConditionsInParts:
    """Return queries on windows [x, x + span] of a quasi-identifier.

    x is drawn from its published values.
    """
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
    """Return random counts of a release, with ranges drawn from the published values."""
    sensitive = workload.of or release.declared.names_with_roles("sensitive")[0]
    values = frequent_values(sensitive, (rows[sensitive] for rows in original.each([sensitive])))
    drawing = CountsDrawing(workload, asking, release.declared, values)
    count = replace(aggregate, sensitive=None)  # rows, whose value may be missing
    return ConditionsInParts(drawing, drawing.names, count, asking, release, original, True)


@dataclass(frozen=True, eq=False)
class VectorKeys:
    """One key for each vector of values, in the order of vectors; a missing value comes first.

    Attributes:
        names: of the columns.
        values: all values of each column in any part, ascending.
    """

    names: Sequence[str]
    values: Sequence[pa.Array]

    @classmethod
    def for_parts(cls, names: Sequence[str], parts: Iterable[pa.Table]) -> "VectorKeys":
        """Return the keys of all vectors of the published rows of some parts."""
        seen: list[list[pa.Array]] = [[] for _ in names]
        for rows in parts:
            for arrays, name in zip(seen, names, strict=True):
                arrays.append(encode(name, "quasi-identifier", _plain(rows[name])).values)
        return cls(names, [_ascending(arrays) for arrays in seen])

    def of_rows(self, rows: pa.Table) -> np.ndarray:
        """Return the key of each published row's vector: int64, or bytes if int64 is too short."""
        return self._pack(
            [self._places(rows[name], number) for number, name in enumerate(self.names)]
        )

    def of_original(self, columns: Sequence[Column]) -> np.ndarray:
        """Return the key of each original row's vector.

        A vector that is not published has a key that no published row has.
        """
        codes = []
        for column, values in zip(columns, self.values, strict=True):
            index = pc.index_in(column.values.cast(values.type), value_set=values)
            place = np.append(index.fill_null(len(values)).to_numpy() + 1, 0)
            codes.append(place[column.codes])
        return self._pack(codes)

    def _places(self, column: pa.ChunkedArray, number: int) -> np.ndarray:
        index = pc.index_in(_plain(column), value_set=self.values[number])
        return np.asarray(index.combine_chunks().fill_null(-1).to_numpy()) + 1

    def _pack(self, codes: Sequence[np.ndarray]) -> np.ndarray:
        """Combine the codes of all columns (0: missing value) into keys in the order of vectors."""
        sizes = [len(values) + 2 for values in self.values]
        if math.prod(sizes) > INT64_MAX:
            return _as_bytes(codes)
        packed = np.zeros(len(codes[0]), dtype=np.int64)
        for column_codes, size in zip(codes, sizes, strict=True):
            packed = packed * size + column_codes
        return packed


def count_vectors(keys: Iterator[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct keys of all parts, ascending, and the number of rows of each (int64)."""
    distinct, counts = np.unique(next(keys), return_counts=True)
    for part_keys in keys:
        more, numbers = np.unique(part_keys, return_counts=True)
        both, place = np.unique(np.concatenate([distinct, more]), return_inverse=True)
        summed = np.zeros(len(both), dtype=np.int64)
        np.add.at(summed, place, np.concatenate([counts, numbers]))
        distinct, counts = both, summed
    return distinct, counts


def _as_bytes(codes: Sequence[np.ndarray]) -> np.ndarray:
    wide = np.stack([column_codes.astype(">u4") for column_codes in codes], axis=1)
    return np.ascontiguousarray(wide).view(f"S{4 * len(codes)}").ravel()


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    dictionary = pa.types.is_dictionary(column.type)
    return column.cast(column.type.value_type) if dictionary else column


def _ascending(parts: Sequence[pa.Array]) -> pa.Array:
    """Return the values of all parts, ascending, each once."""
    every = pc.unique(pa.concat_arrays(parts))
    return every.take(pc.sort_indices(every))


class VectorsInParts:
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
        self._rows = _in_parts(files[relations(declared).rows])
        self._help = _in_parts(files[help_name(self._aggregated)])
        self._keys = VectorKeys.for_parts(self._names, self._rows.tables(self._names))
        keys = (self._keys.of_rows(rows) for rows in self._rows.tables(self._names))
        self._vectors, self._sizes = count_vectors(keys)

    def outcomes(self, levels: Sequence[int], randomness: Randomness) -> Iterator[Outcome | None]:
        """Yield the outcome of one query per level; None if nothing is published."""
        selections = [draw_vectors(self._sizes, level, randomness) for level in levels]
        chosen = [
            self._vectors[np.sort(selection)] for selection in selections if selection is not None
        ]
        answers = zip(self._bounds(chosen), self._truths(chosen), strict=True)
        for selection in selections:
            if selection is None:
                yield None
                continue
            bounds, truth = next(answers)
            yield Outcome(*bounds, truth)

    def _bounds(
        self, chosen: Sequence[np.ndarray]
    ) -> Iterator[tuple[Fraction | None, Fraction | None]]:
        """Yield both ends of the answer to each query, which selects the `chosen` vectors."""
        totals = [joined_ends(self._kind) for _ in chosen]
        read = zip(self._rows.tables([*self._names, GROUP_ID]), self._help.tables(), strict=True)
        for rows, table in read:
            sorted_rows, helped = (
                _SortedRows.by_keys(self._keys.of_rows(rows)),
                read_help(table, self._kind),
            )
            group = rows[GROUP_ID].to_numpy()
            first = int(group.min()) if len(group) else 0  # ids run on from part to part
            for vectors, ends in zip(chosen, totals, strict=True):
                hits = np.bincount(
                    group[sorted_rows.numbers_with(vectors)] - first, minlength=len(helped.start)
                )
                for end, answer in zip(ends, helped.bounds(hits), strict=True):
                    end.add(int(hits.sum()), answer)
        yield from ((lower.answer, upper.answer) for lower, upper in totals)

    def _truths(self, chosen: Sequence[np.ndarray]) -> list[Fraction | None]:
        totals = [joined_truth(self._kind) for _ in chosen]
        for rows in self._original.each(list(dict.fromkeys([*self._names, self._aggregated]))):
            keys = self._keys.of_original([rows[name] for name in self._names])
            sorted_rows, truth = (
                _SortedRows.by_keys(keys),
                truth_of(rows[self._aggregated], self._aggregate),
            )
            for vectors, total in zip(chosen, totals, strict=True):
                selected = sorted_rows.numbers_with(vectors)
                total.add(truth.count(selected), truth.answer(self._kind, selected))
        return [total.answer for total in totals]


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


def _in_parts(table: Source) -> TableInParts:
    if not isinstance(table, TableInParts):
        raise TypeError(type(table).__name__)
    return table
