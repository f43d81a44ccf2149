"""Quotients that are bounds: a mark in queries, until it is known which database rounds them."""

from collections.abc import Iterator

from sqlglot import exp

from sfumato.tasks.query.sql.conditions.trees import alias, own

_BELOW, _ABOVE = "SFUMATO_QUOTIENT_BELOW", "SFUMATO_QUOTIENT_ABOVE"


def quotient_bound(over: exp.Expr, under: exp.Expr, *, upper: bool) -> exp.Anonymous:
    """The mark of a quotient that is a bound, of columns that hold a sum and a number of rows."""
    return exp.Anonymous(this=_ABOVE if upper else _BELOW, expressions=[over, under])


def marked_quotients(tree: exp.Expr) -> Iterator[tuple[exp.Anonymous, bool]]:
    """The marks in a query, each with whether it is an upper bound."""
    for mark in list(tree.find_all(exp.Anonymous)):
        if mark.name in (_BELOW, _ABOVE):
            yield mark, mark.name == _ABOVE


def plain_quotient(over: exp.Expr, under: exp.Expr) -> exp.Expr:
    """A quotient that is rounded to the nearest float."""
    return exp.Div(this=over, expression=under, typed=False, safe=False)


def over_sums(query: exp.Select) -> exp.Select:
    """A query whose columns may be marked quotients, over one that has their parts as columns.

    >>> over_sums(exp.select("a AS b").from_("t")).sql()
    'SELECT a AS b FROM t'
    """
    if not any(True for column in query.expressions for _ in marked_quotients(column)):
        return query
    names: dict[str, str] = {}
    parts: list[exp.Expr] = []
    shown = [alias(_over(of.this, names, parts), of.alias, quoted=True) for of in query.expressions]
    common = query.args.get("with_")
    query.set("with_", None)
    inner = query.select(*parts, append=False)
    outer = exp.select(*shown).from_(inner.subquery(_SUMMED))
    outer.set("with_", common)
    return outer


_SUMMED = "summed"


def _over(node: exp.Expr, names: dict[str, str], parts: list[exp.Expr]) -> exp.Expr:
    """A column, with the name of a part of the inner query in the place of each of its parts."""
    if any(True for _ in marked_quotients(node)):
        over, under = (_over(part, names, parts) for part in node.expressions)
        return exp.Anonymous(this=node.this, expressions=[over, under])
    text = node.sql()
    if text not in names:
        names[text] = f"part_{len(parts)}"
        parts.append(alias(node.copy(), names[text]))
    return own(names[text], _SUMMED)
