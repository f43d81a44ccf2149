"""The codebook: each published column in words, and how often its values occur in the files.

Made of the published tables alone. Nothing that is not in them belongs here.
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
from sfumato.tasks.report.axes import nice_step, spoken
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
class StandingValues:
    """The different values of a column in the files.

    Attributes:
        tables: the tables in which they stand, by name.
        counted: a table says how often each occurs, rather than repeat it.
        ranged: they are ranges, lowest to highest, in the place of single values.
        values: each once, in ascending order; of ranges the lower ends.
        upper: of ranges the upper ends, beside `values`.
        times: how often each occurs (int64, one per value).
        missing: how often none is there.
    """

    tables: tuple[str, ...]
    counted: bool
    ranged: bool
    values: pa.Array
    upper: pa.Array | None
    times: np.ndarray
    missing: int


def standing_values(name: str, tables: Tables) -> StandingValues:
    """The values of the column `name`, or the ranges in their place where no table has it."""
    having = {table: of for table, of in sorted(tables.items()) if name in of.column_names}
    if not having:
        return _ranges(tables)
    pieces = [chunk for of in having.values() for chunk in of[name].chunks]
    kind = next(iter(having.values())).schema.field(name).type
    values, codes = rank(pa.chunked_array(pieces, kind))
    times = _times(codes, np.concatenate([_weights(of) for of in having.values()]), len(values))
    counted = any(COUNT in of.column_names for of in having.values())
    return StandingValues(tuple(having), counted, False, values, None, times[1:], int(times[0]))


def _ranges(tables: Tables) -> StandingValues:
    """The ranges of the tables that count some, in ascending order."""
    having = {
        table: of for table, of in sorted(tables.items()) if {*_ENDS, COUNT} <= {*of.column_names}
    }
    if not having:
        none = np.empty(0, dtype=np.int64)
        return StandingValues((), False, False, pa.array([], pa.string()), None, none, 0)
    (lower, low), (upper, high) = (
        rank(pa.chunked_array([chunk for of in having.values() for chunk in of[end].chunks]))
        for end in _ENDS
    )
    pairs = low.astype(np.int64) * max(len(upper), 1) + high
    found, codes = np.unique(pairs, return_inverse=True)
    times = _times(codes, np.concatenate([_weights(of) for of in having.values()]), len(found))
    ends = [pa.array(found // max(len(upper), 1)), pa.array(found % max(len(upper), 1))]
    shown = lower.take(ends[0]), upper.take(ends[1])
    return StandingValues(tuple(having), True, True, *shown, times[1:], int(times[0]))


def _weights(table: pa.Table) -> np.ndarray:
    if COUNT in table.column_names:
        return np.asarray(as_integers(table[COUNT]), dtype=np.int64)
    return np.ones(table.num_rows, dtype=np.int64)


def _times(codes: np.ndarray, weights: np.ndarray, values: int) -> np.ndarray:
    """How often each code occurs, that of a missing value (-1) first."""
    times = np.zeros(values + 1, dtype=np.int64)
    np.add.at(times, codes.astype(np.int64) + 1, weights)
    return times


@dataclass(frozen=True)
class MarginalBar:
    """Some values, how often they occur, and the length of the bar, 100 at most."""

    label: str
    count: int
    length: str


@dataclass(frozen=True)
class Marginal:
    """A column's values in the files.

    Attributes:
        extent: how many different ones there are and, where they have an order, between which two.
        bars: how often they occur, those of missing values last.
    """

    extent: str
    bars: tuple[MarginalBar, ...]


def marginal(of: StandingValues, kind: str) -> Marginal:
    """The values of a column of this type, at most a dozen bars and one for missing ones."""
    numbers = _numbers(of)
    counts = list(_ordered(of, numbers, kind) if numbers else _listed(of))
    if of.missing:
        counts.append(("missing", of.missing))
    longest = max((count for _, count in counts), default=1)
    bars = (MarginalBar(n, c, coordinate(Fraction(100 * c, longest))) for n, c in counts)
    return Marginal(_extent(of, numbers, kind), tuple(bars))


def _numbers(of: StandingValues) -> Exact | None:
    """The values as exact numbers, where all of them have a place in an order."""
    if of.ranged or not len(of.values) or not is_ordered(of.values.type):
        return None
    try:
        return exact(of.values, "")
    except InputError:
        return None


def _extent(of: StandingValues, numbers: Exact | None, kind: str) -> str:
    noun = "different range" if of.ranged else "different value"
    if numbers is None:
        return plural(len(of.values), noun)
    low, high = (_written(numbers.fraction(numbers.units[i]), kind) for i in (0, -1))
    return f"{plural(len(of.values), noun)}, from {low} to {high}"


def _written(value: Fraction, kind: str) -> str:
    return spoken(value, kind) if kind in ("date", "timestamp") else str(plain(value))


def _ordered(of: StandingValues, numbers: Exact, kind: str) -> Iterator[tuple[str, int]]:
    """Each value where they are few, or else intervals of one width."""
    if len(of.values) <= _BARS:
        for units, count in zip(numbers.units, of.times.tolist(), strict=True):
            yield _written(numbers.fraction(units), kind), count
        return
    by_day = kind == "timestamp"
    grid = [int(units) for units in numbers.units]
    digits = numbers.digits
    if by_day:
        grid, digits, kind = [units // (_DAY * 10**digits) for units in grid], 0, "date"
    width = int(max(nice_step(Fraction(grid[-1] - grid[0] + 1, _BARS - 1)), Fraction(1)))
    bins: dict[int, int] = {}
    for units, count in zip(grid, of.times.tolist(), strict=True):
        bins[units // width] = bins.get(units // width, 0) + count
    for place in range(grid[0] // width, grid[-1] // width + 1):
        yield _interval(place * width, width, digits, kind), bins.get(place, 0)


def _interval(low: int, width: int, digits: int, kind: str) -> str:
    unit = 10**digits
    first = _written(Fraction(low, unit), kind)
    if digits:
        return f"{first} to less than {_written(Fraction(low + width, unit), kind)}"
    last = _written(Fraction(low + width - 1, unit), kind)
    return first if width == 1 else f"{first} to {last}"


def _listed(of: StandingValues) -> Iterator[tuple[str, int]]:
    """The values that occur most often, and all others together; ranges stay in their order."""
    if len(of.values) <= _BARS:
        shown = np.arange(len(of.values))
    else:
        shown = np.argsort(-of.times, kind="stable")[: _BARS - 1]
    shown = np.sort(shown) if of.ranged else shown[np.argsort(-of.times[shown], kind="stable")]
    for label, position in zip(_labels(of, shown), shown.tolist(), strict=True):
        yield label, int(of.times[position])
    if rest := len(of.values) - len(shown):
        noun = "range" if of.ranged else "value"
        yield f"{plural(rest, f'other {noun}')}", int(of.times.sum() - of.times[shown].sum())


def _labels(of: StandingValues, shown: np.ndarray) -> Sequence[str]:
    low = [_text(value) for value in of.values.take(shown).to_pylist()]
    if of.upper is None:
        return low
    high = [_text(value) for value in of.upper.take(shown).to_pylist()]
    return [a if a == b else f"{a} to {b}" for a, b in zip(low, high, strict=True)]


def _text(value: object) -> str:
    """A value as the CSV files write it, cut where it is long."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


