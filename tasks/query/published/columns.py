"""Published columns, and the values that they have or could have behind their labels."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, Protocol

import pyarrow as pa

from sfumato.tasks.forms.label_readers import Reader
from sfumato.tasks.forms.labels import Admitted, Between, ListedValues, Prefixed
from sfumato.tasks.query.engines.engine import Source
from sfumato.tasks.query.published.comparisons import ColumnComparison
from sfumato.tasks.query.published.lookup import (
    Ends,
    Lookup,
    batches,
    ends_of,
    low_and_high,
    widest,
)
from sfumato.tasks.schema.published import DeclaredColumn

Pieces = Callable[[], Iterator[pa.Array]]
"""A function that reads the values of a column, piece by piece."""

_SAMPLED = 20_000  # most rows whose values are sampled


class PublishedColumn(Protocol):
    """A column of a release.

    Attributes:
        shows: the kind of what is published in it, in words.
    """

    shows: ClassVar[str]

    @property
    def ends(self) -> Ends | None:
        """The least and the greatest value that a row can have; None if nothing limits them."""
        ...

    @property
    def sample(self) -> frozenset[Any]:
        """Some of the values that a row can have."""
        ...

    def values(self) -> Iterator[pa.Array]:
        """Read the published values, or the ends of labels, piece by piece."""
        ...

    def admitted_comparisons(
        self, comparisons: Sequence[ColumnComparison], lookup: Lookup
    ) -> set[ColumnComparison]:
        """Return the comparisons that some published row can meet."""
        ...


@dataclass(frozen=True)
class ValueColumn:
    """A column whose values are published as they are, in one table or several.

    Attributes:
        sources: tables, and the name of the column in each.
        declared: the declaration of the column.
    """

    sources: tuple[tuple[Source, str], ...]
    declared: DeclaredColumn
    shows: ClassVar[str] = "values"

    @cached_property
    def ends(self) -> Ends | None:
        """The least and the greatest published value."""
        return widest(ends_of(source, name) for source, name in self.sources)

    @cached_property
    def sample(self) -> frozenset[Any]:
        """Different values of the first piece.

        Rows are sorted, so the sample takes rows at regular distances.
        """
        first = next(self.values(), None)
        if first is None:
            return frozenset()
        some = first[:: 1 + len(first) // _SAMPLED]
        return frozenset(some.unique().to_pylist())

    def values(self) -> Iterator[pa.Array]:
        """Read the values, piece by piece."""
        return chain.from_iterable(batches(source, name) for source, name in self.sources)

    def admitted_comparisons(
        self, comparisons: Sequence[ColumnComparison], lookup: Lookup
    ) -> set[ColumnComparison]:
        """Return the comparisons that some published value meets; reads until all are met.

        Comparisons that the ends of the column decide are not looked up. Ends do not cover NaN,
        which SQL orders above all numbers.
        """
        if self.declared.type == "float" or self.ends is None:
            return comparisons_met(self.values, comparisons, lookup)
        if self.ends[0] is None:
            return set()
        ordered = [comparison for comparison in comparisons if comparison.kind != "pattern"]
        inside = lookup.met_between(self.ends, ordered) if ordered else set[ColumnComparison]()
        decided = {comparison for comparison in inside if comparison.kind == "order"}
        open_ = [
            comparison
            for comparison in comparisons
            if comparison.kind == "pattern" or comparison in inside - decided
        ]
        return decided | comparisons_met(self.values, open_, lookup)


@dataclass(frozen=True)
class LabelledColumn:
    """A column of labels, each of which hides one of several values.

    Attributes:
        source: the table of labels.
        name: of the column.
        declared: the declaration of the column.
        reader: of its labels.
    """

    source: Source
    name: str
    declared: DeclaredColumn
    reader: Reader
    shows: ClassVar[str] = "labels"

    @cached_property
    def labels(self) -> list[Admitted]:
        """The sets of values that the published labels admit, each label once."""
        texts = {text for batch in batches(self.source, self.name) for text in batch.to_pylist()}
        return [self.reader(text) for text in sorted(texts - {None})]

    @cached_property
    def ends(self) -> Ends | None:
        """The least and the greatest value behind a label; None if a label admits any value."""
        ends = [_ends_of_label(label) for label in self.labels]
        return None if None in ends else widest(pair for pair in ends if pair is not None)

    @cached_property
    def sample(self) -> frozenset[Any]:
        """The values that labels list."""
        return frozenset(self._listed_values)

    def values(self) -> Iterator[pa.Array]:
        """Yield the values that labels list, and the ends of ranges."""
        ranges = [label for label in self.labels if isinstance(label, Between)]
        ends = [end for label in ranges for end in (label.low, label.high) if end is not None]
        yield pa.array([*self._listed_values, *ends], self.declared.arrow_type)

    def admitted_comparisons(
        self, comparisons: Sequence[ColumnComparison], lookup: Lookup
    ) -> set[ColumnComparison]:
        """Return the comparisons that some value behind a published label may meet."""
        if any(not _is_limited(label) for label in self.labels):
            return set(comparisons)
        listed = pa.array(self._listed_values, self.declared.arrow_type)
        admitted = comparisons_met(lambda: iter([listed]), comparisons, lookup)
        admitted |= self._admitted_by_ranges(
            [comparison for comparison in comparisons if comparison not in admitted], lookup
        )
        return admitted | {
            comparison
            for comparison in comparisons
            if comparison not in admitted and self._is_admitted_by_prefix(comparison)
        }

    @cached_property
    def _listed_values(self) -> list[Any]:
        listed = (label.values for label in self.labels if isinstance(label, ListedValues))
        return list(dict.fromkeys(chain.from_iterable(listed)))

    def _admitted_by_ranges(
        self, comparisons: Sequence[ColumnComparison], lookup: Lookup
    ) -> set[ColumnComparison]:
        """Return the comparisons that a value of some range may meet."""
        ranges = [(label.low, label.high) for label in self.labels if isinstance(label, Between)]
        ordered = [comparison for comparison in comparisons if comparison.kind != "pattern"]
        if not ranges or not ordered:
            return set(comparisons) if ranges else set()
        ends = low_and_high(ranges, self.declared.arrow_type)
        return lookup.met_between(ends, ordered) | (set(comparisons) - set(ordered))

    def _is_admitted_by_prefix(self, comparison: ColumnComparison) -> bool:
        """Decide whether a text with the prefix and length of some label may meet a comparison.

        Any comparison may be met if there are prefixes, except equality with another prefix or
        length.
        """
        prefixes = [label for label in self.labels if isinstance(label, Prefixed)]
        if comparison.kind != "equality":
            return bool(prefixes)
        text = str(comparison.constants[0].this)
        return any(
            len(text) == prefix.length and text.startswith(prefix.kept) for prefix in prefixes
        )


def comparisons_met(
    pieces: Pieces, comparisons: Iterable[ColumnComparison], lookup: Lookup
) -> set[ColumnComparison]:
    """Return the comparisons that some value meets, or that cannot be evaluated on some value."""
    open_, met = list(comparisons), set[ColumnComparison]()
    for values in pieces() if open_ else ():
        met |= lookup.met_among(values, open_)
        open_ = [comparison for comparison in open_ if comparison not in met]
        if not open_:
            break
    return met


def _is_limited(label: Admitted) -> bool:
    """Decide whether a label excludes some values of its type."""
    if isinstance(label, Between):
        return label.low is not None
    return isinstance(label, ListedValues | Prefixed)


def _ends_of_label(label: Admitted) -> Ends | None:
    if isinstance(label, ListedValues):
        values = [value for value in label.values if value is not None]
        return (min(values), max(values)) if values else (None, None)
    return (label.low, label.high) if isinstance(label, Between) and _is_limited(label) else None
