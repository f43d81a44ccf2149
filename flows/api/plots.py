"""Answers as pictures: a bar from the lower to the upper bound, and a dot at the estimate."""

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from sfumato.expectations.machine.packages import import_extra
from sfumato.expectations.shared.errors import QueryError
from sfumato.flows.api.markup import position
from sfumato.flows.api.rows import Row, column_name
from sfumato.tasks.query.bounds.bounds import Bounds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOUR, _LIKELY_COLOUR, _MIDDLE = "#3b6ea5", "#9dbbd9", "#14283c"
_INCHES, _INCHES_OF_ROW = 6.4, 0.32
_MOST_ROWS = 500


def plot_rows(
    rows: Sequence[Row], columns: tuple[str, ...], name: str | None, axes: "Axes | None"
) -> "Axes":
    """Draw the bounds of an aggregate, one bar for each row, the first row on top.

    Args:
        rows: of an answer.
        columns: their names.
        name: the aggregate; the first one if it is None.
        axes: where to draw; new ones if it is None.

    Raises:
        MissingPackageError: where matplotlib is not installed.
        QueryError: where there is nothing to draw, or too much.
    """
    aggregate = _drawn_column(rows, columns, name)
    labels = [column for column in columns if not _is_aggregate(rows, column)]
    axes = axes if axes is not None else _new_axes(len(rows))
    for place, row in enumerate(rows):
        _draw(axes, place, row.bounds(aggregate))
    axes.set_yticks(range(len(rows)), [_label(row, labels) for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel(aggregate)
    if labels:
        axes.set_ylabel(", ".join(labels))
    if any(isinstance(row.bounds(aggregate).lower, date) for row in rows):
        axes.xaxis_date()
    return axes


def _drawn_column(rows: Sequence[Row], columns: tuple[str, ...], name: str | None) -> str:
    if not rows:
        raise QueryError("the answer has no rows, so there is nothing to draw")
    if len(rows) > _MOST_ROWS:
        raise QueryError(
            f"the answer has {len(rows):,} rows; at most {_MOST_ROWS} can be drawn. Draw some of "
            "them: answer.where({…}).plot()"
        )
    aggregates = [column for column in columns if _has_places(rows, column)]
    if name is None and aggregates:
        return aggregates[0]
    if name is None:
        raise QueryError("no column of the answer has bounds that are numbers or dates")
    column = column_name(name, columns)
    if column not in aggregates:
        raise QueryError(f"column {column!r} has no bounds that are numbers or dates")
    return column


def _is_aggregate(rows: Sequence[Row], column: str) -> bool:
    return any(isinstance(row[column], Bounds) for row in rows)


def _has_places(rows: Sequence[Row], column: str) -> bool:
    """Decide whether some bounds of a column have a place on a line of numbers."""
    cells = [row[column] for row in rows]
    return any(isinstance(cell, Bounds) and position(cell.lower) is not None for cell in cells)


def _new_axes(rows: int) -> "Axes":
    pyplot = import_extra("matplotlib.pyplot", "plots", "plot")
    size = (_INCHES, 0.9 + _INCHES_OF_ROW * rows)
    axes: Axes
    _, axes = pyplot.subplots(figsize=size, layout="constrained")
    return axes


def _draw(axes: "Axes", place: int, bounds: Bounds) -> None:
    """Draw the bounds of a row, its likely interval within them, and its estimate."""
    if position(bounds.lower) is None or position(bounds.upper) is None:
        return
    ends = [_number(bounds.lower), _number(bounds.upper)]
    axes.plot(ends, [place, place], color=_COLOUR, linewidth=2, marker="|", markersize=8)
    likely = bounds.likely.interval if bounds.likely is not None else None
    if likely is not None:
        axes.plot([*map(_number, likely)], [place, place], color=_LIKELY_COLOUR, linewidth=5)
    if position(bounds.estimate) is not None:
        axes.plot(_number(bounds.estimate), place, color=_MIDDLE, marker="o", markersize=5)


def _number(value: Any) -> Any:
    """Return a value as matplotlib places it: a date as it is, a number as a float."""
    return value if isinstance(value, date) else float(value)


def _label(row: Row, labels: Sequence[str]) -> str:
    from sfumato.flows.cli.answers import cell
    from sfumato.flows.cli.show import one_line

    return one_line(", ".join(cell(row[name]) for name in labels)).replace("$", r"\$")
