"""How to ask a release: the example query and the snippet that its page shows.

Plain text on purpose, not rendered by a SQL library: the page must be the same bytes whichever
version of one is installed, and nothing here is executed by us.
"""

import json
import re
import shlex

from tasks.query.question import is_recoded
from tasks.release.declared import Declared

_AVERAGED = ("integer", "decimal", "float")
_ORDERED = (*_AVERAGED, "date", "timestamp")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


def example_query(declared: Declared) -> str:
    """A query that this release can answer: an aggregate for each value of a quasi-identifier."""
    shown = sorted(declared.named("quasi-identifier"))
    words = [name for name in shown if declared.columns[name].type in ("string", "boolean")]
    by = _listed(declared) if is_recoded(declared) else (words or shown)[:1]
    select = ", ".join([*(_identifier(name) for name in by), *_aggregates(declared)])
    query = f"SELECT {select} FROM microdata"  # noqa: S608 -- shown, never executed
    return query + "".join(f" GROUP BY {_identifier(name)}" for name in by)


def query_command(query: str) -> str:
    """The command line that asks it, to be run in the release's directory."""
    return f"sfumato query . {shlex.quote(query)}"


def pandas_snippet(declared: Declared) -> str:
    """Reading the published table, and the only joint statistic that shuffling leaves exact."""
    reader = "parquet" if "parquet" in declared.formats else "csv"
    lines = [
        "import pandas as pd",
        "",
        f'microdata = pd.read_{reader}("data/microdata.{reader}")',
    ]
    if is_recoded(declared):
        labels = json.dumps([_printable(n) for n in sorted(declared.named("quasi-identifier"))])
        return "\n".join([*lines, f"microdata.groupby({labels}, dropna=False).size()"])
    ordered = [n for n in sorted(declared.named("sensitive")) if _kind(declared, n) in _ORDERED]
    if ordered:
        name = json.dumps(_printable(ordered[0]), ensure_ascii=False)
        lines.append(f'microdata.groupby("group_id")[{name}].agg(["size", "min", "max"])')
    return "\n".join(lines)


def _listed(declared: Declared) -> list[str]:
    """A recoded column whose labels stand for leaves that can be told one by one."""
    known = sorted(declared.hierarchies.items())
    quasi = declared.named("quasi-identifier")
    return [name for name, rows in known if isinstance(rows, tuple) and name in quasi][:1]


def _aggregates(declared: Declared) -> list[str]:
    for name in sorted(declared.named("sensitive")):
        if _kind(declared, name) in _AVERAGED:
            return [f"AVG({_identifier(name)})"]
        if _kind(declared, name) in _ORDERED:
            return [f"MIN({_identifier(name)})", f"MAX({_identifier(name)})"]
    return ["COUNT(*)"]


def _kind(declared: Declared, name: str) -> str:
    return declared.columns[name].type


def _identifier(name: str) -> str:
    quoted = _printable(name).replace('"', '""')
    return f'"{quoted}"'


def _printable(name: str) -> str:
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", name)
