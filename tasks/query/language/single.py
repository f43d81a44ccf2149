"""Inquiries that are one question, which a database can be given as one query."""

from dataclasses import replace

from sfumato.expectations.errors import QueryError
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.query.language.read import read_inquiry
from sfumato.tasks.query.question.aggregate import ROWS, Aggregate
from sfumato.tasks.query.question.formulas import AskedOfPart, Plain
from sfumato.tasks.query.question.having import Having, Joined
from sfumato.tasks.query.question.inquiry import InquiredPart, Inquiry, KeyColumn, Measure
from sfumato.tasks.query.question.question import GroupColumn, Question


def read_question(sql: str, declared: Terms) -> Question:
    """The one question that a SELECT asks.

    Raises:
        QueryError: naming what is not allowed, or why it is more than one question.
    """
    inquiry = read_inquiry(sql, declared)
    reason = _more_than_one(inquiry)
    if reason is not None:
        raise QueryError(f"not written in SQL for databases: {reason}; ask with `sfumato query`")
    (part,) = inquiry.parts
    shown = tuple(item if isinstance(item, GroupColumn) else _shown(item) for item in inquiry.shown)
    group_by = tuple(key.name for key in inquiry.keys)
    having = None if inquiry.having is None else _of_aggregates(inquiry.having)
    return Question(shown, part.condition, group_by, part.matching, having)


def _more_than_one(inquiry: Inquiry) -> str | None:
    """What makes an inquiry more than one question."""
    reasons = {
        "a join with a table of your own": bool(inquiry.joins),
        "a calculation with columns": bool(inquiry.calculated),
        "GROUP BY of a sensitive column": any(key.banded for key in inquiry.keys),
        "ORDER BY or LIMIT": bool(inquiry.order) or inquiry.limit is not None or inquiry.offset > 0,
        "FILTER, or OR of conditions on columns that are published apart": len(inquiry.parts) > 1,
        "an aggregate of a column published as it is": any(part.exact for part in inquiry.parts),
        "a calculation with aggregates": not all(isinstance(f, Plain) for f in inquiry.formulas),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _shown(item: Measure) -> Aggregate:
    return replace(_aggregate(item.formula), label=item.label)


def _aggregate(formula: object) -> Aggregate:
    if not isinstance(formula, Plain):
        raise TypeError(formula)
    return formula.of.aggregate


def _of_aggregates(having: Having) -> Having:
    if isinstance(having, Joined):
        return replace(having, parts=tuple(map(_of_aggregates, having.parts)))
    return replace(having, aggregate=_aggregate(having.aggregate))


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
