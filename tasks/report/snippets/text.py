"""The parts of snippets of all ways of showing: plain text, never executed by us."""

import json
import re

from sfumato.tasks.terms.parts import PARTS
from sfumato.tasks.terms.terms import Declared

AVERAGED = ("integer", "decimal", "float")
ORDERED = (*AVERAGED, "date", "timestamp")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


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
