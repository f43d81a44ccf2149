"""Rewriting of a query over the published tables, so that any database returns its bounds.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007).
The selected rows are counted per group. Joined with the help table, which has the bounds for each
group and count, a count becomes the bounds of every aggregate over the group. Groups add up, since
each is shuffled independently.
"""

from dataclasses import dataclass, replace

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.question.having import Reading
from sfumato.tasks.query.question.inquiry import Inquiry
from sfumato.tasks.query.question.question import Question
from sfumato.tasks.query.question.ways import WAYS
from sfumato.tasks.query.sql.dialect_fixes import spell_bounds, write_bounds
from sfumato.tasks.query.sql.formulas import FormulaQuery
from sfumato.tasks.query.sql.marginal_counts import Estimator
from sfumato.tasks.query.sql.registry import SQL_WAYS
from sfumato.tasks.query.sql.side_by_side import in_order, side_by_side
from sfumato.tasks.query.sql.single import (
    has_formulas,
    ordered_question,
    questions_of,
    read_writable,
)
from sfumato.tasks.sql.dialects.dialect import Types
from sfumato.tasks.sql.dialects.registry import DIALECTS
from sfumato.tasks.terms.terms import Terms


@dataclass(frozen=True)
class Rewritten:
    """A query over the published tables that returns bounds, and the types of its columns.

    Attributes:
        tree: the query, with marks in place of quotients; each database rounds these outwards in
            its own way.
        types: the types of the columns of published tables.
    """

    tree: exp.Select
    types: Types

    @property
    def duckdb_tree(self) -> exp.Expr:
        """The query as DuckDB runs it."""
        return spell_bounds(self.tree, DIALECTS["duckdb"], self.types)

    def sql(self, dialect: str = "duckdb") -> str:
        """Return the query as a database reads it.

        Raises:
            QueryError: if something in it cannot be written for the database.
        """
        return write_bounds(self.tree, DIALECTS[dialect], self.types)


def rewrite(
    sql: str,
    declared: Terms,
    reading: Reading = "possible",
    estimator: Estimator = "weighted",
) -> Rewritten:
    """Turn an aggregate query on `microdata` into one that returns a lower and an upper bound each.

    The columns of an aggregate called `x` are `x_lower` and `x_upper`, and `x_estimate` in a
    release that shows each quasi-identifier separately. With HAVING the query returns the rows that
    satisfy it certainly, or possibly, according to the reading.

    Raises:
        QueryError: if something in it is not allowed, or databases cannot be given it.
    """
    way = SQL_WAYS[declared.form.shows]
    refusal = way.refusal(declared)
    if refusal is not None:
        raise QueryError(refusal)
    inquiry = read_writable(sql, declared)
    if inquiry.related is not None and inquiry.related.alone:
        from sfumato.tasks.query.question.facts import people_alone, with_people_named

        alone = replace(inquiry, related=None)
        rewritten = _write_inquiry(alone, people_alone(declared), reading, estimator)
        return replace(rewritten, tree=with_people_named(rewritten.tree, declared.form))
    return _write_inquiry(inquiry, declared, reading, estimator)


def _write_inquiry(
    inquiry: Inquiry, declared: Terms, reading: Reading, estimator: Estimator
) -> Rewritten:
    """Return the query for the bounds of an inquiry."""
    way = SQL_WAYS[declared.form.shows]
    types = {name: column.type for name, column in declared.columns.items()}

    def write(question: Question, reading: Reading) -> exp.Select:
        counted = replace(question, related=inquiry.related)
        return way.rewritten(counted, declared, reading, estimator)

    types = {**types, **way.types(declared)}
    if has_formulas(inquiry):
        tree = FormulaQuery(inquiry, write).tree(reading)
        return Rewritten(in_order(tree, ordered_question(inquiry)), types)
    questions = questions_of(inquiry, declared)
    if questions.others:
        tree = side_by_side(questions, write, reading, WAYS[declared.form.shows].sides)
    else:
        tree = write(questions.whole, reading)
    return Rewritten(in_order(tree, questions.whole), types)
