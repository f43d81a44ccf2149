"""Sums of columns that are published apart: what is added up of each is added up by itself."""

from collections.abc import Sequence

from sqlglot import exp

from sfumato.tasks.query.question.ways.way import Bundles
from sfumato.tasks.sql.parse import number_of

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
