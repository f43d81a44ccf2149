"""Calls of aggregates, as formulas over the aggregates that are asked of parts."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
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
    Calculation,
    Constant,
    Existing,
    Formula,
    PartAggregate,
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
    """Return the terms of a sum, with those about columns that are published together as one.

    >>> from sqlglot import parse_one
    >>> [term.sql() for term in split_sum(parse_one("c - 5 * a + 1"), {"c": ("c",)})]
    ['c + 1', '-(5 * a)']
    """
    by_bundle: dict[tuple[str, ...] | None, list[exp.Expr]] = {}
    constants: list[exp.Expr] = []
    for term in _terms(node):
        own_bundles = {bundles.get(column.name) for column in term.find_all(exp.Column)}
        if not own_bundles:
            constants.append(term)
        elif len(own_bundles) > 1:
            return [node]
        else:
            by_bundle.setdefault(own_bundles.pop(), []).append(term)
    if len(by_bundle) < 2:
        return [node]
    first, *others = by_bundle.values()
    return [_add_up(terms) for terms in ([*first, *constants], *others)]


def _add_up(terms: Sequence[exp.Expr]) -> exp.Expr:
    whole, *rest = terms
    for term in rest:
        whole = exp.Add(this=whole, expression=term)
    return whole


def _terms(node: exp.Expr) -> list[exp.Expr]:
    """Return the terms that are added up, with their signs."""
    inner = node.unnest() if isinstance(node, exp.Paren) else node
    if isinstance(inner, exp.Add | exp.Sub):
        right = _terms(inner.expression)
        subtracted = isinstance(inner, exp.Sub)
        return [*_terms(inner.this), *(map(_negate, right) if subtracted else right)]
    if isinstance(inner, exp.Neg):
        return list(map(_negate, _terms(inner.this)))
    if isinstance(inner, _SCALES) and number_of(inner.expression.unnest()) is not None:
        return [_scale(inner, term) for term in _terms(inner.this)]
    if isinstance(inner, exp.Mul) and number_of(inner.this.unnest()) is not None:
        return [
            exp.Mul(this=inner.this.copy(), expression=t)
            for t in map(_wrap, _terms(inner.expression))
        ]
    return [inner.copy()]


def _negate(term: exp.Expr) -> exp.Expr:
    return exp.Neg(this=_wrap(term))


def _scale(scale: exp.Expr, term: exp.Expr) -> exp.Expr:
    changed: exp.Expr = scale.copy()
    changed.set("this", _wrap(term))
    return changed


def _wrap(term: exp.Expr) -> exp.Expr:
    return term if isinstance(term, exp.Column) else exp.paren(term, copy=False)


class AggregateCalls:
    """Turns calls of aggregates into formulas, and asks parts for the aggregates in these."""

    def __init__(self, parts: PartList, calculations: Calculations) -> None:
        """Ask for nothing yet."""
        self._parts, self._calculations = parts, calculations
        self._counted: dict[Formula, Counted] = {}
        self._summed: dict[Formula, tuple[str, RowSet]] = {}

    @property
    def rows(self) -> Formula:
        """The number of rows on which WHERE holds."""
        return self._count(None)

    def as_count(self, formula: Formula) -> Counted | None:
        """Return a formula as a multiple of a number of rows; None if it is no such formula."""
        return self._counted.get(formula)

    def mean(self, numerator: Formula, denominator: Formula) -> Formula | None:
        """Return the mean that a quotient equals; None if it equals none."""
        name, rows = self._summed.get(numerator, ("", None))
        counted = self._counted.get(denominator)
        if rows is None or counted is None or not is_mean(rows, counted):
            return None
        return self._formula_where(Call(AGGREGATES["avg"], None), name, rows.where)

    def proportion(self, numerator: Formula, denominator: Formula) -> Formula | None:
        """Return the proportion, times a constant, that a quotient equals; None otherwise."""
        part, all_ = self._counted.get(numerator), self._counted.get(denominator)
        if part is None or all_ is None or not all_.times:
            return None
        further = further_conditions(part.rows, all_.rows)
        if further is None:
            return None
        others = self._others(all_.rows.where, all_of(further))
        joint = self._are_joint((part.rows.where, None), (all_.rows.where, all_of(further)))
        quotient = AmongRows(pooling.proportion, part.count, others, all_.count, joint)
        return self._where_needed(part, all_.rows, _times(part.times / all_.times, quotient))

    def proportion_of_total(
        self, numerator: Formula, total: Formula, in_cell: Counted | None
    ) -> Formula | None:
        """Return the proportion that a count has of a total over all cells; None if it has none.

        Args:
            numerator: the count.
            total: the number of rows in all cells.
            in_cell: the same number in one cell; None if the total is of all rows of the microdata.
        """
        part = self._counted.get(numerator)
        rows = RowSet(None) if in_cell is None else in_cell.rows
        if part is None or further_conditions(part.rows, rows) is None:
            return None
        others = Calculation(arithmetic.subtract, (total, part.count))
        quotient = AmongRows(pooling.proportion, part.count, others, total, joint=False)
        return self._where_needed(part, None, _times(part.times, quotient))

    def note_filled(self, count: Formula, filled: Formula) -> Formula:
        """Register that a formula is a count with 0 in place of null, and return the formula."""
        part = self._counted.get(count)
        if part is not None:
            self._counted[filled] = replace(part, needs=None)
        return filled

    def _where_needed(self, part: Counted, all_: RowSet | None, quotient: Formula) -> Formula:
        """Return a quotient that is null wherever its numerator is."""
        if part.needs is None:
            return quotient
        if all_ is not None and further_conditions(all_, part.needs) is not None:
            return quotient  # where the numerator is null, the denominator is 0
        return Existing(quotient, self._count(part.needs.where))

    def _count(self, where: exp.Expr | None) -> Formula:
        """Return the number of rows on which a further condition holds."""
        count = self._formula_where(Call(AGGREGATES["count"], None), None, where)
        self._counted.setdefault(count, Counted(count, RowSet(where)))
        return count

    def _others(self, where: exp.Expr | None, without: exp.Expr | None) -> Formula:
        """Return the number of rows on which one condition holds and another is not true."""
        if without is None:
            return ZERO
        parts = self._parts.parts_where(where, without)
        return self._pool_parts(parts, Call(AGGREGATES["count"], None), None)

    def _are_joint(self, *conditions: tuple[exp.Expr | None, exp.Expr | None]) -> bool:
        """Decide whether engines know each of these numbers of rows by itself."""
        return all(len(self._parts.parts_where(*pair)) == 1 for pair in conditions)

    def formula(self, call: Call) -> Formula:
        """Return the formula of a call.

        Raises:
            QueryError: naming what is not allowed.
        """
        narrowed = without_case(call)
        if narrowed is not None:
            return self._of_case(call, narrowed)
        if call.argument is None:
            return self._count(call.where)
        if self._calculations.terms.has_related_rows:
            people = self._people_with_rows(call, call.argument)
            if people is not None:
                return people
        return self._of_column(call, call.argument)

    def _people_with_rows(self, call: Call, argument: exp.Expr) -> Formula | None:
        """Return the number of people with related rows; None for other calls of two tables.

        Raises:
            QueryError: for an aggregate of people's columns over related rows.
        """
        terms = self._calculations.terms
        key, related = terms.form.person_key, set(terms.form.related_columns)
        if isinstance(argument, exp.Column) and argument.name == key:
            parts = self._parts.parts_where(call.where)
            if len(parts) > 1:
                raise QueryError(
                    "people are not counted where OR joins conditions on both tables. Ask for each "
                    "condition separately"
                )
            people = Aggregate("count", key, f"count(distinct {key})", distinct=True)
            return Plain(self._parts.ask(parts[0], people))
        names = {column.name for column in argument.find_all(exp.Column)}
        counts = call.kind.counts_rows and not call.distinct
        if not counts and related & terms.columns.keys() and not names <= related:
            raise QueryError(
                f"{call.kind.sql_name} of people's columns over {terms.form.related_table} would "
                f"count a person once for each row. Ask {terms.form.table_of_rows} by itself"
            )
        return None

    def _of_column(self, call: Call, argument: exp.Expr) -> Formula:
        """Return the formula of an aggregate of a column, or of a calculation with columns."""
        weighted = self._weighted_sum(call)
        if weighted is not None:
            return weighted
        if call.descending:
            opposite = replace(call, argument=exp.Neg(this=exp.paren(argument)), descending=False)
            return Calculation(arithmetic.negate, (self.formula(opposite),))
        added = self._sum_of_sums(call)
        if added is not None:
            return added
        name = self._calculations.column(argument).name
        column = self._calculations.terms.columns[name]
        terms = self._calculations.terms
        where = _both(call.where, where_there(name, terms))
        rows = RowSet(where, name if column.nulls and stands_beside_labels(name, terms) else None)
        if call.kind.counts_rows and not call.distinct:
            counts = self._formula_where(
                call, name if stands_beside_labels(name, terms) else None, where
            )
            self._counted.setdefault(counts, Counted(counts, rows))
            return counts
        self._require_type(call, name, column.type)
        pooled = self._formula_where(call, name, where)
        if call.kind.name == "sum":
            self._summed[pooled] = name, rows
        return pooled

    def _weighted_sum(self, call: Call) -> Formula | None:
        """Return the sum of a sensitive column times an exact column; None for other calls."""
        terms = self._calculations.terms
        factors = (
            (call.argument.this, call.argument.expression)
            if isinstance(call.argument, exp.Mul)
            else ()
        )
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
        parts = self._parts.parts_where(where)
        aggregate = Aggregate("sum", value.name, f"sum({value.name})", weight=weight)
        values = tuple(self._parts.ask(part, aggregate, exact=True) for part in parts)
        if len(parts) == 1:
            return Plain(values[0])
        return pool("sum", values, tuple(self._parts.ask(part, ROWS) for part in parts))

    def _sum_of_sums(self, call: Call) -> Formula | None:
        """Return the sum of several sums of columns that are published apart; None for other calls.

        A row counts if it has a value in all of the columns: a sum with columns that can be null is
        not split.
        """
        if call.kind.name not in ("sum", "avg") or call.argument is None:
            return None
        terms = self._calculations.terms
        parts = split_sum(call.argument, WAYS[terms.form.shows].bundles(terms))
        if len(parts) == 1:
            return None
        names = dict.fromkeys(column.name for column in call.argument.find_all(exp.Column))
        if any(terms.columns[name].nulls for name in names):
            return None
        first, *others = (self.formula(replace(call, argument=part)) for part in parts)
        for other in others:
            first = Calculation(arithmetic.add, (first, other))
        return first

    def _is_sensitive(self, node: exp.Expr) -> bool:
        columns = self._calculations.terms.columns
        return any(columns[c.name].role == "sensitive" for c in node.find_all(exp.Column))

    def _require_type(self, call: Call, name: str, type_: ColumnType) -> None:
        if type_ not in call.kind.takes:
            what = quote_name(name) if name.isprintable() else "the calculation"
            raise QueryError(f"{call.kind.sql_name} needs numbers, but {what} has type {type_}")

    def _formula_where(self, call: Call, name: str | None, where: exp.Expr | None) -> Formula:
        return self._pool_parts(self._parts.parts_where(where), call, name)

    def _pool_parts(self, parts: tuple[int, ...], call: Call, name: str | None) -> Formula:
        values = tuple(self._ask(part, call, name) for part in parts)
        if len(parts) == 1:
            return Plain(values[0])
        if call.distinct:
            raise QueryError(
                "COUNT(DISTINCT …) is not answered where OR joins such conditions. Ask for "
                "each condition separately"
            )
        counts = tuple(self._parts.ask(part, ROWS) for part in parts)
        if call.kind.name in SPREADS:
            spreads, means = (
                tuple(self._ask(part, replace(call, kind=AGGREGATES[kind]), name) for part in parts)
                for kind in ("var_samp", "avg")
            )
            return PooledSpread(call.kind.name, spreads, means, counts)
        around = self._parts.surroundings_of(parts)
        if around is None or call.kind.name not in NARROWED:
            return pool(call.kind.name, values, counts)
        rest = None if around.rest is None else self._ask(around.rest, call, name)
        return pool(call.kind.name, values, counts, self._ask(around.whole, call, name), rest)

    def _ask(self, part: int, call: Call, name: str | None) -> PartAggregate:
        """Ask a part for an aggregate: for bounds, or for exact values if rows contain them."""
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
        """Return the formula of an aggregate of a CASE."""
        counts = narrowed.call.argument is None
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
        """Return an aggregate of a calculation on each row; None if rows lack its columns.

        If no sensitive values are published, engines know numbers of rows under more conditions.
        """
        values = "sensitive" in WAYS[self._calculations.terms.form.shows].calculable
        if call.argument is None or (counts and not values):
            return None
        try:
            self._calculations.column(call.argument)
        except QueryError:
            return None
        return self._of_column(call, call.argument)

    def _of_some(self, call: Call, narrowed: Narrowed) -> Formula:
        """Return the sum, or mean, of a number that some rows have; null if none has."""
        rows = RowSet(narrowed.call.where)
        count = self._count(rows.where)
        if call.kind.name == "avg":
            return Existing(Constant(narrowed.times), count)
        amount = _times(narrowed.times, Calculation(arithmetic.null_if_whole, (count, ZERO)))
        self._counted[amount] = Counted(count, rows, narrowed.times, needs=rows)
        return amount

    def _of_two_numbers(self, call: Call, narrowed: Narrowed, otherwise: Fraction) -> Formula:
        """Return the sum of a number for some rows and 0 for others, or a mean of two numbers."""
        rows, all_ = RowSet(narrowed.call.where), RowSet(call.where)
        count, total = self._count(rows.where), self._count(all_.where)
        others, joint = self._zeros(narrowed), self._is_joint(narrowed)
        if call.kind.name == "avg":
            part = AmongRows(pooling.proportion, count, others, total, joint)
            more = _times(narrowed.times - otherwise, part)
            return Calculation(arithmetic.add, (Constant(otherwise), more)) if otherwise else more
        amount = _times(narrowed.times, AmongRows(pooling.count_among, count, others, total, joint))
        self._counted[amount] = Counted(count, rows, narrowed.times, needs=all_)
        return amount

    def _added_numbers(self, call: Call, narrowed: Narrowed, otherwise: Fraction) -> Formula:
        """Return the sum of a number for some rows and another one for all others."""
        count, total = self._count(narrowed.call.where), self._count(call.where)
        more = _times(narrowed.times - otherwise, count)
        return Existing(Calculation(arithmetic.add, (_times(otherwise, total), more)), total)

    def _with_zeros(self, narrowed: Narrowed) -> Formula:
        """Return the sum over some rows, to which all other rows add 0."""
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
        return isinstance(call.argument, exp.Column) and not columns[call.argument.name].nulls

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
    """Require that the values of a column are published, so that they can be counted.

    Raises:
        QueryError: if they are not.
    """
    if terms.columns[name].role not in WAYS[terms.form.shows].calculable:
        raise QueryError(
            "not allowed: COUNT(DISTINCT …), because the number of different values "
            "has no bounds where values are published as labels or ranges. Use "
            "COUNT(*), with GROUP BY or WHERE"
        )


def _both(where: exp.Expr | None, further: exp.Expr | None) -> exp.Expr | None:
    """Return the conjunction of those of two conditions that are not None."""
    return all_of([condition.copy() for condition in (where, further) if condition is not None])
