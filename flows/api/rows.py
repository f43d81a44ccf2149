"""The rows of an answer: values of groups and bounds of aggregates, by the names of columns."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.bounds.bounds import Bounds

_IGNORED = str.maketrans("", "", "\"' \t\n")


class UnknownColumnError(QueryError, KeyError):
    """A name is not one of an answer's columns."""

    def __str__(self) -> str:
        return str(self.args[0])


class Row(Mapping[str, Any]):
    """A row of an answer: a value for each column of GROUP BY, `Bounds` for each aggregate.

    Names are those of the answer's columns. Case, spaces and quotes do not matter:
    `row["count(*)"]` is the column that was typed `COUNT(*)`.

    Attributes:
        certain: whether the row is surely in the answer: its group surely has rows, and HAVING
            surely holds.
        rest: whether the row is of all values together that no published label names.
    """

    __slots__ = ("_cells", "certain", "rest")

    def __init__(
        self, cells: Mapping[str, Any], *, certain: bool = True, rest: bool = False
    ) -> None:
        """Take the cells of a row by the names of their columns."""
        self._cells = cells
        self.certain = certain
        self.rest = rest

    def __getitem__(self, name: str) -> Any:
        return self._cells[column_name(name, self._cells)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells)

    def __len__(self) -> int:
        return len(self._cells)

    def bounds(self, name: str) -> Bounds:
        """Return the bounds of an aggregate.

        Raises:
            UnknownColumnError: if there is no such column.
            TypeError: if the column has values of a group.
        """
        cell = self[name]
        if not isinstance(cell, Bounds):
            raise TypeError(f"column {name!r} has values, not bounds. Read it as row[{name!r}]")
        return cell

    def matches(self, values: Mapping[str, Any]) -> bool:
        """Decide whether the row has these values; a list, tuple or set stands for any of its own.

        Raises:
            UnknownColumnError: if a name is not one of a column.
        """
        return all(_is_among(self[name], choice) for name, choice in values.items())

    def __repr__(self) -> str:
        from sfumato.flows.cli.answers import cell
        from sfumato.flows.cli.show import one_line

        return one_line(", ".join(f"{name}: {cell(value)}" for name, value in self.items()))


def column_name(name: str, names: Mapping[str, Any] | tuple[str, ...]) -> str:
    """Return the name of a column that is spelled in some way.

    >>> column_name("avg(capital-loss)", ("sex", 'AVG("capital-loss")'))
    'AVG("capital-loss")'

    Raises:
        UnknownColumnError: if there is no such column, with the nearest one, or with all.
    """
    if name in names:
        return name
    spelled = _spelling(name)
    for other in names:
        if _spelling(other) == spelled:
            return other
    near = get_close_matches(str(name), list(names), n=1)
    hint = (
        f"did you mean {near[0]!r}?" if near else f"the columns are {', '.join(map(repr, names))}"
    )
    raise UnknownColumnError(f"no column {name!r}; {hint}")


def _spelling(name: str) -> str:
    return str(name).casefold().translate(_IGNORED)


def _is_among(cell: Any, choice: Any) -> bool:
    if isinstance(choice, list | tuple | set | frozenset):
        return cell in choice
    return bool(cell == choice)
