"""Published tables, of which columns are read when a question first needs them."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.expectations.arrow import as_numpy
from sfumato.expectations.errors import PromiseError
from sfumato.tasks.query.engines.direct.coded_values import (
    CodedValues,
    GroupsByValue,
    NotDirectError,
    coded_values,
)
from sfumato.tasks.query.engines.engine import Source
from sfumato.tasks.query.question.relations import GROUP_ID
from sfumato.tasks.schema.files import regular
from sfumato.tasks.sql.parted import TableInParts


class PublishedColumns:
    """The columns of a table, or of several below each other, each read at most once."""

    def __init__(self, *sources: Source) -> None:
        """Read nothing yet."""
        self._sources = sources
        self._coded: dict[str, CodedValues] = {}
        self._by_value: dict[str, GroupsByValue | None] = {}

    def read(self, name: str) -> pa.ChunkedArray:
        """A column as it is published; texts as dictionaries, where these are stored.

        Raises:
            PromiseError: where a table lacks it, which no release's does.
        """
        return _one_type([self._column(source, name) for source in self._sources])

    def _column(self, source: Source, name: str) -> pa.ChunkedArray:
        try:
            return _column(source, name)
        except KeyError:
            place = source.name if isinstance(source, Path) else "a table"
            raise PromiseError(f"{place}: has no column {name!r}") from None

    def numbers(self, name: str) -> np.ndarray:
        """A column of integers.

        Raises:
            NotDirectError: where it is another one, or some are missing.
        """
        column = self.read(name)
        if not pa.types.is_integer(column.type) or column.null_count:
            raise NotDirectError
        return as_numpy(column.combine_chunks())

    def coded(self, name: str) -> CodedValues:
        """A column as codes.

        Raises:
            NotDirectError: where it cannot be.
        """
        if name not in self._coded:
            self._coded[name] = coded_values(self.read(name))
        return self._coded[name]

    def by_value(self, name: str) -> GroupsByValue | None:
        """The groups of rows by a column's values; None at first, as once is not worth sorting.

        Raises:
            NotDirectError: where the column cannot be coded, or groups are not numbered so.
        """
        if name not in self._by_value:
            self._by_value[name] = None
        elif self._by_value[name] is None:
            self._by_value[name] = GroupsByValue(self.coded(name), self.group, self.groups)
        return self._by_value[name]

    @cached_property
    def group(self) -> np.ndarray:
        """The group of each row (int64, one per row).

        Raises:
            NotDirectError: where groups are not numbered from 0, each with a row.
        """
        group = self.numbers(GROUP_ID).astype(np.int64, copy=False)
        if len(group) and not 0 <= group.min() <= group.max() < len(group):
            raise NotDirectError
        return group

    @cached_property
    def groups(self) -> int:
        """How many groups there are."""
        return int(self.group.max(initial=-1)) + 1


def _column(source: Source, name: str) -> pa.ChunkedArray:
    if isinstance(source, pa.Table):
        return source[name]
    if isinstance(source, TableInParts):
        return _one_type([table[name] for table in source.tables([name])])
    # A dictionary of texts: no other column has one.
    with pq.ParquetFile(regular(source), read_dictionary=[name]) as file:
        return file.read([name])[name]


def _one_type(parts: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Columns below each other; dictionaries, where all of them are."""
    type_ = next((p.type for p in parts if not pa.types.is_dictionary(p.type)), parts[0].type)
    return pa.chunked_array([c for p in parts for c in p.cast(type_).chunks], type_)
