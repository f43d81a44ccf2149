"""The rows that an inquiry means, as conjunctions of conditions that engines answer.

What the allow-list of predicates lacks becomes a calculated column of truth values. A disjunction
of conditions on columns that are published apart from each other is taken apart into conditions
that no row keeps two of: A OR B is A, and B where A is not true.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.query.question.calculations import Calculations
from sfumato.tasks.query.question.conditions import all_of, bundles, conjuncts, split_where
from sfumato.tasks.query.question.formulas import AskedOfPart
from sfumato.tasks.query.question.inquiry import InquiredPart
from sfumato.tasks.query.question.question import ROWS, Aggregate
from sfumato.tasks.sql.predicate import check_predicate
from sfumato.tasks.terms.terms import Terms

_MOST = 16
_CALCULATIONS = (exp.Func, exp.IntDiv, exp.DPipe, exp.NullSafeEQ, exp.NullSafeNEQ)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_MOST_PARTS = 200


def checked_condition(condition: exp.Expr, calculations: Calculations) -> exp.Expr:
    """A condition of the allow-list, with calculated columns for what that lacks.

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
    found: exp.Expr = root.this
    found.pop()
    return _checked(found, calculations)


def _checked(node: exp.Expr, calculations: Calculations) -> exp.Expr:
    types = {name: column.type for name, column in calculations.terms.columns.items()}
    return check_predicate(node, types)


def _is_allowed(node: exp.Expr, calculations: Calculations) -> bool:
    """Decide whether the allow-list has it; what no calculation mends is refused by the list."""
    try:
        _checked(node, calculations)
    except QueryError as error:
        if any(isinstance(part, exp.Column) for part in node.walk()) and _calculates(node):
            return False
        raise error
    return True


def _calculates(node: exp.Expr) -> bool:
    """Whether there is a function in it, or another calculation that the list lacks."""
    return any(isinstance(part, _CALCULATIONS) or _of_conditions(part) for part in node.walk()) or (
        isinstance(node, exp.Is) and not isinstance(node.expression, exp.Null)
    )


def _of_conditions(node: exp.Expr) -> bool:
    """Whether truth values are compared: (a > 0) = (b > 0)."""
    if not isinstance(node, _COMPARISONS):
        return False
    sides = (node.this, node.args["expression"])
    return any(isinstance(side.unnest(), exp.Predicate) for side in sides)


def disjoint_conditions(condition: exp.Expr, declared: Terms) -> list[exp.Expr]:
    """Conditions no two of which hold on a row, and one of which does where the condition does.

    Each joins by AND parts about columns that are published together.

    Raises:
        QueryError: where they are too many, or a comparison is of columns that are not.
    """
    if all(_is_pure(part, declared) for part in conjuncts(condition)):
        return [condition]
    found: list[exp.Expr] = []
    waiting = [_pushed_down(condition, declared, negated=False)]
    while waiting:
        node = waiting.pop()
        parts = conjuncts(node)
        mixed = next((part for part in parts if _is_mixed(part, declared)), None)
        if mixed is None:
            found.append(node)
            continue
        if len(found) + len(waiting) >= _MOST:
            raise QueryError(f"a condition that OR joins of more than {_MOST} parts of its own")
        rest = [part for part in parts if part is not mixed]
        first, second = _by_columns(mixed.unnest(), declared)
        waiting.append(exp.and_(*rest, untrue(first), second))
        waiting.append(exp.and_(*rest, first))
    return found


