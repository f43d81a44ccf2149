"""Values and their generalizations: a hierarchy is a table with one row per leaf, root last."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from sfumato.expectations.shared.errors import InputError

ROOT = "*"


@dataclass(frozen=True)
class Hierarchy:
    """A table of labels: for each leaf from itself (level 0) to the root (level `height`).

    Labels nest: leaves that share a label share every label above it.

    Raises:
        InputError: where rows differ in length, a label is empty, a leaf stands twice, labels do
            not nest, or the last label is not the root. Rows are numbered from 1.

    >>> kind = Hierarchy("kind", (("cat", "pet", "*"), ("dog", "pet", "*"), ("wolf", "wild", "*")))
    >>> kind.height, kind.level(1), kind.generalize("wolf", 1)
    (2, ('pet', 'pet', 'wild'), 'wild')
    """

    name: str
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if not self.rows:
            raise InputError(
                f"{self.name}: has no leaf. Write at least one row with a value and its labels"
            )
        above: list[dict[str, tuple[str, ...]]] = [{} for _ in self.rows[0]]
        for number, row in enumerate(self.rows, start=1):
            if fault := self._fault(row) or _misfit(row, above):
                raise InputError(f"{self.name}: row {number}: {fault}")

    def _fault(self, row: tuple[str, ...]) -> str | None:
        """Return the fault of a row by itself, or None."""
        if len(row) < 2:
            return "the row has only a leaf. Write the root behind it also"
        if len(row) != len(self.rows[0]):
            return f"{len(row)} labels, {len(self.rows[0])} in row 1"
        if row[-1] != ROOT:
            return f"the last label is not the root {ROOT!r}, which all rows need"
        return None if all(row) else "an empty label"

    @property
    def height(self) -> int:
        """The number of steps from the leaves to the root."""
        return len(self.rows[0]) - 1

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The values that it generalizes, in its own order."""
        return self.level(0)

    def level(self, level: int) -> tuple[str, ...]:
        """Return the label of each leaf at a level."""
        return tuple(row[level] for row in self.rows)

    def generalize(self, leaf: str, level: int) -> str:
        """Return the ancestor of a leaf at a level; 0 leaves it as it is."""
        return self._rows_by_leaf[leaf][level]

    def __contains__(self, value: object) -> bool:
        return value in self._rows_by_leaf

    @cached_property
    def _rows_by_leaf(self) -> Mapping[str, tuple[str, ...]]:
        return {row[0]: row for row in self.rows}


def from_intervals(name: str, widths: Sequence[int], values: Iterable[int]) -> Hierarchy:
    """Return a hierarchy over some integers: one level of intervals for each width, and the root.

    Intervals start at the multiples of their width; each width divides the next.

    >>> from_intervals("age", [5, 10], [19, 20]).rows
    (('19', '15-19', '10-19', '*'), ('20', '20-24', '20-29', '*'))
    >>> from_intervals("degrees", [5], [-5, -1]).level(1)
    ('-5 to -1', '-5 to -1')
    """
    rows = ((str(v), *(_interval(v, width) for width in widths), ROOT) for v in values)
    return Hierarchy(name, tuple(rows))


def from_dates(name: str, steps: Sequence[str], values: Iterable[date]) -> Hierarchy:
    """Return a hierarchy over some dates: one level for each period of `PERIODS`, and the root.

    >>> from_dates("born", ["month", "year"], [date(1987, 3, 9)]).rows
    (('1987-03-09', '1987-03', '1987', '*'),)
    >>> from_dates("born", ["quarter", "decade"], [date(1987, 3, 9)]).rows
    (('1987-03-09', '1987-Q1', '1980s', '*'),)
    """
    rows = ((v.isoformat(), *(PERIODS[step](v) for step in steps), ROOT) for v in values)
    return Hierarchy(name, tuple(rows))


def from_prefixes(name: str, lengths: Sequence[int], values: Iterable[str]) -> Hierarchy:
    """Return a hierarchy over some codes: one level for each number of leading characters kept.

    Each hidden character is a star. Lengths descend.

    >>> from_prefixes("zip", [4, 2], ["13053", "13068"]).rows
    (('13053', '1305*', '13***', '*'), ('13068', '1306*', '13***', '*'))
    """
    rows = ((v, *(_prefix(v, length) for length in lengths), ROOT) for v in values)
    return Hierarchy(name, tuple(rows))


def from_order(name: str, runs: Sequence[int], values: Sequence[str]) -> Hierarchy:
    """Return a hierarchy over ordered values: one level for each length of a run, and the root.

    Runs start at the first value; the last one may be shorter. Each length divides the next.

    >>> from_order("pain", [2], ["none", "mild", "severe"]).level(1)
    ('none to mild', 'none to mild', 'severe')
    """
    rows = (
        (value, *(_run(values, place // length * length, length) for length in runs), ROOT)
        for place, value in enumerate(values)
    )
    return Hierarchy(name, tuple(rows))


PERIODS: Mapping[str, Callable[[date], str]] = {
    "month": lambda day: f"{day.year:04}-{day.month:02}",
    "quarter": lambda day: f"{day.year:04}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04}",
    "decade": lambda day: f"{day.year // 10 * 10:04}s",
    "century": lambda day: f"{day.year // 100:02}xx",
}


def _run(values: Sequence[str], first: int, length: int) -> str:
    last = min(first + length, len(values)) - 1
    return values[first] if first == last else f"{values[first]} to {values[last]}"


def _prefix(value: str, length: int) -> str:
    return value[:length] + ROOT * (len(value) - length)


def _misfit(row: tuple[str, ...], above: list[dict[str, tuple[str, ...]]]) -> str | None:
    """Return the fault of a row beside earlier ones, by the labels above theirs; or None."""
    if row[0] in above[0]:
        return "the leaf is in an earlier row already"
    for level, label in enumerate(row):
        if above[level].setdefault(label, row[level + 1 :]) != row[level + 1 :]:
            return f"the label of level {level} has other labels behind it in an earlier row"
    return None


def _interval(value: int, width: int) -> str:
    low = value // width * width
    high = low + width - 1
    return f"{low}-{high}" if low >= 0 else f"{low} to {high}"
