"""Inquiries that are one question, which a database can be given as one query."""

from dataclasses import replace

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.query.in_databases.aggregates import why_not_written as why_not_aggregated
from sfumato.tasks.query.in_databases.calculated import why_not_written as why_not_calculated
from sfumato.tasks.query.language.read import read_inquiry
from sfumato.tasks.query.question.aggregate import ROWS, Aggregate
from sfumato.tasks.query.question.calculated import extend_terms
from sfumato.tasks.query.question.conditions import all_of, conjuncts
from sfumato.tasks.query.question.formulas import AskedOfPart, Plain
from sfumato.tasks.query.question.having import Having, Joined
from sfumato.tasks.query.question.inquiry import InquiredPart, Inquiry, KeyColumn, Measure
from sfumato.tasks.query.question.question import GroupColumn, KeyOrder, Question
from sfumato.tasks.query.question.ways.registry import WAYS


def read_question(sql: str, declared: Terms) -> Question:
    """The one question that a SELECT asks.

    Raises:
        QueryError: naming what is not allowed, or why it is more than one question.
    """
    inquiry = read_inquiry(sql, declared)
    reason = _more_than_one(inquiry, declared)
    if reason is not None:
        raise QueryError(f"not written in SQL for databases: {reason}; ask with `sfumato query`")
    part = inquiry.parts[0]
    shown = tuple(
        item if isinstance(item, GroupColumn) else _shown(item, inquiry) for item in inquiry.shown
    )
    group_by = tuple(key.name for key in inquiry.keys)
    having = None if inquiry.having is None else _of_aggregates(inquiry.having, inquiry)
    calculated = {one.name: one.expression for one in inquiry.calculated}
    order = tuple(
        KeyOrder(group_by[by.by], by.descending, by.nulls_first)
        for by in inquiry.order
        if isinstance(by.by, int)
    )
    order += _others_in_order(inquiry, order)
    return Question(
        shown,
        part.condition,
        group_by,
        part.matching,
        having,
        calculated,
        order,
        inquiry.limit,
        inquiry.offset,
    )


def _others_in_order(inquiry: Inquiry, order: tuple[KeyOrder, ...]) -> tuple[KeyOrder, ...]:
    """The group columns that rows are ordered by where the others are alike."""
    if not order and inquiry.limit is None:
        return ()
    names = {one.name for one in order}
    others = (key.name for key in inquiry.keys if key.name not in names)
    return tuple(KeyOrder(name, descending=False, nulls_first=False) for name in others)


def _more_than_one(inquiry: Inquiry, declared: Terms) -> str | None:
    """What makes an inquiry more than one question, or one that databases cannot be given."""
    reasons = {
        "a join with a table of your own": bool(inquiry.joins),
        "a calculation with sensitive values": any(one.sensitive for one in inquiry.calculated),
        "GROUP BY of a sensitive column": any(key.banded for key in inquiry.keys),
        "FILTER, or OR of conditions on columns that are published apart": not all(
            _is_filtered(part) for part in inquiry.parts[1:]
        ),
        "a calculation with aggregates": not all(isinstance(f, Plain) for f in inquiry.formulas),
    }
    found = next((reason for reason, holds in reasons.items() if holds), None)
    return found or _of_rows(inquiry, declared) or _of_order(inquiry, declared)


def _is_filtered(part: InquiredPart) -> bool:
    """Whether databases find what is asked of a part in published rows: FILTER by exact columns."""
    asks_rows = all(one.counts_all_rows for one in part.aggregates)
    return part.grouped and part.extra is not None and not part.matching and asks_rows