def surroundings(
    condition: exp.Expr, declared: Terms
) -> tuple[exp.Expr | None, exp.Expr | None] | None:
    """The condition without what OR joins in it, and the one that holds where only that is untrue.

    None where it joins nothing that is published apart. The second one is None where it is no one
    conjunction: engines count on both sides of a disjunction what only one side can be asked for.
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
    """Whether OR joins conditions on columns that are published apart from each other."""
    return isinstance(part.unnest(), exp.Or) and not _is_pure(part, declared)


def _is_pure(node: exp.Expr, declared: Terms) -> bool:
    """Whether a condition is about columns that are published together alone."""
    known = bundles(declared)
    return len({known.get(column.name) for column in node.find_all(exp.Column)}) <= 1


def _by_columns(node: exp.Expr, declared: Terms) -> tuple[exp.Expr, exp.Expr]:
    """The operands of a disjunction: those about the same columns together, and all others."""
    operands = _operands(node)
    known = bundles(declared)

    def about(operand: exp.Expr) -> frozenset[tuple[str, ...] | None]:
        return frozenset(known.get(column.name) for column in operand.find_all(exp.Column))

    chosen = min((about(operand) for operand in operands), key=lambda of: (len(of), None not in of))
    together = [operand for operand in operands if about(operand) == chosen]
    if len(together) == len(operands):
        return operands[0], exp.or_(*operands[1:])
    others = [operand for operand in operands if about(operand) != chosen]
    return exp.or_(*together), exp.or_(*others)


def _operands(node: exp.Expr) -> list[exp.Expr]:
    inner = node.unnest() if isinstance(node, exp.Paren) else node
    if not isinstance(inner, exp.Or):
        return [node]
    return [*_operands(inner.this), *_operands(inner.args["expression"])]


def _pushed_down(node: exp.Expr, declared: Terms, *, negated: bool) -> exp.Expr:
    """The same condition, with no negation of what is about several kinds of columns."""
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
    """Return the condition that another is false, or null."""
    inner = node.unnest() if isinstance(node, exp.Paren) else node
    if isinstance(inner, exp.And | exp.Or):
        parts = [untrue(inner.this), untrue(inner.args["expression"])]
        return exp.or_(*parts) if isinstance(inner, exp.And) else exp.and_(*parts)
    return exp.Not(this=exp.func("COALESCE", inner.copy(), exp.false()))


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
    """Rows that are meant, and what was asked of them so far."""

    condition: exp.Expr | None
    grouped: bool
    extra: exp.Expr | None = None
    aggregates: list[Aggregate] = field(default_factory=list)
    exact: list[Aggregate] = field(default_factory=list)


@dataclass(frozen=True)
class Around:
    """The rows that a disjunction is among, and those of them on which it is not true.

    The numbers of parts; `rest` is None where those are no one part.
    """

    whole: int
    rest: int | None


class PartList:
    """The parts of an inquiry; each condition is taken apart once."""

    def __init__(
        self,
        where: Sequence[exp.Expr],
        calculations: Calculations,
        among: "PartList | None" = None,
    ) -> None:
        """Begin with the rows on which all conditions of `where` hold.

        Args:
            where: conditions.
            calculations: the columns that are calculated.
            among: those of the rows of an answer, beside which all rows are asked about together.
        """
        self._where, self._calculations = list(where), calculations
        self._parts: list[_Part] = [] if among is None else among._parts
        self._grouped = among is None
        self._known: dict[tuple[str, ...], tuple[int, ...]] = {}
        self._around: dict[tuple[int, ...], Around] = {}
        if self._grouped:
            self.over(None)

    def together(self, where: Sequence[exp.Expr] | None = None) -> "PartList":
        """Parts of all rows, whichever row of the answer they are in, on the same conditions."""
        return PartList(self._where if where is None else where, self._calculations, self)

    def over(self, extra: exp.Expr | None, without: exp.Expr | None = None) -> tuple[int, ...]:
        """Return the parts that make up the rows on which a further condition holds, no row by two.

        Args:
            extra: the further condition.
            without: a condition that is false, or null, on these rows.

        Raises:
            QueryError: naming what is not allowed.
        """
        known = tuple("" if of is None else of.sql("duckdb") for of in (extra, without))
        if known not in self._known:
            self._known[known] = tuple(self._added(extra, without))
        return self._known[known]

    def around(self, parts: tuple[int, ...]) -> "Around | None":
        """What the rows of parts are within; None where that tells nothing of them."""
        return self._around.get(parts)

    def _added(self, extra: exp.Expr | None, without: exp.Expr | None) -> list[int]:
        further = self._checked([] if extra is None else [extra])
        if without is not None:
            untrue = self._untrue(without)
            further = untrue if further is None else exp.and_(further, untrue)
        where = self._checked(self._where)
        checked = all_of([of for of in (where, further) if of is not None])
        if checked is None:
            return [self._add(None)]
        found = list(map(self._add, disjoint_conditions(checked, self._calculations.terms)))
        if further is not None and len(found) == 1:
            self._parts[found[0]].extra = further
        outer = surroundings(checked, self._calculations.terms)
        if outer is not None and len(self._parts) + 2 <= _MOST_PARTS:
            whole, rest = outer
            inside = self._add(whole), None if rest is None else self._add(rest)
            self._around[tuple(found)] = Around(*inside)
        return found

    def _checked(self, conditions: Sequence[exp.Expr]) -> exp.Expr | None:
        whole = all_of(conditions)
        return None if whole is None else checked_condition(whole, self._calculations)

    def _untrue(self, condition: exp.Expr) -> exp.Expr:
        checked = checked_condition(condition, self._calculations)
        if is_never_null(checked, self._calculations.terms):
            return exp.Not(this=exp.paren(checked))
        return untrue(checked)

    def _add(self, condition: exp.Expr | None) -> int:
        if len(self._parts) == _MOST_PARTS:
            raise QueryError(f"a query asks about at most {_MOST_PARTS} sets of rows")
        self._parts.append(_Part(condition, self._grouped))
        return len(self._parts) - 1

    def ask(self, number: int, aggregate: Aggregate, *, exact: bool = False) -> AskedOfPart:
        """An aggregate over the rows of a part."""
        part = self._parts[number]
        asked = part.exact if exact else part.aggregates
        if aggregate not in asked:
            asked.append(aggregate)
        return AskedOfPart(number, aggregate)

    def finished(self) -> tuple[InquiredPart, ...]:
        """All parts, with all that is asked of them."""
        return tuple(map(self._finished, self._parts))

    def _finished(self, part: _Part) -> InquiredPart:
        condition, matching = split_where(part.condition, self._calculations.terms)
        aggregates = tuple(part.aggregates or [ROWS])
        return InquiredPart(
            condition, matching, aggregates, tuple(part.exact), part.grouped, part.extra
        )
