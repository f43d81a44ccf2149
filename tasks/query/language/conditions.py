"""Conditions as analysts write them, brought down to conjunctions that engines answer.

What the allow-list of predicates lacks becomes a calculated column of truth values. A disjunction
of conditions on columns that are published apart from each other is taken apart into conditions
that no row keeps two of: A OR B is A, and B where A is not true.
"""

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.query.question.calculations import Calculations
from sfumato.tasks.query.question.conditions import all_of, bundles, conjuncts
from sfumato.tasks.sql.predicate import check_predicate

_MOST = 16
_CALCULATIONS = (exp.Func, exp.IntDiv, exp.DPipe, exp.NullSafeEQ, exp.NullSafeNEQ)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


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
