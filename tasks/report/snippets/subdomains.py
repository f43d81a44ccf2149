"""Asking exact rows beside the subdomains in which the values of their group lie."""

import json

from sfumato.tasks.report.snippets.snippet import Snippet
from sfumato.tasks.report.snippets.text import aggregates, line_of_table, words
from sfumato.tasks.terms.terms import Declared


def _ranged(declared: Declared) -> list[str]:
    """Every row beside the ranges of its group, and between which values those of a group lie."""
    read = [line_of_table(name, declared) for name in ("qit", "st")]
    ends = json.dumps({"lower": "min", "upper": "max", "count": "sum"})
    return [*read, 'qit.merge(st, on="group_id")', f'st.groupby("group_id").agg({ends})']


subdomains = Snippet(lines=_ranged, by=lambda declared: words(declared)[:1], aggregates=aggregates)
