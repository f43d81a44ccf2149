"""An answer to a query, for notebooks: bounds to be seen, and to be computed with."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.flows.api.markup import IntervalScale, drawn_table, harmless
from sfumato.tasks.query.bounds.bounds import Bounds, json_above, json_below, json_nearest
from sfumato.tasks.query.inquiries.answer import with_headers
from sfumato.tasks.query.question.rest import REST

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from sfumato.tasks.query.inquiries.answer import Answer

_MOST_ROWS = 60  # rows
_LARGE = 1 << 63


class BoundedAnswer(Sequence[Mapping[str, Any]]):
    """The rows of an answer: a value for each column of the GROUP BY, bounds for each aggregate.

    A row maps names of columns to values; bounds have `lower`, `upper` and `estimate` (exact:
    integers, fractions or decimals), and `may_be_empty`.

    Attributes:
        columns: names in the order of the query.
        guaranteed: whether the truth over the represented rows surely lies within the bounds.
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
        self.columns: tuple[str, ...] = answer.columns
        self.guaranteed: bool = answer.guaranteed
        self.verified: bool = answer.verified
        self.not_represented: dict[str, int] = dict(answer.not_represented)
        self.certain: tuple[bool, ...] = answer.certain
        self.by_estimate: bool = answer.by_estimate
        self.notes: tuple[str, ...] = answer.notes
        self.rest: tuple[bool, ...] = answer.rest

    def __len__(self) -> int:
        return len(self._answer.rows)

    def __getitem__(self, place: Any) -> Any:
        return self._answer.rows[place]

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
        import pyarrow as pa

        from sfumato.tasks.query.inquiries.answer import flat_columns

        return pa.table(flat_columns(self._arrow_columns()))

    def to_pandas(self) -> "pd.DataFrame":
        """The same as a pandas data frame; integers that may be null are of the dtype Int64."""
        import pandas as pd
        import pyarrow as pa

        wide = {pa.int64(): pd.Int64Dtype()}
        table = self.to_arrow()
        with_nulls = [name for name in table.column_names if table[name].null_count]
        frame: pd.DataFrame = table.to_pandas()
        for name in with_nulls:
            if table[name].type in wide:
                frame[name] = table[name].to_pandas(types_mapper=wide.get)
        return frame

    def _arrow_columns(self) -> Iterator[tuple[str, "pa.Array"]]:
        import pyarrow as pa

        for name in self.columns:
            column = [row[name] for row in self._answer.rows]
            bounds = [value for value in column if isinstance(value, Bounds)]
            rest = [value is REST for value in column]
            if bounds:
                yield from _columns_of(name, bounds)
            else:
                yield name, pa.array([None if value is REST else value for value in column])
            if any(rest):
                yield f"{name}_rest", pa.array(rest)
        if not all(self.certain):
            yield "certain", pa.array(self.certain)
        if any(self.rest) and not any(REST in row.values() for row in self._answer.rows):
            yield "rest", pa.array(self.rest)

    def _caption(self, row_count: int) -> str:
        from sfumato.flows.cli.answers import assurance, remarks

        parts = [f"{len(self) - row_count:,} more rows"] if len(self) > row_count else []
        parts += [*remarks(self._answer), assurance(self._answer)]
        left_out = ", ".join(f"{n:,} ({why})" for why, n in self.not_represented.items() if n)
        return "; ".join([*parts, f"rows left out: {left_out}"] if left_out else parts)

    def __repr__(self) -> str:
        from sfumato.flows.cli.answers import cell
        from sfumato.flows.cli.show import one_line

        rows = [[one_line(cell(value)) for value in row.values()] for row in self[:_MOST_ROWS]]
        cells = [[one_line(name) for name in self.columns], *rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in cells]
        notes = [one_line(f"note: {note}") for note in self.notes]
        return "\n".join([*lines, self._caption(len(rows)), *notes])

    def _repr_html_(self) -> str:
        first_rows = self[:_MOST_ROWS]
        scales = {name: IntervalScale(row[name] for row in first_rows) for name in self.columns}
        rows = [
            [_cell_html(scales[name], row[name]) for name in self.columns] for row in first_rows
        ]
        notes = [f"note: {note}" for note in self.notes]
        return drawn_table(self.columns, rows, self._caption(len(rows)), notes=notes)


def _cell_html(scale: IntervalScale, value: Any) -> str:
    from sfumato.flows.cli.answers import cell

    text = cell(value)
    drawing = scale.draw(value, text) if isinstance(value, Bounds) else ""
    return f"{drawing}<br/>{harmless(text)}" if drawing else harmless(text)


def _columns_of(name: str, bounds: Sequence[Bounds]) -> Iterator[tuple[str, "pa.Array"]]:
    """Yield the columns that hold the bounds of one aggregate, each with its name."""
    import pyarrow as pa

    from sfumato.tasks.query.inquiries.answer import DOUBTS

    lower = _number_array([interval.lower for interval in bounds], json_below)
    estimate = _number_array([interval.estimate for interval in bounds], json_nearest)
    yield f"{name}_lower", lower
    yield f"{name}_upper", _number_array([interval.upper for interval in bounds], json_above)
    yield f"{name}_estimate", estimate.cast(lower.type) if estimate.type == pa.null() else estimate
    if any(interval.likely for interval in bounds):
        ends = [interval.likely.interval if interval.likely else None for interval in bounds]
        yield f"{name}_likely_lower", _number_array([end and end[0] for end in ends], json_below)
        yield f"{name}_likely_upper", _number_array([end and end[1] for end in ends], json_above)
    for doubt in DOUBTS:
        doubted = [getattr(interval, doubt) for interval in bounds]
        if any(doubted):
            yield f"{name}_{doubt}", pa.array(doubted)


def _number_array(values: Sequence[Any], rounding: Callable[[Any], Any]) -> "pa.Array":
    """Return numbers as an array of one type: integers if all are and fit, otherwise floats.

    Floats are rounded one by one by `rounding`.
    """
    import pyarrow as pa

    numbers = [value for value in values if isinstance(value, int | Fraction | Decimal)]
    if all(isinstance(value, int) and -_LARGE <= value < _LARGE for value in numbers):
        return pa.array(values)
    return pa.array([None if value is None else rounding(Fraction(value)) for value in values])
