"""Queries that ask several questions, as UNION ALL does, or aggregate the groups of another one.

Each question is an inquiry; their rows follow one another in one answer. ROLLUP (a, b) has the
groupings (a, b), (a) and (); a column that a grouping leaves out is null in its rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.language.clauses import Clauses, OrderItem, order_items, read_clauses
from sfumato.tasks.query.language.grouped import query_in_from
from sfumato.tasks.query.language.read import read_one
from sfumato.tasks.query.language.sources import name_among
from sfumato.tasks.query.question.calculations import OwnTables
from sfumato.tasks.query.question.inquiry import Inquiry, SeveralInquiries
from sfumato.tasks.query.question.question import KeyOrder
from sfumato.tasks.sql.parse import parse, typed_texts
from sfumato.tasks.sql.refusals import refusal
from sfumato.tasks.terms.terms import Terms

_MOST = 64  # questions of one query
_CLAUSES = frozenset({"this", "expression", "distinct", "order", "with_"})


def read_inquiries(sql: str, declared: Terms, own: OwnTables | None = None) -> SeveralInquiries:
    """Return the inquiries of a query, in order; mostly there is only one.

    Args:
        sql: in DuckDB's dialect.
        declared: the terms of the release.
        own: the analyst's tables, which the microdata may be joined with.

    Raises:
        QueryError: naming what is not allowed, or the form that has no bounds.
    """
    try:
        tree = parse(sql, exp.Select, commented=True)
        texts = typed_texts(sql, tree)
        several = _read(tree, declared, own or {})
    except RecursionError:
        raise QueryError("nested too deeply. Use fewer parentheses or subqueries") from None
    return replace(several, headers=headers(texts, several.labels))


def headers(texts: Sequence[str | None], labels: Sequence[str]) -> tuple[str, ...]:
    """Return the header of each column of an answer: its alias, its name, or its typed text.

    They are the labels alone if the texts cannot be matched to columns, as with SELECT *, or if
    two headers would be the same.

    >>> headers(["COUNT( * )", None], ["count(*)", "sex"])
    ('COUNT( * )', 'sex')
    """
    if len(texts) != len(labels):
        return tuple(labels)
    typed = tuple(text or label for text, label in zip(texts, labels, strict=True))
    distinct = len({header.casefold() for header in typed}) == len(typed)
    return typed if distinct else tuple(labels)


def _read(tree: exp.Expr, declared: Terms, own: OwnTables) -> SeveralInquiries:
    if not isinstance(tree, exp.Union):
        if declared.has_related_rows:
            return _of_two_tables(tree, declared)
        return _of_groups(tree, declared, own) or _of_select(tree, declared, own)
    inquiries: list[Inquiry] = []
    for select in _selects(tree):
        part = _read(select, declared, own)
        if part.summaries:
            raise QueryError("UNION ALL: ask for an aggregate of groups in a query of its own")
        if part.order:
            raise QueryError("ORDER BY: in a UNION ALL, write it once, at the end")
        inquiries += part.inquiries
    _require_few(inquiries)
    labels = [item.label for item in inquiries[0].shown]
    if any(len(inquiry.shown) != len(labels) for inquiry in inquiries):
        raise QueryError("UNION ALL: each SELECT must show as many columns as the first")
    order = [_by_label(item, labels) for item in order_items(tree)]
    return SeveralInquiries(tuple(inquiries), tuple(order))


def _of_select(tree: exp.Expr, declared: Terms, own: OwnTables) -> SeveralInquiries:
    """Return the inquiry of a SELECT, or one for each of its groupings."""
    clauses = read_clauses(tree, declared.columns, own)
    if len(clauses.groupings) == 1:
        return SeveralInquiries((read_one(clauses, declared),))
    return _of_groupings(clauses, declared)


def _of_two_tables(tree: exp.Expr, declared: Terms) -> SeveralInquiries:
    """Return the inquiry of a query over people and their related rows."""
    from sfumato.tasks.query.language.two_tables import as_one_table
    from sfumato.tasks.query.question.facts import require_no_facts

    if not isinstance(tree, exp.Select):
        raise refusal(tree)
    single = as_one_table(tree, declared)
    clauses = read_clauses(single.select, single.terms.columns, {})
    if len(clauses.groupings) > 1:
        raise QueryError("several groupings of two tables are not answered. Ask each by itself")
    inquiry = replace(read_one(clauses, single.terms), related=single.scope)
    if single.scope.marks and any(part.exact for part in inquiry.parts):
        raise QueryError(
            "only COUNT has bounds where people are chosen by their related rows. Ask for COUNT(*)"
        )
    if not single.scope.alone:
        require_no_facts(inquiry, declared)
    return SeveralInquiries((inquiry,))


def _of_groups(tree: exp.Expr, declared: Terms, own: OwnTables) -> SeveralInquiries | None:
    """Return the inquiries of a query that only aggregates groups; None for other queries."""
    if not isinstance(tree, exp.Select) or query_in_from(tree) is None:
        return None
    from sfumato.tasks.query.language.summaries import read_summarizing

    summarizing = read_summarizing(tree)
    if summarizing is None:
        return None
    several = _read(summarizing.rows, declared, own)
    return replace(several, summaries=summarizing.summaries(several.labels))


def _selects(tree: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the queries of a UNION ALL, in order, each with the named queries that it may read."""
    if isinstance(tree, exp.Subquery) and not tree.alias:
        tree = tree.this
    if not isinstance(tree, exp.Union):
        yield tree
        return
    _require_plain(tree)
    named = tree.args.get("with_")
    for select in chain(_selects(tree.this), _selects(tree.expression)):
        if named is not None and select.args.get("with_") is None:
            select.set("with_", named.copy())
        yield select


