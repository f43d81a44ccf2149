"""Counts where every quasi-identifier stands by itself: what groups admit, and how much of it.

A group of g rows admits m values of a quasi-identifier, of which l are meant. Every value occurs:
l rows at least, and g - (m - l) at most, have a meant one; all of them if l = m. Of the sensitive
values it is known how many are meant. What several such terms leave to a conjunction of T of them
is bounded by max(0, Σ lower - (T - 1) g) and by the least upper bound. Groups add up.

Where v of a group's g rows are those of people who left, nothing tells which: all that the lower
bound counts may be, so that it is max(0, Σ lower - (T - 1) g - v), and at most g - v are here.
The estimate is of these.

The estimate multiplies shares: of a quasi-identifier l/m (Wang's estimator), or what is expected of
the meant values under one distribution for all groups (`weighted`, see
`expectations.measures.readings`).

Source: Wang, Ambiguity: hide the presence of individuals and their privacy with low information
loss; the bounds and the weights are this project's own.

Trees alone: no text of SQL is put together here.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from sfumato.tasks.query.help_tables.rows import expected_name, help_name
from sfumato.tasks.query.question.question import Matching, Question
from sfumato.tasks.query.question.ways import GROUP_ID, tables_of_counts
from sfumato.tasks.query.sql.sensitive_conditions import sizes_with_vacant
from sfumato.tasks.query.sql.trees import (
    Part,
    alias,
    join,
    key_names,
    keys_of,
    own,
    published_column,
    same,
    select,
    total_of,
    tree,
    trees,
    with_parts,
)
from sfumato.tasks.terms.terms import Terms

Estimator = Literal["weighted", "uniform"]
"""Values that a group admits are taken to occur as often as expected, or all equally often."""
Kept = Callable[[exp.Select], exp.Select]
"""What reads the rows of a query that every question about a release has alike."""


@dataclass(frozen=True)
class MarginalCounts:
    """A question about counts, as common table expressions over the published tables."""

    question: Question
    declared: Terms
    estimator: Estimator = "weighted"

    def bounds(self) -> exp.Select:
        """The query for bounds: k0, …, and l0, u0, e0, … for each aggregate."""
        columns: list[exp.Expr] = [*keys_of(self.question)]
        for number in range(len(self.question.aggregates)):
            shown = zip(("least", "most", "expected"), "lue", strict=True)
            columns += [alias(own(of), f"{side}{number}") for of, side in shown]
        return with_parts(self._parts(lambda query: query), select(columns, "counted"))

    def counts(self, kept: Kept = lambda query: query) -> exp.Select:
        """The query that counts cells' rows: group columns, then least, most, expected number."""
        columns = [*keys_of(self.question), *trees("least", "most", "expected")]
        return with_parts(self._parts(kept), select(columns, "counted"))

    @property
    def surely_some(self) -> bool:
        """True where each cell surely has rows: admitted values occur, but maybe not together."""
        return len(self._terms()) < 2 and not self.declared.composed

    def _parts(self, kept: Kept) -> list[Part]:
        terms = self._terms()
        parts: list[Part] = [("sizes", kept(self._sizes()))]
        for term in terms:
            parts += term.parts(kept)
        return [*parts, ("ranged", self._ranged(terms)), ("counted", self._counted())]

    def _sizes(self) -> exp.Select:
        """The query of the size of each group, and where people have left how many are here."""
        if self.declared.composed:
            return sizes_with_vacant()
        size = tree('SUM("count") AS size')
        table = next(iter(tables_of_counts(self.declared).values()))
        return select([own(GROUP_ID), size], table, by=[own(GROUP_ID)])

    def _terms(self) -> list["_Term"]:
        """The conditions on each quasi-identifier, and on the sensitive values."""
        asked = {matching.columns: matching for matching in self.question.matching}
        tables = tables_of_counts(self.declared)
        by_name = {columns[0]: columns for columns in asked if columns not in tables}
        terms = []
        for number, name in enumerate(self.question.group_by):
            matching = asked.pop(by_name[name]) if name in by_name else None
            terms.append(_Term(f"k{number}", matching, name, ""))
        for number, (columns, matching) in enumerate(asked.items()):
            if columns in tables:
                terms.append(_Term(f"s{number}", matching, None, tables[columns]))
            else:
                terms.append(_Term(f"q{number}", matching, columns[0], ""))
        return terms

    def _ranged(self, terms: list["_Term"]) -> exp.Select:
        """The bounds of each group in each cell, and what is expected of it."""
        lows = [term.low for term in terms]
        low = total_of(lows) if lows else own("size")
        if len(terms) > 1:
            spare = exp.Mul(this=exp.Literal.number(len(terms) - 1), expression=own("size"))
            low = exp.Sub(this=low, expression=spare)
        highs = [term.high for term in terms]
        if self.declared.composed:
            low = exp.Sub(this=low, expression=own("vacancies"))
            highs.append(own("live"))
        high = highs[0] if highs else own("size")
        if len(highs) > 1:
            high = exp.Least(this=highs[0], expressions=highs[1:], ignore_nulls=True)
        expected: exp.Expr = exp.cast(own("live" if self.declared.composed else "size"), "double")
        for term in terms:
            expected = term.shared(expected, self.estimator)
        keys = [own(key, f"meant_{key}") for key in key_names(self.question)]
        shown = [alias(low, "low"), alias(high, "high"), alias(expected, "expected")]
        query = select([*keys, *shown], "sizes")
        for table in (table for term in terms for table in term.joined):
            join(query, table, same(GROUP_ID, table, "sizes"))
        return query

    def _counted(self) -> exp.Select:
        """The bounds of each cell that may have rows; the estimate is within them."""
        columns = [*keys_of(self.question), *trees(*_SUMS)]
        cells = select(columns, "ranged", by=keys_of(self.question))
        shown = [*keys_of(self.question), *trees("least", "most", _CLIPPED)]
        return select(shown, cells.subquery("summed", copy=False))


