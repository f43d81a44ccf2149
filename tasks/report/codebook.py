"""The codebook: each published column in words, and the counts of its values in a chart.

It is made only of the published tables, so that anyone can make it again.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.ranks import rank
from sfumato.expectations.shared.arrow import as_integers
from sfumato.expectations.shared.errors import InputError
from sfumato.expectations.shared.exact import Exact, exact, is_ordered
from sfumato.expectations.shared.numbers import plain
from sfumato.tasks.forms.counts_table import tables_counting
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.report.charts import (
    RIGHT,
    Axis,
    Chart,
    Frame,
    Tick,
    Words,
    axis,
    coordinate,
    nice_step,
    number_axis,
    text_above_axis,
    ticks_with_room,
)
from sfumato.tasks.report.codings import coding_lines
from sfumato.tasks.report.line_entries import NO_LABELS, labels_in_order
from sfumato.tasks.report.numbers import plural, range_text, value_text
from sfumato.tasks.report.snippets import SNIPPETS
from sfumato.tasks.schema.formats import tells
from sfumato.tasks.schema.names import COUNT
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.terms import Declared

_ENDS = ("lower", "upper")
_BARS, _DAY = 12, 86_400  # bars of a chart; seconds
_LONGEST = 60  # characters of a value; what is longer is cut
_HEIGHT, _STEPS = 190, 4  # of a chart; of the axis of counts
_MISSING, _WIDEST = 70, 22  # width of the place of missing values, and of half a bar
_MOMENTS = ("date", "timestamp")
_YEARS = (1000, 2999)  # whole numbers between them are written like years
Write = Callable[[Fraction, str], str]
_ROLES = {
    "quasi-identifier": "Quasi-identifier: others may know it about a person.",
    "insensitive": "Insensitive: published as it is, and no promise covers it.",
    "sensitive": "Sensitive: others must not learn it about a person.",
    "unprotected": "Sensitive and unprotected: no promise covers it, for the reason on this page.",
    "number": "Number of rows: published beside each person, as it is.",
    "weight": "Weight: the number of people of the population that the row represents.",
}
_NOUNS = {"row": "row", "group": "group", "count": "time"}
_CAPTIONS = {
    "row": "How many rows have each value",
    "group": "How many groups admit each value; several values together are counted one by one",
    "count": "How often each occurs in the files, by their counts",
}


@dataclass(frozen=True, eq=False)
class CodebookValues:
    """Different values of a column in the published files.

    Attributes:
        tables: the names of the tables that contain them.
        counted: whether a table has counts instead of repeating values.
        ranged: whether they are ranges, lowest to highest, instead of single values.
        values: the distinct values in ascending order; for ranges, the lower ends.
        upper: the upper ends of ranges, beside `values`.
        times: the count of each value (int64).
        missing: the number of missing values.
    """

    tables: tuple[str, ...]
    counted: bool
    ranged: bool
    values: pa.Array
    upper: pa.Array | None
    times: np.ndarray
    missing: int


def published_values(name: str, tables: Tables) -> CodebookValues:
    """Return the values of the column `name`, or the ranges in their place if no table has it."""
    having = tables_counting(name, tables)
    if not having:
        return _ranges(tables)
    pieces = [chunk for content in having.values() for chunk in content[name].chunks]
    kind = next(iter(having.values())).schema.field(name).type
    values, codes = rank(pa.chunked_array(pieces, kind))
    times = _counts_of_codes(
        codes, np.concatenate([_weights(content) for content in having.values()]), len(values)
    )
    counted = any(_has(content, COUNT) for content in having.values())
    return CodebookValues(tuple(having), counted, False, values, None, times[1:], int(times[0]))


def _ranges(tables: Tables) -> CodebookValues:
    """Return the ranges of the tables that have counts, in ascending order."""
    having = {
        table: content
        for table, content in sorted(tables.items())
        if {*_ENDS, COUNT} <= {*content.column_names}
    }
    if not having:
        none = np.empty(0, dtype=np.int64)
        return CodebookValues((), False, False, pa.array([], pa.string()), None, none, 0)
    (lower, low), (upper, high) = (
        rank(
            pa.chunked_array(
                [chunk for content in having.values() for chunk in content[end].chunks]
            )
        )
        for end in _ENDS
    )
    pairs = low.astype(np.int64) * max(len(upper), 1) + high
    distinct_pairs, codes = np.unique(pairs, return_inverse=True)
    times = _counts_of_codes(
        codes,
        np.concatenate([_weights(content) for content in having.values()]),
        len(distinct_pairs),
    )
    ends = [
        pa.array(distinct_pairs // max(len(upper), 1)),
        pa.array(distinct_pairs % max(len(upper), 1)),
    ]
    ends_shown = lower.take(ends[0]), upper.take(ends[1])
    return CodebookValues(tuple(having), True, True, *ends_shown, times[1:], int(times[0]))


def _has(table: pa.Table, name: str) -> bool:
    """Decide whether a table has a column, without a list of all its names."""
    return bool(table.schema.get_field_index(name) >= 0)


def _weights(table: pa.Table) -> np.ndarray:
    if _has(table, COUNT):
        return np.asarray(as_integers(table[COUNT]), dtype=np.int64)
    return np.ones(table.num_rows, dtype=np.int64)


def _counts_of_codes(codes: np.ndarray, weights: np.ndarray, values: int) -> np.ndarray:
    """Return how often each code occurs (int64), beginning with the missing value (-1)."""
    times = np.zeros(values + 1, dtype=np.int64)
    np.add.at(times, codes.astype(np.int64) + 1, weights)
    return times


@dataclass(frozen=True)
class Bin:
    """Some values with their count; `low` and `high` are their ends if they have an order."""

    label: str
    count: int
    low: Fraction | None = None
    high: Fraction | None = None


@dataclass(frozen=True)
class MarginalBar:
    """Some values, their count, and the length of the bar (at most 100)."""

    label: str
    count: int
    length: str


@dataclass(frozen=True)
class Marginal:
    """A column's values in the files.

    Attributes:
        extent: the number of different values and, if they have an order, their ends.
        bars: their counts, with missing values last.
        end: the count at the end of the scale of the bars.
        chart: the same counts over an axis, if the values have an order.
    """

    extent: str
    bars: tuple[MarginalBar, ...]
    end: str
    chart: Chart | None = None


def marginal(
    published: CodebookValues,
    kind: str,
    name: str = "",
    noun: str = "row",
    *,
    separates: bool,
    draws: bool = True,
) -> Marginal:
    """Return the counts of a column's values: at most a dozen bars, and one for missing values.

    Args:
        published: the values of the column.
        kind: its type.
        name: its name.
        noun: the noun of what is counted.
        separates: whether large numbers have separators between thousands.
        draws: whether values that have an order get a chart.
    """
    numbers = _numbers(published)
    write = _writing(numbers, kind, separates=separates)
    bins = list(_bins(published, numbers, kind, write) if numbers else _most_frequent(published))
    missing = [Bin("missing", published.missing)] if published.missing else []
    scale = _scale([*bins, *missing])
    extent = _extent(published, numbers, kind, write)
    return Marginal(
        extent,
        tuple(_bar(bin_, scale) for bin_ in (*bins, *missing)),
        scale.ticks[-1][1] + scale.factor,
        _chart(bins, published.missing, kind, write, scale, _words(name, noun, extent, bins))
        if numbers and draws
        else None,
    )


def _numbers(published: CodebookValues) -> Exact | None:
    """Return the values as exact numbers; None unless all of them have an order."""
    if published.ranged or not len(published.values) or not is_ordered(published.values.type):
        return None
    try:
        return exact(published.values, "")
    except InputError:
        return None


def _writing(numbers: Exact | None, kind: str, *, separates: bool) -> Write:
    """Return the notation of a column's values: years have no separators."""
    if numbers is None or kind in _MOMENTS:
        return value_text
    low, high = (numbers.fraction(numbers.units[place]) for place in (0, -1))
    are_years = kind == "integer" and _YEARS[0] <= low and high <= _YEARS[1]
    return value_text if separates and not are_years else lambda value, _: str(plain(value))


