"""Calls of aggregates, as formulas over the aggregates that parts are asked for."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.query.aggregates.registry import AGGREGATES
from sfumato.tasks.query.bounds import arithmetic, pooling
from sfumato.tasks.query.bounds.pooling import NARROWED
from sfumato.tasks.query.language.aggregates import Call
from sfumato.tasks.query.language.identities import (
    ZERO,
    Counted,
    Narrowed,
    RowSet,
    further_conditions,
    is_mean,
    without_case,
)
from sfumato.tasks.query.language.parts import PartList
from sfumato.tasks.query.question.calculations import Calculations
from sfumato.tasks.query.question.conditions import all_of, stands_beside_labels, where_there
from sfumato.tasks.query.question.formulas import (
    SPREADS,
    AmongRows,
    AskedOfPart,
    Calculation,
    Constant,
    Existing,
    Formula,
    Plain,
    PooledSpread,
    pool,
)
from sfumato.tasks.query.question.question import ROWS, Aggregate
from sfumato.tasks.query.question.ways import WAYS, Bundles
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.sql.parse import number_of, quote_name
from sfumato.tasks.terms.terms import Terms

_SCALES = (exp.Mul, exp.Div)


def split_sum(node: exp.Expr, bundles: Bundles) -> Sequence[exp.Expr]:
    """The terms of a sum, those about columns that are published together as one.

    >>> from sqlglot import parse_one
    >>> [term.sql() for term in split_sum(parse_one("c - 5 * a + 1"), {"c": ("c",)})]
    ['c + 1', '-(5 * a)']
    """
    found: dict[tuple[str, ...] | None, list[exp.Expr]] = {}
    constants: list[exp.Expr] = []
    for term in _terms(node):
        of = {bundles.get(column.name) for column in term.find_all(exp.Column)}
        if not of:
            constants.append(term)
        elif len(of) > 1:
            return [node]
        else:
            found.setdefault(of.pop(), []).append(term)
    if len(found) < 2:
        return [node]
    first, *others = found.values()
    return [_joined(terms) for terms in ([*first, *constants], *others)]


def _joined(terms: Sequence[exp.Expr]) -> exp.Expr:
    whole, *rest = terms
    for term in rest:
        whole = exp.Add(this=whole, expression=term)
    return whole


def _terms(node: exp.Expr) -> list[exp.Expr]:
    """What is added up, with its sign."""
    inner = node.unnest() if isinstance(node, exp.Paren) else node
    if isinstance(inner, exp.Add | exp.Sub):
        right = _terms(inner.expression)
        subtracted = isinstance(inner, exp.Sub)
        return [*_terms(inner.this), *(map(_negated, right) if subtracted else right)]
    if isinstance(inner, exp.Neg):
        return list(map(_negated, _terms(inner.this)))
    if isinstance(inner, _SCALES) and number_of(inner.expression.unnest()) is not None:
        return [_scaled(inner, term) for term in _terms(inner.this)]
    if isinstance(inner, exp.Mul) and number_of(inner.this.unnest()) is not None:
        return [
            exp.Mul(this=inner.this.copy(), expression=t)
            for t in map(_wrapped, _terms(inner.expression))
        ]
    return [inner.copy()]


def _negated(term: exp.Expr) -> exp.Expr:
    return exp.Neg(this=_wrapped(term))


def _scaled(scale: exp.Expr, term: exp.Expr) -> exp.Expr:
    changed: exp.Expr = scale.copy()
    changed.set("this", _wrapped(term))
    return changed


def _wrapped(term: exp.Expr) -> exp.Expr:
    return term if isinstance(term, exp.Column) else exp.paren(term, copy=False)


class AggregateCalls:
    """Asks parts for the aggregates that calls are of."""

    def __init__(self, parts: PartList, calculations: Calculations) -> None:
        """Ask nothing yet."""
        self._parts, self._calculations = parts, calculations
        self._counted: dict[Formula, Counted] = {}
        self._summed: dict[Formula, tuple[str, RowSet]] = {}

    @property
    def rows(self) -> Formula:
        """The number of rows on which WHERE holds."""
        return self._count(None)

    def counted(self, formula: Formula) -> Counted | None:
        """Return which rows a formula is a multiple of the number of; None where it is none."""
        return self._counted.get(formula)

    def mean(self, left: Formula, right: Formula) -> Formula | None:
        """Return the mean that a quotient is; None where it is none."""
        name, rows = self._summed.get(left, ("", None))
        counted = self._counted.get(right)
        if rows is None or counted is None or not is_mean(rows, counted):
            return None
        return self._pooled(Call(AGGREGATES["avg"], None), name, rows.where)

    def proportion(self, left: Formula, right: Formula) -> Formula | None:
        """Return the proportion, times a constant, that a quotient of counts is; None of others."""
        part, all_ = self._counted.get(left), self._counted.get(right)
        if part is None or all_ is None or not all_.times:
            return None
        further = further_conditions(part.rows, all_.rows)
        if further is None:
            return None
        others = self._others(all_.rows.where, all_of(further))
        joint = self._are_joint((part.rows.where, None), (all_.rows.where, all_of(further)))
        found = AmongRows(pooling.proportion, part.count, others, all_.count, joint)
        return self._where_needed(part, all_.rows, _times(part.times / all_.times, found))

    def proportion_of_total(
        self, left: Formula, total: Formula, of: Counted | None
    ) -> Formula | None:
        """Return the proportion that a count has of a total over all cells; None of others.

        Args:
            left: the count.
            total: the number of rows in all cells.
            of: the same number in one cell; None where the total is of all rows there are.
        """
        part = self._counted.get(left)
        rows = RowSet(None) if of is None else of.rows
        if part is None or further_conditions(part.rows, rows) is None:
            return None
        others = Calculation(arithmetic.subtract, (total, part.count))
        found = AmongRows(pooling.proportion, part.count, others, total, joint=False)
        return self._where_needed(part, None, _times(part.times, found))

    def filled(self, left: Formula, found: Formula) -> Formula:
        """Note that a formula is a count where that is null, and 0 elsewhere."""
        part = self._counted.get(left)
        if part is not None:
            self._counted[found] = replace(part, needs=None)
        return found

    def _where_needed(self, part: Counted, all_: RowSet | None, found: Formula) -> Formula:
        """Return a quotient that is null where its numerator is."""
        if part.needs is None:
            return found
        if all_ is not None and further_conditions(all_, part.needs) is not None:
            return found  # where the numerator is null, the denominator is 0
        return Existing(found, self._count(part.needs.where))

    def _count(self, where: exp.Expr | None) -> Formula:
        """Return the number of rows on which a further condition holds."""
        found = self._pooled(Call(AGGREGATES["count"], None), None, where)
        self._counted.setdefault(found, Counted(found, RowSet(where)))
        return found

    def _others(self, where: exp.Expr | None, without: exp.Expr | None) -> Formula:
        """Return the number of rows on which one condition holds and another is not true."""
        if without is None:
            return ZERO
        parts = self._parts.over(where, without)
        return self._of_parts(parts, Call(AGGREGATES["count"], None), None)

    def _are_joint(self, *conditions: tuple[exp.Expr | None, exp.Expr | None]) -> bool:
        """Decide whether each number of rows is one that engines know."""
        return all(len(self._parts.over(*of)) == 1 for of in conditions)

    def formula(self, call: Call) -> Formula:
        """Return the formula of a call.

        Raises:
            QueryError: naming what is not allowed.
        """
        narrowed = without_case(call)
        if narrowed is not None:
            return self._of_case(call, narrowed)
        if call.of is None:
            return self._count(call.where)
        return self._of_column(call, call.of)

    def _of_column(self, call: Call, of: exp.Expr) -> Formula:
        """Return the formula of an aggregate of a column, or of what is calculated of some."""
        weighted = self._weighted(call)
        if weighted is not None:
            return weighted
        if call.descending:
            opposite = replace(call, of=exp.Neg(this=exp.paren(of)), descending=False)
            return Calculation(arithmetic.negate, (self.formula(opposite),))
        added = self._added(call)
        if added is not None:
            return added
        name = self._calculations.column(of).name
        column = self._calculations.terms.columns[name]
        terms = self._calculations.terms
        where = _both(call.where, where_there(name, terms))
        rows = RowSet(where, name if column.nulls and stands_beside_labels(name, terms) else None)
        if call.kind.counts_rows and not call.distinct:
            counts = self._pooled(call, name if stands_beside_labels(name, terms) else None, where)
            self._counted.setdefault(counts, Counted(counts, rows))
            return counts
        self._require_type(call, name, column.type)
        found = self._pooled(call, name, where)
        if call.kind.name == "sum":
            self._summed[found] = name, rows
        return found

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
        return self._of_parts(self._parts.over(where), call, name)

    def _of_parts(self, parts: tuple[int, ...], call: Call, name: str | None) -> Formula:
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
        """Return what an aggregate of a CASE comes to."""
        counts = narrowed.call.of is None
        if call.kind.name not in ("sum", "avg"):
            return self.formula(narrowed.call)
        if narrowed.otherwise is None:
            return self._of_some(call, narrowed) if counts else self.formula(narrowed.call)
        if counts and (call.kind.name == "avg" or not narrowed.otherwise):
            return self._of_two_numbers(call, narrowed, narrowed.otherwise)
        direct = self._direct(call, counts=counts)
        if direct is not None:
            return direct
        if counts:
            return self._added_numbers(call, narrowed, narrowed.otherwise)
        total = self._with_zeros(narrowed)
        if call.kind.name == "sum":
            return total
        values = self.formula(replace(narrowed.call, kind=AGGREGATES["count"]))
        counted = Calculation(arithmetic.add, (values, self._zeros(narrowed)))
        return Calculation(arithmetic.divide_by_whole, (total, counted))

    def _direct(self, call: Call, *, counts: bool) -> Formula | None:
        """Return an aggregate of what is calculated on each row; None where that is not known.

        Where no sensitive values are published, engines know numbers of rows under more conditions.
        """
        values = "sensitive" in WAYS[self._calculations.terms.form.shows].calculable
        if call.of is None or (counts and not values):
            return None
        try:
            self._calculations.column(call.of)
        except QueryError:
            return None
        return self._of_column(call, call.of)

    def _of_some(self, call: Call, narrowed: Narrowed) -> Formula:
        """Return the sum, or mean, of a number that some rows have; null where none has."""
        rows = RowSet(narrowed.call.where)
        count = self._count(rows.where)
        if call.kind.name == "avg":
            return Existing(Constant(narrowed.times), count)
        found = _times(narrowed.times, Calculation(arithmetic.null_if_whole, (count, ZERO)))
        self._counted[found] = Counted(count, rows, narrowed.times, needs=rows)
        return found

    def _of_two_numbers(self, call: Call, narrowed: Narrowed, otherwise: Fraction) -> Formula:
        """Return the sum of a number for some rows and 0 for others, or a mean of two numbers."""
        rows, all_ = RowSet(narrowed.call.where), RowSet(call.where)
        count, total = self._count(rows.where), self._count(all_.where)
        others, joint = self._zeros(narrowed), self._is_joint(narrowed)
        if call.kind.name == "avg":
            part = AmongRows(pooling.proportion, count, others, total, joint)
            more = _times(narrowed.times - otherwise, part)
            return Calculation(arithmetic.add, (Constant(otherwise), more)) if otherwise else more
        found = _times(narrowed.times, AmongRows(pooling.count_among, count, others, total, joint))
        self._counted[found] = Counted(count, rows, narrowed.times, needs=all_)
        return found

    def _added_numbers(self, call: Call, narrowed: Narrowed, otherwise: Fraction) -> Formula:
        """Return the sum of a number for some rows and another one for all others."""
        count, total = self._count(narrowed.call.where), self._count(call.where)
        more = _times(narrowed.times - otherwise, count)
        return Existing(Calculation(arithmetic.add, (_times(otherwise, total), more)), total)

    def _with_zeros(self, narrowed: Narrowed) -> Formula:
        """Return the sum over some rows, to which all others add 0."""
        value, others = (
            self.formula(replace(narrowed.call, kind=AGGREGATES["sum"])),
            self._zeros(narrowed),
        )
        never_missing = self._never_missing(narrowed.call)
        rows = self._count(narrowed.all_rows) if never_missing else others
        joint = never_missing and self._is_joint(narrowed)
        return AmongRows(pooling.sum_among, value, others, rows, joint)

    def _never_missing(self, call: Call) -> bool:
        columns = self._calculations.terms.columns
        return isinstance(call.of, exp.Column) and not columns[call.of.name].nulls

    def _zeros(self, narrowed: Narrowed) -> Formula:
        """Return the number of rows on which the condition of a CASE is not true."""
        return self._others(narrowed.all_rows, narrowed.condition)

    def _is_joint(self, narrowed: Narrowed) -> bool:
        return self._are_joint((narrowed.call.where, None), (narrowed.all_rows, narrowed.condition))


def _times(number: Fraction, formula: Formula) -> Formula:
    """Return a constant times a formula."""
    if number == 1:
        return formula
    return Calculation(arithmetic.multiply, (Constant(number), formula))


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
    """Return both of two conditions, where there are any."""
    return all_of([condition.copy() for condition in (where, further) if condition is not None])