def _require_plain(tree: exp.Union) -> None:
    """Refuse operators that merge equal rows, and clauses that pick some rows."""
    if tree.args.get("distinct"):
        raise refusal(tree)
    for key, value in tree.args.items():
        if value and key not in _CLAUSES:
            raise refusal(key, " of a UNION ALL")


def _by_label(item: OrderItem, labels: Sequence[str]) -> KeyOrder:
    """Return the column that orders the rows of a UNION ALL, given by its name or position."""
    node = item.expression
    if isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal():
        place = int(node.name) - 1
    else:
        name = name_among(node.name, labels) if isinstance(node, exp.Column) else None
        place = -1 if name is None else labels.index(name)
    if not 0 <= place < len(labels):
        raise QueryError("ORDER BY of a UNION ALL needs columns that its first SELECT shows")
    return KeyOrder(labels[place], item.descending, item.nulls_first)


def _of_groupings(clauses: Clauses, declared: Terms) -> SeveralInquiries:
    """Return one inquiry for each grouping; their rows are ordered together."""
    _require_few(clauses.groupings)
    if clauses.limit is not None or clauses.offset:
        raise QueryError(
            "LIMIT is not possible with several groupings. Ask each GROUP BY in a query of its own"
        )
    selected = [item.expression.unnest() for item in clauses.items]
    ordered = [key.expression for key in clauses.order]
    if any(node.find(exp.Window) for node in (*selected, *ordered)):
        raise QueryError(
            "OVER () is not possible with several groupings. Ask for the total in a query "
            "of its own"
        )
    if any(node.unnest() not in selected for node in ordered):
        raise QueryError("ORDER BY with several groupings needs columns that SELECT shows")
    inquiries = tuple(
        read_one(replace(clauses, groupings=(grouping,), order=()), declared)
        for grouping in clauses.groupings
    )
    labels = [item.label for item in inquiries[0].shown]
    order = (
        KeyOrder(labels[selected.index(key.expression.unnest())], key.descending, key.nulls_first)
        for key in clauses.order
    )
    return SeveralInquiries(inquiries, tuple(order))


def _require_few(questions: Sequence[object]) -> None:
    if len(questions) > _MOST:
        raise QueryError(f"a query may ask at most {_MOST} questions one after another")
