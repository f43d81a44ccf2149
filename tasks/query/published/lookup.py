"""Lookup of comparisons among published values, which are read piece by piece.

Files are Parquet. The least and the greatest value of a column are read from its statistics, which
are part of the release's bytes.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from sqlglot import exp

from sfumato.tasks.query.engines.engine import Source
from sfumato.tasks.query.published.comparisons import ColumnComparison
from sfumato.tasks.schema.files import regular
from sfumato.tasks.sql.parse import literal
from sfumato.tasks.sql.parted import TableInParts
from sfumato.tasks.sql.session import fetch

if TYPE_CHECKING:
    import duckdb

Ends = tuple[Any, Any]
"""The least and the greatest value of a column, both None where it has no value."""
_NO_ENDS: Ends = (None, None)
_TABLE = "\x01published"  # no published table can be called so


def row_count(source: Source) -> int:
    """Return how many rows a table has."""
    if isinstance(source, pa.Table):
        return int(source.num_rows)
    return sum(pq.read_metadata(regular(path)).num_rows for path in _files(source))


def batches(source: Source, name: str) -> Iterator[pa.Array]:
    """Read a column piece by piece: its values, each at least once; a dictionary for texts."""
    if isinstance(source, pa.Table):
        yield from map(_values, source[name].chunks)
        return
    for path in _files(source):
        with pq.ParquetFile(regular(path), read_dictionary=[name]) as file:
            for group in range(file.num_row_groups):
                yield from map(_values, file.read_row_group(group, [name])[name].chunks)


def ends_of(source: Source, name: str) -> Ends:
    """Return the least and the greatest value of a column, without NaN."""
    if isinstance(source, pa.Table):
        return widest(map(_ends_of_values, batches(source, name)))
    return widest(_ends_of_file(path, name) for path in _files(source))


def widest(pieces: Iterator[Ends]) -> Ends:
    """Return the ends of several pieces together."""
    pairs = [ends for ends in pieces if ends != _NO_ENDS]
    if not pairs:
        return _NO_ENDS
    return min(low for low, _ in pairs), max(high for _, high in pairs)


def _files(source: Path | TableInParts) -> tuple[Path, ...]:
    return source.files if isinstance(source, TableInParts) else (source,)


def _values(chunk: pa.Array) -> pa.Array:
    return chunk.dictionary if pa.types.is_dictionary(chunk.type) else chunk


def _ends_of_file(path: Path, name: str) -> Ends:
    footer = pq.read_metadata(regular(path))
    place = footer.schema.names.index(name)
    groups = [footer.row_group(n).column(place).statistics for n in range(footer.num_row_groups)]
    if all(statistics is not None and statistics.has_min_max for statistics in groups):
        return widest((statistics.min, statistics.max) for statistics in groups)
    return widest(map(_ends_of_values, batches(path, name)))


def _ends_of_values(values: pa.Array) -> Ends:
    if pa.types.is_floating(values.type):
        values = values.filter(pc.invert(pc.is_nan(values)))
    ends = pc.min_max(values)
    return ends["min"].as_py(), ends["max"].as_py()


_ROWS, _MEMBERS = "rows_", "members"


_LOW, _HIGH, _DISTANCE = "\x01low", "\x01high", "\x01distance"


class Lookup:
    """Compares values with the constants of a query, by a connection."""

    def __init__(self, connection: "duckdb.DuckDBPyConnection") -> None:
        """Take a connection, in which one name is reserved for the table of compared values."""
        self._connection = connection

    def met_among(
        self, values: pa.Array, comparisons: Sequence[ColumnComparison]
    ) -> set[ColumnComparison]:
        """Return the comparisons of a column that some value meets, or that fail on some value."""
        name = comparisons[0].column
        column = exp.column(name, table=_ROWS, quoted=True)
        with self._register(pa.table({name: values})) as rows:
            return self._met_in_rows(rows, comparisons, [exp.EQ(this=column, expression=_member())])

    def met_between(
        self, ends: pa.Table | Ends, comparisons: Sequence[ColumnComparison]
    ) -> set[ColumnComparison]:
        """Return the comparisons that a value between two ends may meet.

        Args:
            ends: one pair, or several in a table as `low_and_high` returns it.
            comparisons: with ordered constants, of one column.
        """
        between = [
            exp.LTE(this=_end(_LOW), expression=_member()),
            exp.GTE(this=_end(_HIGH), expression=_member()),
        ]
        if isinstance(ends, pa.Table):
            with self._register(ends) as rows:
                return self._met_in_rows(rows, comparisons, between, among_ends=True)
        pairs = zip((_LOW, _HIGH), map(literal, ends), strict=True)
        row = exp.select(*(exp.alias_(end, name, quoted=True) for name, end in pairs))
        return self._met_in_rows(row.subquery(_ROWS), comparisons, between, among_ends=True)

    def neighbours(self, values: pa.Array, comparison: ColumnComparison) -> Ends:
        """Return the values of a column next to a constant: below it, and above it."""
        column, constant = exp.column(comparison.column, quoted=True), comparison.constants[0]
        below = _extreme_beside(exp.Max, column, exp.LT, constant)
        above = _extreme_beside(exp.Min, column, exp.GT, constant)
        (ends,) = self._fetch_from(pa.table({comparison.column: values}), exp.select(below, above))
        return ends[0], ends[1]

    def similar_texts(self, texts: Iterable[str], written: str, most: int) -> list[str]:
        """Return the texts that are the fewest edits away from a written one.

        Case is ignored. At most a third of the characters may differ.
        """
        column = exp.column("text")
        lower = [exp.Lower(this=side) for side in (column, exp.Literal.string(written))]
        edits = exp.alias_(exp.func("damerau_levenshtein", *lower), _DISTANCE, quoted=True)
        query = exp.select(column.copy(), edits)
        query = query.order_by(exp.column(_DISTANCE, quoted=True), column.copy()).limit(most)
        nearest = self._fetch_from(pa.table({"text": pa.array(list(texts), pa.string())}), query)
        allowed = min([len(written) // 3, *(distance for _, distance in nearest)])
        return [text for text, distance in nearest if distance <= allowed]

    def constant(self, node: exp.Expr) -> Any:
        """Return the value of a constant."""
        return fetch(self._connection, exp.select(node.copy()))[0][0]

    def _met_in_rows(
        self,
        rows: exp.Expr,
        comparisons: Sequence[ColumnComparison],
        equal: Sequence[exp.Expr],
        *,
        among_ends: bool = False,
    ) -> set[ColumnComparison]:
        """Return the comparisons that hold in some row; equalities are looked up together."""
        equalities = [comparison for comparison in comparisons if comparison.kind == "equality"]
        others = [comparison for comparison in comparisons if comparison.kind != "equality"]
        met: set[ColumnComparison] = set()
        if equalities:
            join = exp.select("i").from_(_members(equalities))
            query = join.join(rows.copy(), on=exp.and_(*equal), join_type="semi")
            met |= {equalities[place] for (place,) in fetch(self._connection, query)}
        if others:
            conditions = [
                _of_ends(comparison) if among_ends else comparison.condition
                for comparison in others
            ]
            columns = [
                exp.alias_(_holds_somewhere(comparison), f"c{n}")
                for n, comparison in enumerate(conditions)
            ]
            (outcomes,) = fetch(self._connection, exp.select(*columns).from_(rows))
            met |= {comparison for comparison, holds in zip(others, outcomes, strict=True) if holds}
        return met

    def _fetch_from(self, table: pa.Table, query: exp.Select) -> list[tuple[Any, ...]]:
        with self._register(table) as rows:
            return fetch(self._connection, query.from_(rows))

    @contextmanager
    def _register(self, table: pa.Table) -> Iterator[exp.Expr]:
        self._connection.register(_TABLE, table)
        try:
            yield exp.table_(_TABLE, quoted=True, alias=_ROWS)
        finally:
            self._connection.unregister(_TABLE)


def low_and_high(ends: Sequence[Ends], type_: pa.DataType) -> pa.Table:
    """Return pairs of ends as the table that `Lookup.met_between` takes."""
    low, high = (pa.array([pair[side] for pair in ends], type_) for side in (0, 1))
    return pa.table({_LOW: low, _HIGH: high})


def _end(name: str) -> exp.Column:
    return exp.column(name, table=_ROWS, quoted=True)


def _member() -> exp.Column:
    return exp.column("c", table=_MEMBERS)


def _members(equalities: Sequence[ColumnComparison]) -> exp.Subquery:
    """Return the constants of equalities as a table, with their places."""
    constants = exp.Array(expressions=[comparison.constants[0].copy() for comparison in equalities])
    places = exp.Anonymous(this="RANGE", expressions=[exp.Literal.number(len(equalities))])
    columns = [
        exp.alias_(exp.Anonymous(this="UNNEST", expressions=[array]), name)
        for array, name in ((places, "i"), (constants, "c"))
    ]
    return exp.select(*columns).subquery(_MEMBERS)


def _holds_somewhere(condition: exp.Expr) -> exp.Expr:
    """Return whether a condition is true in some row; a row on which it fails counts as true."""
    never_null = exp.Coalesce(this=exp.paren(condition), expressions=[exp.false()])
    tried = exp.Coalesce(this=exp.Try(this=never_null), expressions=[exp.true()])
    return exp.LogicalOr(this=tried)


def _of_ends(comparison: ColumnComparison) -> exp.Expr:
    """Return the condition that a value from one end to the other may meet a comparison."""
    if comparison.kind == "order":
        return exp.or_(*(_with_column(comparison.condition, _end(name)) for name in (_LOW, _HIGH)))
    first, last = (exp.paren(constant) for constant in comparison.constants)
    starts = exp.LTE(this=_end(_LOW), expression=last)
    return exp.and_(starts, exp.GTE(this=_end(_HIGH), expression=first))


def _with_column(condition: exp.Expr, other: exp.Column) -> exp.Expr:
    changed = condition.copy()
    for column in list(changed.find_all(exp.Column)):
        column.replace(other.copy())
    return changed


def _extreme_beside(
    aggregate: type[exp.AggFunc],
    column: exp.Column,
    side: type[exp.Binary],
    constant: exp.Expr,
) -> exp.Expr:
    condition = side(this=column.copy(), expression=exp.paren(constant))
    return exp.Filter(this=aggregate(this=column.copy()), expression=exp.Where(this=condition))
