"""Inquiries as questions that a database can be given as one query."""

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.query.language.several import read_inquiries
from sfumato.tasks.query.question.calculations import extend_terms
from sfumato.tasks.query.question.conditions import all_of, conjuncts
from sfumato.tasks.query.question.formulas import AskedOfPart, Plain
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


def read_question(sql: str, declared: Terms) -> Question:
    """The one question that a SELECT asks.

    Raises:
        QueryError: naming what is not allowed, or why it is more than one question.
    """
    asked = read_questions(sql, declared)
    if asked.others:
        raise QueryError("asks about several sets of rows: they are questions of their own")
    return asked.whole


def read_questions(sql: str, declared: Terms) -> SideBySide:
    """Return the questions that a SELECT of plain aggregates asks.

    Raises:
        QueryError: naming what is not allowed, or why databases cannot be given it.
    """
    inquiry = read_written(sql, declared)
    if has_formulas(inquiry):
        raise QueryError("asks for what is calculated of several questions")
    return questions_of(inquiry, declared)


def read_written(sql: str, declared: Terms) -> Inquiry:
    """Return what a SELECT asks that a database can be given as one query.

    Raises:
        QueryError: naming what is not allowed, or why databases cannot be given it.
    """
    inquiry, *others = read_inquiries(sql, declared).inquiries
    if others:
        raise QueryError(
            "not written in SQL for databases: several questions one after another; ask with "
            "`sfumato query`"
        )
    reason = _why_not_written(inquiry, declared)
    if reason is not None:
        raise QueryError(f"not written in SQL for databases: {reason}; ask with `sfumato query`")
    return inquiry


def questions_of(inquiry: Inquiry, declared: Terms) -> SideBySide:
    """Return the questions of an inquiry whose formulas are plain aggregates."""
    return _Written(inquiry, declared).questions()


def has_formulas(inquiry: Inquiry) -> bool:
    """Decide whether something is calculated of several questions, or OR joins some."""
    return not all(isinstance(of, Plain) for of in (*inquiry.formulas, inquiry.present))


def ordered_question(inquiry: Inquiry) -> Question:
    """Return the question of the group columns that are shown, as they are ordered and limited."""
    names = tuple(key.name for key in inquiry.keys)
    shown = tuple(item for item in inquiry.shown if isinstance(item, GroupColumn))
    order = _order(inquiry, names)
    return Question(shown, None, names, order=order, limit=inquiry.limit, offset=inquiry.offset)


def _why_not_written(inquiry: Inquiry, declared: Terms) -> str | None:
    """Why databases cannot be given an inquiry as one query; None where they can."""
    reasons = {
        "a constant": any(isinstance(item, ConstantColumn) for item in inquiry.shown),
        "a join with a table of your own": bool(inquiry.joins),
        "a calculation with sensitive values": any(one.sensitive for one in inquiry.calculated),
        "GROUP BY of a sensitive column": any(key.banded for key in inquiry.keys),
        "an aggregate of a column with labels": _is_of_labels(inquiry, declared),
    }
    found = next((reason for reason, holds in reasons.items() if holds), None)
    return (
        found
        or _of_formulas_asked(inquiry, declared)
        or _of_rows(inquiry, declared)
        or _of_order(inquiry, declared)
    )


def _of_formulas_asked(inquiry: Inquiry, declared: Terms) -> str | None:
    """Return why a formula is not written; None where all are, or are plain aggregates."""
    if not has_formulas(inquiry):
        return None
    columns = extend_terms(declared, inquiry.calculated).columns
    formulas = (*inquiry.formulas, inquiry.present)
    why = (why_not_formula(of, lambda name: columns[name].type) for of in formulas)
    found = next((reason for reason in why if reason is not None), None)
    if found is not None:
        return found
    if inquiry.having is not None:
        return "HAVING beside a proportion, or beside OR of columns that are published apart"
    exact = [a for of in formulas for a in of.asked if a.aggregate in inquiry.parts[a.part].exact]
    beside = "an aggregate of a column published as it is, beside a proportion or OR"
    return beside if exact else None


def _is_of_labels(inquiry: Inquiry, declared: Terms) -> bool:
    """Decide whether something but a count of rows is asked of a column that has labels."""
    if not declared.recoded:
        return False
    asked = (one.sensitive for part in inquiry.parts for one in (*part.aggregates, *part.exact))
    published = [declared.columns[name] for name in asked if name in declared.columns]
    return any(column.role == "quasi-identifier" for column in published)


