"""Conditions on labels as queries over label tables: rows that may match, and rows that surely do.

A label table has a row for each label of a column, or for each value behind it (see
`help_tables.labels`). A test may hold behind a label if it holds on some value there; it is open
there if it does not hold on some value. So it surely holds if it may hold and is not open.

Negations are pushed down to the tests, so that AND and OR combine the rows that may match with each
other, and those that surely do. Each test on one recoded column is decided for each label, with all
parts of a chain on the same column together. A test on several columns is decided where the labels
are single values, and can have any outcome elsewhere. `tasks.query.engines.labels` decides the same
way.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.behind_labels.decide import columns_of, parts_by_column
from sfumato.tasks.query.help_tables.labels import (
    Kind,
)
from sfumato.tasks.query.question.question import TABLE
from sfumato.tasks.query.sql.decided_labels import (
    ColumnTest,
    Decider,
    LabelTable,
    Run,
    single_values_name,
)
from sfumato.tasks.query.sql.trees import Part, alias, join, own, select
from sfumato.tasks.sql.parse import literal, quote_name
from sfumato.tasks.terms.terms import Terms

_Conditions = tuple[exp.Expr, exp.Expr]
"""Conditions on the rows of a label table: that a test may hold there, and that it may not."""
_ConditionsAndQuery = tuple[_Conditions, Callable[[exp.Expr], exp.Select]]
"""The same conditions, and a function that returns the query of the labels under one of them."""


@dataclass(frozen=True)
class _LabelCondition:
    """A test of a recoded column, its label table, and what decides outcomes on constants."""

    tested: ColumnTest
    table: LabelTable
    decided: Decider

    @property
    def values(self) -> _Conditions:
        """The conditions that the test holds on a value of the label table, and does not hold."""
        columns = {self.tested.name: self.table.value}
        holds, same = (on_columns(self.tested.condition, columns) for _ in range(2))
        surely = exp.Coalesce(this=exp.paren(same, copy=False), expressions=[exp.false()])
        return holds, exp.Not(this=surely)


def matching_labels(
    tested: ColumnTest, declared: Terms, decided: Decider
) -> tuple[exp.Select, exp.Select]:
    """Return the queries of the labels behind which a test may hold, and behind which it may not.

    Raises:
        QueryError: if label tables do not determine it.
    """
    asking = _LabelCondition(tested, LabelTable(declared, tested.name), decided)
    (may, open_), query = _KINDS[asking.table.kind](asking)
    if declared.columns[tested.name].nulls:
        null = asking.table.own_column("admits_null")
        may, open_ = (_or(may, null), open_) if decided.on_null(tested) else (may, _or(open_, null))
    return query(may), query(open_)


def on_columns(node: exp.Expr, columns: Mapping[str, exp.Expr]) -> exp.Expr:
    """Return a condition with its columns replaced by others."""

    def put(part: exp.Expr) -> exp.Expr:
        return columns[part.name].copy() if isinstance(part, exp.Column) else part

    changed: exp.Expr = node.copy().transform(put, copy=False)
    return changed


def _by_ranges(asking: _LabelCondition) -> _ConditionsAndQuery:
    """Decide by the limits of labels if the test compares with constants; else by their values."""
    table, runs = asking.table, asking.decided.runs(asking.tested)
    if runs is None:
        return asking.values, lambda condition: _distinct(
            table.values_query(table.label), condition
        )
    may, open_ = (_or(*(_meets(run, table) for run in side)) for side in runs)
    return (may, open_), table.labels


def _meets(run: Run, table: LabelTable) -> exp.Expr:
    """Return the condition that a label with limits admits a value of a run."""
    tests: list[exp.Expr] = []
    if run.first is not None:
        tests.append(_reaches(table.own_column("high"), run.first, run.before, (exp.GTE, exp.GT)))
    if run.last is not None:
        tests.append(_reaches(table.own_column("low"), run.last, run.after, (exp.LTE, exp.LT)))
    return exp.and_(*tests, copy=False) if tests else exp.true()


def _reaches(
    limit: exp.Column, value: Any, next_: Any, signs: tuple[type[exp.Expr], type[exp.Expr]]
) -> exp.Expr:
    """Return the condition that a limit of a label is a value or beyond, or missing.

    Args:
        limit: the limit.
        value: the value.
        next_: the value next to it, from which the limit lies strictly beyond; None if there is
            none. The shorter of both is written.
        signs: the comparison with the value, and the strict one with the next value.
    """
    strict = next_ is not None and len(str(next_)) < len(str(value))
    test = signs[strict](this=limit, expression=literal(next_ if strict else value))
    return exp.Coalesce(this=test, expressions=[exp.true()])


def _by_values(asking: _LabelCondition) -> _ConditionsAndQuery:
    """Decide by the values of labels; a label without a value admits anything."""
    return _with_stars(asking, asking.values), asking.table.labels


def _by_prefixes(asking: _LabelCondition) -> _ConditionsAndQuery:
    """Decide by the texts that a condition names; its outcome is the same for all other texts.

    Raises:
        QueryError: if the outcome depends on more.
    """
    named = asking.decided.texts_named(asking.tested)
    if named is None:
        raise QueryError(
            f"column {quote_name(asking.tested.name)}: its labels keep the first "
            "characters of a text, so SQL for databases can only compare it by =, <>, "
            "IN and IS NULL. Ask with `sfumato query`"
        )
    other = f"{max(named, default='')}\0"
    decided = asking.decided.on_texts(asking.tested, [*named, other])
    kept_length = asking.table.own_column("kept")
    of_prefixes = tuple(
        _and(_is_not_null(kept_length), _or(*_match_hidden(named, outcomes.tolist(), asking.table)))
        for outcomes in decided
    )
    plain = _with_stars(asking, asking.values, kept_length)
    may, open_ = (_or(*pair) for pair in zip(plain, of_prefixes, strict=True))
    return (may, open_), asking.table.labels


def _match_hidden(
    texts: Sequence[str], chosen: Sequence[bool], table: LabelTable
) -> list[exp.Expr]:
    """Return the conditions that a label hides a chosen text, one for each.

    `chosen` has one entry for each text and a last one for all other texts: if it is chosen, every
    label counts.
    """
    if chosen[-1]:
        return [exp.true()]
    return [
        _stands_for(text, table)
        for text, is_chosen in zip(texts, chosen, strict=False)
        if is_chosen
    ]


def _stands_for(text: str, table: LabelTable) -> exp.Expr:
    """Return the condition that a label shows a prefix of a text, and has its length."""
    first = exp.Literal.number(1)
    starts = [
        exp.Substring(
            this=side, start=first.copy(), length=exp.cast(table.own_column("kept"), "int")
        )
        for side in (table.label.copy(), literal(text))
    ]
    length = exp.EQ(this=table.own_column("length"), expression=exp.Literal.number(len(text)))
    return _and(exp.EQ(this=starts[0], expression=starts[1]), length)


def _with_stars(
    asking: _LabelCondition, conditions: _Conditions, kept_length: exp.Column | None = None
) -> _Conditions:
    """Return the conditions extended to labels without a value, which admit anything.

    Labels with a kept prefix have no value either; `kept_length` excludes them.
    """
    if not asking.table.has_stars:
        return conditions
    has_value = _is_not_null(asking.table.value)
    star = (
        exp.not_(has_value)
        if kept_length is None
        else _and(exp.not_(has_value), exp.not_(_is_not_null(kept_length)))
    )
    on_stars = asking.decided.on_anything(asking.tested)
    may, open_ = (
        _or(_and(has_value.copy(), holds), *([star.copy()] if on_star else []))
        for holds, on_star in zip(conditions, on_stars, strict=True)
    )
    return may, open_


def _is_not_null(column: exp.Expr) -> exp.Expr:
    return exp.not_(exp.Is(this=column.copy(), expression=exp.Null()), copy=False)


def _and(*parts: exp.Expr) -> exp.Expr:
    return exp.and_(*parts, copy=False)


def _or(*parts: exp.Expr) -> exp.Expr:
    return exp.or_(*parts, copy=False) if parts else exp.false()


def _distinct(query: exp.Select, condition: exp.Expr) -> exp.Select:
    return query.where(condition, copy=False).distinct(copy=False)


_KINDS: Mapping[Kind, Callable[[_LabelCondition], _ConditionsAndQuery]] = {
    "ranges": _by_ranges,
    "values": _by_values,
    "prefixes": _by_prefixes,
}


class MayMust(NamedTuple):
    """The conditions that a row may match, and that it surely does; null counts as false."""

    may: exp.Expr
    must: exp.Expr


@dataclass
class JoinedRows:
    """The rows of a release, joined with the queries of their labels.

    Attributes:
        declared: the terms of the release.
        decided: decides the outcomes that depend only on constants.
        parts: the queries that rows are joined with, by name.
        joins: the name of each query, the condition of joining, and the kind of join (as in SQL).
    """

    declared: Terms
    decided: Decider
    parts: list[Part] = field(default_factory=list)
    joins: list[tuple[str, exp.Expr, str]] = field(default_factory=list)

    def matches(self, node: exp.Expr, *, negated: bool = False) -> MayMust:
        """Return the conditions that a row may match, and that it surely matches, a condition.

        With `negated`, the negation of the condition is matched instead.

        Raises:
            QueryError: if label tables do not determine it.
        """
        names = columns_of(node)
        if len(names) == 1 and self._is_recoded(names[0]):
            return self._of_labels(ColumnTest(names[0], node, negated))
        if isinstance(node, exp.Paren | exp.Not) and len(names) != 1:
            return self.matches(node.this, negated=negated != isinstance(node, exp.Not))
        if isinstance(node, exp.And | exp.Or) and len(names) > 1:
            parts = [self.matches(part, negated=negated) for part in parts_by_column(node)]
            return connect(parts, every=isinstance(node, exp.And) != negated)
        return self._of_values(names, exp.Not(this=exp.paren(node)) if negated else node)

    def cell(self, number: int, name: str, tested: ColumnTest | None) -> MayMust:
        """Join rows with each value behind their labels, or with those on which a condition holds.

        Every row occurs once for each of these values; null has no value.

        Args:
            number: the number of the group column.
            name: the group column.
            tested: the condition on it; None if there is none.

        Raises:
            QueryError: if label tables do not determine it.
        """
        cells, nulls = f"cells_{number}", self.declared.columns[name].nulls
        with_null = nulls and (tested is None or self.decided.on_null(tested))
        table = LabelTable(self.declared, name)
        self.parts.append((cells, self._values(table, tested, with_null=with_null)))
        self._join(cells, table, "LEFT" if with_null else "")
        matches = MayMust(
            _is_there(cells), exp.EQ(this=own("alone", cells), expression=_literal_one())
        )
        return self._or_null(matches, name) if with_null else matches

    def _values(
        self, table: LabelTable, tested: ColumnTest | None, *, with_null: bool
    ) -> exp.Query:
        """Return the query of the values behind each label, and whether each is alone there."""
        alone = self._alone(table)
        is_alone = exp.Case().when(_is_there(alone), _literal_one()).else_(exp.Literal.number(0))
        query = table.values_query(table.label, table.value)
        query.select(alias(is_alone, "alone"), copy=False)
        on = exp.EQ(this=own("label", alone), expression=table.label.copy())
        join(query, alone, on, "LEFT")
        if tested is not None:
            holds = on_columns(tested.condition, {tested.name: table.value})
            query.where(holds, copy=False)
        if not with_null:
            return query
        nothing = [alias(exp.Null(), "value"), alias(exp.Literal.number(0), "alone")]
        admitting = table.labels(table.own_column("admits_null")).subquery("admitting", copy=False)
        nulls = select([own("label", "admitting"), *nothing], admitting)
        return exp.union(query, nulls, distinct=False, copy=False)

    def _of_labels(self, tested: ColumnTest) -> MayMust:
        """Join rows with the labels behind which a test may hold, and behind which it is open."""
        number = len(self.parts)
        may, open_ = f"may_{number}", f"open_{number}"
        queries = matching_labels(tested, self.declared, self.decided)
        table = LabelTable(self.declared, tested.name)
        for name, query in zip((may, open_), queries, strict=True):
            self.parts.append((name, query))
            self._join(name, table, "LEFT")
        surely = exp.and_(_is_there(may), _is_null(own("label", open_)), copy=False)
        matches = MayMust(_is_there(may), surely)
        nulls = self.declared.columns[tested.name].nulls and self.decided.on_null(tested)
        return self._or_null(matches, tested.name) if nulls else matches

    def _of_values(self, names: Iterable[str], condition: exp.Expr) -> MayMust:
        """Return a condition on columns that are exact, or have a label of a single value.

        In rows with another label, it may match and does not surely match.
        """
        known_conditions = []
        columns: dict[str, exp.Expr] = {}
        for name in names:
            columns[name] = of_row(name)
            if self._is_recoded(name):
                alone = self._alone(LabelTable(self.declared, name))
                columns[name] = own("value", alone)
                self._join(alone, LabelTable(self.declared, name), "LEFT")
                known_conditions.append(
                    exp.or_(_is_there(alone), _is_null(of_row(name)), copy=False)
                )
        holds = on_columns(condition, columns)
        if not known_conditions:
            return MayMust(holds, holds.copy())
        all_known = exp.and_(*known_conditions, copy=False)
        may = exp.or_(exp.not_(all_known), holds, copy=False)
        return MayMust(may, exp.and_(all_known.copy(), holds.copy(), copy=False))

    def _alone(self, table: LabelTable) -> str:
        """Return the name of the query of the labels with a single value, and add it once."""
        name = single_values_name(table.column)
        if name not in dict(self.parts):
            self.parts.append((name, table.single_values()))
        return name

    def _join(self, name: str, table: LabelTable, kind: str) -> None:
        if name not in [joined_name for joined_name, *_ in self.joins]:
            on = exp.EQ(this=own("label", name), expression=of_row(table.column))
            self.joins.append((name, on, kind))

    def _is_recoded(self, name: str) -> bool:
        return self.declared.columns[name].role == "quasi-identifier"

    def _or_null(self, matches: MayMust, name: str) -> MayMust:
        """Return the conditions extended to rows in which a column is null."""
        is_null = _is_null(of_row(name))
        return connect([matches, MayMust(is_null, is_null.copy())], every=False)


def connect(parts: Iterable[MayMust], *, every: bool) -> MayMust:
    """Return the conjunction of some conditions, or their disjunction."""
    join_all = exp.and_ if every else exp.or_
    may, must = (join_all(*side, copy=False) for side in zip(*parts, strict=True))
    return MayMust(may, must)


def of_row(name: str) -> exp.Column:
    """Return a published column of the table of rows."""
    return exp.column(exp.to_identifier(name, quoted=True), table=TABLE)


def _is_there(name: str) -> exp.Expr:
    """Return the condition that a row is joined with a row of a query."""
    return exp.not_(_is_null(own("label", name)), copy=False)


def _is_null(column: exp.Expr) -> exp.Is:
    return exp.Is(this=column, expression=exp.Null())


def _literal_one() -> exp.Expr:
    return exp.Literal.number(1)
