"""Conditions by three-valued logic as pairs: that a row may be meant, and that it surely is.

Negations are pushed down to the tests, so that AND and OR join what may be with what may be, and
what is sure with what is sure. Each test on one recoded column is decided for each label, all parts
of a chain on the same column together; a test on several columns is decided where the labels are
single values, and can come to anything elsewhere. As `tasks.query.engines.labels` decides them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlglot import exp

from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.query.behind_labels.decide import by_column, columns_of
from sfumato.tasks.query.question.question import TABLE
from sfumato.tasks.query.sql.conditions.trees import Part, alias, join, own, select
from sfumato.tasks.query.sql.label_conditions.behind import labels_meant, on_columns
from sfumato.tasks.query.sql.label_conditions.decided import Decided, Tested
from sfumato.tasks.query.sql.label_conditions.tables import LabelTable, alone_name


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
