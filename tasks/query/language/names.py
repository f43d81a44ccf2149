"""Names of columns as analysts write them, and what they may have meant."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.sql.parse import quote_name


def name_among(written: str, names: Iterable[str]) -> str | None:
    """The name that is written so, or else the only one that differs in letters' case.

    Raises:
        QueryError: where several differ in case alone.
    """
    known = list(names)
    if written in known:
        return written
    alike = [name for name in known if name.casefold() == written.casefold()]
    if len(alike) > 1:
        raise QueryError(f"ambiguous column {quote_name(written)}")
    return alike[0] if alike else None


def unknown_column(node: exp.Column, columns: Mapping[str, object]) -> QueryError:
    """The refusal of a column that is not there, with the one that may have been meant."""
    return QueryError(f"unknown column {quote_name(node.name)}{_meant(node, list(columns))}")


def _meant(node: exp.Column, names: list[str]) -> str:
    unquoted = _as_difference(node)
    if unquoted is not None and (meant := name_among(unquoted, names)) is not None:
        return f': a name with a hyphen is quoted, "{meant}"'
    close = get_close_matches(node.name, names, n=1)
    return f": did you mean {quote_name(close[0])}?" if close else ""


def _as_difference(node: exp.Column) -> str | None:
    """The name that was read as a chain of differences, for want of quotes."""
    top: exp.Expr = node
    while isinstance(top.parent, exp.Sub):
        top = top.parent
    parts = []
    while isinstance(top, exp.Sub):
        parts.append(top.args["expression"])
        top = top.this
    parts.append(top)
    if len(parts) < 2 or not all(isinstance(part, exp.Column) for part in parts):
        return None
    return "-".join(part.name for part in reversed(parts))
