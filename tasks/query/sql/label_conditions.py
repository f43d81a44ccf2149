"""Conditions on labels as queries over label tables: rows that may be meant, and surely are.

Negations are pushed down to the tests, so that AND and OR join what may be with what may be, and
what is sure with what is sure. Each test on one recoded column is decided for each label, all parts
of a chain on the same column together; a test on several columns is decided where the labels are
single values, and can come to anything elsewhere. As `tasks.query.engines.labels` decides them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.query.behind_labels.decide import by_column, columns_of
from sfumato.tasks.query.help_tables.labels import (
    Kind,
)
from sfumato.tasks.query.question.question import TABLE
from sfumato.tasks.query.sql.decided_labels import Decided, Run, Tested
from sfumato.tasks.query.sql.label_tables import LabelTable, alone_name
from sfumato.tasks.query.sql.trees import Part, alias, join, own, select
from sfumato.tasks.sql.parse import literal, quote_name
from sfumato.tasks.terms.terms import Terms

_Conditions = tuple[exp.Expr, exp.Expr]
"""On the rows of a label table: that a condition may hold on what they tell, and may not."""
_Found = tuple[_Conditions, Callable[[exp.Expr], exp.Select]]


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


class MayMust(NamedTuple):
    """That a row may be meant, and that it surely is; null counts as false."""

    may: exp.Expr
    must: exp.Expr


@dataclass
class JoinedRows:
    """The rows of a release, joined with what is told of their labels.

    Attributes:
        declared: of the release.
        decided: decides what constants alone do.
        parts: the queries that rows are joined with.
        joins: their names, the conditions of joining, and how.
    """

    declared: Terms
    decided: Decided
    parts: list[Part] = field(default_factory=list)
    joins: list[tuple[str, exp.Expr, str]] = field(default_factory=list)

    def meant(self, node: exp.Expr, *, negated: bool = False) -> MayMust:
        """Whether a condition, or its opposite, means a row.

        Raises:
            QueryError: where label tables cannot tell.
        """
        asked = columns_of(node)
        if len(asked) == 1 and self._is_recoded(asked[0]):
            return self._of_labels(Tested(asked[0], node, negated))
        if isinstance(node, exp.Paren | exp.Not) and len(asked) != 1:
            return self.meant(node.this, negated=negated != isinstance(node, exp.Not))
        if isinstance(node, exp.And | exp.Or) and len(asked) > 1:
            parts = [self.meant(part, negated=negated) for part in by_column(node)]
            return connect(parts, every=isinstance(node, exp.And) != negated)
        return self._of_values(asked, exp.Not(this=exp.paren(node)) if negated else node)

    def cell(self, number: int, name: str, tested: Tested | None) -> MayMust:
        """Join rows with each value behind their labels, or with those on which a condition holds.

        Every row is there once for each of them; a null one has no value.

        Raises:
            QueryError: where label tables cannot tell.
        """
        cells, nulls = f"cells_{number}", self.declared.columns[name].nulls
        with_null = nulls and (tested is None or self.decided.on_null(tested))
        table = LabelTable(self.declared, name)
        self.parts.append((cells, self._values(table, tested, with_null=with_null)))
        self._join(cells, table, "LEFT" if with_null else "")
        found = MayMust(_is_there(cells), exp.EQ(this=own("alone", cells), expression=_one()))
        return self._or_null(found, name) if with_null else found

    def _values(self, table: LabelTable, tested: Tested | None, *, with_null: bool) -> exp.Query:
        """The query of the values behind each label, and whether they are alone there."""
        alone = self._alone(table)
        is_alone = exp.Case().when(_is_there(alone), _one()).else_(exp.Literal.number(0))
        query = table.told(table.label, table.value)
        query.select(alias(is_alone, "alone"), copy=False)
        on = exp.EQ(this=own("label", alone), expression=table.label.copy())
        join(query, alone, on, "LEFT")
        if tested is not None:
            holds = on_columns(tested.condition, {tested.name: table.value})
            query.where(holds, copy=False)
        if not with_null:
            return query
        nothing = [alias(exp.Null(), "value"), alias(exp.Literal.number(0), "alone")]
        admitting = table.labels(table.of("admits_null")).subquery("admitting", copy=False)
        nulls = select([own("label", "admitting"), *nothing], admitting)
        return exp.union(query, nulls, distinct=False, copy=False)

    def _of_labels(self, tested: Tested) -> MayMust:
        number = len(self.parts)
        may, open_ = f"may_{number}", f"open_{number}"
        queries = labels_meant(tested, self.declared, self.decided)
        table = LabelTable(self.declared, tested.name)
        for name, query in zip((may, open_), queries, strict=True):
            self.parts.append((name, query))
            self._join(name, table, "LEFT")
        surely = exp.and_(_is_there(may), _is_null(own("label", open_)), copy=False)
        found = MayMust(_is_there(may), surely)
        nulls = self.declared.columns[tested.name].nulls and self.decided.on_null(tested)
        return self._or_null(found, tested.name) if nulls else found

    def _of_values(self, asked: Iterable[str], condition: exp.Expr) -> MayMust:
        """A condition on values, which are known where columns are as they were, or a label is."""
        known = []
        columns: dict[str, exp.Expr] = {}
        for name in asked:
            columns[name] = of_row(name)
            if self._is_recoded(name):
                alone = self._alone(LabelTable(self.declared, name))
                columns[name] = own("value", alone)
                self._join(alone, LabelTable(self.declared, name), "LEFT")
                known.append(exp.or_(_is_there(alone), _is_null(of_row(name)), copy=False))
        holds = on_columns(condition, columns)
        if not known:
            return MayMust(holds, holds.copy())
        told = exp.and_(*known, copy=False)
        may = exp.or_(exp.not_(told), holds, copy=False)
        return MayMust(may, exp.and_(told.copy(), holds.copy(), copy=False))

    def _alone(self, table: LabelTable) -> str:
        name = alone_name(table.column)
        if name not in dict(self.parts):
            self.parts.append((name, table.alone()))
        return name

    def _join(self, name: str, table: LabelTable, kind: str) -> None:
        if name not in [known for known, *_ in self.joins]:
            on = exp.EQ(this=own("label", name), expression=of_row(table.column))
            self.joins.append((name, on, kind))

    def _is_recoded(self, name: str) -> bool:
        return self.declared.columns[name].role == "quasi-identifier"

    def _or_null(self, meant: MayMust, name: str) -> MayMust:
        is_null = _is_null(of_row(name))
        return connect([meant, MayMust(is_null, is_null.copy())], every=False)


def connect(parts: Iterable[MayMust], *, every: bool) -> MayMust:
    """The conjunction of some, or their disjunction."""
    join_all = exp.and_ if every else exp.or_
    may, must = (join_all(*of, copy=False) for of in zip(*parts, strict=True))
    return MayMust(may, must)


def of_row(name: str) -> exp.Column:
    """A published column of the table of rows."""
    return exp.column(exp.to_identifier(name, quoted=True), table=TABLE)


def _is_there(name: str) -> exp.Expr:
    """That a row is joined with one of a query."""
    return exp.not_(_is_null(own("label", name)), copy=False)


def _is_null(column: exp.Expr) -> exp.Is:
    return exp.Is(this=column, expression=exp.Null())


def _one() -> exp.Expr:
    return exp.Literal.number(1)
