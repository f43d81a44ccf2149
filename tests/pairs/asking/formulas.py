"""Aggregates, and what is calculated of them."""

from fractions import Fraction

from tests.pairs.asking.arguments import Arguments
from tests.pairs.asking.constructs import ARGUMENTS, CONDITIONS, FORMULAS, KINDS
from tests.pairs.semantics.aggregates import Aggregate
from tests.pairs.semantics.formulas import Apart, Called, Combined, Number, Result, Total
from tests.pairs.semantics.rows import Column, Node

SHARES = (0, Fraction(1, 4), Fraction(1, 2), Fraction(9, 10), 1)
TINY = Fraction(1, 10**400)
_OF_CASE = ("SUM", "SUM", "SUM", "AVG", "AVG", "COUNT(column)")
_SUMS = ("SUM",)
_SIMPLE = ("COUNT(*)", "COUNT(*)", "COUNT(column)", "SUM")


class Formulas(Arguments):
    """Makes formulas."""

    def _formulas(self) -> tuple[Node, ...]:
        kinds, arguments = self._pick(tuple(KINDS)), self._pick(ARGUMENTS)
        several = max(len(kinds), len(arguments), 1)
        if several == 1 and self._rng.random() < 0.5:
            several += self._rng.choice([0, 1, 1])
        arguments += [""] * (several - len(arguments))
        kinds += [self._kind_for(name) for name in arguments[len(kinds) :]]
        if self._rng.random() < 0.2:  # else both that are wanted are of one call
            self._rng.shuffle(arguments)
        calls = [self._call(kind, name) for kind, name in zip(kinds, arguments, strict=True)]
        nodes: list[Node] = [Result(call) for call in calls]
        for construct in self._pick(FORMULAS, 0.35):
            other = nodes.pop() if len(nodes) > 1 and self._rng.random() < 0.5 else self._operand()
            nodes[0] = self._combine(construct, nodes[0], other)
        return tuple(nodes[:3])

    def _operand(self) -> Node:
        """Return another operand, mostly a simple one."""
        if self._rng.random() < 0.3:
            return Result(self._call(self._any_kind(), ""))
        kind = self._rng.choice([kind for kind in _SIMPLE if kind not in self._avoided])
        self._tag(kind)
        return Result(
            Aggregate("COUNT") if kind == "COUNT(*)" else self._plain_call(kind.split("(")[0])
        )

    def _kind_for(self, argument: str) -> str:
        """Return a kind of aggregate, mostly one that an argument is usual with."""
        usual = {"CASE": _OF_CASE, "whole": _SUMS, "fractional": _SUMS}.get(argument.split(" ")[0])
        kinds = [kind for kind in usual or () if kind not in self._avoided]
        if not kinds or self._rng.random() < 0.3:
            return self._any_kind()
        return self._tag(self._rng.choice(kinds))

    def _any_kind(self) -> str:
        kinds = [*KINDS, "COUNT(*)", "COUNT(*)", "COUNT(column)", "SUM", "SUM", "SUM", "AVG"]
        return self._tag(self._rng.choice([kind for kind in kinds if kind not in self._avoided]))

    def _call(self, kind: str, argument: str) -> Aggregate:
        name, where = self._rng.choice(KINDS[kind]), None
        if self._wants("FILTER", 0.15):
            where = self._conditions.make(self._rng.choice(CONDITIONS))
        if name == "COUNT(*)":
            if argument in ("", "nulls exact", "nulls sensitive"):
                return Aggregate("COUNT", where=where)
            name = "COUNT"
        share = Fraction(self._rng.choice(SHARES)) if "QUANTILE" in name else None
        share = TINY if share is not None and self._rng.random() < 0.05 else share
        argument = argument or "".join(self._pick(ARGUMENTS, 0.25)[:1])
        argument_node = self._argument(argument)
        if name == "COUNT DISTINCT":
            return Aggregate("COUNT", argument_node, where, distinct=True)
        return Aggregate(name, argument_node, where, share=share)

    def _combine(self, construct: str, left_side: Node, right: Node) -> Node:
        rng = self._rng
        number = Number(rng.choice([0, 0, 1, -3, 2]))
        if construct == "arithmetic of aggregates":
            right = rng.choice([right, Number(rng.choice([2, 100, Fraction(1, 2), -1]))])
            return Combined(left_side, rng.choice(["+", "-", "*"]), right)
        if construct == "quotient of aggregates":
            times = [left_side, left_side, Combined(Number(100), "*", left_side)]
            sides = (rng.choice(times), right) if rng.random() < 0.7 else (right, left_side)
            return Combined(sides[0], "/", sides[1])
        if construct == "by a sub-query":
            where = (
                None if rng.random() < 0.85 else self._conditions.make(rng.choice(CONDITIONS[:2]))
            )
            aggregate = Aggregate("COUNT") if rng.random() < 0.85 else self._plain_call("SUM")
            return Combined(left_side, rng.choice("//////-"), Apart(aggregate, where))
        if construct == "OVER ()":
            return Combined(left_side, "/", self._total(left_side))
        if construct in ("NULLIF", "COALESCE"):
            made = Called(construct, (left_side, number))
            return Combined(right, "/", made) if rng.random() < 0.3 else made
        return self._function(left_side, right)

    def _plain_call(self, kind: str) -> Aggregate:
        return Aggregate(kind, Column(self._rng.choice([*self._measured, "s"])))

    def _total(self, first: Node) -> Node:
        inner = first.of if isinstance(first, Result) and self._rng.random() < 0.7 else None
        if inner is None or inner.distinct or inner.kind not in ("COUNT", "SUM", "MIN", "MAX"):
            inner = self._rng.choice([Aggregate("COUNT"), self._plain_call("SUM")])
        return Total(inner.kind if inner.kind in ("MIN", "MAX") else "SUM", inner)

    def _function(self, left_side: Node, right: Node) -> Node:
        name = self._rng.choice(["ABS", "FLOOR", "CEIL", "ROUND", "GREATEST", "LEAST", "SQRT"])
        if name in ("GREATEST", "LEAST"):
            return Called(name, (left_side, self._rng.choice([right, Number(1)])))
        if name == "SQRT":
            return Called(name, (Called("ABS", (left_side,)),))
        return Called(name, (left_side, Number(1)) if name == "ROUND" else (left_side,))
