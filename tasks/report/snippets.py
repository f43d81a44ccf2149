"""Snippets that ask a release, by its way of showing, and the example query of its page.

Plain text on purpose, not rendered by a SQL library: the page must be the same bytes whichever
version of one is installed, and nothing here is executed by us.
"""

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sfumato.expectations.shared.registered import Entries
from sfumato.tasks.forms.ambiguous import table_of
from sfumato.tasks.forms.lineage import LINEAGE
from sfumato.tasks.forms.vacancies import VACANT
from sfumato.tasks.query.question.question import TABLE
from sfumato.tasks.query.question.ways import relations, tables_of_counts
from sfumato.tasks.terms.parts import PARTS
from sfumato.tasks.terms.terms import Declared

AVERAGED = ("integer", "decimal", "float")
ORDERED = (*AVERAGED, "date", "timestamp")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class Snippet:
    """A program and a query that ask a release.

    Attributes:
        lines: of a program that reads the published tables.
        by: the columns by which the example query groups.
        aggregates: what it selects of each group.
        place_of: where a quasi-identifier is shown, empty where it is in rows as it is.
        counted: what a table of a quasi-identifier has its values for: a row, or a group.
    """

    lines: Callable[[Declared], Sequence[str]]
    by: Callable[[Declared], Sequence[str]]
    aggregates: Callable[[Declared], Sequence[str]]
    place_of: Callable[[str], str] = lambda _: ""
    counted: str = "row"


def line_of_table(table: str, declared: Declared) -> str:
    """The line that reads a published table."""
    format_ = "parquet" if "parquet" in declared.formats else "csv"
    parts = declared.made_of
    place, told = (
        (f"{PARTS}/{parts[0].name}/", f"  # part 1 of {len(parts)}") if parts else ("", "")
    )
    return f'{table} = pd.read_{format_}("{place}data/{table}.{format_}"){told}'


def per_group(table: str, of_each: list[str], declared: Declared) -> list[str]:
    """The lines that aggregate the first ordered sensitive column in each group."""
    return [
        f'{table}.groupby("group_id")[{quoted_name(name)}].agg({json.dumps(of_each)})'
        for name in ordered_columns(declared)[:1]
    ]


def ordered_columns(declared: Declared) -> list[str]:
    """The sensitive columns whose values have an order, by name."""
    return [n for n in sorted(declared.named("sensitive")) if type_of(declared, n) in ORDERED]


def words(declared: Declared) -> list[str]:
    """The quasi-identifiers of few values, or all where none is."""
    shown = sorted(declared.named("quasi-identifier"))
    return [name for name in shown if type_of(declared, name) in ("string", "boolean")] or shown


def type_of(declared: Declared, name: str) -> str:
    """The type of a column."""
    return declared.columns[name].type


def quoted_name(name: str) -> str:
    """A column's name as a string of a program."""
    return json.dumps(printable(name), ensure_ascii=False)


def identifier(name: str) -> str:
    """A column's name in SQL."""
    quoted = printable(name).replace('"', '""')
    return f'"{quoted}"'


def printable(name: str) -> str:
    """A name without control characters."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", name)


def aggregates(declared: Declared) -> list[str]:
    """The mean of a sensitive number, else the ends of what has an order, else a count."""
    for name in sorted(declared.named("sensitive")):
        if type_of(declared, name) in AVERAGED:
            return [f"AVG({identifier(name)})"]
        if type_of(declared, name) in ORDERED:
            return [f"MIN({identifier(name)})", f"MAX({identifier(name)})"]
    return ["COUNT(*)"]


def _lines(declared: Declared) -> list[str]:
    """The published rows, and what is exact of the values of a group."""
    if declared.form.values_apart:
        return _joined(declared)
    known = relations(declared)
    read, whole = [line_of_table(known.rows, declared)], known.rows
    if known.has_pooled_values:
        read += [line_of_table(VACANT, declared), f"values = pd.concat([{known.rows}, {VACANT}])"]
        whole = "values"
    return [*read, *per_group(whole, ["size", "min", "max"], declared)]


def _joined(declared: Declared) -> list[str]:
    """Every row beside the values of its group, and what is exact of them."""
    known = relations(declared)
    first = (ordered_columns(declared) or sorted(declared.named("sensitive")))[0]
    values = next(table for columns, table in known.tables.items() if first in columns)
    read = [line_of_table(name, declared) for name in (known.rows, values)]
    joined = f'{known.rows}.merge({values}, on="group_id")'
    return [*read, joined, *per_group(values, ["min", "max"], declared)]


rows = Snippet(lines=_lines, by=lambda declared: words(declared)[:1], aggregates=aggregates)


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


def _lines_of_labels(declared: Declared) -> list[str]:
    """The lines that count the rows with each vector of labels."""
    labels = json.dumps([printable(n) for n in sorted(declared.named("quasi-identifier"))])
    return [line_of_table(TABLE, declared), f"{TABLE}.groupby({labels}, dropna=False).size()"]


def _listed(declared: Declared) -> list[str]:
    """A recoded column whose labels stand for leaves that can be told one by one."""
    known = sorted(declared.hierarchies.items())
    quasi = declared.named("quasi-identifier")
    return [name for name, rows in known if isinstance(rows, tuple) and name in quasi][:1]


labels = Snippet(
    lines=_lines_of_labels,
    by=_listed,
    aggregates=aggregates,
    place_of=lambda _: "published as labels",
)


def _ranged(declared: Declared) -> list[str]:
    """Every row beside the ranges of its group, and between which values those of a group lie."""
    read = [line_of_table(name, declared) for name in ("qit", "st")]
    ends = json.dumps({"lower": "min", "upper": "max", "count": "sum"})
    return [*read, 'qit.merge(st, on="group_id")', f'st.groupby("group_id").agg({ends})']


subdomains = Snippet(lines=_ranged, by=lambda declared: words(declared)[:1], aggregates=aggregates)


SNIPPETS: Mapping[str, Snippet] = Entries(
    "sfumato.tasks.report",
    {
        "rows": "snippets:rows",
        "columns": "snippets:columns",
        "subdomains": "snippets:subdomains",
        "labels": "snippets:labels",
    },
)


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
