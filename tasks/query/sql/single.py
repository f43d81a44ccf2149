"""Inquiries as questions that a database can be given as one query.

An inquiry is a SELECT as it was read. It has several parts if its aggregates are over different
sets of rows, as with FILTER; the first part is about the rows that WHERE selects. A part can be
asked as one question. An inquiry whose formulas are plain aggregates becomes one question, with
further ones beside it for aggregates over other rows.
"""

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.language.several import read_inquiries
from sfumato.tasks.query.question.calculations import extend_terms
from sfumato.tasks.query.question.conditions import all_of, conjuncts
from sfumato.tasks.query.question.formulas import PartAggregate, Plain
from sfumato.tasks.query.question.having import Having, Joined
from sfumato.tasks.query.question.inquiry import (
    ConstantColumn,
    InquiredPart,
    Inquiry,
    KeyColumn,
    Measure,
)
from sfumato.tasks.query.question.question import (
    ROWS,
    Aggregate,
    GroupColumn,
    KeyOrder,
    Question,
    SideBySide,
)
from sfumato.tasks.query.question.ways import WAYS
from sfumato.tasks.query.sql.exact_columns import why_not_calculated
from sfumato.tasks.query.sql.exact_columns import why_not_written as why_not_aggregated
from sfumato.tasks.query.sql.formulas import why_not_written as why_not_formula
from sfumato.tasks.terms.terms import Terms

_BY_SENSITIVE = "GROUP BY of a sensitive column"


def read_question(sql: str, declared: Terms) -> Question:
    """Return the one question of a SELECT.

    Raises:
        QueryError: if something in it is not allowed, or it is more than one question.
    """
    questions = read_questions(sql, declared)
    if questions.others:
        raise QueryError(
            "the query asks about several sets of rows. Ask about each in a query of its own"
        )
    return questions.whole


def read_questions(sql: str, declared: Terms) -> SideBySide:
    """Return the questions of a SELECT of plain aggregates.

    Raises:
        QueryError: if something in it is not allowed, or databases cannot be given it.
    """
    inquiry = read_writable(sql, declared)
    if has_formulas(inquiry):
        raise QueryError(
            "the query calculates with several questions. Ask each in a query of its own"
        )
    return questions_of(inquiry, declared)


def read_writable(sql: str, declared: Terms) -> Inquiry:
    """Return the inquiry of a SELECT that a database can be given as one query.

    Raises:
        QueryError: if something in it is not allowed, or databases cannot be given it.
    """
    several = read_inquiries(sql, declared)
    inquiry, *others = several.inquiries
    if others or several.summaries:
        raise QueryError(
            "the query cannot be written in SQL for databases, because it asks several "
            "questions. Ask with `sfumato query`"
        )
    if inquiry.related is not None and inquiry.related.alone:
        from sfumato.tasks.query.question.facts import beside_counts, people_alone

        inquiry = beside_counts(inquiry, declared)
    if inquiry.related is not None and inquiry.related.alone:
        reason = _why_not_written(replace(inquiry, related=None), people_alone(declared))
        if reason == _BY_SENSITIVE:
            raise QueryError(
                "the query cannot be written in SQL for databases: GROUP BY of a fact goes "
                "with COUNT(*) only. Write a query for each value, as in WHERE admitted, or ask "
                "with `sfumato query`"
            )
    else:
        reason = _why_not_written(inquiry, declared)
    if reason is not None:
        raise QueryError(
            f"the query cannot be written in SQL for databases, because of {reason}. Ask "
            "with `sfumato query`"
        )
    return inquiry


def questions_of(inquiry: Inquiry, declared: Terms) -> SideBySide:
    """Return the questions of an inquiry whose formulas are plain aggregates."""
    return _PlainInquiry(inquiry, declared).questions()


def has_formulas(inquiry: Inquiry) -> bool:
    """Decide whether a formula is a calculation with several questions, or OR joins some."""
    return not all(isinstance(formula, Plain) for formula in (*inquiry.formulas, inquiry.present))


def ordered_question(inquiry: Inquiry) -> Question:
    """Return the question of the selected group columns, with their order and limit."""
    names = tuple(key.name for key in inquiry.keys)
    columns = tuple(item for item in inquiry.shown if isinstance(item, GroupColumn))
    order = _order(inquiry, names)
    return Question(columns, None, names, order=order, limit=inquiry.limit, offset=inquiry.offset)


