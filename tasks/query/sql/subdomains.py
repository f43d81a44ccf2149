"""The SQL of releases that show exact rows, beside the subdomains of their group's values."""

from sqlglot import exp

from sfumato.tasks.query.question.having import Reading
from sfumato.tasks.query.question.question import Question
from sfumato.tasks.query.question.ways import relations
from sfumato.tasks.query.question.ways import subdomains as way
from sfumato.tasks.query.sql.bounds_query import AnswerColumns, of_help_tables
from sfumato.tasks.query.sql.marginal_counts import Estimator
from sfumato.tasks.query.sql.rows import HELP, examples_of
from sfumato.tasks.query.sql.subdomain_conditions import RangeConditions
from sfumato.tasks.query.sql.way import SqlWay
from sfumato.tasks.sql.dialects.dialect import Types
from sfumato.tasks.terms.terms import Declared, Terms

_BESIDE = """\
The table qit holds the published rows with all columns but the sensitive one. The values of the
rows with the same group_id lie in the subdomains of the group, from lower to upper, that stand in
st with how often each occurs; if there are more subdomains than rows, nobody can tell which are
fakes. The values are spread as the target of the group says, which stands in aims and targets."""

_LIKE_FAKES = """\
A group keeps the subdomains of people who have left, which look like fakes: lineage tells of none
that are vacant."""


def _rewrite(question: Question, declared: Terms, reading: Reading, _: Estimator) -> exp.Select:
    source = relations(declared)
    if not question.matching:
        return of_help_tables(question, source.rows, way.sides, reading)
    bounds = RangeConditions(question, source).bounds()
    return AnswerColumns(question, bounds, ("l{}", "u{}"), way.sides, "least").read(reading)


def _words(_: Declared) -> str:
    return f"{_BESIDE}\n\n{HELP}"


def _types(declared: Terms) -> Types:
    """Return the types of the ends of subdomains."""
    (name,) = declared.names_with_roles("sensitive")
    return dict.fromkeys(("lower", "upper"), declared.columns[name].type)


subdomains = SqlWay(
    rewritten=_rewrite,
    words=_words,
    examples=examples_of,
    views=lambda declared: declared.names_with_roles("sensitive"),
    exact_groups=False,
    types=_types,
    of_vacant=lambda _: _LIKE_FAKES,
)