@dataclass(frozen=True)
class CodebookEntry:
    """A published column.

    Attributes:
        role: in words.
        description: of its values, as its owner says; None where nothing is said.
        labels: what its codes mean, as its owner says, in the order of the codes.
        whole: these are all that the owner's list has, published or not.
        tables: the names of those in which it stands.
        place: as what it stands there.
        ranged: ranges stand in the place of its values.
        missing: whether and how often values are missing.
        codings: what was done to its values before, by title.
        counted: what stands once for each value: a row, a group, or a count.
        caption: what the bars count.
        marginal: how often its values occur in the files; None where something was computed from
            the values of people to code them, which the ends of what is published would tell.
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
    """An entry for each column by its name."""
    return {
        name: _entry(name, declared, standing_values(name, tables)) for name in declared.columns
    }


def _entry(name: str, declared: Declared, of: StandingValues) -> CodebookEntry:
    column = declared.columns[name]
    counted = _counted(column, declared, of)
    labels = declared.words.labels.get(name, NO_LABELS)
    return CodebookEntry(
        _ROLES[column.told_role],
        declared.words.columns.get(name),
        labels_in_order(labels),
        labels.whole,
        of.tables,
        _place(of, counted),
        of.ranged,
        _missing(column, of, counted),
        tuple(line.title for line in coding_lines(declared) if name in line.columns),
        counted,
        _CAPTIONS[counted],
        None if column.computed else marginal(of, column.type),
    )


def _counted(column: DeclaredColumn, declared: Declared, of: StandingValues) -> str:
    """The noun of what is counted of a column."""
    if of.counted:
        return "count"
    if column.role == "sensitive":
        return "row"
    return SNIPPETS[declared.form.shows].counted


def _place(of: StandingValues, counted: str) -> str:
    if of.counted:
        return "as ranges, each with a count" if of.ranged else "each value with a count"
    return "one in each row" if counted == "row" else f"each value once for each {counted}"


def _missing(column: DeclaredColumn, of: StandingValues, counted: str) -> str:
    if not column.nulls:
        return "never"
    if not of.missing:
        return "never in these files"
    times = plural(of.missing, "time" if counted == "count" else counted)
    return f"{times}, as a category of its own"
