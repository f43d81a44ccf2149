"""Formulas over aggregates: their SQL, and what they come to in a cell of an answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any, Protocol

from tests.pairs.semantics.aggregates import Aggregate, root
from tests.pairs.semantics.rows import ARITHMETIC, LENIENT, Node, Truth, as_sql
from tests.pairs.semantics.truths import COMPARED, both, negation


class Cell(Protocol):
    """A row of an answer in a world."""

    def aggregate(self, aggregate_node: Aggregate) -> Any:
        """Return an aggregate over its rows."""
        ...

    def total(self, outer: str, aggregate_node: Aggregate) -> Any:
        """Return the aggregate (SUM, MIN or MAX) over all rows of the answer of an aggregate."""
        ...

    def apart(self, aggregate_node: Aggregate, where: Node | None) -> Any:
        """Return an aggregate over all rows of the world on which a condition is true."""
        ...


def round_half(value: Any, decimals: Any) -> Fraction:
    """Return a number rounded to decimals, halves away from 0."""
    scale = Fraction(10) ** int(decimals)
    exact = Fraction(value) * scale
    half = Fraction(1, 2)
    return Fraction(floor(exact + half) if exact >= 0 else ceil(exact - half)) / scale


STRICT: Mapping[str, Callable[..., Any]] = {
    "ABS": abs,
    "FLOOR": floor,
    "CEIL": ceil,
    "SQRT": root,
    "ROUND": round_half,
}


@dataclass(frozen=True)
class Result(Node):
    """An aggregate over the rows of the cell."""

    of: Aggregate

    def sql(self) -> str:
        """Return the call."""
        return self.of.sql()

    def in_cell(self, cell: Cell) -> Any:
        """Return it."""
        return cell.aggregate(self.of)


@dataclass(frozen=True)
class Number(Node):
    """A constant."""

    constant: Any

    def sql(self) -> str:
        """Return it as SQL."""
        return as_sql(self.constant)

    def in_cell(self, cell: Cell) -> Any:
        """Return it."""
        return self.constant


@dataclass(frozen=True)
class Total(Node):
    """An aggregate of an aggregate over all rows of the answer: SUM(SUM(x)) OVER ()."""

    outer: str
    of: Aggregate

    def sql(self) -> str:
        """Return the window."""
        return f"{self.outer}({self.of.sql()}) OVER ()"

    def in_cell(self, cell: Cell) -> Any:
        """Return it, the same in every cell."""
        return cell.total(self.outer, self.of)


@dataclass(frozen=True)
class Apart(Node):
    """A query among values: an aggregate over the rows of the microdata."""

    of: Aggregate
    where: Node | None = None

    def sql(self) -> str:
        """Return the query."""
        tail = "" if self.where is None else f" WHERE {self.where.sql()}"
        return f"(SELECT {self.of.sql()} FROM microdata{tail})"

    def in_cell(self, cell: Cell) -> Any:
        """Return it, the same in every cell."""
        return cell.apart(self.of, self.where)


@dataclass(frozen=True)
class Combined(Node):
    """Two formulas and an operator; NULL if either is, or if the divisor is 0."""

    left: Node
    sign: str
    right: Node

    def sql(self) -> str:
        """Return it in parentheses."""
        return f"({self.left.sql()} {self.sign} {self.right.sql()})"

    def in_cell(self, cell: Cell) -> Any:
        """Return the result."""
        left_side, right = self.left.in_cell(cell), self.right.in_cell(cell)
        return (
            None if left_side is None or right is None else ARITHMETIC[self.sign](left_side, right)
        )


@dataclass(frozen=True)
class Called(Node):
    """A function of formulas."""

    name: str
    operands: tuple[Node, ...]

    def sql(self) -> str:
        """Return its call."""
        return f"{self.name}({', '.join(node.sql() for node in self.operands)})"

    def in_cell(self, cell: Cell) -> Any:
        """Return the result."""
        values = [node.in_cell(cell) for node in self.operands]
        if self.name in LENIENT:
            return LENIENT[self.name](*values)
        return None if None in values else STRICT[self.name](*values)


@dataclass(frozen=True)
class Compared(Node):
    """A formula compared with a constant, in HAVING."""

    left: Node
    sign: str
    constant: Any

    def sql(self) -> str:
        """Return it as SQL."""
        return f"{self.left.sql()} {self.sign} {as_sql(self.constant)}"

    def in_cell(self, cell: Cell) -> Truth:
        """Return whether it holds."""
        first = self.left.in_cell(cell)
        return None if first is None else COMPARED[self.sign](first, self.constant)


@dataclass(frozen=True)
class Both(Node):
    """Two conditions of HAVING joined by AND or OR."""

    left: Node
    kind: str
    right: Node

    def sql(self) -> str:
        """Return both in parentheses."""
        return f"({self.left.sql()} {self.kind} {self.right.sql()})"

    def in_cell(self, cell: Cell) -> Truth:
        """Return the truth value."""
        left_side, right = self.left.in_cell(cell), self.right.in_cell(cell)
        if self.kind == "AND":
            return both(left_side, right)
        return negation(both(negation(left_side), negation(right)))


@dataclass(frozen=True)
class Not(Node):
    """A condition of HAVING negated."""

    operand: Node

    def sql(self) -> str:
        """Return it as SQL."""
        return f"NOT ({self.operand.sql()})"

    def in_cell(self, cell: Cell) -> Truth:
        """Return the truth value."""
        return negation(self.operand.in_cell(cell))