def _why_not_written(inquiry: Inquiry, declared: Terms) -> str | None:
    """Return the reason why databases cannot be given an inquiry as one query; None if they can."""
    reasons = {
        "a rank or a running total": bool(inquiry.windows),
        "PARTITION BY": any(part.partition for part in inquiry.parts),
        "a constant": any(isinstance(item, ConstantColumn) for item in inquiry.shown),
        "a join with a table of your own": bool(inquiry.joins),
        "a calculation with sensitive values": any(
            column.sensitive for column in inquiry.calculated
        )
        and not _only_compares_calculated(inquiry),
        _BY_SENSITIVE: inquiry.related is None and any(key.banded for key in inquiry.keys),
        "an aggregate of a column with labels": _is_of_labels(inquiry, declared),
    }
    fault = next((reason for reason, holds in reasons.items() if holds), None)
    return (
        fault
        or _formula_fault(inquiry, declared)
        or _exact_fault(inquiry, declared)
        or _order_fault(inquiry, declared)
    )


def _only_compares_calculated(inquiry: Inquiry) -> bool:
    """Decide whether calculations of two related tables are in conditions and GROUP BY alone.

    Then their values are compared where they are published, and not added up.
    """
    if inquiry.related is None:
        return False
    calculated = {column.name for column in inquiry.calculated}
    aggregated = {
        aggregate.sensitive
        for part in inquiry.parts
        for aggregate in (*part.aggregates, *part.exact)
    }
    return not calculated & aggregated


def _formula_fault(inquiry: Inquiry, declared: Terms) -> str | None:
    """Return the reason why formulas are not written; None if they are, or are plain aggregates."""
    if not has_formulas(inquiry):
        return None
    columns = extend_terms(declared, inquiry.calculated).columns
    formulas = (*inquiry.formulas, inquiry.present)
    why = (why_not_formula(formula, lambda name: columns[name].type) for formula in formulas)
    fault = next((reason for reason in why if reason is not None), None)
    if fault is not None:
        return fault
    if inquiry.having is not None:
        return (
            "HAVING together with a proportion, or with OR of columns that are published separately"
        )
    exact = [
        a
        for formula in formulas
        for a in formula.aggregates
        if a.aggregate in inquiry.parts[a.part].exact
    ]
    beside = "an aggregate of a column published as it is, together with a proportion or OR"
    return beside if exact else None


def _shows_rows(inquiry: Inquiry, declared: Terms) -> bool:
    """Decide whether the rows that an inquiry counts are published, each with its columns.

    Related rows are published without the columns of their people.
    """
    counts_related = inquiry.related is not None and inquiry.related.counted == "rows"
    return WAYS[declared.form.shows].shows_rows and not counts_related


def _is_of_labels(inquiry: Inquiry, declared: Terms) -> bool:
    """Decide whether an aggregate other than a count of rows is of a column with labels."""
    if not declared.is_recoded:
        return False
    names = (
        aggregate.sensitive
        for part in inquiry.parts
        for aggregate in (*part.aggregates, *part.exact)
    )
    published = [declared.columns[name] for name in names if name in declared.columns]
    return any(column.role == "quasi-identifier" for column in published)


