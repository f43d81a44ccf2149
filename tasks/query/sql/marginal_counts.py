"""Counts for releases that show each quasi-identifier separately, from the values groups admit.

A group of g rows admits m values of a quasi-identifier, of which l satisfy a condition. Every value
occurs: at least l rows have a matching one, or all rows if l = m, and at most g - (m - l) rows. For
sensitive values the number of matching ones is known. The bounds of a conjunction of T such terms
are max(0, Σ lower - (T - 1) g) and the least upper bound. Groups add up.

If v of a group's g rows belong to people who left, the release does not show which. All rows that
the lower bound counts may be among them, so that it is max(0, Σ lower - (T - 1) g - v), and at most
g - v rows belong to people who are still in the data. The estimate counts only these.

If the marginal of a column is published, it counts the rows of all groups with a matching value.
These are the most rows that match all terms. The least are the sum of these numbers, and of the
lower bounds of the other terms, minus (T - 1) times all rows. Bounds are intersected with that.

The estimate multiplies shares: l/m for a quasi-identifier (Wang's estimator), or the expected share
of the matching values under one distribution for all groups (`weighted`, see
`expectations.measures.readings`).

Source: Wang, Ambiguity: hide the presence of individuals and their privacy with low information
loss; the bounds and the weights are this project's own.

The module only builds trees, and no text of SQL.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from sfumato.tasks.forms.counts_table import marginal_table
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
from sfumato.tasks.schema.names import COUNT
from sfumato.tasks.terms.terms import Terms

Estimator = Literal["weighted", "uniform"]
"""Values that a group admits are assumed to occur as often as expected, or all equally often."""
Reuse = Callable[[exp.Select], exp.Select]
"""Returns a query of the stored rows of one that all questions about a release share."""


@dataclass(frozen=True)
class MarginalCounts:
    """A question about counts, as common table expressions over the published tables."""

    question: Question
    declared: Terms
    estimator: Estimator = "weighted"

    def bounds(self) -> exp.Select:
        """Return the query for bounds: k0, …, and l0, u0, e0, … for each aggregate."""
        columns: list[exp.Expr] = [*keys_of(self.question)]
        for number in range(len(self.question.aggregates)):
            names = zip(("least", "most", "expected"), "lue", strict=True)
            columns += [alias(own(name), f"{side}{number}") for name, side in names]
        return with_parts(self._parts(lambda query: query), select(columns, "counted"))

    def counts(self, reuse: Reuse = lambda query: query) -> exp.Select:
        """Return the query of cells' counts: group columns, then least, most and expected."""
        columns = [*keys_of(self.question), *trees("least", "most", "expected")]
        return with_parts(self._parts(reuse), select(columns, "counted"))

    @property
    def surely_some(self) -> bool:
        """True if each cell surely has rows: admitted values occur, but perhaps not together."""
        return len(self._terms()) < 2 and not self.declared.is_composed

    def _parts(self, reuse: Reuse) -> list[Part]:
        """Return the parts up to `counted`: the bounds and the estimate of each cell."""
        terms = self._terms()
        parts: list[Part] = [("sizes", reuse(self._sizes()))]
        for term in terms:
            parts += term.parts(reuse)
        counted = [term for term in terms if term.name in self.declared.form.counted_columns]
        if not counted:
            return [*parts, ("ranged", self._group_ranges(terms)), ("counted", self._cell_counts())]
        parts += [(term.totals_part, term.all_rows()) for term in counted]
        parts.append(("everyone", select([tree("SUM(size) AS n")], "sizes")))
        others = [term for term in terms if term not in counted]
        parts.append(("ranged", self._group_ranges(terms, others)))
        return [*parts, ("counted", self._narrowed_counts(counted, others))]

    def _sizes(self) -> exp.Select:
        """Return the query of the size of each group, and of those still here."""
        if self.declared.is_composed:
            return sizes_with_vacant()
        size = tree('SUM("count") AS size')
        table = next(iter(tables_of_counts(self.declared).values()))
        return select([own(GROUP_ID), size], table, group_by=[own(GROUP_ID)])

    def _terms(self) -> list["_Term"]:
        """Return the conditions on each quasi-identifier, and on the sensitive values."""
        by_columns = {matching.columns: matching for matching in self.question.matching}
        tables = tables_of_counts(self.declared)
        by_name = {columns[0]: columns for columns in by_columns if columns not in tables}
        terms = []
        for number, name in enumerate(self.question.group_by):
            matching = by_columns.pop(by_name[name]) if name in by_name else None
            terms.append(_Term(f"k{number}", matching, name, ""))
        for number, (columns, matching) in enumerate(by_columns.items()):
            if columns in tables:
                terms.append(_Term(f"s{number}", matching, None, tables[columns]))
            else:
                terms.append(_Term(f"q{number}", matching, columns[0], ""))
        return terms

    def _group_ranges(self, terms: list["_Term"], lows_of: Sequence["_Term"] = ()) -> exp.Select:
        """Return the query of the bounds and the expected number of each group in each cell.

        It also has the least number of rows by some terms, if any are named.
        """
        lows = [term.low for term in terms]
        low = total_of(lows) if lows else own("size")
        if len(terms) > 1:
            spare = exp.Mul(this=exp.Literal.number(len(terms) - 1), expression=own("size"))
            low = exp.Sub(this=low, expression=spare)
        highs = [term.high for term in terms]
        if self.declared.is_composed:
            low = exp.Sub(this=low, expression=own("vacancies"))
            highs.append(own("live"))
        high = highs[0] if highs else own("size")
        if len(highs) > 1:
            high = exp.Least(this=highs[0], expressions=highs[1:], ignore_nulls=True)
        expected: exp.Expr = exp.cast(
            own("live" if self.declared.is_composed else "size"), "double"
        )
        for term in terms:
            expected = term.expected_rows(expected, self.estimator)
        keys = [own(key, f"meant_{key}") for key in key_names(self.question)]
        ends = [alias(low, "low"), alias(high, "high"), alias(expected, "expected")]
        ends += [alias(term.low, term.low_name) for term in lows_of]
        query = select([*keys, *ends], "sizes")
        for table in (table for term in terms for table in term.tables):
            join(query, table, same(GROUP_ID, table, "sizes"))
        return query

    def _cell_counts(self) -> exp.Select:
        """Return the query of the bounds of each cell, with the estimate within them."""
        columns = [*keys_of(self.question), *trees(*_SUMS)]
        cells = select(columns, "ranged", group_by=keys_of(self.question))
        clipped = [*keys_of(self.question), *trees("least", "most", _CLIPPED)]
        return select(clipped, cells.subquery("summed", copy=False))

    def _narrowed_counts(self, counted: list["_Term"], others: list["_Term"]) -> exp.Select:
        """Return the query of the bounds of each cell, narrowed to what marginals admit."""
        lows = [tree(f"COALESCE(SUM({t.low_name}), 0) AS {t.low_name}") for t in others]
        sums = [*keys_of(self.question), *trees(*_SUMS), *lows]
        cells = select(sums, "ranged", group_by=keys_of(self.question))
        totals: list[exp.Expr] = [own("t", term.totals_part) for term in counted]
        floor = total_of([*totals, *(own(term.low_name) for term in others)])
        if spare := len(counted) + len(others) - 1:
            everyone = exp.Mul(this=exp.Literal.number(spare), expression=own("n"))
            floor = exp.Sub(this=floor, expression=everyone)
        least = exp.Greatest(this=own("least"), expressions=[floor], ignore_nulls=True)
        most = exp.Least(this=own("most"), expressions=totals, ignore_nulls=True)
        keys = keys_of(self.question, "summed")
        ends = [alias(least, "least"), alias(most, "most"), own("expected")]
        query = select([*keys, *ends], cells.subquery("summed", copy=False))
        join(query, "everyone", tree("1 = 1"))
        for term in counted:
            join(query, term.totals_part, term.is_same_cell)
        clipped = [*keys_of(self.question), *trees("least", "most", _CLIPPED)]
        return select(clipped, query.subquery("narrowed", copy=False))


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
    """A condition on one quasi-identifier, or on the sensitive values in one table.

    Attributes:
        key: the name of the term: k and a number for a group column, each value of which is a cell;
            q for another quasi-identifier, s for sensitive values.
        matching: the condition; None for a group column without one.
        name: the quasi-identifier; None for sensitive values.
        table: the table of the sensitive values; "" for a quasi-identifier.
    """

    key: str
    matching: Matching | None
    name: str | None
    table: str

    def parts(self, reuse: Reuse) -> Iterator[Part]:
        """Yield the parts that count the values each group admits (m), and those that match (l).

        `n` is the expected number of rows with a matching value.
        """
        if self.name is None:
            yield self._matching_part, self._by_group(tree('SUM("count") AS l'), table=self.table)
            return
        table, expected = help_name(self.name), own(expected_name(self.name))
        admitted = [own(GROUP_ID), tree("COUNT(*) AS m")]
        yield self._admitted_part, reuse(select(admitted, table, group_by=[own(GROUP_ID)]))
        if self.key.startswith("k"):
            key = alias(published_column(self.name), self.key)
            columns = [own(GROUP_ID), key, tree("1 AS l"), alias(expected, "n")]
            yield self._matching_part, select(columns, table, where=self._conditions)
        else:
            sums = tree("COUNT(*) AS l"), alias(exp.Sum(this=expected), "n")
            yield self._matching_part, self._by_group(*sums, table=table)

    def all_rows(self) -> exp.Select:
        """Return the query of the rows of all groups with a matching value, by the marginal."""
        name = str(self.name)
        table, column = marginal_table(name), published_column(name)
        if self.key.startswith("k"):
            return select([alias(column, self.key), alias(own(COUNT), "t")], table)
        matching = select([alias(column, "v")], help_name(name), where=self._conditions).distinct()
        query = select([tree('COALESCE(SUM("count"), 0) AS t')], table)
        admitted = exp.NullSafeEQ(this=column.copy(), expression=own("v", "admitted"))
        join(query, matching.subquery("admitted", copy=False), admitted)
        return query

    @property
    def is_same_cell(self) -> exp.Expr:
        """The condition that joins the rows of all groups to a cell."""
        if not self.key.startswith("k"):
            anyway: exp.Expr = tree("1 = 1")
            return anyway
        pair = own(self.key, "summed"), own(self.key, self.totals_part)
        return exp.NullSafeEQ(this=pair[0], expression=pair[1])

    @property
    def totals_part(self) -> str:
        """The part that counts the rows of all groups."""
        return f"totals_{self.key}"

    @property
    def low_name(self) -> str:
        """The column of the least number of a group's rows."""
        return f"low_{self.key}"

    def _by_group(self, *columns: exp.Expr, table: str) -> exp.Select:
        selected = [own(GROUP_ID), *columns]
        return select(selected, table, where=self._conditions, group_by=[own(GROUP_ID)])

    @property
    def _conditions(self) -> list[exp.Expr]:
        return [self.matching.condition] if self.matching else []

    @property
    def _matching_part(self) -> str:
        return f"meant_{self.key}"

    @property
    def _admitted_part(self) -> str:
        return f"admitted_{self.key}"

    @property
    def tables(self) -> list[str]:
        """The tables to join; a group without a matching value does not count."""
        return (
            [self._matching_part]
            if self.name is None
            else [self._matching_part, self._admitted_part]
        )

    @property
    def low(self) -> exp.Expr:
        """The least number of a group's rows that have a matching value."""
        matching, admitted = own("l", self._matching_part), own("m", self._admitted_part)
        if self.name is None:
            return matching
        alike = exp.EQ(this=matching, expression=admitted)
        return exp.Case(ifs=[exp.If(this=alike, true=own("size"))], default=matching.copy())

    @property
    def high(self) -> exp.Expr:
        """The greatest number of a group's rows that have a matching value."""
        matching, admitted = own("l", self._matching_part), own("m", self._admitted_part)
        if self.name is None:
            return matching
        others = exp.Sub(this=own("size"), expression=admitted)
        return exp.Add(this=others, expression=matching)

    def expected_rows(self, rows: exp.Expr, estimator: Estimator) -> exp.Expr:
        """Return a number of rows times the assumed share of them that has a matching value."""
        weighted = self.name is not None and estimator == "weighted"
        among = own("size")
        if self.name is not None and not weighted:
            among = own("m", self._admitted_part)
        matching = own("n" if weighted else "l", self._matching_part)
        product = exp.Mul(this=rows, expression=matching)
        return exp.Div(this=product, expression=among, typed=False, safe=False)