def _scale(bins: Sequence[Bin]) -> Axis:
    """Return the axis of counts, from 0 to a round number."""
    longest = max((bin_.count for bin_ in bins), default=1)
    return number_axis(Fraction(0), Fraction(longest), whole=True, steps=_STEPS)


def _bar(bin_: Bin, scale: Axis) -> MarginalBar:
    return MarginalBar(bin_.label, bin_.count, coordinate(100 * scale.place(Fraction(bin_.count))))


def _extent(published: CodebookValues, numbers: Exact | None, kind: str, write: Write) -> str:
    noun = "different range" if published.ranged else "different value"
    if numbers is None:
        return plural(len(published.values), noun)
    low, high = (write(numbers.fraction(numbers.units[place]), kind) for place in (0, -1))
    return f"{plural(len(published.values), noun)}, from {low} to {high}"


def _bins(published: CodebookValues, numbers: Exact, kind: str, write: Write) -> Iterator[Bin]:
    """Yield each value with its count if they are few, otherwise intervals of one width."""
    if len(published.values) <= _BARS:
        for units, count in zip(numbers.units, published.times.tolist(), strict=True):
            value = numbers.fraction(units)
            yield Bin(write(value, kind), count, value, value)
        return
    by_day = kind == "timestamp"
    grid = [int(units) for units in numbers.units]
    digits = numbers.digits
    if by_day:
        grid, digits, kind = [units // (_DAY * 10**digits) for units in grid], 0, "date"
    width = int(max(nice_step(Fraction(grid[-1] - grid[0] + 1, _BARS - 1)), Fraction(1)))
    counts: dict[int, int] = {}
    for units, count in zip(grid, published.times.tolist(), strict=True):
        counts[units // width] = counts.get(units // width, 0) + count
    for place in range(grid[0] // width, grid[-1] // width + 1):
        low, high = (Fraction(n * width, 10**digits) for n in (place, place + 1))
        count, whole = counts.get(place, 0), not digits
        yield Bin(_interval(low, high, kind, write, whole=whole), count, low, high)


def _interval(low: Fraction, high: Fraction, kind: str, write: Write, *, whole: bool) -> str:
    """Return the values from `low` to less than `high` in words; `whole` ones by their ends."""
    if not whole:
        return f"{write(low, kind)} to less than {write(high, kind)}"
    return range_text(write(low, kind), write(high - 1, kind))


def _most_frequent(published: CodebookValues) -> Iterator[Bin]:
    """Yield the most frequent values, and all others together; ranges stay in their order."""
    if len(published.values) <= _BARS:
        positions = np.arange(len(published.values))
    else:
        positions = np.argsort(-published.times, kind="stable")[: _BARS - 1]
    positions = (
        np.sort(positions)
        if published.ranged
        else positions[np.argsort(-published.times[positions], kind="stable")]
    )
    for label, position in zip(_labels(published, positions), positions.tolist(), strict=True):
        yield Bin(label, int(published.times[position]))
    if rest := len(published.values) - len(positions):
        noun = "range" if published.ranged else "value"
        yield Bin(
            plural(rest, f"other {noun}"),
            int(published.times.sum() - published.times[positions].sum()),
        )


def _labels(published: CodebookValues, positions: np.ndarray) -> Sequence[str]:
    low = [_text(value) for value in published.values.take(positions).to_pylist()]
    if published.upper is None:
        return low
    high = [_text(value) for value in published.upper.take(positions).to_pylist()]
    return [range_text(a, b) for a, b in zip(low, high, strict=True)]


def _text(value: object) -> str:
    """Return a value as the CSV files write it, cut if it is long."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _words(name: str, noun: str, extent: str, bins: Sequence[Bin]) -> Words:
    """Return the texts of a chart; its summary is what a reader hears in place of it."""
    most = max(bins, key=lambda bin_: bin_.count, default=Bin("", 0))
    summary = f"{name}: {extent}; most often {most.label} ({plural(most.count, noun)})"
    return Words(f"Distribution of {name}", summary, name, f"{noun}s")


def _chart(
    bins: Sequence[Bin], missing: int, kind: str, write: Write, counts: Axis, words: Words
) -> Chart:
    """Return the counts of values that have an order, with missing values beside the axis."""
    values = _value_axis(bins, kind, write)
    frame = Frame(values, counts, _HEIGHT, Fraction(RIGHT - (_MISSING if missing else 0)))
    apart = all(bin_.low == bin_.high for bin_ in bins)
    draw = _bars_apart if apart else _bars_side_by_side
    boxes, places = draw(frame, bins, values)
    ticks, boxes_missing = ticks_with_room(places), ""
    if missing:
        middle = Fraction(RIGHT - _MISSING // 3)
        boxes_missing = frame.box(middle - _WIDEST, middle + _WIDEST, Fraction(missing))
        ticks = (*ticks, Tick(coordinate(middle), "missing"))
    words = replace(words, x_title=text_above_axis(words.x_title, values))
    return frame.chart(words, ticks, [("inner", boxes), ("body", boxes_missing)])


def _value_axis(bins: Sequence[Bin], kind: str, write: Write) -> Axis:
    """Return the axis from the first to the last value, with the ticks that lie between them."""
    ends = [end for bin_ in bins for end in (bin_.low, bin_.high) if end is not None]
    low, high = min(ends), max(ends)
    in_days = kind == "timestamp" and low != bins[0].high
    made = axis(low, high, "date" if in_days else kind)
    own = write is not value_text and not made.exponent
    ticks = tuple(
        (value, write(value, kind) if own else label)
        for value, label in made.ticks
        if low <= value <= high
    )
    return Axis(low, max(high, low + 1), ticks, made.exponent)


def _bars_apart(
    frame: Frame, bins: Sequence[Bin], _: Axis
) -> tuple[str, list[tuple[Fraction, str]]]:
    """Return a bar for each value, at equal distances, and the places of their labels."""
    width = (frame.right - frame.left_edge) / len(bins)
    half = min(width * Fraction(2, 5), Fraction(_WIDEST))
    places = [frame.left_edge + width * (n + Fraction(1, 2)) for n in range(len(bins))]
    boxes = [
        frame.box(place - half, place + half, Fraction(bin_.count))
        for place, bin_ in zip(places, bins, strict=True)
        if bin_.count
    ]
    labels = [bin_.label for bin_ in bins]
    return "".join(boxes), list(zip(places, labels, strict=True))


def _bars_side_by_side(
    frame: Frame, bins: Sequence[Bin], values: Axis
) -> tuple[str, list[tuple[Fraction, str]]]:
    """Return a bar for each interval, where it lies, and the places of the ticks."""
    boxes = [
        frame.box(frame.x_place(bin_.low) + Fraction(1, 2), frame.x_place(bin_.high), count)
        for bin_ in bins
        if bin_.low is not None and bin_.high is not None and (count := Fraction(bin_.count))
    ]
    return "".join(boxes), [(frame.x_place(value), label) for value, label in values.ticks]


@dataclass(frozen=True)
class CodebookEntry:
    """A published column.

    Attributes:
        role: its role in words.
        description: the owner's description of its values, or None.
        labels: the meanings of its codes, by its owner, in the order of the codes.
        whole: whether these are all of the owner's list, published or not.
        tables: the names of the tables that contain it.
        place: its representation there.
        ranged: whether ranges replace its values.
        missing: the number of missing values, in words.
        codings: the codings of its values before publication, by title.
        counted: the noun of what is counted: a row, a group, or a count.
        caption: the caption of the bars.
        separates: whether scales have numbers, and large numbers have separators.
        marginal: the counts of its values in the files; None if they would reveal a coding.
        derive: the SQL that computed it from related rows, or None.
    """

    role: str
    description: str | None
    labels: tuple[tuple[str, str], ...]
    whole: bool
    tables: tuple[str, ...]
    place: str
    ranged: bool
    missing: str
    codings: tuple[str, ...]
    counted: str
    caption: str
    separates: bool
    marginal: Marginal | None
    derive: str | None


def codebook(declared: Declared, tables: Tables, *, draws: bool = True) -> dict[str, CodebookEntry]:
    """Return an entry for each column by its name.

    Args:
        declared: the release as its manifest declares it.
        tables: the published tables.
        draws: whether values that have an order get a chart.
    """
    codings: dict[str, list[str]] = {}
    for line in coding_lines(declared):
        for name in line.columns:
            codings.setdefault(name, []).append(line.title)
    return {
        name: _entry(name, declared, published_values(name, tables), codings.get(name, ()), draws)
        for name in declared.columns
    }


def _entry(
    name: str, declared: Declared, published: CodebookValues, codings: Sequence[str], draws: bool
) -> CodebookEntry:
    column = declared.columns[name]
    role = "unprotected" if column.role == "sensitive" and column.unprotected else column.told_role
    role = "number" if role == "insensitive" and column.derive else role
    noun = _NOUNS[counted := _counted_noun(column, declared, published)]
    labels = declared.words.labels.get(name, NO_LABELS)
    separates = tells("separators", declared.software)
    return CodebookEntry(
        _ROLES[role],
        declared.words.columns.get(name),
        labels_in_order(labels),
        labels.whole,
        published.tables,
        _place(published, counted),
        published.ranged,
        _missing(column, published, counted),
        tuple(codings),
        counted,
        _CAPTIONS[counted],
        separates,
        None
        if column.computed_keys
        else marginal(published, column.type, name, noun, separates=separates, draws=draws),
        column.derive,
    )


def _counted_noun(column: DeclaredColumn, declared: Declared, published: CodebookValues) -> str:
    """Return the noun of what is counted for a column."""
    if published.counted:
        return "count"
    if column.role == "sensitive":
        return "row"
    return SNIPPETS[declared.form.shows].counted


def _place(published: CodebookValues, counted: str) -> str:
    if published.counted:
        return "as ranges, each with a count" if published.ranged else "each value with a count"
    return "one in each row" if counted == "row" else f"each value once for each {counted}"


def _missing(column: DeclaredColumn, published: CodebookValues, counted: str) -> str:
    if not column.nulls or not published.missing:
        return "never in these files" if column.nulls else "never"
    times = plural(published.missing, "time" if counted == "count" else counted)
    return f"{times}, as a category of its own"
