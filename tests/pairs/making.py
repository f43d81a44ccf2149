"""Random queries that have the constructs which are wanted, on the columns of a release."""

import random
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from tests.pairs.conditions import Conditions
from tests.pairs.releases import PairedRelease
from tests.pairs.semantics.aggregates import Aggregate
from tests.pairs.semantics.formulas import (
    Apart,
    Both,
    Called,
    Combined,
    Compared,
    Not,
    Number,
    Result,
    Total,
)
from tests.pairs.semantics.queries import OwnTable, Query
from tests.pairs.semantics.rows import Arithmetic, Case, Column, Comparison, Constant, Function, Node

SHARES = (0, Fraction(1, 4), Fraction(1, 2), Fraction(9, 10), 1, Fraction(1, 10**400))
KINDS: Mapping[str, Sequence[str]] = {
    "COUNT(*)": ("COUNT(*)",),
    "COUNT(column)": ("COUNT",),
    "SUM": ("SUM",),
    "AVG": ("AVG",),
    "MIN or MAX": ("MIN", "MAX"),
    "MEDIAN": ("MEDIAN",),
    "QUANTILE": ("QUANTILE_CONT", "QUANTILE_DISC"),
    "STDDEV or VARIANCE": ("STDDEV", "STDDEV_POP", "VARIANCE", "VAR_POP"),
    "COUNT(DISTINCT)": ("COUNT DISTINCT",),
}
CONSTANTS: Mapping[str, Any] = {
    "CASE 0": 0,
    "CASE 1": 1,
    "CASE -1": -1,
    "CASE 1/2": Fraction(1, 2),
    "CASE 100": 100,
}
ARGUMENTS = (
    *CONSTANTS,
    "CASE column",
    "row arithmetic",
    "whole weight",
    "fractional weight",
    "nulls exact",
    "nulls sensitive",
    "row COALESCE",
)
IN_CALLS = ("FILTER",)
FORMULAS = (
    "arithmetic of aggregates",
    "quotient of aggregates",
    "by a sub-query",
    "OVER ()",
    "NULLIF",
    "COALESCE",
    "functions of aggregates",
)
CONDITIONS = ("exact condition", "sensitive condition", "AND of both", "OR of both", "NOT")
CLAUSES = (
    "GROUP BY plain",
    "GROUP BY sensitive",
    "GROUP BY expression",
    "GROUP BY bands",
    "HAVING",
    "ORDER BY",
    "LIMIT",
    "CTE",
    "JOIN",
    "DISTINCT",
)
CONSTRUCTS = (*KINDS, *ARGUMENTS, *IN_CALLS, *FORMULAS, *CONDITIONS, *CLAUSES)


