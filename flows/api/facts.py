"""Facts about a release in types: its columns, its promises, its accuracy, and its line."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from sfumato.flows.api.markup import table_html
from sfumato.flows.api.rows import column_name

if TYPE_CHECKING:
    from sfumato.tasks.query.published.columns import PublishedColumn

_LISTED_VALUES = 6


class ShownFact(Protocol):
    """A fact that can be a row of a table."""

    def cells(self) -> dict[str, str]:
        """Return the cells by the names of columns."""
        ...


Fact = TypeVar("Fact", bound=ShownFact, covariant=True)


@dataclass(frozen=True)
class Domain:
    """The values that rows of a column can have, by the published tables.

    Attributes:
        least: the least value; None if there is none, or if a label such as * admits any value.
        most: the greatest value; None as `least`.
        values: all values in ascending order; None if labels admit ranges or any value.
    """

    least: Any
    most: Any
    values: tuple[Any, ...] | None

    def __contains__(self, value: Any) -> bool:
        if self.values is not None:
            return value in self.values
        if self.least is None:
            return True
        try:
            return bool(self.least <= value <= self.most)
        except TypeError:
            return False

    def __str__(self) -> str:
        if self.values is not None and not _has_numbers(self.values):
            more = len(self.values) - _LISTED_VALUES
            listed = ", ".join(map(str, self.values[:_LISTED_VALUES]))
            return f"{listed}, and {more:,} more" if more > 0 else listed
        return "any value" if self.least is None else f"{self.least} to {self.most}"


def _has_numbers(values: Sequence[Any]) -> bool:
    return bool(values) and not isinstance(values[0], str | bool)


def _no_domain() -> Domain:
    return Domain(None, None, None)


@dataclass(frozen=True)
class SchemaColumn:
    """A column that queries can name.

    Attributes:
        name: as queries call it.
        role: quasi-identifier, insensitive, sensitive or weight.
        type: integer, decimal, float, date, timestamp, string or boolean.
        nulls: whether a missing value is a category.
        description: of its values, as its owner says.
        labels: what its codes mean, by code.
    """

    name: str
    role: str
    type: str
    nulls: bool
    description: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    _read_domain: Callable[[], Domain] = field(default=_no_domain, repr=False, compare=False)

    @property
    def domain(self) -> Domain:
        """The values that rows can have, read from the published tables now."""
        return self._read_domain()

    @property
    def values(self) -> tuple[Any, ...] | None:
        """The values of the domain in ascending order; None if labels do not list them."""
        return self.domain.values

    def cells(self) -> dict[str, str]:
        """Return the column as the cells of a table, by the names of columns."""
        return {
            "column": self.name,
            "role": self.role,
            "type": self.type,
            "values": str(self.domain),
            "description": self.description or "",
        }


class Columns(Mapping[str, SchemaColumn]):
    """The columns that queries can name, by their names, in the order of the release."""

    def __init__(self, columns: Mapping[str, SchemaColumn]) -> None:
        """Take the columns."""
        self._columns = dict(columns)

    def __getitem__(self, name: str) -> SchemaColumn:
        return self._columns[column_name(name, self._columns)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def with_role(self, *roles: str) -> tuple[SchemaColumn, ...]:
        """Return the columns of these roles, such as `"sensitive"`."""
        return tuple(column for column in self.values() if column.role in roles)

    def with_type(self, *types: str) -> tuple[SchemaColumn, ...]:
        """Return the columns of these types, such as `"integer"`."""
        return tuple(column for column in self.values() if column.type in types)

    def with_value(self, value: Any) -> tuple[SchemaColumn, ...]:
        """Return the columns in which some row can have a value; it reads the published tables."""
        return tuple(column for column in self.values() if value in column.domain)

    def __repr__(self) -> str:
        return repr(Listing(self.values()))

    def _repr_html_(self) -> str:
        return Listing(self.values())._repr_html_()


@dataclass(frozen=True)
class KeptPromise:
    """A promise that a release keeps.

    Attributes:
        name: of the privacy model, such as k-anonymity.
        parameters: what is promised, such as `{"k": 5, "quasi-identifiers": ["age", "town"]}`.
        observed: the same parameters as the published tables have them.
        groups: the number of groups that were measured; None if the promise has none.
    """

    name: str
    parameters: Mapping[str, Any]
    observed: Mapping[str, Any]
    groups: int | None

    def __str__(self) -> str:
        required = {n: self.parameters[n] for n in self.observed if n in self.parameters}
        return f"{self.name}: required {_in_words(required)}, observed {_in_words(self.observed)}"

    def cells(self) -> dict[str, str]:
        """Return the promise as the cells of a table, by the names of columns."""
        return {
            "promise": self.name,
            "parameters": _in_words(self.parameters),
            "observed": _in_words(self.observed),
            "groups": "-" if self.groups is None else f"{self.groups:,}",
        }


@dataclass(frozen=True)
class StatedAccuracy:
    """The accuracy of answers to some queries, as the publisher measured and published it.

    Widths are those of the bounds relative to their middle: 0.2 is ±10 %.

    Attributes:
        workload: the queries, such as `avg(cost) by range of age`.
        level: the length of their ranges, say.
        queries: the number of queries; None if it is not stated.
        median: half of the queries have bounds at most that wide; None if no answer had a middle.
        lower_quartile: a quarter has.
        upper_quartile: three quarters have.
        mean: of all widths.
    """

    workload: str
    level: Any
    queries: int | None
    median: float | None
    lower_quartile: float | None
    upper_quartile: float | None
    mean: float | None

    @property
    def half_width(self) -> float | None:
        """Half the median width, relative to the middle: 0.1 is ±10 %."""
        return None if self.median is None else self.median / 2

    def __str__(self) -> str:
        from sfumato.tasks.report.numbers import width_in_words

        return f"{self.workload} ({self.level}): {width_in_words(self.median)}"

    def cells(self) -> dict[str, str]:
        """Return the queries as the cells of a table, by the names of columns, without widths."""
        return {
            "workload": self.workload,
            "level": str(self.level),
            "queries": "-" if self.queries is None else f"{self.queries:,}",
        }


@dataclass(frozen=True)
class LineVersion:
    """A version of a line, by the public record beside it.

    Attributes:
        number: its number, such as 0002.
        state: current, superseded, pending or withdrawn.
        digest: the SHA-256 that vouches for all files of the version.
        time: when it was published, as ISO 8601.
    """

    number: str
    state: str
    digest: str
    time: str

    def cells(self) -> dict[str, str]:
        """Return the version as the cells of a table, by the names of columns."""
        return {
            "version": self.number,
            "state": self.state,
            "published": self.time[:10],
            "digest": f"{self.digest[:12]}…",
        }


@dataclass(frozen=True)
class ReleaseLine:
    """The line that a release is a version of: a series of releases about the same people.

    Attributes:
        name: its name.
        title: its title.
        versions: all of them, the latest first; empty if no record is beside the release.
    """

    name: str
    title: str
    versions: "Listing[LineVersion]"

    def __repr__(self) -> str:
        return f"{self.name}: {self.title}\n{self.versions!r}"

    def _repr_html_(self) -> str:
        return table_html(*self.versions.table(), mark=f"{self.name}: {self.title}")

    @property
    def current(self) -> str | None:
        """The number of the current version; None if there is none, or no record."""
        return next((v.number for v in self.versions if v.state == "current"), None)


class Listing(tuple[Fact, ...]):
    """Facts of one kind, shown as a table."""

    __slots__ = ()

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return names and cells of the columns in which some fact has a text."""
        rows = [fact.cells() for fact in self]
        names = [name for name in (rows[0] if rows else ()) if any(row[name] for row in rows)]
        return names, [[row[name] for name in names] for row in rows]

    def __repr__(self) -> str:
        return text_table(*self.table()) if self else "none"

    def _repr_html_(self) -> str:
        return table_html(*self.table()) if self else "none"


