"""Expressions on one row: their SQL, and what they come to by its semantics.

A row is a mapping of names to values: integers, Fractions, texts, truth values and None for NULL.
"""

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

Row = Mapping[str, Any]
Truth = bool | None


class Node:
    """Part of a query."""

    def parts(self) -> Iterator["Node"]:
        """Yield the node and all nodes in it."""
        yield self
        for field in fields(self):
            value = getattr(self, field.name)
            for inner in value if isinstance(value, tuple) else (value,):
                if isinstance(inner, Node):
                    yield from inner.parts()

    def names(self) -> set[str]:
        """Return the names of its columns."""
        return {part.name for part in self.parts() if isinstance(part, Column)}

    def sql(self) -> str:
        """Return the node as SQL."""
        raise NotImplementedError

    def value(self, row: Row) -> Any:
        """Return its value on a row."""
        raise NotImplementedError

    def in_cell(self, cell: Any) -> Any:
        """Return its value in a row of an answer, if it is a formula."""
        raise NotImplementedError


def as_sql(value: Any) -> str:
    """Return a constant as SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    number = Fraction(value)
    if number.denominator == 1:
        return str(int(number))
    small = 0 < number < Fraction(1, 10**300)  # 1e-400 is no float
    return f"1e-{len(str(number.denominator)) - 1}" if small else str(float(number))


@dataclass(frozen=True)
class Column(Node):
    """A column."""

    name: str

    def sql(self) -> str:
        """Return its name."""
        return self.name

    def value(self, row: Row) -> Any:
        """Return what the row has in it."""
        return row[self.name]


@dataclass(frozen=True)
class Constant(Node):
    """A constant, NULL among them."""

    constant: Any

    def sql(self) -> str:
        """Return it as SQL."""
        return as_sql(self.constant)

    def value(self, row: Row) -> Any:
        """Return it, whatever the row."""
        return self.constant


def divide(dividend: Any, right: Any) -> Any:
    """Return a quotient; NULL if the divisor is 0."""
    return Fraction(dividend) / Fraction(right) if right else None


def coalesce(*values: Any) -> Any:
    """Return the first value that is not NULL."""
    return next((value for value in values if value is not None), None)


def null_if(value: Any, other: Any) -> Any:
    """Return NULL if both are equal, else the first."""
    return None if value is not None and value == other else value


def best_of(choose: Callable[..., Any]) -> Callable[..., Any]:
    """Return GREATEST or LEAST, which leave NULLs out."""

    def best(*values: Any) -> Any:
        present = [value for value in values if value is not None]
        return choose(present) if present else None

    return best


ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": divide,
    "//": lambda left_side, right: left_side // right if right else None,
    "%": lambda left_side, right: left_side % right if right else None,
}
"""Operators on two numbers; // and % are used on numbers that are not negative alone."""
STRICT: Mapping[str, Callable[..., Any]] = {"ABS": abs}
LENIENT: Mapping[str, Callable[..., Any]] = {
    "COALESCE": coalesce,
    "NULLIF": null_if,
    "GREATEST": best_of(max),
    "LEAST": best_of(min),
}


@dataclass(frozen=True)
class Arithmetic(Node):
    """Two numbers and an operator; NULL if either is."""

    left: Node
    sign: str
    right: Node

    def sql(self) -> str:
        """Return it in parentheses."""
        return f"({self.left.sql()} {self.sign} {self.right.sql()})"

    def value(self, row: Row) -> Any:
        """Return the result."""
        left_side, right = self.left.value(row), self.right.value(row)
        return (
            None if left_side is None or right is None else ARITHMETIC[self.sign](left_side, right)
        )


@dataclass(frozen=True)
class Function(Node):
    """A function of values of the row."""

    name: str
    operands: tuple[Node, ...]

    def sql(self) -> str:
        """Return its call."""
        return f"{self.name}({', '.join(node.sql() for node in self.operands)})"

    def value(self, row: Row) -> Any:
        """Return the result."""
        values = [node.value(row) for node in self.operands]
        if self.name in LENIENT:
            return LENIENT[self.name](*values)
        return None if None in values else STRICT[self.name](*values)


@dataclass(frozen=True)
class Case(Node):
    """A CASE of one condition; without ELSE it is NULL where that is not true."""

    when: Node
    then: Node
    otherwise: Node | None = None

    def sql(self) -> str:
        """Return it as SQL."""
        tail = "" if self.otherwise is None else f" ELSE {self.otherwise.sql()}"
        return f"CASE WHEN {self.when.sql()} THEN {self.then.sql()}{tail} END"

    def value(self, row: Row) -> Any:
        """Return the branch that is taken."""
        if self.when.value(row) is True:
            return self.then.value(row)
        return None if self.otherwise is None else self.otherwise.value(row)
