"""Random conditions on exact and on sensitive columns, alone and together."""

import random
from collections.abc import Callable, Sequence

from tests.pairs.semantics.rows import Arithmetic, Column, Constant, Node
from tests.pairs.semantics.truths import Among, Comparison, IsNull, Joined, Negated

_SIGNS = ("=", "<>", "<", "<=", ">", ">=")


class Conditions:
    """Makes conditions on some columns."""

    def __init__(self, rng: random.Random, exact: Sequence[str], sensitive: Sequence[str]) -> None:
        self._rng, self._exact, self._sensitive = rng, exact, sensitive

    def make(self, construct: str) -> Node:
        """Return a condition of a kind."""
        if construct == "exact condition":
            return self._simple(self._on_exact)
        if construct == "sensitive condition":
            return self._simple(self._on_sensitive)
        if construct == "AND of both":
            return Joined(*self._both("AND"))
        if construct == "OR of both":
            return Joined(*self._both("OR"))
        inner = self._rng.choice(
            [
                lambda: Joined(*self._both(self._rng.choice(["AND", "OR"]))),
                self._on_exact,
                self._on_sensitive,
            ]
        )
        return Negated(inner())

    def make_on(self, names: Sequence[str]) -> Node:
        """Return a condition on one of some columns of numbers."""
        return self._simple(lambda: self._on_number(self._rng.choice(list(names))))

    def join(self, conditions: Sequence[Node]) -> Node:
        """Return all of them, joined by AND or OR."""
        condition = conditions[0]
        for other in conditions[1:]:
            condition = Joined(condition, self._rng.choice(["AND", "AND", "OR"]), other)
        return condition

    def _both(self, kind: str) -> tuple[Node, str, Node]:
        sides = [self._simple(self._on_exact), self._simple(self._on_sensitive)]
        self._rng.shuffle(sides)
        return sides[0], kind, sides[1]

    def _simple(self, atom: Callable[[], Node]) -> Node:
        """Return one test, or now and then two of the same columns."""
        pick = self._rng.random()
        if pick < 0.1:
            return Joined(atom(), self._rng.choice(["AND", "OR"]), atom())
        return Negated(atom()) if pick < 0.15 else atom()

    def _on_exact(self) -> Node:
        name = self._rng.choice(list(self._exact))
        return self._on_text(name) if name in ("sex", "kind") else self._on_number(name)

    def _on_text(self, name: str) -> Node:
        values = {"sex": ("f", "m", "x"), "kind": ("cat", "dog", "wolf")}[name]
        pick = self._rng.random()
        if pick < 0.25:
            return IsNull(Column(name), self._rng.random() < 0.5)
        if pick < 0.5:
            return Among(Column(name), tuple(self._rng.sample(values, 2)))
        sign = self._rng.choice(["=", "<>", "=", "<"])
        return Comparison(Column(name), sign, Constant(self._rng.choice(values)))

    def _on_sensitive(self) -> Node:
        return self._on_number(self._rng.choice(list(self._sensitive)))

    def _on_number(self, name: str) -> Node:
        column, pick = Column(name), self._rng.random()
        if pick < 0.08:
            return IsNull(column, self._rng.random() < 0.5)
        if pick < 0.18:
            return Among(column, tuple(self._rng.sample([0, 1, 2, 3, 9], 2)))
        if pick < 0.24:
            return Comparison(column, ">", Constant(90))
        if pick < 0.29:
            return Comparison(column, ">", Constant(-90))
        operand: Node = column
        if pick < 0.36:
            operand = Arithmetic(
                column, self._rng.choice("+-*"), Constant(self._rng.choice([1, 2]))
            )
        value = Constant(self._rng.choice([0, 1, 1, 2, 2, 3, 5, 9, -1]))
        return Comparison(operand, self._rng.choice(_SIGNS), value)
