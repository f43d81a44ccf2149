"""Calls of aggregates, as formulas over the aggregates that parts are asked for."""

from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.query.bounds import arithmetic
from sfumato.tasks.query.bounds.pooling import NARROWED
from sfumato.tasks.query.language.aggregates import Call, Narrowed, without_case
from sfumato.tasks.query.language.parts import PartList
from sfumato.tasks.query.question.aggregate import ROWS, Aggregate
from sfumato.tasks.query.question.aggregates.registry import AGGREGATES
from sfumato.tasks.query.question.calculations import Calculations
from sfumato.tasks.query.question.conditions import all_of, stands_beside_labels, where_there
from sfumato.tasks.query.question.formulas import (
    SPREADS,
    AskedOfPart,
    Calculation,
    Constant,
    Existing,
    Formula,
    Plain,
    PooledSpread,
    pool,
)
from sfumato.tasks.query.question.sums import split_sum
from sfumato.tasks.query.question.ways.registry import WAYS
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.sql.parse import quote_name

_ZERO = Constant(Fraction(0))


class AggregateCalls:
    """Asks parts for the aggregates that calls are of."""

    def __init__(self, parts: PartList, calculations: Calculations) -> None:
        """Ask nothing yet."""
        self._parts, self._calculations = parts, calculations

    def mean(self, left: Formula, right: Formula) -> Formula | None:
        """The mean that a quotient is, where a sum is divided by the number of its values."""
        if not isinstance(left, Plain) or not isinstance(right, Plain):
            return None
        over, under = left.of, right.of
        same = over.part == under.part and over.aggregate.function == "sum"
        if (
            not same
            or over.aggregate.weight is not None
            or not under.aggregate.kind.counts_rows
            or under.aggregate.distinct
        ):
            return None
        name, terms = str(over.aggregate.sensitive), self._calculations.terms
        if terms.columns[name].nulls and where_there(name, terms) is None:
            return None  # rows are counted, and not those that have a value
        return Plain(
            self._asked(over.part, Call(AGGREGATES["avg"], None), over.aggregate.sensitive)
        )

    @property
    def rows(self) -> Formula:
        """The number of rows on which WHERE holds."""
        return self._pooled(Call(AGGREGATES["count"], None), None, None)

    def formula(self, call: Call) -> Formula:
        """The formula of a call.

        Raises:
            QueryError: naming what is not allowed.
        """
        narrowed = without_case(call)
        if narrowed is not None:
            return self._of_case(call, narrowed)
        if call.of is None:
            return self._pooled(call, None, call.where)
        weighted = self._weighted(call)
        if weighted is not None:
            return weighted
        if call.descending:
            opposite = replace(call, of=exp.Neg(this=exp.paren(call.of)), descending=False)
            return Calculation(arithmetic.negate, (self.formula(opposite),))
        added = self._added(call)
        if added is not None:
            return added
        name = self._calculations.column(call.of).name
        column = self._calculations.terms.columns[name]
        terms = self._calculations.terms
        where = _both(call.where, where_there(name, terms))
        if call.kind.counts_rows and not call.distinct:
            return self._pooled(call, name if stands_beside_labels(name, terms) else None, where)
        self._require_type(call, name, column.type)
        return self._pooled(call, name, where)

    def _weighted(self, call: Call) -> Formula | None:
        """The sum of a sensitive column times one that is published as it is; None of no such."""
        terms = self._calculations.terms
        factors = (call.of.this, call.of.expression) if isinstance(call.of, exp.Mul) else ()
        way = WAYS[terms.form.shows]
        if call.kind.name != "sum" or not (way.shows_rows and factors):
            return None
        if "sensitive" not in way.calculable:
            return None
        bare = [factor.unnest() for factor in factors]
        apart = [self._is_sensitive(factor) for factor in bare]
        if sorted(apart) != [False, True] or not all(f.find(exp.Column) for f in bare):
            return None
        value, other = bare if apart[0] else bare[::-1]
        if not isinstance(value, exp.Column):
            return None
        weight = self._calculations.column(other).name
        self._require_type(call, weight, terms.columns[value.name].type)
        where = _both(call.where, where_there(weight, self._calculations.terms))
        parts = self._parts.over(where)
        aggregate = Aggregate("sum", value.name, f"sum({value.name})", weight=weight)
        values = tuple(self._parts.ask(part, aggregate, exact=True) for part in parts)
        if len(parts) == 1:
            return Plain(values[0])
        return pool("sum", values, tuple(self._parts.ask(part, ROWS) for part in parts))

    def _added(self, call: Call) -> Formula | None:
        """The sum of several sums, of columns that are published apart; None of no such.

        A row counts where all of them are there: columns that can be null are not taken apart.
        """
        if call.kind.name not in ("sum", "avg") or call.of is None:
            return None
        terms = self._calculations.terms
        parts = split_sum(call.of, WAYS[terms.form.shows].bundles(terms))
        if len(parts) == 1:
            return None
        names = dict.fromkeys(column.name for column in call.of.find_all(exp.Column))
        if any(terms.columns[name].nulls for name in names):
            return None
        first, *others = (self.formula(replace(call, of=part)) for part in parts)
        for other in others:
            first = Calculation(arithmetic.add, (first, other))
        return first

    def _is_sensitive(self, node: exp.Expr) -> bool:
        columns = self._calculations.terms.columns
        return any(columns[c.name].role == "sensitive" for c in node.find_all(exp.Column))

    def _require_type(self, call: Call, name: str, type_: ColumnType) -> None:
        if type_ not in call.kind.takes:
            what = quote_name(name) if name.isprintable() else "what is calculated"
            raise QueryError(f"{call.kind.called} takes numbers, and {what} is of type {type_}")

    def _pooled(self, call: Call, name: str | None, where: exp.Expr | None) -> Formula:
        parts = self._parts.over(where)
        values = tuple(self._asked(part, call, name) for part in parts)
        if len(parts) == 1:
            return Plain(values[0])
        if call.distinct:
            raise QueryError("COUNT(DISTINCT …) is not answered where OR joins such conditions")
        counts = tuple(self._parts.ask(part, ROWS) for part in parts)
        if call.kind.name in SPREADS:
            spreads, means = (
                tuple(
                    self._asked(part, replace(call, kind=AGGREGATES[kind]), name) for part in parts
                )
                for kind in ("var_samp", "avg")
            )
            return PooledSpread(call.kind.name, spreads, means, counts)
        around = self._parts.around(parts)
        if around is None or call.kind.name not in NARROWED:
            return pool(call.kind.name, values, counts)
        rest = None if around.rest is None else self._asked(around.rest, call, name)
        return pool(call.kind.name, values, counts, self._asked(around.whole, call, name), rest)

    def _asked(self, part: int, call: Call, name: str | None) -> AskedOfPart:
        """The aggregate over a part: bounds, or exact values where those stand in rows."""
        if name is None:
            return self._parts.ask(part, ROWS)
        terms = self._calculations.terms
        way = WAYS[terms.form.shows]
        label = f"{call.kind.name}({name})"
        aggregate = Aggregate(call.kind.name, name, label, call.distinct, call.share)
        apart = terms.columns[name].role == "sensitive" or not way.shows_rows
        if call.distinct and apart:
            _require_values(name, terms)
            return self._parts.ask(part, aggregate, exact=True)
        if apart:
            way.aggregated(call.kind, name, terms)
        return self._parts.ask(part, aggregate, exact=not apart)

    def _of_case(self, call: Call, narrowed: Narrowed) -> Formula:
        """What a CASE comes to, where it says which rows count."""
        value = self.formula(narrowed.call)
        if narrowed.otherwise == "share":
            times = Calculation(arithmetic.multiply, (Constant(narrowed.times), value))
            return Calculation(arithmetic.divide, (times, self._pooled(call, None, call.where)))
        if narrowed.otherwise == "null" and narrowed.call.kind.counts_rows:
            value = Calculation(arithmetic.null_if_whole, (value, _ZERO))
        if narrowed.times != 1:
            value = Calculation(arithmetic.multiply, (Constant(narrowed.times), value))
        if narrowed.otherwise == "zero" and call.kind.name == "sum":
            filled = Calculation(arithmetic.coalesce, (value, _ZERO))
            return Existing(filled, self._pooled(call, None, call.where))
        return value


def _require_values(name: str, terms: Terms) -> None:
    """Make sure that the values of a column are published, by which rows are counted.

    Raises:
        QueryError: where they are not.
    """
    if terms.columns[name].role not in WAYS[terms.form.shows].calculable:
        raise QueryError(
            "not allowed: COUNT(DISTINCT …): how many different values the selected rows have "
            "is not bounded where values are recoded, or stand as ranges"
        )


def _both(where: exp.Expr | None, further: exp.Expr | None) -> exp.Expr | None:
    """Both of two conditions, where there are any."""
    return all_of([one.copy() for one in (where, further) if one is not None])
