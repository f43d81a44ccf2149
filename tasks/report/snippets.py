"""Snippets that query a release, by its way of showing, and the example query of its page.

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
        lines: the lines of a program that reads the published tables.
        group_columns: the columns by which the example query groups.
        aggregates: the aggregates that it selects in each group.
        place_of: the place of a quasi-identifier, empty if rows contain it unchanged.
        counted: the unit of a table of a quasi-identifier: a row, or a group.
        source: the tables that the example query reads, in SQL.
    """

    lines: Callable[[Declared], Sequence[str]]
    group_columns: Callable[[Declared], Sequence[str]]
    aggregates: Callable[[Declared], Sequence[str]]
    place_of: Callable[[str], str] = lambda _: ""
    counted: str = "row"
    source: Callable[[Declared], str] = lambda _: TABLE


def line_of_table(table: str, declared: Declared) -> str:
    """Return the line that reads a published table."""
    format_ = "parquet" if "parquet" in declared.formats else "csv"
    parts = declared.made_of
    place, comment = (
        (f"{PARTS}/{parts[0].name}/", f"  # part 1 of {len(parts)}") if parts else ("", "")
    )
    return f'{table} = pd.read_{format_}("{place}data/{table}.{format_}"){comment}'


def per_group(table: str, of_each: list[str], declared: Declared) -> list[str]:
    """Return the lines that aggregate the first ordered sensitive column in each group."""
    return [
        f'{table}.groupby("group_id")[{quoted_name(name)}].agg({json.dumps(of_each)})'
        for name in ordered_columns(declared)[:1]
    ]


def ordered_columns(declared: Declared) -> list[str]:
    """Return the sensitive columns whose values have an order, by name."""
    return [
        n for n in sorted(declared.names_with_roles("sensitive")) if type_of(declared, n) in ORDERED
    ]


def words(declared: Declared) -> list[str]:
    """Return the quasi-identifiers with few values, or all of them if there are none."""
    names = sorted(declared.names_with_roles("quasi-identifier"))
    return [name for name in names if type_of(declared, name) in ("string", "boolean")] or names


def type_of(declared: Declared, name: str) -> str:
    """Return the type of a column."""
    return declared.columns[name].type


def quoted_name(name: str) -> str:
    """Return a column's name as a string of a program."""
    return json.dumps(printable(name), ensure_ascii=False)


def identifier(name: str) -> str:
    """Return a column's name in SQL."""
    quoted = printable(name).replace('"', '""')
    return f'"{quoted}"'


