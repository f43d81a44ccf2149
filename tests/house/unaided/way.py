"""A toy way of showing: exact rows that are asked without the help of any table."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.engines.engine import Files
from sfumato.tasks.query.engines.rows import RowsEngine
from sfumato.tasks.query.help_tables.way import HelpTables
from sfumato.tasks.query.question.ways import Way, of_sensitive, sensitive_bundles
from sfumato.tasks.query.sql.way import SqlWay
from sfumato.tasks.report.snippets import Snippet
from sfumato.tasks.sql.session import session
from sfumato.tasks.terms.terms import Declared, Terms

question = Way(bundles=sensitive_bundles, aggregated=of_sensitive)
help_tables = HelpTables(lambda _declared, _sensitive: [], lambda _tables, _declared: {})
snippet = Snippet(
    lines=lambda _: ["# unaided: a toy"],
    group_columns=lambda declared: declared.names_with_roles("quasi-identifier")[:1],
    aggregates=lambda _: ["COUNT(*)"],
    place_of=lambda name: f"unaided, as {name}",
)


class Unaided(RowsEngine):
    """Answers every question from the values of the groups, whatever it is."""

    def ask(self, question: Any, estimates: bool = True) -> Any:
        """Bound each aggregate by the values that rows of a group can have."""
        return self._bounds_by_values(question, estimates)


@contextmanager
def open_unaided(tables: Files, declared: Declared, _estimator: str) -> Iterator[Unaided]:
    """Open an engine on the published tables."""
    with session(tables) as connection:
        yield Unaided(connection, declared)


def refusal(_: Terms) -> str:
    """Say why no query is rewritten."""
    return "a toy is asked with `sfumato query` alone"


def refuse(_question: Any, declared: Terms, *_: Any) -> exp.Select:
    """Rewrite nothing."""
    raise QueryError(refusal(declared))


sql = SqlWay(
    rewritten=refuse,
    words=lambda _: "Nothing helps here: a toy.",
    examples=lambda _: [],
    views=lambda _: [],
    refusal=refusal,
)
