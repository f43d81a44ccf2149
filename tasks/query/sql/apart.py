"""The SQL of two related tables: their contents, and bounds of questions across both."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from sfumato.expectations.shared.errors import Fault
from sfumato.tasks.forms.related.parameters import GROUPS, MOST, PEOPLE, ROWS
from sfumato.tasks.query.question.calculations import put_calculated
from sfumato.tasks.query.question.having import Reading
from sfumato.tasks.query.question.question import Matching, Question
from sfumato.tasks.query.question.ways import apart as way
from sfumato.tasks.query.sql.bounds_query import AnswerColumns, of_help_tables
from sfumato.tasks.query.sql.facts import HIT_PEOPLE, FactConditions
from sfumato.tasks.query.sql.marginal_counts import Estimator
from sfumato.tasks.query.sql.related_counts import PeopleQuery, RelatedRowsQuery, form_of_terms
from sfumato.tasks.query.sql.trees import CELLED
from sfumato.tasks.query.sql.way import SqlWay
from sfumato.tasks.schema.formats import tells
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.terms.terms import Declared, Terms

_RESERVED = re.compile(
    rf"selected|{HIT_PEOPLE}|hit_(rows|numbers|totals)|met_people|{CELLED}|ranged|counted|"
    r"(fact|hit|met|valued|ranked|copies|pieces|taken|sums|fewest|extreme|hull|runs|bounds)_[0-9]+"
)
"""The names of parts of queries."""


def _words(declared: Declared) -> str:
    form = form_of_terms(declared)
    return (
        f"{form.people} has one row for each person, {form.related} the rows that belong to them; "
        f"{GROUP_ID} is the only link between them. {GROUPS} has every group once: {PEOPLE}, "
        f"{ROWS}, and {MOST}, the most rows of one person of the group. {_further(declared)}"
    )


def _further(declared: Declared) -> str:
    """Return how to get bounds of further questions, in the words of the release's layout."""
    if not tells("two tables", declared.software):
        return "Bounds of questions across both tables: sfumato query."
    return '`sfumato query . "…" --rewrite duckdb` writes queries for bounds of other questions.'


def _examples(declared: Declared) -> Sequence[exp.Expr]:
    """Return the number of people who have rows."""
    key = exp.column(form_of_terms(declared).key, quoted=True)
    return [exp.Count(this=exp.Distinct(expressions=[key]))]


def _join(query: exp.Select, declared: Declared) -> exp.Select:
    """Return a query of people and their rows."""
    form = form_of_terms(declared)
    return query.from_(form.people).join(form.related, using=[exp.to_identifier(form.key, True)])


def _rewrite(question: Question, declared: Terms, reading: Reading, _: Estimator) -> exp.Select:
    form, scope = form_of_terms(declared), question.related
    if scope is None:
        raise Fault("a question about two related tables counts people, or related rows")
    question = replace(question, matching=tuple(_published_conditions(question)))
    facts = FactConditions(question, declared, form.people)
    if scope.counted == "people" and not question.matching and not facts.parts():
        return of_help_tables(question, form.people, way.sides, reading)
    if scope.counted == "rows":
        bounds = RelatedRowsQuery(facts.rest, declared, facts).bounds()
    else:
        bounds = PeopleQuery(facts.rest, declared, facts, scope).bounds()
    return AnswerColumns(question, bounds, ("l{}", "u{}"), way.sides, "least").read(reading)


def _published_conditions(question: Question) -> Iterator[Matching]:
    """Yield the conditions on facts and on related rows, over published columns alone."""
    for part in question.matching:
        yield replace(part, condition=put_calculated(part.condition, question.calculated))


def _refusal(terms: Terms) -> str | None:
    """Return why no query is written, if a table has a name that these use for their parts."""
    form = form_of_terms(terms)
    for name in (form.people, form.related):
        if _RESERVED.fullmatch(name):
            return (
                f"the query cannot be written in SQL for databases, because a part of it may have "
                f"the name of the table {name}. Ask with `sfumato query`"
            )
    return None


def _queries(declared: Declared) -> Sequence[tuple[str, exp.Select]]:
    """Return a query with each group's people, rows, and the commonest values among these."""
    form = form_of_terms(declared)
    first = exp.column(form.columns[0], quoted=True)
    counted = exp.select(first, exp.Count(this=exp.Star()).as_("related_rows"))
    query = counted.from_(form.related).group_by(first.copy()).order_by("related_rows DESC")
    return [(f"Exact: the rows of {form.related} by {form.columns[0]}", query)]


apart = SqlWay(
    rewritten=_rewrite,
    words=_words,
    examples=_examples,
    views=lambda _: (),
    queries=_queries,
    refusal=_refusal,
    source=_join,
)
