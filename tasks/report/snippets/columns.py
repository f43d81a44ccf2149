"""Asking every quasi-identifier by itself: counts."""

from sfumato.tasks.forms.ambiguous import table_of
from sfumato.tasks.query.question.ways import tables_of_counts
from sfumato.tasks.report.snippets.snippet import Snippet
from sfumato.tasks.report.snippets.text import line_of_table, quoted_name, words
from sfumato.tasks.terms.terms import Declared


def _counted(declared: Declared) -> list[str]:
    """The lines that count each sensitive value, and the rows a quasi-identifier's may be in."""
    columns, counts = min(tables_of_counts(declared).items())
    by = quoted_name(min(columns))
    lines = [
        line_of_table(counts, declared),
        f'{counts}.groupby({by}, dropna=False)["count"].sum()',
    ]
    for name in words(declared)[:1]:
        admitted = table_of(name)
        sizes = f'{counts}.groupby("group_id")["count"].sum()'
        lines += [
            line_of_table(admitted, declared),
            f"sizes = {sizes}",
            f'covering = {admitted}.merge(sizes, on="group_id")',
            f'covering.groupby({quoted_name(name)}, dropna=False)["count"].sum()',
        ]
    return lines


columns = Snippet(
    lines=_counted,
    by=lambda declared: words(declared)[:1],
    aggregates=lambda _: ["COUNT(*)"],
    place_of=lambda name: f"by itself, in {table_of(name)}",
    counted="group",
)
