"""The labels behind which a condition may hold, and behind which it may not, as queries."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.query.help_tables.labels import Kind
from sfumato.tasks.query.sql.label_conditions.decided import Decided, Run, Tested
from sfumato.tasks.query.sql.label_conditions.tables import LabelTable
from sfumato.tasks.sql.parse import literal, quote_name

_Conditions = tuple[exp.Expr, exp.Expr]
"""On the rows of a label table: that a condition may hold on what they tell, and may not."""


@dataclass(frozen=True)
class _Asking:
    """A condition on a recoded column, and its label table."""

    tested: Tested
    table: LabelTable
    decided: Decided

    @property
    def values(self) -> _Conditions:
        """That the condition holds on the values of the label table, and that it does not."""
        columns = {self.tested.name: self.table.value}
        holds, same = (on_columns(self.tested.condition, columns) for _ in range(2))
        known = exp.Coalesce(this=exp.paren(same, copy=False), expressions=[exp.false()])
        return holds, exp.Not(this=known)


def labels_meant(
    tested: Tested, declared: Terms, decided: Decided
) -> tuple[exp.Select, exp.Select]:
    """The queries of the labels behind which a condition may hold, and behind which it may not.

    Raises:
        QueryError: where label tables cannot tell.
    """
    asking = _Asking(tested, LabelTable(declared, tested.name), decided)
    (may, open_), query = _KINDS[asking.table.kind](asking)
    if declared.columns[tested.name].nulls:
        null = asking.table.of("admits_null")
        may, open_ = (_or(may, null), open_) if decided.on_null(tested) else (may, _or(open_, null))
    return query(may), query(open_)


def on_columns(node: exp.Expr, columns: Mapping[str, exp.Expr]) -> exp.Expr:
    """A condition, with other columns in the place of those that it names."""

    def put(part: exp.Expr) -> exp.Expr:
        return columns[part.name].copy() if isinstance(part, exp.Column) else part

    changed: exp.Expr = node.copy().transform(put, copy=False)
    return changed


_Found = tuple[_Conditions, Callable[[exp.Expr], exp.Select]]


def _by_ranges(asking: _Asking) -> _Found:
    """By the limits of labels, where constants alone are compared with; else by their values."""
    table, runs = asking.table, asking.decided.runs(asking.tested)
    if runs is None:
        return asking.values, lambda condition: _distinct(table.told(table.label), condition)
    may, open_ = (_or(*(_meets(run, table) for run in of)) for of in runs)
    return (may, open_), table.labels


def _meets(run: Run, table: LabelTable) -> exp.Expr:
    """That a label with limits admits one of some values; without a limit, there is no end."""
    tests: list[exp.Expr] = []
    if run.first is not None:
        tests.append(_reaches(table.of("high"), run.first, run.before, (exp.GTE, exp.GT)))
    if run.last is not None:
        tests.append(_reaches(table.of("low"), run.last, run.after, (exp.LTE, exp.LT)))
    return exp.and_(*tests, copy=False) if tests else exp.true()


def _reaches(
    limit: exp.Column, value: Any, next_: Any, signs: tuple[type[exp.Expr], type[exp.Expr]]
) -> exp.Expr:
    """That a limit is a value or beyond, by this value or by the next, which is shorter."""
    strict = next_ is not None and len(str(next_)) < len(str(value))
    test = signs[strict](this=limit, expression=literal(next_ if strict else value))
    return exp.Coalesce(this=test, expressions=[exp.true()])


def _by_values(asking: _Asking) -> _Found:
    """By the values of labels; one without a value can be anything."""
    return _with_stars(asking, asking.values), asking.table.labels


def _by_prefixes(asking: _Asking) -> _Found:
    """By the texts that a condition names: all others come to the same.

    Raises:
        QueryError: where the condition depends on more.
    """
    named = asking.decided.texts_named(asking.tested)
    if named is None:
        raise QueryError(
            f"column {quote_name(asking.tested.name)}: where labels keep the first characters of a "
            "text, databases are asked for texts by =, <>, IN and IS NULL: ask with `sfumato query`"
        )
    other = f"{max(named, default='')}\0"
    decided = asking.decided.on_texts(asking.tested, [*named, other])
    kept = asking.table.of("kept")
    of_prefixes = tuple(
        _and(_is_told(kept), _or(*_hidden(named, of.tolist(), asking.table))) for of in decided
    )
    plain = _with_stars(asking, asking.values, kept)
    may, open_ = (_or(*of) for of in zip(plain, of_prefixes, strict=True))
    return (may, open_), asking.table.labels


def _hidden(texts: Sequence[str], chosen: Sequence[bool], table: LabelTable) -> list[exp.Expr]:
    """That a label may stand for a chosen text; the last one is that of all others."""
    if chosen[-1]:
        return [exp.true()]
    return [_stands_for(text, table) for text, of in zip(texts, chosen, strict=False) if of]


def _stands_for(text: str, table: LabelTable) -> exp.Expr:
    first = exp.Literal.number(1)
    starts = [
        exp.Substring(this=of, start=first.copy(), length=exp.cast(table.of("kept"), "int"))
        for of in (table.label.copy(), literal(text))
    ]
    length = exp.EQ(this=table.of("length"), expression=exp.Literal.number(len(text)))
    return _and(exp.EQ(this=starts[0], expression=starts[1]), length)


def _with_stars(
    asking: _Asking, conditions: _Conditions, kept: exp.Column | None = None
) -> _Conditions:
    """The conditions on values, and on labels that tell neither a value nor what else is `kept`."""
    if not asking.table.has_stars:
        return conditions
    told = _is_told(asking.table.value)
    star = exp.not_(told) if kept is None else _and(exp.not_(told), exp.not_(_is_told(kept)))
    on_stars = asking.decided.on_anything(asking.tested)
    may, open_ = (
        _or(_and(told.copy(), holds), *([star.copy()] if on_star else []))
        for holds, on_star in zip(conditions, on_stars, strict=True)
    )
    return may, open_


def _is_told(column: exp.Expr) -> exp.Expr:
    return exp.not_(exp.Is(this=column.copy(), expression=exp.Null()), copy=False)


def _and(*parts: exp.Expr) -> exp.Expr:
    return exp.and_(*parts, copy=False)


def _or(*parts: exp.Expr) -> exp.Expr:
    return exp.or_(*parts, copy=False) if parts else exp.false()


def _distinct(query: exp.Select, condition: exp.Expr) -> exp.Select:
    return query.where(condition, copy=False).distinct(copy=False)


_KINDS: Mapping[Kind, Callable[[_Asking], _Found]] = {
    "ranges": _by_ranges,
    "values": _by_values,
    "prefixes": _by_prefixes,
}
