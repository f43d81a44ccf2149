"""Published columns as they are asked which values they have, or could have behind their labels."""

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
"""Reads the values of a column, piece by piece."""

_SAMPLED = 20_000  # rows whose values are kept


class PublishedColumn(Protocol):
    """A column of a release.

    Attributes:
        shows: what stands in its place, in words.
    """

    shows: ClassVar[str]

    @property
    def ends(self) -> Ends | None:
        """The least and the greatest value that a row can have; None where nothing limits them."""
        ...

    @property
    def sample(self) -> frozenset[Any]:
        """Some of the values that a row can have."""
        ...

    def values(self) -> Iterator[pa.Array]:
        """Read the values that are published, or the ends of labels, piece by piece."""
        ...

    def admitted(self, asked: Sequence[ColumnComparison], lookup: Lookup) -> set[ColumnComparison]:
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
        """Different values of the first piece: rows are sorted, so one in so many of them."""
        first = next(self.values(), None)
        if first is None:
            return frozenset()
        some = first[:: 1 + len(first) // _SAMPLED]
        return frozenset(some.unique().to_pylist())

    def values(self) -> Iterator[pa.Array]:
        """Read the values, piece by piece."""
        return chain.from_iterable(batches(source, name) for source, name in self.sources)

    def admitted(self, asked: Sequence[ColumnComparison], lookup: Lookup) -> set[ColumnComparison]:
        """Return the comparisons that some published value meets; reads until all are found.

        What the ends of the column decide is decided without reading it. Ends know nothing of NaN,
        which SQL has above all numbers.
        """
        if self.declared.type == "float" or self.ends is None:
            return values_meeting(self.values, asked, lookup)
        if self.ends[0] is None:
            return set()
        ordered = [comparison for comparison in asked if comparison.kind != "pattern"]
        inside = lookup.met_between(self.ends, ordered) if ordered else set[ColumnComparison]()
        found = {comparison for comparison in inside if comparison.kind == "order"}
        open_ = [
            comparison
            for comparison in asked
            if comparison.kind == "pattern" or comparison in inside - found
        ]
        return found | values_meeting(self.values, open_, lookup)


@dataclass(frozen=True)
class LabelledColumn:
    """A column of labels, behind each of which stands one of several values.

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
        """What the published labels admit, each label once."""
        texts = {text for batch in batches(self.source, self.name) for text in batch.to_pylist()}
        return [self.reader(text) for text in sorted(texts - {None})]

    @cached_property
    def ends(self) -> Ends | None:
        """The least and the greatest value behind a label; None where a label has any value."""
        ends = [_ends_of_label(label) for label in self.labels]
        return None if None in ends else widest(pair for pair in ends if pair is not None)

    @cached_property
    def sample(self) -> frozenset[Any]:
        """The values that labels list."""
        return frozenset(self._listed)

    def values(self) -> Iterator[pa.Array]:
        """Give the values that labels list, and the ends of ranges."""
        ranges = [label for label in self.labels if isinstance(label, Between)]
        ends = [end for label in ranges for end in (label.low, label.high) if end is not None]
        yield pa.array([*self._listed, *ends], self.declared.arrow_type)

    def admitted(self, asked: Sequence[ColumnComparison], lookup: Lookup) -> set[ColumnComparison]:
        """Return the comparisons that some value behind a published label may meet."""
        if any(not _is_limited(label) for label in self.labels):
            return set(asked)
        listed = pa.array(self._listed, self.declared.arrow_type)
        found = values_meeting(lambda: iter([listed]), asked, lookup)
        found |= self._between(
            [comparison for comparison in asked if comparison not in found], lookup
        )
        return found | {
            comparison
            for comparison in asked
            if comparison not in found and self._prefixed(comparison)
        }

    @cached_property
    def _listed(self) -> list[Any]:
        listed = (label.values for label in self.labels if isinstance(label, ListedValues))
        return list(dict.fromkeys(chain.from_iterable(listed)))

    def _between(self, asked: Sequence[ColumnComparison], lookup: Lookup) -> set[ColumnComparison]:
        """Return the comparisons that a value of some range may meet."""
        ranges = [(of.low, of.high) for of in self.labels if isinstance(of, Between)]
        ordered = [comparison for comparison in asked if comparison.kind != "pattern"]
        if not ranges or not ordered:
            return set(asked) if ranges else set()
        ends = low_and_high(ranges, self.declared.arrow_type)
        return lookup.met_between(ends, ordered) | (set(asked) - set(ordered))

    def _prefixed(self, comparison: ColumnComparison) -> bool:
        """Whether a text that only begins as a label says may meet it: any may but by equality."""
        prefixes = [label for label in self.labels if isinstance(label, Prefixed)]
        if comparison.kind != "equality":
            return bool(prefixes)
        text = str(comparison.constants[0].this)
        return any(len(text) == of.length and text.startswith(of.kept) for of in prefixes)


def values_meeting(
    pieces: Pieces, asked: Iterable[ColumnComparison], lookup: Lookup
) -> set[ColumnComparison]:
    """Return the comparisons that some value meets, or cannot be evaluated on."""
    open_, found = list(asked), set[ColumnComparison]()
    for values in pieces() if open_ else ():
        found |= lookup.met(values, open_)
        open_ = [comparison for comparison in open_ if comparison not in found]
        if not open_:
            break
    return found


def _is_limited(label: Admitted) -> bool:
    """Whether a label leaves out some values of its type."""
    if isinstance(label, Between):
        return label.low is not None
    return isinstance(label, ListedValues | Prefixed)


def _ends_of_label(label: Admitted) -> Ends | None:
    if isinstance(label, ListedValues):
        known = [value for value in label.values if value is not None]
        return (min(known), max(known)) if known else (None, None)
    return (label.low, label.high) if isinstance(label, Between) and _is_limited(label) else None
