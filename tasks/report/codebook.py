"""The codebook: each published column in words, and the counts of its values in the files.

It is made only of the published tables, and contains nothing else.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.ranks import rank
from sfumato.expectations.shared.arrow import as_integers
from sfumato.expectations.shared.errors import InputError
from sfumato.expectations.shared.exact import Exact, exact, is_ordered
from sfumato.expectations.shared.numbers import plain
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.report.axes import nice_step, value_text
from sfumato.tasks.report.codings import coding_lines
from sfumato.tasks.report.line_entries import NO_LABELS, labels_in_order
from sfumato.tasks.report.plot import coordinate, plural
from sfumato.tasks.report.snippets import SNIPPETS
from sfumato.tasks.schema.names import COUNT
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.terms import Declared

_ENDS = ("lower", "upper")
_BARS = 12
_DAY = 86_400
_LONGEST = 60  # characters of a value; what is longer is cut
_ROLES = {
    "quasi-identifier": "Quasi-identifier: others may know it of a person.",
    "insensitive": "Insensitive: published beside the others, and no promise is about it.",
    "sensitive": "Sensitive: what nobody must learn of a person.",
    "weight": "Weight: how many people of the population the row stands for.",
}
_CAPTIONS = {
    "row": "How many rows have each value",
    "group": "How many groups admit each value; of several values together, one counted by one",
    "count": "How often each stands in the files, by their counts",
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
    having = {
        table: content for table, content in sorted(tables.items()) if name in content.column_names
    }
    if not having:
        return _ranges(tables)
    pieces = [chunk for content in having.values() for chunk in content[name].chunks]
    kind = next(iter(having.values())).schema.field(name).type
    values, codes = rank(pa.chunked_array(pieces, kind))
    times = _counts_of_codes(
        codes, np.concatenate([_weights(content) for content in having.values()]), len(values)
    )
    counted = any(COUNT in content.column_names for content in having.values())
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


def _weights(table: pa.Table) -> np.ndarray:
    if COUNT in table.column_names:
        return np.asarray(as_integers(table[COUNT]), dtype=np.int64)
    return np.ones(table.num_rows, dtype=np.int64)


def _counts_of_codes(codes: np.ndarray, weights: np.ndarray, values: int) -> np.ndarray:
    """Return how often each code occurs (int64), beginning with the missing value (-1)."""
    times = np.zeros(values + 1, dtype=np.int64)
    np.add.at(times, codes.astype(np.int64) + 1, weights)
    return times


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
    """

    extent: str
    bars: tuple[MarginalBar, ...]


def marginal(published: CodebookValues, kind: str) -> Marginal:
    """Return the counts of a column's values: at most a dozen bars, and one for missing values."""
    numbers = _numbers(published)
    counts = list(
        _counts_in_order(published, numbers, kind) if numbers else _most_frequent(published)
    )
    if published.missing:
        counts.append(("missing", published.missing))
    longest = max((count for _, count in counts), default=1)
    bars = (MarginalBar(n, c, coordinate(Fraction(100 * c, longest))) for n, c in counts)
    return Marginal(_extent(published, numbers, kind), tuple(bars))


def _numbers(published: CodebookValues) -> Exact | None:
    """Return the values as exact numbers; None unless all of them have an order."""
    if published.ranged or not len(published.values) or not is_ordered(published.values.type):
        return None
    try:
        return exact(published.values, "")
    except InputError:
        return None


def _extent(published: CodebookValues, numbers: Exact | None, kind: str) -> str:
    noun = "different range" if published.ranged else "different value"
    if numbers is None:
        return plural(len(published.values), noun)
    low, high = (_number_text(numbers.fraction(numbers.units[i]), kind) for i in (0, -1))
    return f"{plural(len(published.values), noun)}, from {low} to {high}"


def _number_text(value: Fraction, kind: str) -> str:
    return value_text(value, kind) if kind in ("date", "timestamp") else str(plain(value))


def _counts_in_order(
    published: CodebookValues, numbers: Exact, kind: str
) -> Iterator[tuple[str, int]]:
    """Yield each value with its count if they are few, otherwise intervals of one width."""
    if len(published.values) <= _BARS:
        for units, count in zip(numbers.units, published.times.tolist(), strict=True):
            yield _number_text(numbers.fraction(units), kind), count
        return
    by_day = kind == "timestamp"
    grid = [int(units) for units in numbers.units]
    digits = numbers.digits
    if by_day:
        grid, digits, kind = [units // (_DAY * 10**digits) for units in grid], 0, "date"
    width = int(max(nice_step(Fraction(grid[-1] - grid[0] + 1, _BARS - 1)), Fraction(1)))
    bins: dict[int, int] = {}
    for units, count in zip(grid, published.times.tolist(), strict=True):
        bins[units // width] = bins.get(units // width, 0) + count
    for place in range(grid[0] // width, grid[-1] // width + 1):
        yield _interval(place * width, width, digits, kind), bins.get(place, 0)


def _interval(low: int, width: int, digits: int, kind: str) -> str:
    unit = 10**digits
    first = _number_text(Fraction(low, unit), kind)
    if digits:
        return f"{first} to less than {_number_text(Fraction(low + width, unit), kind)}"
    last = _number_text(Fraction(low + width - 1, unit), kind)
    return first if width == 1 else f"{first} to {last}"


def _most_frequent(published: CodebookValues) -> Iterator[tuple[str, int]]:
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
        yield label, int(published.times[position])
    if rest := len(published.values) - len(positions):
        noun = "range" if published.ranged else "value"
        yield (
            f"{plural(rest, f'other {noun}')}",
            int(published.times.sum() - published.times[positions].sum()),
        )


def _labels(published: CodebookValues, positions: np.ndarray) -> Sequence[str]:
    low = [_text(value) for value in published.values.take(positions).to_pylist()]
    if published.upper is None:
        return low
    high = [_text(value) for value in published.upper.take(positions).to_pylist()]
    return [a if a == b else f"{a} to {b}" for a, b in zip(low, high, strict=True)]


def _text(value: object) -> str:
    """Return a value as the CSV files write it, cut if it is long."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


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
        marginal: the counts of its values in the files; None if something was computed from the
            values of people to code them, which the ends of the published values would reveal.
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
    marginal: Marginal | None


def codebook(declared: Declared, tables: Tables) -> dict[str, CodebookEntry]:
    """Return an entry for each column by its name."""
    return {
        name: _entry(name, declared, published_values(name, tables)) for name in declared.columns
    }


def _entry(name: str, declared: Declared, published: CodebookValues) -> CodebookEntry:
    column = declared.columns[name]
    counted = _counted_noun(column, declared, published)
    labels = declared.words.labels.get(name, NO_LABELS)
    return CodebookEntry(
        _ROLES[column.told_role],
        declared.words.columns.get(name),
        labels_in_order(labels),
        labels.whole,
        published.tables,
        _place(published, counted),
        published.ranged,
        _missing(column, published, counted),
        tuple(line.title for line in coding_lines(declared) if name in line.columns),
        counted,
        _CAPTIONS[counted],
        None if column.computed_keys else marginal(published, column.type),
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
    if not column.nulls:
        return "never"
    if not published.missing:
        return "never in these files"
    times = plural(published.missing, "time" if counted == "count" else counted)
    return f"{times}, as a category of its own"