class _PlainInquiry:
    """An inquiry of plain aggregates, split into questions."""

    def __init__(self, inquiry: Inquiry, declared: Terms) -> None:
        """Take an inquiry; `_base` is its first part."""
        self._inquiry, self._base = inquiry, inquiry.parts[0]
        self._counts_rows = _shows_rows(inquiry, declared) and not self._base.matching
        self._group_by = tuple(key.name for key in inquiry.keys)
        self._calculated = {column.name: column.expression for column in inquiry.calculated}

    def questions(self) -> SideBySide:
        """Return the question of the first part, and one for each part that needs its own.

        Raises:
            QueryError: if HAVING compares an aggregate of a part that needs its own question.
        """
        inquiry = self._inquiry
        apart: dict[int, list[Aggregate]] = {}
        for item in inquiry.shown:
            if isinstance(item, Measure) and (part := self._own_part(item.formula)) is not None:
                apart.setdefault(part, []).append(self._labelled_aggregate(item))
        if inquiry.having is not None:
            self._require_own(inquiry.having)
        others = tuple(self._other(part, aggregates) for part, aggregates in apart.items())
        places = {
            aggregate.label: n
            for n, aggregates in enumerate(apart.values())
            for aggregate in aggregates
        }
        is_single = len(others) == 1 and not self._group_by and len(places) == len(inquiry.shown)
        if is_single and inquiry.having is None:
            return SideBySide(others[0])
        return SideBySide(self._whole(), others, places)

    def _whole(self) -> Question:
        """Return the question of the first part, with all columns of the answer."""
        inquiry, group_by = self._inquiry, self._group_by
        items = tuple(
            self._labelled_aggregate(item) if isinstance(item, Measure) else item
            for item in inquiry.shown
            if not isinstance(item, ConstantColumn)
        )
        return Question(
            items,
            self._base.condition,
            group_by,
            self._base.matching,
            None if inquiry.having is None else self._of_aggregates(inquiry.having),
            self._calculated,
            _order(inquiry, group_by),
            inquiry.limit,
            inquiry.offset,
        )

    def _other(self, number: int, aggregates: Sequence[Aggregate]) -> Question:
        """Return the question of another part."""
        part = self._inquiry.parts[number]
        question = part.question(self._group_by if part.grouped else ())
        return replace(question.with_aggregates(aggregates), calculated=self._calculated)

    def _own_part(self, formula: object) -> int | None:
        """Return the part of an aggregate, if it needs a question of its own; None otherwise.

        The first part needs none. Exact aggregates and COUNT(*) with FILTER need none if all
        selected rows are known.
        """
        if not isinstance(formula, Plain):
            raise TypeError(formula)
        number, aggregate = formula.operand.part, formula.operand.aggregate
        part = self._inquiry.parts[number]
        if number == 0:
            return None
        of_rows = aggregate in part.exact or aggregate.counts_all_rows
        filtered = part.grouped and part.extra is not None and not part.matching
        return None if self._counts_rows and of_rows and filtered else number

    def _require_own(self, having: Having) -> None:
        if any(self._own_part(formula) is not None for formula in having.aggregates):
            raise QueryError(
                "the query cannot be written in SQL for databases, because HAVING is "
                "about other rows than WHERE. Ask with `sfumato query`"
            )

    def _labelled_aggregate(self, item: Measure) -> Aggregate:
        return replace(self._aggregate(item.formula), label=item.label)

    def _aggregate(self, formula: object) -> Aggregate:
        """Return an aggregate; with FILTER in `where` if it is exact and needs no own question."""
        if not isinstance(formula, Plain):
            raise TypeError(formula)
        aggregate, part = formula.operand.aggregate, self._inquiry.parts[formula.operand.part]
        if self._own_part(formula) is not None:
            return aggregate
        exact = aggregate in part.exact or part.extra is not None
        return replace(aggregate, exact=exact, where=_besides_nulls(part, aggregate))

    def _of_aggregates(self, having: Having) -> Having:
        if isinstance(having, Joined):
            return replace(having, parts=tuple(map(self._of_aggregates, having.parts)))
        return replace(having, aggregate=self._aggregate(having.aggregate))


def _order(inquiry: Inquiry, names: Sequence[str]) -> tuple[KeyOrder, ...]:
    """Return the group columns by which rows are ordered: those asked for, then all others."""
    order = tuple(
        KeyOrder(names[key.by], key.descending, key.nulls_first)
        for key in inquiry.order
        if isinstance(key.by, int)
    )
    return order + _others_in_order(inquiry, order)


def _others_in_order(inquiry: Inquiry, order: tuple[KeyOrder, ...]) -> tuple[KeyOrder, ...]:
    """Return the remaining group columns, for rows that are equal in those of `order`.

    Returns none if neither an order nor a limit is asked for.
    """
    if not order and inquiry.limit is None:
        return ()
    names = {ordered.name for ordered in order}
    others = (key.name for key in inquiry.keys if key.name not in names)
    return tuple(KeyOrder(name, descending=False, nulls_first=False) for name in others)


