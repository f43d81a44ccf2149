"""The SQL of a release, which depends on the way in which its form shows a person."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from sfumato.tasks.query.question.having import Reading
from sfumato.tasks.query.question.question import TABLE, Question
from sfumato.tasks.query.sql.marginal_counts import Estimator
from sfumato.tasks.sql.dialects.dialect import Types
from sfumato.tasks.terms.terms import Declared, Terms

Rewriting = Callable[[Question, Terms, Reading, Estimator], exp.Select]
"""Turns a question into a query over the published tables that returns its bounds."""


Beside = Callable[[Mapping[str, pa.Table], Terms], Mapping[str, pa.Table]]
"""Makes further tables from the published ones."""


@dataclass(frozen=True)
class SqlWay:
    """Queries for databases.

    Attributes:
        rewritten: returns the query for bounds.
        words: an explanation of the tables, for the release's `sql/duckdb.sql`.
        examples: examples of the aggregates that questions may ask, as trees; None if ready SQL has
            none.
        source: returns a query of the tables that examples ask.
        views: the sensitive columns that have views of their groups, and functions for bounds.
        exact_groups: whether these views contain exact sums and extremes, not bounds.
        refusal: returns the reason why no query is rewritten; None if queries are.
        queries: queries of the published tables themselves, with a title each.
        types: the types of the columns that are made in addition to the published ones.
        beside: the tables that are made from the published ones when a database is filled.
        of_vacant: an explanation of the values of people who left, if versions are composed.
    """

    rewritten: Rewriting
    words: Callable[[Declared], str]
    examples: Callable[[Declared], Sequence[exp.Expr]] | None
    views: Callable[[Terms], Sequence[str]]
    exact_groups: bool = True
    refusal: Callable[[Terms], str | None] = lambda _: None
    queries: Callable[[Declared], Sequence[tuple[str, exp.Select]]] = lambda _: ()
    types: Callable[[Terms], Types] = lambda _: {}
    of_vacant: Callable[[Declared], str] = lambda _: ""
    source: Callable[[exp.Select, Declared], exp.Select] = lambda query, _: query.from_(TABLE)
    beside: Beside = lambda _tables, _declared: {}