def _of_rows(inquiry: Inquiry, declared: Terms) -> str | None:
    """What of exact columns is not written: they are known where the rows that are meant are."""
    exact = [one for part in inquiry.parts for one in part.exact]
    if not inquiry.calculated and not exact and len(inquiry.parts) == 1:
        return None
    base = inquiry.parts[0]
    if base.matching or not WAYS[declared.form.shows].shows_rows:
        what = "a calculation with columns" if inquiry.calculated else "an exact aggregate"
        return f"{what} beside conditions on values that are published apart, or labels"
    types = extend_terms(declared, inquiry.calculated).columns
    fault = why_not_calculated(inquiry.calculated, _compared(inquiry), declared.columns)
    faults = (why_not_aggregated(one, types[str(one.sensitive)].type) for one in exact)
    return fault or next((one for one in faults if one is not None), None)


def _compared(inquiry: Inquiry) -> set[str]:
    """The columns that conditions on rows are about."""
    conditions = [inquiry.parts[0].condition]
    conditions += [_besides_nulls(part, one) for part in inquiry.parts[1:] for one in part.exact]
    return {
        column.name
        for condition in conditions
        if condition is not None
        for column in condition.find_all(exp.Column)
    }


def _besides_nulls(part: InquiredPart, aggregate: Aggregate) -> exp.Expr | None:
    """What FILTER says, but that the aggregated column is not null, which aggregates leave out."""
    if part.extra is None:
        return None
    there = exp.Not(
        this=exp.Is(this=exp.column(str(aggregate.sensitive), quoted=True), expression=exp.Null())
    )
    return all_of([one for one in conjuncts(part.extra) if one.unnest() != there])


def _of_order(inquiry: Inquiry, declared: Terms) -> str | None:
    """Why an order, or LIMIT, is not written: the database cannot tell whether it is certain."""
    part = inquiry.parts[0]
    shown = {item.name for item in inquiry.shown if isinstance(item, GroupColumn)}
    limited = inquiry.limit is not None or inquiry.offset > 0
    ordered = bool(inquiry.order) or limited
    known = WAYS[declared.form.shows].shows_rows and not part.matching and inquiry.having is None
    reasons = {
        "ORDER BY of what has bounds": not all(isinstance(one.by, int) for one in inquiry.order),
        "ORDER BY of columns that are not shown": ordered
        and any(key.name not in shown for key in inquiry.keys),
        "LIMIT where rows may not be there": limited and not known,
        "OFFSET without LIMIT": inquiry.offset > 0 and inquiry.limit is None,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _shown(item: Measure, inquiry: Inquiry) -> Aggregate:
    return replace(_aggregate(item.formula, inquiry), label=item.label)


def _aggregate(formula: object, inquiry: Inquiry) -> Aggregate:
    if not isinstance(formula, Plain):
        raise TypeError(formula)
    asked, part = formula.of.aggregate, inquiry.parts[formula.of.part]
    exact = asked in part.exact or part.extra is not None
    return replace(asked, exact=exact, where=_besides_nulls(part, asked))


def _of_aggregates(having: Having, inquiry: Inquiry) -> Having:
    if isinstance(having, Joined):
        return replace(having, parts=tuple(_of_aggregates(one, inquiry) for one in having.parts))
    return replace(having, aggregate=_aggregate(having.aggregate, inquiry))


def inquiry_of(question: Question) -> Inquiry:
    """A question as an inquiry of one part."""
    keys = tuple(KeyColumn(name, banded=False) for name in question.group_by)
    shown = tuple(
        item if isinstance(item, GroupColumn) else Measure(Plain(AskedOfPart(0, item)), item.label)
        for item in question.shown
    )
    aggregates = tuple(dict.fromkeys([*question.aggregates, ROWS]))
    part = InquiredPart(question.condition, question.matching, aggregates)
    having = None if question.having is None else _of_formulas(question.having)
    return Inquiry(shown, keys, (part,), Plain(AskedOfPart(0, ROWS)), (), having, ())


def _of_formulas(having: Having) -> Having:
    if isinstance(having, Joined):
        return replace(having, parts=tuple(map(_of_formulas, having.parts)))
    return replace(having, aggregate=Plain(AskedOfPart(0, having.aggregate)))
