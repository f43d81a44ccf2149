"""Calls of aggregates as analysts write them: the aggregate, its argument, and its rows."""

from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.aggregates.kind import AggregateKind
from sfumato.tasks.query.aggregates.registry import AGGREGATES
from sfumato.tasks.sql.parse import number_of
from sfumato.tasks.sql.refusals import refusal


@dataclass(frozen=True)
class Call:
    """A call of an aggregate.

    Attributes:
        kind: the aggregate.
        argument: the aggregated expression; None for a count of rows.
        where: the condition on rows that count, in addition to that of the query.
        distinct: whether only different values count.
        share: the share of a quantile.
        descending: whether a quantile that is one of the values is counted from above.
    """

    kind: AggregateKind
    argument: exp.Expr | None
    where: exp.Expr | None = None
    distinct: bool = False
    share: Fraction | None = None
    descending: bool = False


def read_call(node: exp.Expr) -> Call | None:
    """Return the call of an aggregate that a node is; None if it is no such call.

    Raises:
        QueryError: naming what is not allowed.
    """
    if isinstance(node, exp.Filter):
        inner = read_call(node.this)
        if inner is None:
            raise refusal(node.this, " with FILTER")
        return narrow(inner, node.expression.this)
    if isinstance(node, exp.CountIf):
        return Call(AGGREGATES["count"], None, node.this)
    if isinstance(node, exp.WithinGroup):
        return _within_group(node)
    kind = next((kind for kind in AGGREGATES.values() if isinstance(node, kind.parsed)), None)
    if kind is None:
        return None
    allowed = {"this", "big_int", *(("expression", "quantile") if kind.of_share else ())}
    for key, value in node.args.items():
        if value and key not in allowed:
            raise refusal(key, f" in {kind.sql_name}")
    share = _share(node, kind) if kind.of_share is not None else None
    return _call(kind, node.this, share)


def _share(node: exp.Expr, kind: AggregateKind) -> Fraction:
    if isinstance(node, exp.Median):
        return Fraction(1, 2)
    return _share_of(node.args.get("quantile") or node.args.get("expression"), kind)


def _share_of(written: exp.Expr | None, kind: AggregateKind) -> Fraction:
    share = number_of(written)
    if share is None or not 0 <= share <= 1:
        raise QueryError(f"{kind.sql_name} needs one number between 0 and 1")
    return share


def _within_group(node: exp.WithinGroup) -> Call:
    """Return the call of a quantile: PERCENTILE_CONT(.5) WITHIN GROUP (ORDER BY s)."""
    inner, order = node.this, node.expression
    kind = next(
        (k for k in AGGREGATES.values() if k.of_share and isinstance(inner, k.parsed)), None
    )
    ordered = order.expressions if isinstance(order, exp.Order) else []
    if kind is None or len(ordered) != 1:
        raise refusal(inner, " with WITHIN GROUP")
    share = _share_of(inner.this, kind)
    call = _call(kind, ordered[0].this, share)
    if not ordered[0].args.get("desc"):
        return call
    between = kind is AGGREGATES["percentile_cont"]
    return replace(call, share=1 - share) if between else replace(call, descending=True)


def _call(kind: AggregateKind, argument: exp.Expr | None, share: Fraction | None) -> Call:
    if kind.counts_rows and isinstance(argument, exp.Star):
        if any(argument.args.values()):
            raise QueryError(
                "not allowed: * EXCEPT or REPLACE, because whole rows are counted. Use COUNT(*)"
            )
        return Call(kind, None)
    if isinstance(argument, exp.Distinct):
        return _distinct_call(kind, argument)
    if argument is None:
        raise QueryError(f"{kind.sql_name} needs a column in the parentheses")
    bare = argument.unnest()
    if kind.counts_rows and is_constant(bare):
        return Call(kind, None, exp.false() if isinstance(bare, exp.Null) else None)
    return Call(kind, bare, share=share)


def _distinct_call(kind: AggregateKind, argument: exp.Distinct) -> Call:
    if not kind.counts_rows or len(argument.expressions) != 1:
        raise QueryError(
            f"not allowed: {kind.sql_name}(DISTINCT …), because its result has no "
            "bounds. Use COUNT(DISTINCT column) of a column published as it is"
        )
    return Call(kind, argument.expressions[0].unnest(), distinct=True)


def is_constant(node: exp.Expr) -> bool:
    """Decide whether a value is the same on all rows, null or not."""
    is_literal = isinstance(node, exp.Literal | exp.Boolean | exp.Null)
    return is_literal or number_of(node) is not None


def narrow(call: Call, condition: exp.Expr) -> Call:
    """Return the call over those of its rows on which a further condition also holds."""
    if call.where is None:
        return replace(call, where=condition)
    both = exp.And(this=exp.paren(call.where.copy()), expression=exp.paren(condition.copy()))
    return replace(call, where=both)