def printable(name: str) -> str:
    """Return a name without control characters."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", name)


def aggregates(declared: Declared) -> list[str]:
    """Return the mean of a sensitive number, otherwise the ends of an order, otherwise a count."""
    for name in sorted(declared.names_with_roles("sensitive")):
        if type_of(declared, name) in AVERAGED:
            return [f"AVG({identifier(name)})"]
        if type_of(declared, name) in ORDERED:
            return [f"MIN({identifier(name)})", f"MAX({identifier(name)})"]
    return ["COUNT(*)"]


def _lines(declared: Declared) -> list[str]:
    """Return the lines that read the published rows, and compute what is exact in each group."""
    if declared.form.values_apart:
        return _lines_of_join(declared)
    layout = relations(declared)
    read, whole = [line_of_table(layout.rows, declared)], layout.rows
    if layout.has_pooled_values:
        read += [line_of_table(VACANT, declared), f"values = pd.concat([{layout.rows}, {VACANT}])"]
        whole = "values"
    return [*read, *per_group(whole, ["size", "min", "max"], declared)]


def _lines_of_join(declared: Declared) -> list[str]:
    """Return the lines that join every row with the values of its group."""
    layout = relations(declared)
    first = (ordered_columns(declared) or sorted(declared.names_with_roles("sensitive")))[0]
    values = next(table for columns, table in layout.tables.items() if first in columns)
    read = [line_of_table(name, declared) for name in (layout.rows, values)]
    joined = f'{layout.rows}.merge({values}, on="group_id")'
    return [*read, joined, *per_group(values, ["min", "max"], declared)]


rows = Snippet(
    lines=_lines, group_columns=lambda declared: words(declared)[:1], aggregates=aggregates
)


def _lines_of_counts(declared: Declared) -> list[str]:
    """Return the lines that count sensitive values, and the rows that may have each category."""
    columns, counts = min(tables_of_counts(declared).items())
    column = quoted_name(min(columns))
    lines = [
        line_of_table(counts, declared),
        f'{counts}.groupby({column}, dropna=False)["count"].sum()',
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
    lines=_lines_of_counts,
    group_columns=lambda declared: words(declared)[:1],
    aggregates=lambda _: ["COUNT(*)"],
    place_of=lambda name: f"by itself, in {table_of(name)}",
    counted="group",
)


def _lines_of_labels(declared: Declared) -> list[str]:
    """Return the lines that count the rows with each vector of labels."""
    labels = json.dumps(
        [printable(n) for n in sorted(declared.names_with_roles("quasi-identifier"))]
    )
    return [line_of_table(TABLE, declared), f"{TABLE}.groupby({labels}, dropna=False).size()"]


def _listed_columns(declared: Declared) -> list[str]:
    """Return a recoded column whose labels list the leaves they contain."""
    rules = sorted(declared.hierarchies.items())
    quasi = declared.names_with_roles("quasi-identifier")
    return [name for name, rows in rules if isinstance(rows, tuple) and name in quasi][:1]


labels = Snippet(
    lines=_lines_of_labels,
    group_columns=_listed_columns,
    aggregates=aggregates,
    place_of=lambda _: "published as labels",
)


def _lines_of_ranges(declared: Declared) -> list[str]:
    """Return the lines that join every row with the ranges of its group, and show their ends."""
    read = [line_of_table(name, declared) for name in ("qit", "st")]
    ends = json.dumps({"lower": "min", "upper": "max", "count": "sum"})
    return [*read, 'qit.merge(st, on="group_id")', f'st.groupby("group_id").agg({ends})']


subdomains = Snippet(
    lines=_lines_of_ranges,
    group_columns=lambda declared: words(declared)[:1],
    aggregates=aggregates,
)


def _lines_of_groups(declared: Declared) -> list[str]:
    """Return the lines that read two related tables, and put rows beside the people of groups."""
    people, related = (form := declared.form).table_of_rows, form.related_table
    return [
        line_of_table(people, declared),
        line_of_table(related, declared),
        f"{related}[{quoted_name(form.related_columns[0])}].value_counts()",
        f'{people}.merge({related}, on="group_id")',
    ]


def _joined_tables(declared: Declared) -> str:
    form = declared.form
    return f"{form.table_of_rows} JOIN {form.related_table} USING ({identifier(form.person_key)})"


apart = Snippet(
    lines=_lines_of_groups,
    group_columns=lambda declared: words(declared)[:1],
    aggregates=lambda declared: [
        "COUNT(*)",
        f"COUNT(DISTINCT {identifier(declared.form.person_key)})",
    ],
    place_of=lambda _: "",
    source=_joined_tables,
)


SNIPPETS: Mapping[str, Snippet] = Entries(
    "sfumato.tasks.report",
    {
        "rows": "snippets:rows",
        "columns": "snippets:columns",
        "subdomains": "snippets:subdomains",
        "labels": "snippets:labels",
        "apart": "snippets:apart",
    },
)


def example_query(declared: Declared) -> str:
    """Return a query that this release can answer: an aggregate by a quasi-identifier."""
    snippet = SNIPPETS[declared.form.shows]
    group_columns = [identifier(name) for name in snippet.group_columns(declared)]
    select = ", ".join([*group_columns, *snippet.aggregates(declared)])
    grouped = [f"GROUP BY {name}" for name in group_columns]
    return " ".join(["SELECT", select, "FROM", snippet.source(declared), *grouped])


def query_command(query: str) -> str:
    """Return the command line that asks the query in the release's directory."""
    return f"sfumato query . {shlex.quote(query)}"


def pandas_snippet(declared: Declared) -> str:
    """Return a program that reads the published tables and computes what needs no assumption."""
    lines = [*SNIPPETS[declared.form.shows].lines(declared)]
    if declared.is_composed:
        lines += [line_of_table(LINEAGE, declared), f'{LINEAGE}[["rows", "vacant"]].sum()']
    return "\n".join(["import pandas as pd", "", *lines])
