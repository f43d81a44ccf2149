"""Random queries that have the constructs which are wanted, on the columns of a release."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from tests.pairs.asking.constructs import ARGUMENTS, CLAUSES, CONDITIONS, FORMULAS, KINDS
from tests.pairs.asking.formulas import Formulas
from tests.pairs.semantics.aggregates import Aggregate
from tests.pairs.semantics.formulas import Both, Compared, Not, Result, Total
from tests.pairs.semantics.queries import Query
from tests.pairs.semantics.rows import Arithmetic, Case, Column, Constant, Function, Node
from tests.pairs.semantics.truths import Comparison


class Maker(Formulas):
    """Makes queries on a release."""

    def query(self, constructs: Iterable[str]) -> Query:
        """Return a query that has the wanted constructs, where they go together, and others."""
        self._tags, self._wanted = set(), set(constructs)
        distinct = self._wants("DISTINCT")
        if distinct and not self._wanted & {*KINDS, *ARGUMENTS, *FORMULAS}:
            return self._distinct()
        query = Query(where=self._where(0.5), distinct=distinct)
        query = query if distinct else self._group_query(query)
        query = replace(query, formulas=self._formulas())
        query = self._order_rows(self._with_having(query))
        query = self._read_through(query)
        return replace(query, tags=frozenset(self._tags))

    def _group_query(self, query: Query) -> Query:
        picked = self._pick(CLAUSES[:4], 0.35)
        return replace(query, keys=tuple(self._key(kind) for kind in picked))

    def _key(self, construct: str) -> Node:
        rng, number = self._rng, self._rng.choice([0, 1, 2])
        if construct == "GROUP BY plain":
            return Column(rng.choice(self._exact))
        if construct == "GROUP BY sensitive":
            return Column(rng.choice(self._sensitive))
        if construct == "GROUP BY bands":
            name = rng.choice([*self._sensitive, self._measured[0]])
            when = Comparison(Column(name), rng.choice(["<", ">", ">="]), Constant(number))
            low, high = rng.choice([("lo", "hi"), (0, 1), ("a", None)])
            return Case(when, Constant(low), Constant(high))
        if self._labels and rng.random() < 0.8:
            return Arithmetic(
                Column(rng.choice(["s", "y"])), rng.choice("+*"), Constant(number + 1)
            )
        made: Sequence[Callable[[], Node]] = (
            lambda: Arithmetic(Column("age"), "//", Constant(2)),
            lambda: Arithmetic(Column("age"), "%", Constant(2)),
            lambda: Arithmetic(Column("age"), "+", Constant(1)),
            lambda: Comparison(self._number(), ">", Constant(number)),
            lambda: Function("ABS", (self._number(),)),
        )
        return rng.choice(made)()

    def _with_having(self, query: Query) -> Query:
        windows = any(isinstance(part, Total) for f in query.formulas for part in f.parts())
        if not self._wants("HAVING", 0.0 if windows else 0.12):
            return query
        having = self._comparison(query)
        if self._rng.random() < 0.3:
            having = Both(having, self._rng.choice(["AND", "OR"]), self._comparison(query))
        return replace(query, having=Not(having) if self._rng.random() < 0.2 else having)

    def _comparison(self, query: Query) -> Node:
        formula = self._rng.choice([*query.formulas, Result(Aggregate("COUNT")), query.formulas[0]])
        sign = self._rng.choice(["<", "<=", ">", ">=", "=", "<>"])
        return Compared(formula, sign, self._rng.choice([0, 1, 2, 3, 5, -1, Fraction(3, 2)]))

    def _order_rows(self, query: Query) -> Query:
        limited = self._wants("LIMIT", 0.05)
        if (not query.keys and not limited) or (not self._wants("ORDER BY", 0.15) and not limited):
            return query
        self._tag("ORDER BY")
        places = [("k", place) for place in range(len(query.keys))]
        if not places or self._rng.random() < (0.3 if limited else 0.6):
            places.insert(0, ("a", self._rng.randrange(len(query.formulas))))
        order = tuple((formula, place, self._rng.random() < 0.4) for formula, place in places)
        return replace(
            query, order=order, limit=self._rng.choice([0, 1, 2, 3]) if limited else None
        )

    def _distinct(self) -> Query:
        self._wanted |= {"GROUP BY plain"} if not self._wanted & set(CLAUSES[:4]) else set()
        query = self._group_query(Query(where=self._where(0.5), distinct=True))
        self._wants("ORDER BY")
        order = tuple(("k", place, False) for place in range(len(query.keys)))
        query = replace(query, order=order if "ORDER BY" in self._tags else ())
        return replace(self._read_through(query), tags=frozenset(self._tags))

    def _read_through(self, query: Query) -> Query:
        if self._wants("JOIN", 0.08):
            query = self._with_join(query)
        if not self._wants("CTE", 0.1):
            return query
        kinds = ["filter"] * 2
        if not query.distinct:  # which has no formula that needs the calculation
            kinds += ["calculated"]
        if query.keys and query.formulas and not query.distinct and query.own is None:
            kinds += ["grouped"] * 3
        through = self._rng.choice(kinds)
        if through == "grouped":
            return self._of_groups(query)
        inner = self._conditions.make(self._rng.choice(CONDITIONS))
        if through == "filter":
            return replace(query, through=through, inner=inner)
        derived = (("d", self._calculation(self._number())),)
        aggregate = Aggregate(self._rng.choice(["SUM", "AVG", "COUNT", "MAX"]), Column("d"))
        return replace(
            query,
            through=through,
            derived=derived,
            formulas=(*query.formulas[:2], Result(aggregate)),
        )

    def _of_groups(self, query: Query) -> Query:
        """Return a query in which HAVING, as a WHERE outside, names what is shown."""
        formulas = query.formulas
        names = {part for node in [query.having] if node for part in node.parts()}
        if any(isinstance(part, Compared) and part.left not in formulas for part in names):
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
