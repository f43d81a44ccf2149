"""The SQL of two related tables: what they hold, and queries of them as they are."""

from collections.abc import Sequence

from sqlglot import exp

from sfumato.expectations.shared.errors import Fault
from sfumato.tasks.forms.related.parameters import GROUPS, MOST, PEOPLE, ROWS, ApartParameters
from sfumato.tasks.query.question.having import Reading
from sfumato.tasks.query.question.question import Question
from sfumato.tasks.query.sql.marginal_counts import Estimator
from sfumato.tasks.query.sql.way import SqlWay
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.terms.terms import Declared, Terms


def form_of_terms(terms: Terms) -> ApartParameters:
    """Return the form of a release of two related tables.

    Raises:
        Fault: if the release has another form.
    """
    if not isinstance(terms.form, ApartParameters):
        raise Fault("only form apart has two related tables")
    return terms.form


def _words(declared: Declared) -> str:
    form = form_of_terms(declared)
    return (
        f"{form.people} has one row for each person, {form.related} the rows that belong to them; "
        f"{GROUP_ID} is the only link between them. {GROUPS} has every group once: {PEOPLE}, "
        f"{ROWS}, and {MOST}, the most rows of one person of the group. Bounds of questions across "
        "both tables: sfumato query."
    )


def _refusal(declared: Terms) -> str:
    form = form_of_terms(declared)
    return (
        f"bounds across {form.people} and {form.related} are only computed by `sfumato query`. "
        "Of one of the tables, write it as it is: every database with the release answers exactly"
    )


def _rewritten(_: Question, declared: Terms, __: Reading, ___: Estimator) -> exp.Select:
    raise Fault(_refusal(declared))


def _views(_: Terms) -> Sequence[str]:
    return ()


def _queries(declared: Declared) -> Sequence[tuple[str, exp.Select]]:
    """Return a query with each group's people, rows, and the commonest values among these."""
    form = form_of_terms(declared)
    first = exp.column(form.columns[0], quoted=True)
    counted = exp.select(first, exp.Count(this=exp.Star()).as_("related_rows"))
    query = counted.from_(form.related).group_by(first.copy()).order_by("related_rows DESC")
    return [(f"Exact: the rows of {form.related} by {form.columns[0]}", query)]


apart = SqlWay(
    rewritten=_rewritten,
    words=_words,
    examples=None,
    views=_views,
    refusal=_refusal,
    queries=_queries,
)
