"""Display in notebooks: tables of escaped texts, bounds drawn as intervals in inline SVG, names."""

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from html import escape
from typing import Any

from sfumato.tasks.query.bounds.bounds import Bounds

_WIDE, _HIGH, _MARGIN = 140, 14, 3  # pixels of a drawing
_NOT_SO_SURE, _SURE, _MIDDLE = "#b8cbe0", "#3b6ea5", "#14283c"


def harmless(text: str) -> str:
    """Return a text as HTML shows it, without markup and without characters that reorder it."""
    from sfumato.flows.cli.show import one_line

    return escape(one_line(text))


def public_names(names: Iterable[str]) -> list[str]:
    """Return the names that completion offers: those without a leading underscore, and Python's.

    >>> public_names(["_answer", "columns", "__len__"])
    ['__len__', 'columns']
    """
    return sorted(name for name in names if not name.startswith("_") or name.startswith("__"))


def table_html(
    header: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "", mark: str = ""
) -> str:
    """Return a table of texts.

    Args:
        header: of its columns; without any there is none.
        rows: their cells.
        caption: a line below it.
        mark: a word above it, such as PRIVATE.
    """
    return drawn_table(header, [[harmless(cell) for cell in row] for row in rows], caption, mark)


def drawn_table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    caption: str = "",
    mark: str = "",
    notes: Iterable[str] = (),
) -> str:
    """Return a table whose cells are HTML already, with notes in lines below its caption."""
    head = "".join(f"<th>{harmless(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    above = f"<p><strong>{harmless(mark)}</strong></p>" if mark else ""
    below = "".join(f"<p>{harmless(line)}</p>" for line in (caption, *notes) if line)
    start = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f"<div>{above}<table>{start}<tbody>{body}</tbody></table>{below}</div>"


class IntervalScale:
    """The line of numbers on which the bounds of a column are drawn, from its least to its most."""

    def __init__(self, column: Iterable[Any]) -> None:
        """Take a column's values; what is no bounds with a size is not drawn."""
        intervals = [interval for interval in column if isinstance(interval, Bounds)]
        ends = [position(end) for interval in intervals for end in (interval.lower, interval.upper)]
        positions = [end for end in ends if end is not None]
        self._low, self._high = (min(positions), max(positions)) if positions else (0.0, 0.0)

    def draw(self, bounds: Bounds, text: str) -> str:
        """Bounds as SVG, with their text to be read: nothing where they have no place on the line.

        The bar is the bounds; a lighter one within it the likely interval; the tick the estimate.
        """
        low, high = position(bounds.lower), position(bounds.upper)
        if low is None or high is None or self._low == self._high:
            return ""
        parts = [_bar(self._pixel(low), self._pixel(high), 4, _SURE)]
        if bounds.likely is not None and bounds.likely.interval is not None:
            ends = [position(end) for end in bounds.likely.interval]
            if ends[0] is not None and ends[1] is not None:
                parts.append(_bar(self._pixel(ends[0]), self._pixel(ends[1]), 2, _NOT_SO_SURE))
        middle = position(bounds.estimate)
        if middle is not None:
            tick = self._pixel(middle)
            parts.append(_bar(tick - 1, tick + 1, _HIGH - 4, _MIDDLE))
        size = f'width="{_WIDE}" height="{_HIGH}" viewBox="0 0 {_WIDE} {_HIGH}"'
        return (
            f'<svg {size} role="img" aria-label="{harmless(text)}"><title>{harmless(text)}</title>'
            f"{''.join(parts)}</svg>"
        )

    def _pixel(self, place: float) -> float:
        share = (place - self._low) / (self._high - self._low)
        return _MARGIN + min(max(share, 0.0), 1.0) * (_WIDE - 2 * _MARGIN)


def _bar(start: float, end: float, high: float, colour: str) -> str:
    wide = max(end - start, 1.5)
    return (
        f'<rect x="{start:.1f}" y="{(_HIGH - high) / 2:.1f}" width="{wide:.1f}" '
        f'height="{high}" fill="{colour}"/>'
    )


def position(value: Any) -> float | None:
    """Return a number's place on the line of numbers; a date is placed by its day.

    Returns None if the value has no place.
    """
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).toordinal() + value.hour / 24 + value.minute / 1440
    if isinstance(value, date):
        return float(value.toordinal())
    if value is None or isinstance(value, str | bool):
        return None
    try:
        place = float(value)
    except (OverflowError, ValueError, TypeError):
        return None
    return place if place - place == 0 else None