class Maker:
    """Makes queries on a release."""

    def __init__(
        self,
        rng: random.Random,
        release: PairedRelease,
        own: Sequence[OwnTable],
        avoided: Container[str] = (),
    ) -> None:
        """Make queries on the columns of a release, which may join tables.

        Constructs to be avoided are used where they are wanted alone.
        """
        self._rng, self._avoided = rng, avoided
        columns = release.declared.columns
        self._own = [table for table in own if table.key in columns]
        self._sensitive = release.named("sensitive")
        self._exact = [name for name in columns if name not in self._sensitive]
        texts, recoded = {"sex", "kind"}, {"age"} if release.shape.labels else set()
        self._measured = [n for n in self._exact if n not in texts | recoded] or ["age"]
        self._labels = release.shape.labels
        self._conditions = Conditions(rng, self._exact, self._sensitive)
        self._tags: set[str] = set()
        self._wanted: set[str] = set()

    def query(self, wanted: Iterable[str]) -> Query:
        """Return a query that has the wanted constructs, where they go together, and others."""
        self._tags, self._wanted = set(), set(wanted)
        if self._wants("DISTINCT") and not self._wanted & {*KINDS, *ARGUMENTS, *FORMULAS}:
            return self._distinct()
        query = Query(where=self._where(0.5))
        query = self._grouped(query)
        query = replace(query, formulas=self._formulas(query))
        query = self._ordered(self._with_having(query))
        query = self._read_through(query)
        return replace(query, tags=frozenset(self._tags))

    def _wants(self, construct: str, chance: float = 0.0) -> bool:
        """Decide whether a construct is used; where it is, the query is tagged with it."""
        drawn = self._rng.random() < chance and construct not in self._avoided
        use = construct in self._wanted or drawn
        if use:
            self._tags.add(construct)
        return use

    def _tag(self, construct: str) -> str:
        self._tags.add(construct)
        return construct

    def _pick(self, constructs: Sequence[str], chance: float = 0.0) -> list[str]:
        """Return those that are wanted, or now and then one that is not."""
        picked = [one for one in constructs if one in self._wanted]
        usual = [one for one in constructs if one not in self._avoided]
        if not picked and usual and self._rng.random() < chance:
            picked = [self._rng.choice(usual)]
        return [self._tag(one) for one in picked]

    # conditions

    def _where(self, chance: float) -> Node | None:
        picked = self._pick(CONDITIONS, chance)
        made = [self._conditions.of(kind) for kind in picked]
        return self._conditions.joined(made) if made else None

    # what is aggregated

    def _formulas(self, query: Query) -> tuple[Node, ...]:
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
            return self._weighted("y" if "y" in self._measured else "age")
        if construct == "fractional weight":
            return self._weighted("w" if "w" in self._measured else "age")
        if construct == "nulls exact":
            return Column("y" if "y" in self._measured else "sex")
        if construct == "nulls sensitive":
            return Column("s")
        if construct == "row COALESCE":
            name = self._rng.choice(["COALESCE", "NULLIF"])
            return Function(name, (number, Constant(self._rng.choice([0, 1, -3]))))
        return number

    def _weighted(self, name: str) -> Node:
        pair = [Column(name), Column(self._rng.choice(self._sensitive))]
        self._rng.shuffle(pair)
        return Arithmetic(pair[0], "*", pair[1])

    def _case(self, construct: str) -> Node:
        rng = self._rng
        then: Node = Constant(CONSTANTS[construct]) if construct in CONSTANTS else self._number()
        rest = rng.choice(["none", "zero", "zero", "zero", "constant", "column"])
        when = self._conditions.of(rng.choice(CONDITIONS))
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
        return self._conditions.on(self._sensitive if sensitive else self._measured)

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

    # what is calculated of aggregates

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

    # clauses

    def _grouped(self, query: Query) -> Query:
        picked = self._pick(CLAUSES[:4], 0.35)
        return replace(query, keys=tuple(self._key(kind) for kind in picked))

    def _key(self, construct: str) -> Node:
        rng, one = self._rng, self._rng.choice([0, 1, 2])
        if construct == "GROUP BY plain":
            return Column(rng.choice(self._exact))
        if construct == "GROUP BY sensitive":
            return Column(rng.choice(self._sensitive))
        if construct == "GROUP BY bands":
            name = rng.choice([*self._sensitive, self._measured[0]])
            when = Comparison(Column(name), rng.choice(["<", ">", ">="]), Constant(one))
            low, high = rng.choice([("lo", "hi"), (0, 1), ("a", None)])
            return Case(when, Constant(low), Constant(high))
        if self._labels and rng.random() < 0.8:
            return Arithmetic(Column(rng.choice(["s", "y"])), rng.choice("+*"), Constant(one + 1))
        made: Sequence[Callable[[], Node]] = (
            lambda: Arithmetic(Column("age"), "//", Constant(2)),
            lambda: Arithmetic(Column("age"), "%", Constant(2)),
            lambda: Arithmetic(Column("age"), "+", Constant(1)),
            lambda: Comparison(self._number(), ">", Constant(one)),
            lambda: Function("ABS", (self._number(),)),
        )
        return rng.choice(made)()

    def _with_having(self, query: Query) -> Query:
        windows = any(isinstance(part, Total) for f in query.formulas for part in f.parts())
        if not self._wants("HAVING", 0.0 if windows else 0.12):
            return query
        having = self._compared(query)
        if self._rng.random() < 0.3:
            having = Both(having, self._rng.choice(["AND", "OR"]), self._compared(query))
        return replace(query, having=Not(having) if self._rng.random() < 0.2 else having)

    def _compared(self, query: Query) -> Node:
        of = self._rng.choice([*query.formulas, Result(Aggregate("COUNT")), query.formulas[0]])
        sign = self._rng.choice(["<", "<=", ">", ">=", "=", "<>"])
        return Compared(of, sign, self._rng.choice([0, 1, 2, 3, 5, -1, Fraction(3, 2)]))

    def _ordered(self, query: Query) -> Query:
        limited = self._wants("LIMIT", 0.05)
        if not query.keys and not limited or not self._wants("ORDER BY", 0.15) and not limited:
            return query
        self._tag("ORDER BY")
        places = [("k", place) for place in range(len(query.keys))]
        if not places or self._rng.random() < (0.3 if limited else 0.6):
            places.insert(0, ("a", self._rng.randrange(len(query.formulas))))
        order = tuple((of, place, self._rng.random() < 0.4) for of, place in places)
        return replace(query, order=order, limit=self._rng.choice([0, 1, 2, 3]) if limited else None)

    def _distinct(self) -> Query:
        self._wanted |= {"GROUP BY plain"} if not self._wanted & set(CLAUSES[:4]) else set()
        query = self._grouped(Query(where=self._where(0.5), distinct=True))
        self._wants("ORDER BY")
        order = tuple(("k", place, False) for place in range(len(query.keys)))
        query = replace(query, order=order if "ORDER BY" in self._tags else ())
        return replace(self._read_through(query), tags=frozenset(self._tags))

    def _read_through(self, query: Query) -> Query:
        if self._wants("JOIN", 0.08):
            query = self._with_join(query)
        if not self._wants("CTE", 0.1):
            return query
        kinds = ["filter", "filter", "calculated"]
        if query.keys and query.formulas and not query.distinct and query.own is None:
            kinds += ["grouped"] * 3
        through = self._rng.choice(kinds)
        if through == "grouped":
            return self._of_groups(query)
        inner = self._conditions.of(self._rng.choice(CONDITIONS))
        if through == "filter":
            return replace(query, through=through, inner=inner)
        derived = (("d", self._calculation(self._number())),)
        of = Aggregate(self._rng.choice(["SUM", "AVG", "COUNT", "MAX"]), Column("d"))
        formulas = query.formulas if query.distinct else (*query.formulas[:2], Result(of))
        return replace(query, through=through, derived=derived, formulas=formulas)

    def _of_groups(self, query: Query) -> Query:
        """Return a query in which HAVING, as a WHERE outside, names what is shown."""
        shown = query.formulas
        names = {part for node in [query.having] if node for part in node.parts()}
        if any(isinstance(part, Compared) and part.left not in shown for part in names):
            return query
        return replace(query, through="grouped")

    def _with_join(self, query: Query) -> Query:
        own = self._rng.choice(list(self._own))
        outer = self._rng.random() < 0.5
        rate, area = own.columns
        call = Result(Aggregate(self._rng.choice(["SUM", "AVG", "COUNT", "MIN"]), Column(rate)))
        formulas = query.formulas if query.distinct else (*query.formulas[:2], call)
        keys = (*query.keys, Column(area)) if self._rng.random() < 0.4 else query.keys
        return replace(query, own=own, outer=outer, formulas=formulas, keys=keys)