def _exact_fault(inquiry: Inquiry, declared: Terms) -> str | None:
    """Return the reason why exact and calculated columns are not written; None if they are.

    They are written only if it is known which rows match.
    """
    exact = [aggregate for part in inquiry.parts for aggregate in part.exact]
    if not inquiry.calculated and not exact:
        return None
    columns = extend_terms(declared, inquiry.calculated).columns
    if any(
        aggregate.distinct and columns[str(aggregate.sensitive)].role == "sensitive"
        for aggregate in exact
    ):
        return "COUNT(DISTINCT …) of a column with values that are published apart from rows"
    hidden = inquiry.related is None and any(
        part.matching for part in inquiry.parts if inquiry.calculated or part.exact
    )
    if hidden or not WAYS[declared.form.shows].shows_rows:
        what = "a calculation with columns" if inquiry.calculated else "an exact aggregate"
        return (
            f"{what} together with conditions on labels, or on values that are published separately"
        )
    if any(part.exact and not part.grouped for part in inquiry.parts):
        return "an exact aggregate of all rows of the answer"
    types = extend_terms(declared, inquiry.calculated).columns
    fault = why_not_calculated(inquiry.calculated, _compared_columns(inquiry), declared.columns)
    faults = (
        why_not_aggregated(aggregate, types[str(aggregate.sensitive)].type) for aggregate in exact
    )
    return fault or next((reason for reason in faults if reason is not None), None)


def _compared_columns(inquiry: Inquiry) -> set[str]:
    """Return the columns that conditions on rows contain."""
    base, *others = inquiry.parts
    conditions = [base.condition]
    conditions += [_besides_nulls(part, aggregate) for part in others for aggregate in part.exact]
    conditions += [part.condition for part in others if not part.only_counts_rows]
    if inquiry.related is not None:
        conditions += [matched.condition for part in inquiry.parts for matched in part.matching]
    return {
        column.name
        for condition in conditions
        if condition is not None
        for column in condition.find_all(exp.Column)
    }


def _besides_nulls(part: InquiredPart, aggregate: Aggregate) -> exp.Expr | None:
    """Return the condition of FILTER without the condition that the aggregated column is not null.

    Aggregates leave out nulls anyway.
    """
    if part.extra is None:
        return None
    there = exp.Not(
        this=exp.Is(this=exp.column(str(aggregate.sensitive), quoted=True), expression=exp.Null())
    )
    return all_of([condition for condition in conjuncts(part.extra) if condition.unnest() != there])


def _order_fault(inquiry: Inquiry, declared: Terms) -> str | None:
    """Return the reason why an order or LIMIT is not written; None if it is.

    It is written only if the order is certain, whatever lies within the bounds.
    """
    part = inquiry.parts[0]
    names = {item.name for item in inquiry.shown if isinstance(item, GroupColumn)}
    limited = inquiry.limit is not None or inquiry.offset > 0
    ordered = bool(inquiry.order) or limited
    rows_known = _shows_rows(inquiry, declared) and not part.matching and inquiry.having is None
    reasons = {
        "ORDER BY of columns that have bounds": not all(
            isinstance(entry.by, int) for entry in inquiry.order
        ),
        "ORDER BY of columns that are not shown": ordered
        and any(key.name not in names for key in inquiry.keys),
        "LIMIT of rows that may not be in the answer": limited
        and not (rows_known and isinstance(inquiry.present, Plain)),
        "OFFSET without LIMIT": inquiry.offset > 0 and inquiry.limit is None,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def inquiry_of(question: Question) -> Inquiry:
    """Return a question as an inquiry of one part."""
    keys = tuple(KeyColumn(name, banded=False) for name in question.group_by)
    items = tuple(
        item
        if isinstance(item, GroupColumn)
        else Measure(Plain(PartAggregate(0, item)), item.label)
        for item in question.shown
    )
    aggregates = tuple(dict.fromkeys([*question.aggregates, ROWS]))
    part = InquiredPart(question.condition, question.matching, aggregates)
    having = None if question.having is None else _of_formulas(question.having)
    return Inquiry(items, keys, (part,), Plain(PartAggregate(0, ROWS)), (), having, ())


def _of_formulas(having: Having) -> Having:
    if isinstance(having, Joined):
        return replace(having, parts=tuple(map(_of_formulas, having.parts)))
    return replace(having, aggregate=Plain(PartAggregate(0, having.aggregate)))
