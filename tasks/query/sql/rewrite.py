"""A query rewritten over the published tables, so that any database returns its bounds.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007).
The rows that a query selects are counted per group; joined with the help table, a count becomes
the bounds of every aggregate over the group, and groups add up, since each is shuffled on its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.having import Comparison, Having, Joined, Reading
from sfumato.tasks.query.question.question import (
    GroupColumn,
    Question,
    columns_of,
    read_question,
    sides,
)
from sfumato.tasks.query.question.relations import relations
from sfumato.tasks.query.sql.bounds_query import _named, bounds_query
from sfumato.tasks.query.sql.dialect_fixes import written
from sfumato.tasks.query.sql.marginal_counts import Apart, Estimator
from sfumato.tasks.query.sql.range_conditions import Narrowed, types_of
from sfumato.tasks.query.sql.sensitive_conditions import Matched
from sfumato.tasks.sql.dialects import Dialect, Types

_COMPARISONS: Mapping[str, type[exp.Expr]] = {
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
}


@dataclass(frozen=True)
class Rewritten:
    """A question, and the query over the published tables that returns its bounds."""

    question: Question
    tree: exp.Select
    types: Types

    def sql(self, dialect: Dialect = "duckdb") -> str:
        """The query as a database reads it.

        Raises:
            QueryError: naming what cannot be written for the database.
        """
        return written(self.tree, dialect, self.types)


def rewrite(
    sql: str,
    declared: Terms,
    reading: Reading = "possible",
    estimator: Estimator = "weighted",
) -> Rewritten:
    """Turn an aggregate query on `microdata` into one that returns a lower and an upper bound each.

    The columns of an aggregate called `x` are `x_lower` and `x_upper`, and `x_estimate` in a
    release that shows every quasi-identifier by itself. Of rows with a HAVING clause those are
    returned that keep it certainly, or possibly, as the reading says.

    Raises:
        QueryError: naming what is not allowed.
    """
    if declared.recoded:
        raise QueryError(
            f"a release in form {declared.form.method} is asked with `sfumato query` alone: "
            f"what its labels admit is not known to a database"
        )
    question = read_question(sql, declared)
    return Rewritten(
        question, _rewritten(question, declared, reading, estimator), types_of(declared)
    )


def _rewritten(
    question: Question, declared: Terms, reading: Reading, estimator: Estimator
) -> exp.Select:
    ends = columns_of(declared)
    if declared.form.shows == "columns":
        counts = Apart(question, declared, estimator)
        least = None if counts.surely_some else "l0"
        return _Bounds(question, counts.bounds(), ("l{}", "u{}", "e{}"), ends, least).read(reading)
    known = relations(declared)
    if question.matching:
        apart = Narrowed if declared.form.method == "redistributed" else Matched
        matched = apart(question, known).bounds()
        return _Bounds(question, matched, ("l{}", "u{}"), ends, "least").read(reading)
    if question.having is None:
        return bounds_query(question, known.rows)
    inner = bounds_query(question.asking(_numbered(question)), known.rows)
    keys = enumerate(inner.expressions[: len(question.group_by)])
    numbered = [exp.alias_(key.unalias(), f"k{n}") for n, key in keys]
    renamed = inner.select(*numbered, *inner.expressions[len(numbered) :], append=False)
    return _Bounds(question, renamed, sides("{}"), ends).read(reading)


def _numbered(question: Question) -> list[Aggregate]:
    return [replace(a, label=str(number)) for number, a in enumerate(question.aggregates)]


@dataclass(frozen=True)
class _Bounds:
    """A query for the bounds of a question, with group columns k0, k1, ….

    `names` are those of its columns for aggregate number {}, parallel to `shown_as`, the ends of
    the names that are shown. Its column `least` says how many rows are meant at least, where that
    may be none though there is a row of the answer.
    """

    question: Question
    tree: exp.Select
    names: tuple[str, ...]
    shown_as: tuple[str, ...]
    least: str | None = None

    def read(self, reading: Reading) -> exp.Select:
        """The columns as they were asked for, rows as HAVING wants them."""
        question, columns = self.question, []
        for item in question.shown:
            if isinstance(item, GroupColumn):
                key = exp.column(f"k{question.group_by.index(item.name)}")
                columns.append(_named(key, item.label))
            else:
                ends = zip(self._columns(item), self.shown_as, strict=True)
                columns += [_named(column, f"{item.label}_{end}") for column, end in ends]
        query = exp.select(*columns).from_(self.tree.subquery("answer"))
        return query.where(self._kept(question.having, reading)) if question.having else query

    def _columns(self, aggregate: Aggregate) -> list[exp.Column]:
        number = self.question.aggregates.index(aggregate)
        names = (name.format(number) for name in self.names)
        return [exp.column(exp.to_identifier(name, quoted=name[0].isdigit())) for name in names]

    def _kept(self, having: Having, reading: Reading) -> exp.Expr:
        """Which rows are returned: a group that is wanted for certain surely has rows."""
        wanted = self._wanted(having, reading)
        return self._and_some(wanted) if reading == "certain" and self.question.group_by else wanted

    def _and_some(self, wanted: exp.Expr) -> exp.Expr:
        """A condition, and that some row is surely meant."""
        if self.least is None:
            return wanted
        some = exp.GT(this=exp.column(self.least), expression=exp.Literal.number(0))
        return exp.and_(wanted, some)

    def _wanted(self, having: Having, reading: Reading) -> exp.Expr:
        """A condition on bounds, see `tasks.query.question.having`."""
        if isinstance(having, Joined):
            parts = [exp.paren(self._wanted(part, reading)) for part in having.parts]
            return exp.and_(*parts) if having.kind == "and" else exp.or_(*parts)
        wanted = self._compared(having, reading)
        null = not self.question.group_by and having.aggregate.function != "count"
        return self._and_some(wanted) if reading == "certain" and null else wanted

    def _compared(self, having: Comparison, reading: Reading) -> exp.Expr:
        low, high = self._columns(having.aggregate)[:2]
        constant = having.literal
        if having.operator in ("=", "<>"):
            inside = exp.and_(
                exp.LTE(this=low, expression=constant.copy()),
                exp.GTE(this=high, expression=constant.copy()),
            )
            alone = exp.and_(
                exp.EQ(this=low.copy(), expression=constant.copy()),
                exp.EQ(this=high.copy(), expression=constant.copy()),
            )
            equal = having.operator == "="
            wanted = inside if equal == (reading == "possible") else alone
            return wanted if equal else exp.not_(wanted)
        end = (low, high)[(having.operator[0] == ">") == (reading == "possible")]
        return _COMPARISONS[having.operator](this=end, expression=constant.copy())
