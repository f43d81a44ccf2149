"""Arguments of aggregates: columns, CASE, arithmetic and weights."""

from collections.abc import Callable, Sequence
from fractions import Fraction

from tests.pairs.asking.choices import Choices
from tests.pairs.asking.constructs import CONDITIONS, CONSTANTS
from tests.pairs.semantics.rows import Arithmetic, Case, Column, Constant, Function, Node


class Arguments(Choices):
    """Makes arguments of aggregates."""

    def _number(self, like: Node | None = None) -> Node:
        """Return a column of numbers, mostly published together with another."""
        pick, sides = self._rng.random(), [self._measured, self._sensitive]
        if like is not None and pick < 0.7:
            return Column(self._rng.choice(sides[next(iter(like.names())) in self._sensitive]))
        if pick > 0.95:
            return Column(self._rng.choice(self._exact))
        return Column(self._rng.choice(self._rng.choice(sides)))

    def _argument(self, construct: str) -> Node:
        number = self._number()
        if construct.startswith("CASE"):
            return self._case(construct)
        if construct == "row arithmetic":
            return self._calculation(number)
        if construct == "whole weight":
            return self._weighted_product("y" if "y" in self._measured else "age")
        if construct == "fractional weight":
            return self._weighted_product("w" if "w" in self._measured else "age")
        if construct == "nulls exact":
            return Column("y" if "y" in self._measured else "sex")
        if construct == "nulls sensitive":
            return Column("s")
        if construct == "row COALESCE":
            name = self._rng.choice(["COALESCE", "NULLIF"])
            return Function(name, (number, Constant(self._rng.choice([0, 1, -3]))))
        return number

    def _weighted_product(self, name: str) -> Node:
        pair = [Column(name), Column(self._rng.choice(self._sensitive))]
        self._rng.shuffle(pair)
        return Arithmetic(pair[0], "*", pair[1])

    def _case(self, construct: str) -> Node:
        rng = self._rng
        then: Node = Constant(CONSTANTS[construct]) if construct in CONSTANTS else self._number()
        rest = rng.choice(["none", "zero", "zero", "zero", "zero", "constant", "column"])
        when = self._conditions.make(rng.choice(CONDITIONS))
        if rest == "constant" and rng.random() < 0.7:  # of no one column of the other side
            when = self._alike(then)
        if rest == "none":
            return Case(when, then)
        if rest == "zero":
            return Case(when, then, Constant(0))
        if rest == "constant":
            return Case(when, then, Constant(rng.choice([1, -1, 100])))
        other = self._number(then if then.names() else None)
        return Case(self._alike(other) if rng.random() < 0.8 else when, then, other)

    def _alike(self, node: Node) -> Node:
        """Return a condition on columns that are published together with those of a node."""
        names = node.names() or {self._rng.choice(["s", self._measured[0]])}
        sensitive = next(iter(names)) in self._sensitive
        return self._conditions.make_on(self._sensitive if sensitive else self._measured)

    def _calculation(self, number: Node) -> Node:
        other = self._number(number)
        made: Sequence[Callable[[], Node]] = (
            lambda: Arithmetic(number, "*", Constant(self._rng.choice([2, -1, Fraction(1, 2)]))),
            lambda: Arithmetic(number, "+", other),
            lambda: Arithmetic(number, "-", Arithmetic(Constant(5), "*", other)),
            lambda: Function("ABS", (number,)),
            lambda: Arithmetic(number, "/", Constant(2)),
            lambda: Function(self._rng.choice(["GREATEST", "LEAST"]), (number, Constant(1))),
        )
        return self._rng.choice(made)()
