"""Asking rows of labels."""

import json

from sfumato.tasks.query.question.question import TABLE
from sfumato.tasks.report.snippets.snippet import Snippet
from sfumato.tasks.report.snippets.text import aggregates, line_of_table, printable
from sfumato.tasks.terms.terms import Declared


def _lines(declared: Declared) -> list[str]:
    """The lines that count the rows with each vector of labels."""
    labels = json.dumps([printable(n) for n in sorted(declared.named("quasi-identifier"))])
    return [line_of_table(TABLE, declared), f"{TABLE}.groupby({labels}, dropna=False).size()"]


def _listed(declared: Declared) -> list[str]:
    """A recoded column whose labels stand for leaves that can be told one by one."""
    known = sorted(declared.hierarchies.items())
    quasi = declared.named("quasi-identifier")
    return [name for name, rows in known if isinstance(rows, tuple) and name in quasi][:1]


labels = Snippet(
    lines=_lines, by=_listed, aggregates=aggregates, place_of=lambda _: "published as labels"
)
