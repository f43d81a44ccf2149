"""How to ask a release: the example query and the snippet that its page shows.

Plain text on purpose, not rendered by a SQL library: the page must be the same bytes whichever
version of one is installed, and nothing here is executed by us.
"""

import json
import re
import shlex

from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.forms.ambiguous.ambiguous import table_of
from sfumato.tasks.query.question.question import TABLE
from sfumato.tasks.query.question.relations import relations, tables_of_counts

_AVERAGED = ("integer", "decimal", "float")
_ORDERED = (*_AVERAGED, "date", "timestamp")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


def example_query(declared: Declared) -> str:
    """A query that this release can answer: an aggregate for each value of a quasi-identifier."""
    by = _listed(declared) if declared.recoded else _words(declared)[:1]
    select = ", ".join([*(_identifier(name) for name in by), *_aggregates(declared)])
    query = f"SELECT {select} FROM microdata"  # noqa: S608 -- shown, never executed
    return query + "".join(f" GROUP BY {_identifier(name)}" for name in by)


def query_command(query: str) -> str:
    """The command line that asks it, to be run in the release's directory."""
    return f"sfumato query . {shlex.quote(query)}"


def pandas_snippet(declared: Declared) -> str:
    """Reading the published tables, and what can be computed from them without supposing more."""
    if declared.recoded:
        labels = json.dumps([_printable(n) for n in sorted(declared.named("quasi-identifier"))])
        lines = [_reading(TABLE, declared), f"{TABLE}.groupby({labels}, dropna=False).size()"]
    elif declared.form.shows == "columns":
        lines = _counted(declared)
    elif declared.form.method == "split":
        lines = _joined(declared)
    elif declared.form.method == "redistributed":
        lines = _ranged(declared)
    else:
        lines = [_reading(TABLE, declared), *_per_group(TABLE, ["size", "min", "max"], declared)]
    return "\n".join(["import pandas as pd", "", *lines])


def _joined(declared: Declared) -> list[str]:
    """Every row beside the values of its group, and what is exact of them."""
    known = relations(declared)
    first = (_ordered(declared) or sorted(declared.named("sensitive")))[0]
    values = next(table for columns, table in known.tables.items() if first in columns)
    read = [_reading(name, declared) for name in (known.rows, values)]
    joined = f'{known.rows}.merge({values}, on="group_id")'
    return [*read, joined, *_per_group(values, ["min", "max"], declared)]


def _ranged(declared: Declared) -> list[str]:
    """Every row beside the ranges of its group, and between which values those of a group lie."""
    read = [_reading(name, declared) for name in ("qit", "st")]
    ends = json.dumps({"lower": "min", "upper": "max", "count": "sum"})
    return [*read, 'qit.merge(st, on="group_id")', f'st.groupby("group_id").agg({ends})']


def _counted(declared: Declared) -> list[str]:
    """How often each sensitive value occurs, and in how many rows a quasi-identifier's may."""
    columns, counts = min(tables_of_counts(declared).items())
    by = _named(min(columns))
    lines = [_reading(counts, declared), f'{counts}.groupby({by}, dropna=False)["count"].sum()']
    for name in _words(declared)[:1]:
        admitted = table_of(name)
        sizes = f'{counts}.groupby("group_id")["count"].sum()'
        lines += [
            _reading(admitted, declared),
            f"sizes = {sizes}",
            f'covering = {admitted}.merge(sizes, on="group_id")',
            f'covering.groupby({_named(name)}, dropna=False)["count"].sum()',
        ]
    return lines


def _reading(table: str, declared: Declared) -> str:
    format_ = "parquet" if "parquet" in declared.formats else "csv"
    return f'{table} = pd.read_{format_}("data/{table}.{format_}")'


def _per_group(table: str, of_each: list[str], declared: Declared) -> list[str]:
    return [
        f'{table}.groupby("group_id")[{_named(name)}].agg({json.dumps(of_each)})'
        for name in _ordered(declared)[:1]
    ]


def _ordered(declared: Declared) -> list[str]:
    return [n for n in sorted(declared.named("sensitive")) if _kind(declared, n) in _ORDERED]


def _words(declared: Declared) -> list[str]:
    """The quasi-identifiers of few values, or all where none is."""
    shown = sorted(declared.named("quasi-identifier"))
    return [name for name in shown if _kind(declared, name) in ("string", "boolean")] or shown


def _listed(declared: Declared) -> list[str]:
    """A recoded column whose labels stand for leaves that can be told one by one."""
    known = sorted(declared.hierarchies.items())
    quasi = declared.named("quasi-identifier")
    return [name for name, rows in known if isinstance(rows, tuple) and name in quasi][:1]


def _aggregates(declared: Declared) -> list[str]:
    if declared.form.shows == "columns":
        return ["COUNT(*)"]
    for name in sorted(declared.named("sensitive")):
        if _kind(declared, name) in _AVERAGED:
            return [f"AVG({_identifier(name)})"]
        if _kind(declared, name) in _ORDERED:
            return [f"MIN({_identifier(name)})", f"MAX({_identifier(name)})"]
    return ["COUNT(*)"]


def _kind(declared: Declared, name: str) -> str:
    return declared.columns[name].type


def _named(name: str) -> str:
    """A column's name as a string of a program."""
    return json.dumps(_printable(name), ensure_ascii=False)


def _identifier(name: str) -> str:
    quoted = _printable(name).replace('"', '""')
    return f'"{quoted}"'


def _printable(name: str) -> str:
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", name)
