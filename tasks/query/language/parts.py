"""The rows of an inquiry, as conjunctions of conditions that engines answer.

A predicate that is not on the allow-list becomes a calculated column of truth values. A disjunction
of conditions on columns that are published apart from each other is split into disjoint conditions,
so that a row meets at most one of them: A OR B is A, and B where A is not true.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.question.calculations import Calculations
from sfumato.tasks.query.question.conditions import all_of, bundles, conjuncts, split_where
from sfumato.tasks.query.question.formulas import PartAggregate
from sfumato.tasks.query.question.inquiry import InquiredPart
from sfumato.tasks.query.question.question import ROWS, Aggregate
from sfumato.tasks.sql.predicate import check_predicate
from sfumato.tasks.terms.terms import Terms

_MOST = 16
_CALCULATIONS = (exp.Func, exp.IntDiv, exp.DPipe, exp.NullSafeEQ, exp.NullSafeNEQ)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_MOST_PARTS = 200


def check_condition(condition: exp.Expr, calculations: Calculations) -> exp.Expr:
    """Return a condition of the allow-list, with calculated columns for other predicates.

    Raises:
        QueryError: naming what is not allowed.
    """
    root = exp.Paren(this=condition.copy())
    waiting: list[exp.Expr] = [root.this]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.And | exp.Or):
            waiting += [node.this, node.args["expression"]]
        elif isinstance(node, exp.Not | exp.Paren):
            waiting.append(node.this)
        elif not isinstance(node, exp.Column) and not _is_allowed(node, calculations):
            node.replace(calculations.column(node, condition=True))
    checked: exp.Expr = root.this
    checked.pop()
    return _check(checked, calculations)


def _check(node: exp.Expr, calculations: Calculations) -> exp.Expr:
    types = {name: column.type for name, column in calculations.terms.columns.items()}
    return check_predicate(node, types)


def _is_allowed(node: exp.Expr, calculations: Calculations) -> bool:
    """Decide whether the allow-list has a predicate; raises if no calculation can replace it."""
    try:
        _check(node, calculations)
    except QueryError as error:
        if any(isinstance(part, exp.Column) for part in node.walk()) and _calculates(node):
            return False
        raise error
    return True


def _calculates(node: exp.Expr) -> bool:
    """Decide whether a node contains a function, or another calculation that is not on the list."""
    return any(isinstance(part, _CALCULATIONS) or _of_conditions(part) for part in node.walk()) or (
        isinstance(node, exp.Is) and not isinstance(node.expression, exp.Null)
    )


def _of_conditions(node: exp.Expr) -> bool:
    """Decide whether truth values are compared: (a > 0) = (b > 0)."""
    if not isinstance(node, _COMPARISONS):
        return False
    sides = (node.this, node.args["expression"])
    return any(isinstance(side.unnest(), exp.Predicate) for side in sides)


def disjoint_conditions(condition: exp.Expr, declared: Terms) -> list[exp.Expr]:
    """Return conditions of which exactly one holds on a row where the given condition does.

    No two of them hold on a row. Each is a conjunction of parts about columns that are published
    together. A disjunction A OR B is replaced by A, and by B with A untrue, until none is left.

    Raises:
        QueryError: if they are too many, or a comparison is of columns published apart.
    """
    if all(_is_pure(part, declared) for part in conjuncts(condition)):
        return [condition]
    disjoint: list[exp.Expr] = []
    waiting = [_pushed_down(condition, declared, negated=False)]
    while waiting:
        node = waiting.pop()
        parts = conjuncts(node)
        mixed = next((part for part in parts if _is_mixed(part, declared)), None)
        if mixed is None:
            disjoint.append(node)
            continue
        if len(disjoint) + len(waiting) >= _MOST:
            raise QueryError(
                f"a condition has more than {_MOST} parts that OR joins and that need "
                "separate questions. Ask several queries"
            )
        rest = [part for part in parts if part is not mixed]
        first, second = _by_columns(mixed.unnest(), declared)
        waiting.append(exp.and_(*rest, untrue(first), second))
        waiting.append(exp.and_(*rest, first))
    return disjoint


def surroundings(
    condition: exp.Expr, declared: Terms
) -> tuple[exp.Expr | None, exp.Expr | None] | None:
    """Return the condition without its mixed disjunctions, and its complement in that.

    The complement holds where only the disjunctions are untrue; it is None if it is no single
    conjunction. Engines count the rows on both sides of a disjunction, which only one side can be
    asked for. Returns None if no disjunction joins columns that are published apart.
    """
    parts = conjuncts(_pushed_down(condition, declared, negated=False))
    mixed = [part for part in parts if _is_mixed(part, declared)]
    if not mixed:
        return None
    pure = [part for part in parts if not _is_mixed(part, declared)]
    outside = exp.and_(*pure, *map(untrue, mixed))
    alone = len(mixed) == 1 and len(disjoint_conditions(outside, declared)) == 1
    return all_of(pure), outside if alone else None


def _is_mixed(part: exp.Expr, declared: Terms) -> bool:
    """Decide whether OR joins conditions on columns that are published apart from each other."""
    return isinstance(part.unnest(), exp.Or) and not _is_pure(part, declared)


def _is_pure(node: exp.Expr, declared: Terms) -> bool:
    """Decide whether a condition is only about columns that are published together."""
    bundle_of = bundles(declared)
    return len({bundle_of.get(column.name) for column in node.find_all(exp.Column)}) <= 1


def _by_columns(node: exp.Expr, declared: Terms) -> tuple[exp.Expr, exp.Expr]:
    """Split a disjunction into the operands about the same columns, and all others."""
    operands = _operands(node)
    bundle_of = bundles(declared)

    def bundles_in(operand: exp.Expr) -> frozenset[tuple[str, ...] | None]:
        return frozenset(bundle_of.get(column.name) for column in operand.find_all(exp.Column))

    chosen = min(
        (bundles_in(operand) for operand in operands),
        key=lambda touched: (len(touched), None not in touched),
    )
    together = [operand for operand in operands if bundles_in(operand) == chosen]
    if len(together) == len(operands):
        return operands[0], exp.or_(*operands[1:])
    others = [operand for operand in operands if bundles_in(operand) != chosen]
    return exp.or_(*together), exp.or_(*others)


def _operands(node: exp.Expr) -> list[exp.Expr]:
    inner = node.unnest() if isinstance(node, exp.Paren) else node
    if not isinstance(inner, exp.Or):
        return [node]
    return [*_operands(inner.this), *_operands(inner.args["expression"])]


def _pushed_down(node: exp.Expr, declared: Terms, *, negated: bool) -> exp.Expr:
    """Return the same condition, in which only conditions about one kind of columns are negated."""
    if _is_pure(node, declared):
        return exp.Not(this=exp.paren(node.copy())) if negated else node.copy()
    inner = node.unnest() if isinstance(node, exp.Paren) else node
    if isinstance(inner, exp.Not):
        return _pushed_down(inner.this, declared, negated=not negated)
    if isinstance(inner, exp.And | exp.Or):
        both = (inner.this, inner.args["expression"])
        parts = [_pushed_down(part, declared, negated=negated) for part in both]
        return exp.and_(*parts) if isinstance(inner, exp.And) != negated else exp.or_(*parts)
    return exp.Not(this=exp.paren(inner.copy())) if negated else inner.copy()


def untrue(node: exp.Expr) -> exp.Expr:
    """Return the condition that another one is false or null."""
    inner = node.unnest() if isinstance(node, exp.Paren) else node
    if isinstance(inner, exp.And | exp.Or):
        parts = [untrue(inner.this), untrue(inner.args["expression"])]
        return exp.or_(*parts) if isinstance(inner, exp.And) else exp.and_(*parts)
    if isinstance(inner, exp.Not) and isinstance(negated := inner.this.unnest(), exp.And | exp.Or):
        # NOT (a AND b) is not true where neither NOT a nor NOT b is
        parts = [untrue(exp.Not(this=exp.paren(part.copy()))) for part in _both(negated)]
        return exp.and_(*parts) if isinstance(negated, exp.And) else exp.or_(*parts)
    return exp.Not(this=exp.func("COALESCE", inner.copy(), exp.false()))


def _both(node: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
    return node.this, node.args["expression"]


def is_never_null(condition: exp.Expr, terms: Terms) -> bool:
    """Decide whether a condition is true or false on every row, and never null."""
    bare = condition.unnest()
    if isinstance(bare, exp.And | exp.Or):
        return all(is_never_null(part, terms) for part in (bare.this, bare.expression))
    if isinstance(bare, exp.Not):
        return is_never_null(bare.this, terms)
    if isinstance(bare, exp.Is) and isinstance(bare.expression, exp.Null):
        return isinstance(bare.this.unnest(), exp.Column)
    if bare.find(exp.Null, exp.Div, exp.Mod):
        return False
    return all(not terms.columns[column.name].nulls for column in bare.find_all(exp.Column))


@dataclass
class _Part:
    """Rows, and the aggregates asked of them so far."""

    condition: exp.Expr | None
    grouped: bool
    partition: tuple[str, ...] = ()
    extra: exp.Expr | None = None
    aggregates: list[Aggregate] = field(default_factory=list)
    exact: list[Aggregate] = field(default_factory=list)


@dataclass(frozen=True)
class Around:
    """The rows that contain a disjunction's, and those of them on which it is not true.

    Both are numbers of parts; `rest` is None if those rows are no single part.
    """

    whole: int
    rest: int | None


class PartList:
    """The parts of an inquiry; each condition is split once."""

    def __init__(
        self,
        where: Sequence[exp.Expr],
        calculations: Calculations,
        among: "PartList | None" = None,
        partition: tuple[str, ...] = (),
    ) -> None:
        """Begin with the rows on which all conditions of `where` hold.

        Args:
            where: the conditions.
            calculations: the calculated columns.
            among: the parts of the rows of an answer, to which parts of all rows are added.
            partition: the group columns by which these are divided.
        """
        self._partition = partition
        self._where, self._calculations = list(where), calculations
        self._parts: list[_Part] = [] if among is None else among._parts
        self._grouped = among is None
        self._known: dict[tuple[str, ...], tuple[int, ...]] = {}
        self._around: dict[tuple[int, ...], Around] = {}
        if self._grouped:
            self.parts_where(None)

    def together(
        self, where: Sequence[exp.Expr] | None = None, partition: tuple[str, ...] = ()
    ) -> "PartList":
        """Return parts of all rows of the answer together, divided only by some group columns.

        They are under the same conditions, or those of `where`.
        """
        conditions = self._where if where is None else where
        return PartList(conditions, self._calculations, self, partition)

    def parts_where(
        self, extra: exp.Expr | None, without: exp.Expr | None = None
    ) -> tuple[int, ...]:
        """Return the disjoint parts that make up the rows on which a further condition holds.

        Args:
            extra: the further condition.
            without: a condition that is false, or null, on these rows.

        Raises:
            QueryError: naming what is not allowed.
        """
        key = tuple(
            "" if condition is None else condition.sql("duckdb") for condition in (extra, without)
        )
        if key not in self._known:
            self._known[key] = tuple(self._add_disjoint(extra, without))
        return self._known[key]

    def surroundings_of(self, parts: tuple[int, ...]) -> "Around | None":
        """Return the parts that contain the given ones; None if they add no information."""
        return self._around.get(parts)

    def _add_disjoint(self, extra: exp.Expr | None, without: exp.Expr | None) -> list[int]:
        further = self._check([] if extra is None else [extra])
        if without is not None:
            untrue = self._untrue(without)
            further = untrue if further is None else exp.and_(further, untrue)
        where = self._check(self._where)
        checked = all_of([condition for condition in (where, further) if condition is not None])
        if checked is None:
            return [self._add(None)]
        numbers = list(map(self._add, disjoint_conditions(checked, self._calculations.terms)))
        if further is not None and len(numbers) == 1:
            self._parts[numbers[0]].extra = further
        outer = surroundings(checked, self._calculations.terms)
        if outer is not None and len(self._parts) + 2 <= _MOST_PARTS:
            whole, rest = outer
            inside = self._add(whole), None if rest is None else self._add(rest)
            self._around[tuple(numbers)] = Around(*inside)
        return numbers

    def _check(self, conditions: Sequence[exp.Expr]) -> exp.Expr | None:
        whole = all_of(conditions)
        return None if whole is None else check_condition(whole, self._calculations)

    def _untrue(self, condition: exp.Expr) -> exp.Expr:
        checked = check_condition(condition, self._calculations)
        if is_never_null(checked, self._calculations.terms):
            return exp.Not(this=exp.paren(checked))
        return untrue(checked)

    def _add(self, condition: exp.Expr | None) -> int:
        if len(self._parts) == _MOST_PARTS:
            raise QueryError(
                f"a query may ask about at most {_MOST_PARTS} sets of rows. Ask several queries"
            )
        self._parts.append(_Part(condition, self._grouped, self._partition))
        return len(self._parts) - 1

    def ask(self, number: int, aggregate: Aggregate, *, exact: bool = False) -> PartAggregate:
        """Ask for an aggregate over the rows of a part."""
        part = self._parts[number]
        aggregates = part.exact if exact else part.aggregates
        if aggregate not in aggregates:
            aggregates.append(aggregate)
        return PartAggregate(number, aggregate)

    def all_parts(self) -> tuple[InquiredPart, ...]:
        """Return all parts, with everything that is asked of them."""
        return tuple(map(self._inquired_part, self._parts))

    def _inquired_part(self, part: _Part) -> InquiredPart:
        condition, matching = split_where(part.condition, self._calculations.terms)
        aggregates = tuple(part.aggregates or [ROWS])
        return InquiredPart(
            condition,
            matching,
            aggregates,
            tuple(part.exact),
            part.grouped,
            part.extra,
            part.partition,
        )