class _Written:
    """An inquiry of plain aggregates, taken apart into questions."""

    def __init__(self, inquiry: Inquiry, declared: Terms) -> None:
        self._inquiry, self._base = inquiry, inquiry.parts[0]
        self._counts_rows = WAYS[declared.form.shows].shows_rows and not self._base.matching
        self._group_by = tuple(key.name for key in inquiry.keys)
        self._calculated = {one.name: one.expression for one in inquiry.calculated}

    def questions(self) -> SideBySide:
        inquiry = self._inquiry
        apart: dict[int, list[Aggregate]] = {}
        for item in inquiry.shown:
            if isinstance(item, Measure) and (part := self._apart(item.formula)) is not None:
                apart.setdefault(part, []).append(self._shown(item))
        if inquiry.having is not None:
            self._require_own(inquiry.having)
        others = tuple(self._other(part, asked) for part, asked in apart.items())
        places = {one.label: n for n, asked in enumerate(apart.values()) for one in asked}
        alone = len(others) == 1 and not self._group_by and len(places) == len(inquiry.shown)
        if alone and inquiry.having is None:
            return SideBySide(others[0])
        return SideBySide(self._whole(), others, places)

    def _whole(self) -> Question:
        inquiry, group_by = self._inquiry, self._group_by
        shown = tuple(
            self._shown(item) if isinstance(item, Measure) else item
            for item in inquiry.shown
            if not isinstance(item, ConstantColumn)
        )
        return Question(
            shown,
            self._base.condition,
            group_by,
            self._base.matching,
            None if inquiry.having is None else self._of_aggregates(inquiry.having),
            self._calculated,
            _order(inquiry, group_by),
            inquiry.limit,
            inquiry.offset,
        )

    def _other(self, number: int, asked: Sequence[Aggregate]) -> Question:
        part = self._inquiry.parts[number]
        question = part.question(self._group_by if part.grouped else ())
        return replace(question.with_aggregates(asked), calculated=self._calculated)

    def _apart(self, formula: object) -> int | None:
        """The part that an aggregate is a question of its own about, None where of the base."""
        if not isinstance(formula, Plain):
            raise TypeError(formula)
        number, asked = formula.of.part, formula.of.aggregate
        part = self._inquiry.parts[number]
        if number == 0:
            return None
        of_rows = asked in part.exact or asked.counts_all_rows
        filtered = part.grouped and part.extra is not None and not part.matching
        return None if self._counts_rows and of_rows and filtered else number

    def _require_own(self, having: Having) -> None:
        if any(self._apart(formula) is not None for formula in having.aggregates):
            raise QueryError(
                "not written in SQL for databases: HAVING of other rows than WHERE means; ask with "
                "`sfumato query`"
            )

    def _shown(self, item: Measure) -> Aggregate:
        return replace(self._aggregate(item.formula), label=item.label)

    def _aggregate(self, formula: object) -> Aggregate:
        if not isinstance(formula, Plain):
            raise TypeError(formula)
        asked, part = formula.of.aggregate, self._inquiry.parts[formula.of.part]
        if self._apart(formula) is not None:
            return asked
        exact = asked in part.exact or part.extra is not None
        return replace(asked, exact=exact, where=_besides_nulls(part, asked))

    def _of_aggregates(self, having: Having) -> Having:
        if isinstance(having, Joined):
            return replace(having, parts=tuple(map(self._of_aggregates, having.parts)))
        return replace(having, aggregate=self._aggregate(having.aggregate))


def _order(inquiry: Inquiry, names: Sequence[str]) -> tuple[KeyOrder, ...]:
    """Return the group columns that rows are ordered by."""
    order = tuple(
        KeyOrder(names[by.by], by.descending, by.nulls_first)
        for by in inquiry.order
        if isinstance(by.by, int)
    )
    return order + _others_in_order(inquiry, order)


def _others_in_order(inquiry: Inquiry, order: tuple[KeyOrder, ...]) -> tuple[KeyOrder, ...]:
    """The group columns that rows are ordered by where the others are alike."""
    if not order and inquiry.limit is None:
        return ()
    names = {one.name for one in order}
    others = (key.name for key in inquiry.keys if key.name not in names)
    return tuple(KeyOrder(name, descending=False, nulls_first=False) for name in others)


def _of_rows(inquiry: Inquiry, declared: Terms) -> str | None:
    """What of exact columns is not written: they are known where the rows that are meant are."""
    exact = [one for part in inquiry.parts for one in part.exact]
    if not inquiry.calculated and not exact:
        return None
    columns = extend_terms(declared, inquiry.calculated).columns
    if any(one.distinct and columns[str(one.sensitive)].role == "sensitive" for one in exact):
        return "COUNT(DISTINCT …) of a column whose values stand apart from rows"
    hidden = any(part.matching for part in inquiry.parts if inquiry.calculated or part.exact)
    if hidden or not WAYS[declared.form.shows].shows_rows:
        what = "a calculation with columns" if inquiry.calculated else "an exact aggregate"
        return f"{what} beside conditions on values that are published apart, or labels"
    if any(part.exact and not part.grouped for part in inquiry.parts):
        return "an exact aggregate of all rows of the answer"
    types = extend_terms(declared, inquiry.calculated).columns
    fault = why_not_calculated(inquiry.calculated, _compared(inquiry), declared.columns)
    faults = (why_not_aggregated(one, types[str(one.sensitive)].type) for one in exact)
    return fault or next((one for one in faults if one is not None), None)


def _compared(inquiry: Inquiry) -> set[str]:
    """The columns that conditions on rows are about."""
    base, *others = inquiry.parts
    conditions = [base.condition]
    conditions += [_besides_nulls(part, one) for part in others for one in part.exact]
    conditions += [part.condition for part in others if not part.counts_rows_alone]
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
        "LIMIT where rows may not be there": limited
        and not (known and isinstance(inquiry.present, Plain)),
        "OFFSET without LIMIT": inquiry.offset > 0 and inquiry.limit is None,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


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
