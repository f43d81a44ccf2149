"""Calls of aggregates as analysts write them: which aggregate, of what, over which rows.

A CASE inside an aggregate says which rows count, as FILTER does; a column that may be null counts
where it is not.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.query.question.aggregates.kind import AggregateKind
from sfumato.tasks.query.question.aggregates.registry import AGGREGATES
from sfumato.tasks.sql.constructs.refusals import refusal
from sfumato.tasks.sql.parse import number_of


@dataclass(frozen=True)
class Call:
    """A call of an aggregate.

    Attributes:
        kind: the aggregate.
        of: what it is of; None where it counts rows.
        where: the condition on rows that count, besides that of the query.
        distinct: whether it is of the different values.
        share: of a quantile.
        descending: whether a quantile that is one of the values is counted from above.
    """

    kind: AggregateKind
    of: exp.Expr | None
    where: exp.Expr | None = None
    distinct: bool = False
    share: Fraction | None = None
    descending: bool = False


def read_call(node: exp.Expr) -> Call | None:
    """The call of an aggregate that a node is; None where it is none.

    Raises:
        QueryError: naming what is not allowed.
    """
    if isinstance(node, exp.Filter):
        inner = read_call(node.this)
        if inner is None:
            raise refusal(node.this, " with FILTER")
        return _where(inner, node.expression.this)
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
            raise refusal(key, f" in {kind.called}")
    share = _share(node, kind) if kind.of_share is not None else None
    return _of(kind, node.this, share)


def _share(node: exp.Expr, kind: AggregateKind) -> Fraction:
    if isinstance(node, exp.Median):
        return Fraction(1, 2)
    return _share_of(node.args.get("quantile") or node.args.get("expression"), kind)


def _share_of(given: exp.Expr | None, kind: AggregateKind) -> Fraction:
    share = number_of(given)
    if share is None or not 0 <= share <= 1:
        raise QueryError(f"{kind.called} takes one number from 0 to 1")
    return share


def _within_group(node: exp.WithinGroup) -> Call:
    """PERCENTILE_CONT(.5) WITHIN GROUP (ORDER BY s)."""
    inner, order = node.this, node.expression
    kind = next(
        (k for k in AGGREGATES.values() if k.of_share and isinstance(inner, k.parsed)), None
    )
    ordered = order.expressions if isinstance(order, exp.Order) else []
    if kind is None or len(ordered) != 1:
        raise refusal(inner, " with WITHIN GROUP")
    share = _share_of(inner.this, kind)
    call = _of(kind, ordered[0].this, share)
    if not ordered[0].args.get("desc"):
        return call
    between = kind is AGGREGATES["percentile_cont"]
    return replace(call, share=1 - share) if between else replace(call, descending=True)


def _of(kind: AggregateKind, of: exp.Expr | None, share: Fraction | None) -> Call:
    if kind.counts_rows and isinstance(of, exp.Star):
        if any(of.args.values()):
            raise QueryError(
                "not allowed: * EXCEPT or REPLACE: rows are counted whole; use COUNT(*)"
            )
        return Call(kind, None)
    if isinstance(of, exp.Distinct):
        return _distinct(kind, of)
    if of is None:
        raise QueryError(f"{kind.called} takes a column, not nothing")
    bare = of.unnest()
    if kind.counts_rows and _is_constant(bare):
        return Call(kind, None, exp.false() if isinstance(bare, exp.Null) else None)
    return Call(kind, bare, share=share)


def _distinct(kind: AggregateKind, of: exp.Distinct) -> Call:
    if not kind.counts_rows or len(of.expressions) != 1:
        raise QueryError(
            f"not allowed: {kind.called}(DISTINCT …): which values differ is not bounded; "
            "COUNT(DISTINCT column) of one that is published as it is"
        )
    return Call(kind, of.expressions[0].unnest(), distinct=True)


def _is_constant(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal | exp.Boolean | exp.Null)


def _where(call: Call, condition: exp.Expr) -> Call:
    if call.where is None:
        return replace(call, where=condition)
    both = exp.And(this=exp.paren(call.where.copy()), expression=exp.paren(condition.copy()))
    return replace(call, where=both)


@dataclass(frozen=True)
class Cased:
    """A CASE with one condition: what counts where it holds, and what else."""

    condition: exp.Expr
    then: exp.Expr
    otherwise: exp.Expr | None


def read_case(node: exp.Expr | None) -> Cased | None:
    """A CASE, or an IF, of one condition; None where it is none."""
    if isinstance(node, exp.Case) and node.this is None and len(node.args["ifs"]) == 1:
        (only,) = node.args["ifs"]
        return Cased(only.this, only.args["true"].unnest(), _default(node.args.get("default")))
    if isinstance(node, exp.If):
        return Cased(node.this, node.args["true"].unnest(), _default(node.args.get("false")))
    return None


def _default(node: exp.Expr | None) -> exp.Expr | None:
    """What a CASE comes to otherwise, None where that is null."""
    bare = None if node is None else node.unnest()
    return None if isinstance(bare, exp.Null) else bare


@dataclass(frozen=True)
class Narrowed:
    """A call whose CASE became a condition on rows.

    Attributes:
        call: over the rows on which it holds.
        times: what each counts for.
        otherwise: what no such row comes to: null, or 0 among others; or the share of all rows.
    """

    call: Call
    times: Fraction
    otherwise: Literal["null", "zero", "share"]


def without_case(call: Call) -> Narrowed | None:
    """A call whose CASE became a condition on rows; None where it is no such condition."""
    cased, constant = read_case(call.of), number_of(call.of)
    if call.kind.name == "sum" and constant is not None:
        return Narrowed(_counting(call), constant, "null")
    if cased is None or call.distinct:
        return None
    if cased.otherwise is None:
        return _or_null(call, cased)
    return _or_zero(call, cased) if number_of(cased.otherwise) == 0 else None


def _or_null(call: Call, cased: Cased) -> Narrowed | None:
    constant = number_of(cased.then)
    narrowed = _where(call, cased.condition)
    if call.kind.counts_rows and _is_constant(cased.then):
        return Narrowed(replace(narrowed, of=None), Fraction(1), "zero")
    if call.kind.name == "sum" and constant is not None:
        return Narrowed(_counting(narrowed), constant, "null")
    return None if _is_constant(cased.then) else _same(replace(narrowed, of=cased.then))


def _same(call: Call) -> Narrowed:
    return Narrowed(call, Fraction(1), "zero" if call.kind.counts_rows else "null")


def _or_zero(call: Call, cased: Cased) -> Narrowed | None:
    constant = number_of(cased.then)
    narrowed = _where(call, cased.condition)
    if call.kind.name == "sum":
        if constant is not None:
            return Narrowed(_counting(narrowed), constant, "zero")
        return Narrowed(replace(narrowed, of=cased.then), Fraction(1), "zero")
    if call.kind.name == "avg" and constant is not None:
        return Narrowed(_counting(narrowed), constant, "share")
    return None


def _counting(call: Call) -> Call:
    return replace(call, kind=AGGREGATES["count"], of=None)