class AccuracyListing(Listing[StatedAccuracy]):
    """The accuracy of answers, as a table whose columns have equal decimals."""

    __slots__ = ()

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return names of columns, and rows with half the widths of bounds."""
        from sfumato.tasks.report.numbers import half_widths

        names, rows = super().table()
        shares = {
            "a quarter within": [accuracy.lower_quartile for accuracy in self],
            "half within": [accuracy.median for accuracy in self],
            "three quarters within": [accuracy.upper_quartile for accuracy in self],
        }
        columns = [half_widths(widths) for widths in shares.values()]
        return [*names, *shares], [
            [*row, *texts] for row, texts in zip(rows, zip(*columns, strict=True), strict=True)
        ]


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as lines of aligned columns."""
    from sfumato.flows.cli.show import one_line

    cells = [[one_line(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in cells)


def domain_of(column: "PublishedColumn | None") -> Domain:
    """Return the domain of a published column: its values, or those that its labels admit."""
    from sfumato.tasks.forms.labels import ListedValues
    from sfumato.tasks.query.published.columns import LabelledColumn

    if column is None or column.ends is None:
        return Domain(None, None, None)
    least, most = column.ends
    if isinstance(column, LabelledColumn):
        listed = all(isinstance(label, ListedValues) for label in column.labels)
        return Domain(least, most, _in_order(column.sample) if listed else None)
    values: set[Any] = set()
    for piece in column.values():
        values.update(piece.unique().to_pylist())
    return Domain(least, most, _in_order(values))


def _in_order(values: Any) -> tuple[Any, ...]:
    return tuple(sorted(value for value in values if value is not None and value == value))


def _in_words(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_item_in_words(value)}" for name, value in values.items())


def _item_in_words(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
