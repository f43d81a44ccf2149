"""The accuracy of a release in parts: each query is asked of one part after the other."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from sfumato.expectations.exact import INT64_MAX
from sfumato.expectations.sorting import stable_order
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
from sfumato.tasks.query.accuracy.truth import (
    OriginalColumn,
    OriginalInParts,
    Outcome,
    outcome_of,
    read_help,
    truth_of,
)
from sfumato.tasks.query.aggregates.kind import AggregateKind, HelpColumn
from sfumato.tasks.query.ask import files_of_tables
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.engines.engine import Engine, Source
from sfumato.tasks.query.engines.in_parts import ask_each
from sfumato.tasks.query.help_tables.rows import help_name
from sfumato.tasks.query.question.conditions import question_of
from sfumato.tasks.query.question.question import Aggregate
from sfumato.tasks.query.question.ways import WAYS, relations
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.sql.parted import TableInParts
from sfumato.tasks.terms.opened import Release

_AT_ONCE = 200
"""Queries that are asked while the parts are open once: each keeps what parts contribute to it."""


@dataclass
class JoinedAnswer:
    """What parts add up to.

    Attributes:
        column: whose function combines them; without one rows are counted.
        per_row: whether each is by the number of its rows.
        rows: how many there are so far.
        combined: of those, what is by no number of rows.
    """

    column: HelpColumn | None
    per_row: bool = False
    rows: int = 0
    combined: Fraction | None = None

    def add(self, rows: int, answer: Fraction | None) -> None:
        """Add the answer of a part, which is over so many rows."""
        self.rows += rows
        if self.column is None or answer is None:
            return
        more = answer * rows if self.per_row else answer
        known, join = self.combined, _JOINED[self.column.function]
        self.combined = more if known is None else join(known, more)

    @property
    def answer(self) -> Fraction | None:
        """The answer over all rows; None where there are none."""
        if self.column is None:
            return Fraction(self.rows)
        if self.combined is None or not self.per_row:
            return self.combined
        return self.combined / self.rows


def joined_ends(kind: AggregateKind) -> tuple[JoinedAnswer, JoinedAnswer]:
    """What joins the lower, and what joins the upper ends of an aggregate's bounds."""
    if kind.help is None:
        return JoinedAnswer(None), JoinedAnswer(None)
    lower, upper = (
        JoinedAnswer(of, kind.help.per_row) for of in (kind.help.lower, kind.help.upper)
    )
    return lower, upper


def joined_truth(kind: AggregateKind) -> JoinedAnswer:
    """What joins an aggregate's exact answers, which lie between both ends."""
    return joined_ends(kind)[0]


def _sum(one: Fraction, other: Fraction) -> Fraction:
    return one + other


_JOINED: Mapping[type[exp.AggFunc], Callable[[Any, Any], Any]] = {
    exp.Sum: _sum,
    exp.Min: min,
    exp.Max: max,
}
"""How what is over two parts comes from what is over each, by what combines it over groups."""


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


@dataclass(frozen=True, eq=False)
class VectorKeys:
    """One key for each vector of values, in their order; a missing value comes first.

    Attributes:
        names: of the columns.
        values: of each all values of any part, ascending.
    """

    names: Sequence[str]
    values: Sequence[pa.Array]

    @classmethod
    def of(cls, names: Sequence[str], parts: Iterable[pa.Table]) -> "VectorKeys":
        """The keys of all vectors of the published rows of some parts."""
        seen: list[list[pa.Array]] = [[] for _ in names]
        for rows in parts:
            for of, name in zip(seen, names, strict=True):
                of.append(encode(name, "quasi-identifier", _plain(rows[name])).values)
        return cls(names, [_ascending(of) for of in seen])

    def of_rows(self, rows: pa.Table) -> np.ndarray:
        """The key of each row's vector: int64, or bytes where an integer does not hold it."""
        return self._packed([self._places(rows[name], at) for at, name in enumerate(self.names)])

    def of_original(self, columns: Sequence[Column]) -> np.ndarray:
        """The same of rows of the original; one that is not published has a key of no other row."""
        codes = []
        for column, values in zip(columns, self.values, strict=True):
            known = pc.index_in(column.values.cast(values.type), value_set=values)
            place = np.append(known.fill_null(len(values)).to_numpy() + 1, 0)
            codes.append(place[column.codes])
        return self._packed(codes)

    def _places(self, column: pa.ChunkedArray, at: int) -> np.ndarray:
        found = pc.index_in(_plain(column), value_set=self.values[at])
        return np.asarray(found.combine_chunks().fill_null(-1).to_numpy()) + 1

    def _packed(self, codes: Sequence[np.ndarray]) -> np.ndarray:
        """Codes of each column, 0 where it is missing, as keys in the order of vectors."""
        sizes = [len(values) + 2 for values in self.values]
        if math.prod(sizes) > INT64_MAX:
            return _as_bytes(codes)
        packed = np.zeros(len(codes[0]), dtype=np.int64)
        for of, size in zip(codes, sizes, strict=True):
            packed = packed * size + of
        return packed


def count_vectors(keys: Iterator[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The distinct keys of all parts, ascending, and how often each occurs (int64)."""
    found, counts = np.unique(next(keys), return_counts=True)
    for of_part in keys:
        more, numbers = np.unique(of_part, return_counts=True)
        both, place = np.unique(np.concatenate([found, more]), return_inverse=True)
        summed = np.zeros(len(both), dtype=np.int64)
        np.add.at(summed, place, np.concatenate([counts, numbers]))
        found, counts = both, summed
    return found, counts


def _as_bytes(codes: Sequence[np.ndarray]) -> np.ndarray:
    wide = np.stack([of.astype(">u4") for of in codes], axis=1)
    return np.ascontiguousarray(wide).view(f"S{4 * len(codes)}").ravel()


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    dictionary = pa.types.is_dictionary(column.type)
    return column.cast(column.type.value_type) if dictionary else column


def _ascending(parts: Sequence[pa.Array]) -> pa.Array:
    """The values of all parts, each once."""
    every = pc.unique(pa.concat_arrays(parts))
    return every.take(pc.sort_indices(every))


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
