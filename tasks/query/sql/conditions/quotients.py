"""Quotients that are bounds: a mark in queries, until it is known which database rounds them."""

from collections.abc import Iterator, Mapping

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


def to_nearest(tree: exp.Select) -> exp.Select:
    """Return a query with its quotients rounded to the nearest float, without queries for sums.

    It is what `over_sums`, and means of running totals, were before bounds were rounded outwards.
    """
    for outer in list(tree.find_all(exp.Select)):
        inner = _sums_below(outer)
        if inner is not None and outer.parent is not None:
            outer.replace(_inlined(outer, inner))
    inner = _sums_below(tree)
    return tree if inner is None else _inlined(tree, inner)


def _sums_below(query: exp.Select) -> exp.Select | None:
    """Return the query of sums that a query with quotients is over."""
    source = query.args.get("from_")
    divides = any(True for column in query.expressions for _ in marked_quotients(column))
    if source is None or source.this.alias != _SUMMED or not divides:
        return None
    below: exp.Select = source.this.this
    return below


def _inlined(outer: exp.Select, inner: exp.Select) -> exp.Select:
    """Return the inner query with the columns of the outer one, of its sums themselves."""
    sums = {of.alias: of.this for of in inner.expressions if isinstance(of, exp.Alias)}
    running = isinstance(outer.expressions[0], exp.Star)
    columns = [inner.expressions[0].copy()] if running else []
    columns += [
        alias(_nearest(column.this, sums, running), column.alias, quoted=not running)
        for column in outer.expressions[len(columns) :]
    ]
    found = inner.select(*columns, append=False)
    if outer.args.get("with_"):
        found.set("with_", outer.args["with_"].copy())
    return found


def _nearest(node: exp.Expr, sums: Mapping[str, exp.Expr], running: bool) -> exp.Expr:
    if isinstance(node, exp.Column):
        return sums[node.name].copy()
    over, under = (sums[part.name].copy() for part in node.expressions)
    return plain_quotient(exp.cast(over, "double") if running else over, under)