_SUMS = (
    "COALESCE(SUM(CASE WHEN low > 0 THEN low ELSE 0 END), 0) AS least",
    "COALESCE(SUM(high), 0) AS most",
    "COALESCE(SUM(expected), 0) AS expected",
)
_CLIPPED = (
    "CASE WHEN expected < least THEN least WHEN expected > most THEN most "
    "ELSE expected END AS expected"
)


@dataclass(frozen=True)
class _Term:
    """A condition on one quasi-identifier, each value of which is a cell where it is a key.

    Or one on the sensitive values in one table.
    """

    key: str
    matching: Matching | None
    name: str | None
    table: str

    def parts(self, kept: Kept) -> Iterator[Part]:
        """The parts that count the values each group admits, and those of them that are meant."""
        if self.name is None:
            yield self._meant, self._grouped(tree('SUM("count") AS l'), table=self.table)
            return
        table, expected = help_name(self.name), own(expected_name(self.name))
        admitted = [own(GROUP_ID), tree("COUNT(*) AS m")]
        yield self._admitted, kept(select(admitted, table, by=[own(GROUP_ID)]))
        if self.key.startswith("k"):
            key = alias(published_column(self.name), self.key)
            columns = [own(GROUP_ID), key, tree("1 AS l"), alias(expected, "n")]
            yield self._meant, select(columns, table, where=self._conditions)
        else:
            sums = tree("COUNT(*) AS l"), alias(exp.Sum(this=expected), "n")
            yield self._meant, self._grouped(*sums, table=table)

    def _grouped(self, *columns: exp.Expr, table: str) -> exp.Select:
        shown = [own(GROUP_ID), *columns]
        return select(shown, table, where=self._conditions, by=[own(GROUP_ID)])

    @property
    def _conditions(self) -> list[exp.Expr]:
        return [self.matching.condition] if self.matching else []

    @property
    def _meant(self) -> str:
        return f"meant_{self.key}"

    @property
    def _admitted(self) -> str:
        return f"admitted_{self.key}"

    @property
    def joined(self) -> list[str]:
        """The tables to join: groups without a meant value do not count."""
        return [self._meant] if self.name is None else [self._meant, self._admitted]

    @property
    def low(self) -> exp.Expr:
        """The least number of a group's rows that have a meant value."""
        meant, admitted = own("l", self._meant), own("m", self._admitted)
        if self.name is None:
            return meant
        alike = exp.EQ(this=meant, expression=admitted)
        return exp.Case(ifs=[exp.If(this=alike, true=own("size"))], default=meant.copy())

    @property
    def high(self) -> exp.Expr:
        """The greatest number of a group's rows that have a meant value."""
        meant, admitted = own("l", self._meant), own("m", self._admitted)
        if self.name is None:
            return meant
        others = exp.Sub(this=own("size"), expression=admitted)
        return exp.Add(this=others, expression=meant)

    def shared(self, of: exp.Expr, estimator: Estimator) -> exp.Expr:
        """So many rows times the share of them that is taken to have a meant value."""
        weighted = self.name is not None and estimator == "weighted"
        among = own("size")
        if self.name is not None and not weighted:
            among = own("m", self._admitted)
        meant = own("n" if weighted else "l", self._meant)
        product = exp.Mul(this=of, expression=meant)
        return exp.Div(this=product, expression=among, typed=False, safe=False)
