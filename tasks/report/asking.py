"""The example query and the snippet that a release's page shows.

Plain text on purpose, not rendered by a SQL library: the page must be the same bytes whichever
version of one is installed, and nothing here is executed by us.
"""

import shlex

from sfumato.tasks.forms.lineage import LINEAGE
from sfumato.tasks.query.question.question import TABLE
from sfumato.tasks.report.snippets.registry import SNIPPETS
from sfumato.tasks.report.snippets.text import identifier, line_of_table
from sfumato.tasks.terms.terms import Declared


def example_query(declared: Declared) -> str:
    """A query that this release can answer: an aggregate for each value of a quasi-identifier."""
    snippet = SNIPPETS[declared.form.shows]
    by = [identifier(name) for name in snippet.by(declared)]
    select = ", ".join([*by, *snippet.aggregates(declared)])
    grouped = [f"GROUP BY {name}" for name in by]
    return " ".join(["SELECT", select, "FROM", TABLE, *grouped])


def query_command(query: str) -> str:
    """The command line that asks it, to be run in the release's directory."""
    return f"sfumato query . {shlex.quote(query)}"


def pandas_snippet(declared: Declared) -> str:
    """Reading the published tables, and what can be computed from them without supposing more."""
    lines = [*SNIPPETS[declared.form.shows].lines(declared)]
    if declared.composed:
        lines += [line_of_table(LINEAGE, declared), f'{LINEAGE}[["rows", "vacant"]].sum()']
    return "\n".join(["import pandas as pd", "", *lines])
