"""Questions that are answered side by side, as one query, with its ORDER BY and LIMIT.

The rows are those of the first question, in one reading of HAVING. Another question, about fewer
rows, may have no rows in a group. There its counts are 0 and its other answers are null. It does
not matter whether it surely has rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from sfumato.tasks.query.question.having import Reading
from sfumato.tasks.query.question.question import ROWS, Aggregate, GroupColumn, Question, SideBySide
from sfumato.tasks.query.sql.trees import alias, join, keys_of, own

Writer = Callable[[Question, Reading], exp.Select]
"""Returns the query for the bounds of a question."""


_FIRST, _OTHER = "asked", "beside_{}"


def side_by_side(
    questions: SideBySide, write: Writer, reading: Reading, ends: Sequence[str]
) -> exp.Select:
    """Return the query for the bounds of several questions.

    Args:
        questions: the questions.
        write: returns the query of a question.
        reading: the reading of HAVING: it certainly holds on the rows, or possibly.
        ends: the ends of the names of an aggregate's bounds.
    """
    whole = questions.whole
    counts = [
        aggregate for aggregate in whole.aggregates if aggregate.label not in questions.places
    ]
    first = number_columns(replace(whole, order=(), limit=None, offset=0), counts or [ROWS])
    tables = [_FIRST, *(_OTHER.format(number) for number in range(len(questions.others)))]
    columns: list[exp.Expr] = []
    for item in whole.shown:
        if isinstance(item, GroupColumn):
            key = own(f"k{whole.group_by.index(item.name)}", _FIRST)
            columns.append(alias(key, item.label, quoted=True))
            continue
        place = questions.places.get(item.label)
        among = counts if place is None else list(questions.others[place].aggregates)
        table = tables[0 if place is None else place + 1]
        for end in ends:
            bound: exp.Expr = own(f"a{among.index(item)}_{end}", table)
            if place is not None and item.kind.counts_rows:
                bound = exp.Coalesce(this=bound, expressions=[exp.Literal.number(0)])
            columns.append(alias(bound, f"{item.label}_{end}", quoted=True))
    rows = _as_subquery(write(first, reading), _FIRST)
    query = exp.select(*columns, copy=False).from_(rows, copy=False)
    for table, question in zip(tables[1:], questions.others, strict=True):
        tree = write(number_columns(question, question.aggregates), "possible")
        join(query, _as_subquery(tree, table), same_keys(question, _FIRST, table), "LEFT")
    return query


def number_columns(question: Question, aggregates: Sequence[Aggregate]) -> Question:
    """Return the question with its columns under our names: k0, k1, … and a0, a1, …."""
    keys = [GroupColumn(name, f"k{n}") for n, name in enumerate(question.group_by)]
    named = [replace(aggregate, label=f"a{n}") for n, aggregate in enumerate(aggregates)]
    return replace(question, shown=(*keys, *named))


def _as_subquery(tree: exp.Select, name: str) -> exp.Subquery:
    return tree.subquery(name, copy=False)


def same_keys(question: Question, first_table: str, table: str) -> exp.Expr:
    """Return the condition that rows of two tables have the same group columns, nulls included."""
    pairs = zip(keys_of(question, first_table), keys_of(question, table), strict=True)
    same = [exp.NullSafeEQ(this=first, expression=other) for first, other in pairs]
    return exp.and_(*same) if same else exp.true()


def in_order(tree: exp.Select, question: Question) -> exp.Select:
    """Return a query for bounds with its rows in the order that was asked for.

    Nulls are ordered by a key of their own, since databases put them first or last.
    """
    labels = {item.name: item.label for item in question.shown if isinstance(item, GroupColumn)}
    columns = {
        output.alias: output.this for output in tree.expressions if isinstance(output, exp.Alias)
    }
    for key in question.order:
        column = columns[labels[key.name]]
        null = exp.Is(this=column.copy(), expression=exp.Null())
        ends = ("0", "1") if key.nulls_first else ("1", "0")
        first, last = (exp.Literal.number(end) for end in ends)
        case = exp.Case(ifs=[exp.If(this=null, true=first)], default=last)
        tree.order_by(exp.Ordered(this=case), copy=False)
        tree.order_by(exp.Ordered(this=column.copy(), desc=key.descending), copy=False)
    if question.limit is not None:
        tree.limit(question.limit, copy=False)
    return tree.offset(question.offset, copy=False) if question.offset else tree
