"""SQL's names of what a query says, as its author wrote them."""

import re

from sqlglot import ErrorLevel, exp

from sfumato.tasks.sql.parse import quote_name

_CALL = re.compile(r"[A-Z_][A-Z0-9_]*(?=\()")


def construct(node: exp.Expr) -> str:
    """SQL's name of a node that is not allowed; texts and numbers of a query are not repeated."""
    if isinstance(node, exp.Anonymous):
        return f"an unknown function, {quote_name(str(node.name))}"
    if isinstance(node, exp.Func):
        return f"the function {function_name(node)}"
    return type(node).__name__.upper()


def function_name(node: exp.Func) -> str:
    """The name by which DuckDB calls a function."""
    if isinstance(node, exp.Anonymous):
        return str(node.name).upper()
    found = _CALL.match(_in_duckdb(node))
    return found[0] if found else str(node.sql_name())


def _in_duckdb(node: exp.Expr) -> str:
    bare = node.copy()
    for argument in list(bare.iter_expressions()):
        if argument.find(exp.Query) is not None or argument.find(exp.Func) is not None:
            argument.replace(exp.Null())  # its name is enough
    return str(bare.sql("duckdb", unsupported_level=ErrorLevel.IGNORE)).upper()
