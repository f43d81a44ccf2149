"""An answer to a query: bounds to be seen, to be drawn, and to be computed with."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast, overload

from sfumato.expectations.shared.errors import QueryError
from sfumato.flows.api.markup import IntervalScale, drawn_table, harmless, public_names
from sfumato.flows.api.rows import Row, column_name
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.inquiries.answer import with_headers

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from matplotlib.axes import Axes

    from sfumato.tasks.query.inquiries.answer import Answer

_MOST_ROWS = 60  # rows


class BoundedAnswer:
    """The answer to a query: rows, with a value for each group column, bounds for each aggregate.

    Each aggregate has three numbers:

    - `lower` and `upper`, the bounds: the true answer, over the original rows that are in the
      release, is between them. This is guaranteed if `guaranteed` is true.
    - `estimate`, the expected answer, without any guarantee.

    The three are exact: integers, fractions or decimals. If `lower` equals `upper`, the answer is
    exact. Every way out keeps the bounds:

        for row in answer: row["sex"], row["n"].lower, row["n"].upper, row["n"].estimate
        answer["n"]                    the column, as a tuple
        answer.value, float(answer)    the only cell: its bounds, its estimate
        answer.to_pandas()             columns n_lower, n_upper, n_estimate
        answer.to_polars(), answer.to_arrow(), polars.DataFrame(answer), duckdb.sql("FROM answer")
        answer.plot()                  a bar for each row

    Attributes:
        columns: names in the order of the query: aliases, or the text as it was typed.
        guaranteed: whether the truth over the rows in the release surely lies within the bounds.
        verified: whether anything vouches for the release's files.
        not_represented: how many rows of the source were left out, and why.
        certain: for each row whether it is surely in the answer: whether its group surely has rows,
            and HAVING surely holds.
        by_estimate: whether rows are ordered by what is only estimated.
        notes: what the query's conditions ask for that no published row can have.
        rest: for each row whether it is of all values together that no published label names: of
            people whose label may hide one. `sfumato.Rest.REST` stands in the place of the value.
    """

    def __init__(self, answer: "Answer") -> None:
        """Take what a release answered."""
        self._answer = answer = with_headers(answer)
        certain = answer.certain or (True,) * len(answer.rows)
        rest = answer.rest or (False,) * len(answer.rows)
        self._rows = tuple(
            Row(row, certain=sure, rest=other)
            for row, sure, other in zip(answer.rows, certain, rest, strict=True)
        )
        self.columns: tuple[str, ...] = answer.columns
        self.guaranteed: bool = answer.guaranteed
        self.verified: bool = answer.verified
        self.not_represented: dict[str, int] = dict(answer.not_represented)
        self.certain: tuple[bool, ...] = answer.certain
        self.by_estimate: bool = answer.by_estimate
        self.notes: tuple[str, ...] = answer.notes
        self.rest: tuple[bool, ...] = answer.rest

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __dir__(self) -> list[str]:
        return public_names(super().__dir__())

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Row]: ...
    @overload
    def __getitem__(self, place: str) -> tuple[Any, ...]: ...
    def __getitem__(self, place: int | slice | str) -> Row | Sequence[Row] | tuple[Any, ...]:
        if isinstance(place, str):
            name = column_name(place, self.columns)
            return tuple(row[name] for row in self._rows)
        return self._rows[place]

    @property
    def value(self) -> Any:
        """The only cell of an answer with one row and one column: bounds, or a value.

        Raises:
            QueryError: where the answer has more cells, or none.
        """
        if len(self) != 1 or len(self.columns) != 1:
            raise QueryError(
                f"the answer has {_count(len(self), 'row')} and "
                f"{_count(len(self.columns), 'column')}, so it has no single value. "
                'Name the cell, such as answer[0]["n"], or ask for one aggregate'
            )
        return self._rows[0][self.columns[0]]

    def __float__(self) -> float:
        """Return the estimate of the only cell; the exact answer where its bounds are equal.

        Raises:
            QueryError: where the answer has more cells, or no number.
        """
        try:
            return float(self.value)
        except (TypeError, ValueError):
            raise QueryError(
                "the answer has no number: no row was selected, or it is a text or a date"
            ) from None

    def row(self, values: Mapping[str, Any]) -> Row:
        """Return the only row with these values, such as `{"sex": "Female"}`.

        Raises:
            UnknownColumnError: where a name is not one of a column.
            QueryError: where no row has them, or several have.
        """
        rows = [row for row in self._rows if row.matches(values)]
        if len(rows) != 1:
            raise QueryError(
                f"{_count(len(rows), 'row')} of the answer match. Give values of all group "
                "columns, or use answer.where({…})"
            )
        return rows[0]

    def where(self, values: Mapping[str, Any]) -> "BoundedAnswer":
        """Return the rows with these values; a list stands for any of its own.

        Raises:
            UnknownColumnError: where a name is not one of a column.
        """
        places = [place for place, row in enumerate(self._rows) if row.matches(values)]

        def choose(items: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(items[place] for place in places) if items else ()

        answer = self._answer
        return BoundedAnswer(
            replace(
                answer,
                rows=choose(answer.rows),
                certain=choose(answer.certain),
                rest=choose(answer.rest),
            )
        )

    def document(self) -> dict[str, Any]:
        """The answer as JSON has it; bounds that are no integers are floats rounded outward."""
        from sfumato.tasks.query.inquiries.answer import document

        return document(self._answer)

    def to_arrow(self) -> "pa.Table":
        """The answer as an Arrow table.

        The bounds of an aggregate `x` are the columns `x_lower`, `x_upper` and `x_estimate`: int64
        where all are integers, else float64 rounded outward, or dates and timestamps. There may be
        `x_likely_lower` and `x_likely_upper` beside them; `x_may_be_empty` where the answer may be
        null; `x_unbounded` where it may be anything; and `certain` where a row may not be in the
        answer. Nulls stand where no row was selected, or nothing is known; and in a column `x` of
        the GROUP BY where `x_rest` says that the row is of all values that no label names (or
        `rest`, if no such column is shown).

        Raises:
            QueryError: where an alias is the name of one of these columns.
        """
        from sfumato.flows.api.flat import flat_table

        return flat_table(self._answer)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Give `to_arrow` to any library that reads Arrow's C stream: Polars, DuckDB, pandas."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> "pd.DataFrame":
        """The same as a pandas data frame; integers that may be null are of the dtype Int64.

        Raises:
            MissingPackageError: where pandas is not installed.
            QueryError: as `to_arrow`.
        """
        import pyarrow as pa

        from sfumato.expectations.machine.packages import import_extra

        whole = import_extra("pandas", "pandas", "to_pandas").Int64Dtype()
        wide = {pa.int64(): whole}
        table = self.to_arrow()
        with_nulls = [name for name in table.column_names if table[name].null_count]
        frame: Any = table.to_pandas()
        for name in with_nulls:
            if table[name].type in wide:
                frame[name] = table[name].to_pandas(types_mapper=wide.get)
        return cast("pd.DataFrame", frame)

    def to_polars(self) -> Any:
        """The same as a `polars.DataFrame`.

        Raises:
            MissingPackageError: where Polars is not installed.
            QueryError: as `to_arrow`.
        """
        from sfumato.expectations.machine.packages import import_extra

        return import_extra("polars", "polars", "to_polars").DataFrame(self.to_arrow())

    def plot(self, column: str | None = None, *, ax: "Axes | None" = None) -> "Axes":
        """Draw the bounds of an aggregate: a bar for each row, with a dot at the estimate.

        Args:
            column: the aggregate; the first one if it is not given.
            ax: the matplotlib axes to draw on; new ones if they are not given.

        Raises:
            MissingPackageError: where matplotlib is not installed.
            QueryError: where there is nothing to draw, or more than 500 rows.
        """
        from sfumato.flows.api.plots import plot_rows

        return plot_rows(self._rows, self.columns, column, ax)

    def _caption(self, row_count: int) -> str:
        from sfumato.flows.cli.answers import assurance, remarks

        parts = [f"{len(self) - row_count:,} more rows"] if len(self) > row_count else []
        parts += [*remarks(self._answer), assurance(self._answer)]
        left_out = ", ".join(f"{n:,} ({why})" for why, n in self.not_represented.items() if n)
        return "; ".join([*parts, f"rows left out: {left_out}"] if left_out else parts)

    def _cells(self) -> list[list[str]]:
        """Return the first rows as texts, column by column."""
        from sfumato.flows.cli.answers import column_cells

        rows = self._rows[:_MOST_ROWS]
        return [column_cells([row[name] for row in rows]) for name in self.columns]

    def __repr__(self) -> str:
        from sfumato.flows.api.facts import text_table
        from sfumato.flows.cli.show import one_line

        rows = list(zip(*self._cells(), strict=True))
        notes = [one_line(f"note: {note}") for note in self.notes]
        return "\n".join([text_table(self.columns, rows), self._caption(len(rows)), *notes])

    def _repr_html_(self) -> str:
        columns = [
            _column_html([row[name] for row in self._rows[:_MOST_ROWS]], texts)
            for name, texts in zip(self.columns, self._cells(), strict=True)
        ]
        rows = list(zip(*columns, strict=True))
        notes = [f"note: {note}" for note in self.notes]
        return drawn_table(self.columns, rows, self._caption(len(rows)), notes=notes)


def _column_html(values: Sequence[Any], texts: Sequence[str]) -> list[str]:
    """Return the cells of a column as HTML, with bounds drawn on one scale."""
    scale = IntervalScale(values)
    drawings = [
        scale.draw(value, text) if isinstance(value, Bounds) else ""
        for value, text in zip(values, texts, strict=True)
    ]
    return [
        f"{drawing}<br/>{harmless(text)}" if drawing else harmless(text)
        for drawing, text in zip(drawings, texts, strict=True)
    ]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
