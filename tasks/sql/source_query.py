"""The query of a source: one SELECT that reads, with named parameters and no side effect."""

import logging
from collections.abc import Collection

from sqlglot import Dialect, exp
from sqlglot.errors import SqlglotError

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.sql.parse import MAX_CHARACTERS, quote_name
from sfumato.tasks.sql.refusals import construct

_WRITES = (
    exp.DML,
    exp.DDL,
    exp.Command,
    exp.Into,
    exp.Lock,
    exp.Transaction,
    exp.Commit,
    exp.Rollback,
    exp.Set,
    exp.Pragma,
    exp.Use,
    exp.Drop,
    exp.Alter,
    exp.TruncateTable,
    exp.Copy,
    exp.Parameter,
    exp.SessionParameter,
)
_EFFECTS = (
    *("pg_", "lo_", "txid_", "dblink", "nextval", "setval", "lastval", "set_config", "notify"),
    *("current_setting", "query_to_xml", "cursor_to_xml", "database_to_xml", "table_to_xml"),
    *("schema_to_xml", "ts_stat", "ts_rewrite", "crosstab", "connectby", "xpath_table"),
    *("loread", "lowrite", "currval", "currtid", "setseed", "brin_", "gin_clean", "binary_upgrade"),
    *("sleep", "benchmark", "get_lock", "is_free_lock", "is_used_lock", "release_"),
    *("last_insert_id", "load_file", "master_", "sys_eval", "sys_exec", "load_extension"),
    *("readfile", "writefile", "openrowset", "opendatasource", "openquery", "xp_", "sp_"),
    *("dbms_", "utl_"),
)
"""Beginnings of names of functions that change, lock, wait for or reach something, or run SQL."""


def parse_source_query(text: str, dialect: str | None) -> exp.Query:
    """Return the SELECT of a text, without its comments: the query that is checked will be run.

    Args:
        text: the query.
        dialect: sqlglot's name of the database's SQL; None for one that it does not know.

    Raises:
        QueryError: naming the construct that is not allowed, without the query's text.
    """
    tree = _tree(text, dialect)
    if not isinstance(tree, exp.Query):
        raise QueryError("must be a SELECT")
    for node in tree.walk():
        node.pop_comments()
        if isinstance(node, _WRITES) and not isinstance(node, exp.Query):
            raise QueryError(f"may only read, so {construct(node)} is not allowed. Leave it out")
        if isinstance(node, exp.Func) and (name := _function(node)).startswith(_EFFECTS):
            raise QueryError(
                f"may only read, but the function {quote_name(name)} does or may do more. "
                "Leave it out"
            )
        if isinstance(node, exp.Placeholder) and node.name in ("", "?"):
            raise QueryError("must name its parameters. Write :name in place of ?")
    return tree


def parameters_in(query: exp.Query) -> set[str]:
    """Return the names of the parameters of a query."""
    return {node.name for node in query.find_all(exp.Placeholder)}


def require_parameters(query: exp.Query, declared: Collection[str]) -> None:
    """Refuse a query whose parameters are not those that are declared.

    Raises:
        QueryError: naming a parameter that is only declared, or only asked for.
    """
    for name in sorted(parameters_in(query) ^ set(declared)):
        where = "not used in the query" if name in declared else "not declared"
        raise QueryError(f"parameter :{name} is {where} (source.parameters)")


def _tree(text: str, dialect: str | None) -> exp.Expr:
    if len(text) > MAX_CHARACTERS:
        raise QueryError(f"may have at most {MAX_CHARACTERS:,} characters")
    logger = logging.getLogger("sqlglot")
    was, logger.disabled = logger.disabled, True  # it would quote the query
    try:
        trees = [tree for tree in Dialect.get_or_raise(dialect).parse(text) if tree is not None]
    except (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, LookupError):
        raise QueryError("is not a valid SELECT: check the SQL") from None
    finally:
        logger.disabled = was
    if len(trees) != 1:
        raise QueryError("must be one statement")
    return trees[0]


def _function(node: exp.Func) -> str:
    return (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()
