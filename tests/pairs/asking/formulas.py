"""Aggregates, and what is calculated of them."""

from fractions import Fraction

from tests.pairs.asking.arguments import Arguments
from tests.pairs.asking.constructs import ARGUMENTS, CONDITIONS, FORMULAS, KINDS
from tests.pairs.semantics.aggregates import Aggregate
from tests.pairs.semantics.formulas import Apart, Called, Combined, Number, Result, Total
from tests.pairs.semantics.rows import Column, Node

SHARES = (0, Fraction(1, 4), Fraction(1, 2), Fraction(9, 10), 1, Fraction(1, 10**400))


class Formulas(Arguments):
    """Makes formulas."""

    def _formulas(self) -> tuple[Node, ...]:
        kinds, arguments = self._pick(tuple(KINDS)), self._pick(ARGUMENTS)
        several = max(len(kinds), len(arguments), 1)
        if several == 1 and self._rng.random() < 0.5:
            several += self._rng.choice([0, 1, 1])
        kinds += [self._any_kind() for _ in range(several - len(kinds))]
        arguments += [""] * (several - len(arguments))
        self._rng.shuffle(arguments)
        calls = [self._call(kind, of) for kind, of in zip(kinds, arguments, strict=True)]
        found: list[Node] = [Result(call) for call in calls]
        for construct in self._pick(FORMULAS, 0.35):
            place = self._rng.randrange(len(found))
            other = found.pop(place) if len(found) > 1 else Result(self._call(self._any_kind(), ""))
            place = self._rng.randrange(len(found))
            found[place] = self._calculated(construct, found[place], other)
        return tuple(found[:3])

    def _any_kind(self) -> str:
        kinds = [*KINDS, "COUNT(*)", "COUNT(*)", "COUNT(column)", "SUM", "SUM", "SUM", "AVG"]
        return self._tag(self._rng.choice([one for one in kinds if one not in self._avoided]))

    def _call(self, kind: str, argument: str) -> Aggregate:
        name = self._rng.choice(KINDS[kind])
        where = None
        if self._wants("FILTER", 0.15):
            where = self._conditions.of(self._rng.choice(CONDITIONS))
        if name == "COUNT(*)":
            if argument in ("", "nulls exact", "nulls sensitive"):
                return Aggregate("COUNT", where=where)
            name = "COUNT"
        share = Fraction(self._rng.choice(SHARES)) if "QUANTILE" in name else None
        argument = argument or "".join(self._pick(ARGUMENTS, 0.25)[:1])
        of = self._argument(argument)
        if name == "COUNT DISTINCT":
            return Aggregate("COUNT", of, where, distinct=True)
        return Aggregate(name, of, where, share=share)

    def _calculated(self, construct: str, left: Node, right: Node) -> Node:
        rng = self._rng
        number = Number(rng.choice([0, 0, 1, -3, 2]))
        if construct == "arithmetic of aggregates":
            right = rng.choice([right, Number(rng.choice([2, 100, Fraction(1, 2), -1]))])
            return Combined(left, rng.choice(["+", "-", "*"]), right)
        if construct == "quotient of aggregates":
            times = [left, left, Combined(Number(100), "*", left)]
            return Combined(rng.choice(times), "/", right)
        if construct == "by a sub-query":
            where = None if rng.random() < 0.7 else self._conditions.of(rng.choice(CONDITIONS[:2]))
            of = Aggregate("COUNT") if rng.random() < 0.75 else self._plain_call("SUM")
            return Combined(left, rng.choice("///-"), Apart(of, where))
        if construct == "OVER ()":
            return Combined(left, "/", self._total(left))
        if construct in ("NULLIF", "COALESCE"):
            made = Called(construct, (left, number))
            return Combined(right, "/", made) if rng.random() < 0.3 else made
        return self._function(left, right)

    def _plain_call(self, kind: str) -> Aggregate:
        return Aggregate(kind, Column(self._rng.choice([*self._measured, "s"])))

    def _total(self, left: Node) -> Node:
        inner = left.of if isinstance(left, Result) and self._rng.random() < 0.7 else None
        if inner is None or inner.distinct or inner.kind not in ("COUNT", "SUM", "MIN", "MAX"):
            inner = self._rng.choice([Aggregate("COUNT"), self._plain_call("SUM")])
        return Total(inner.kind if inner.kind in ("MIN", "MAX") else "SUM", inner)

    def _function(self, left: Node, right: Node) -> Node:
        name = self._rng.choice(["ABS", "FLOOR", "CEIL", "ROUND", "GREATEST", "LEAST", "SQRT"])
        if name in ("GREATEST", "LEAST"):
            return Called(name, (left, self._rng.choice([right, Number(1)])))
        if name == "SQRT":
            return Called(name, (Called("ABS", (left,)),))
        return Called(name, (left, Number(1)) if name == "ROUND" else (left,))
