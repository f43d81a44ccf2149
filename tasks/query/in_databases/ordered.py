"""ORDER BY and LIMIT of answers whose group columns are known exactly."""

from sqlglot import exp

from sfumato.tasks.query.question.question import GroupColumn, Question


def in_order(tree: exp.Select, question: Question) -> exp.Select:
    """A query for bounds with its rows in the order that was asked for.

    Nulls are ordered by a key of their own, since databases put them first or last.
    """
    labels = {item.name: item.label for item in question.shown if isinstance(item, GroupColumn)}
    shown = {one.alias: one.this for one in tree.expressions if isinstance(one, exp.Alias)}
    for by in question.order:
        column = shown[labels[by.name]]
        null = exp.Is(this=column.copy(), expression=exp.Null())
        ends = ("0", "1") if by.nulls_first else ("1", "0")
        first, last = (exp.Literal.number(end) for end in ends)
        case = exp.Case(ifs=[exp.If(this=null, true=first)], default=last)
        tree.order_by(exp.Ordered(this=case), copy=False)
        tree.order_by(exp.Ordered(this=column.copy(), desc=by.descending), copy=False)
    if question.limit is not None:
        tree.limit(question.limit, copy=False)
    return tree.offset(question.offset, copy=False) if question.offset else tree
