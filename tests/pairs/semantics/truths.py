"""Conditions on one row: truth has three values, and a comparison with NULL is NULL."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.pairs.semantics.rows import Node, Row, Truth, as_sql

COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Comparison(Node):
    """Two values compared; NULL if either is."""

    left: Node
    sign: str
    right: Node

    def sql(self) -> str:
        """Return it as SQL."""
        return f"{self.left.sql()} {self.sign} {self.right.sql()}"

    def value(self, row: Row) -> Truth:
        """Return whether it holds."""
        left_side, right = self.left.value(row), self.right.value(row)
        return None if left_side is None or right is None else COMPARED[self.sign](left_side, right)


@dataclass(frozen=True)
class Among(Node):
    """A value among constants (IN)."""

    operand: Node
    constants: tuple[Any, ...]

    def sql(self) -> str:
        """Return it as SQL."""
        return f"{self.operand.sql()} IN ({', '.join(map(as_sql, self.constants))})"

    def value(self, row: Row) -> Truth:
        """Return whether it is one of them; NULL among them makes that NULL if it is none."""
        value = self.operand.value(row)
        if value is None:
            return None
        return True if value in self.constants else None if None in self.constants else False


@dataclass(frozen=True)
class IsNull(Node):
    """Test whether a value is NULL, or is not."""

    operand: Node
    negated: bool = False

    def sql(self) -> str:
        """Return it as SQL."""
        return f"{self.operand.sql()} IS {'NOT ' if self.negated else ''}NULL"

    def value(self, row: Row) -> Truth:
        """Return True or False."""
        return (self.operand.value(row) is None) != self.negated


def both(left_side: Truth, right: Truth) -> Truth:
    """Return AND of two truth values."""
    if left_side is False or right is False:
        return False
    return None if left_side is None or right is None else True


def negation(truth: Truth) -> Truth:
    """Return NOT of a truth value."""
    return None if truth is None else not truth


@dataclass(frozen=True)
class Joined(Node):
    """Two conditions joined by AND or OR."""

    left: Node
    kind: str
    right: Node

    def sql(self) -> str:
        """Return both in parentheses."""
        return f"({self.left.sql()} {self.kind} {self.right.sql()})"

    def value(self, row: Row) -> Truth:
        """Return the truth value."""
        left_side, right = self.left.value(row), self.right.value(row)
        if self.kind == "AND":
            return both(left_side, right)
        return negation(both(negation(left_side), negation(right)))


@dataclass(frozen=True)
class Negated(Node):
    """A condition negated."""

    operand: Node

    def sql(self) -> str:
        """Return it as SQL."""
        return f"NOT ({self.operand.sql()})"

    def value(self, row: Row) -> Truth:
        """Return the truth value."""
        return negation(self.operand.value(row))
