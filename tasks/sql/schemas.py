"""Statements about schemas of a database and what stands in them, as trees."""

from collections.abc import Sequence

from sqlglot import exp


def schema(name: str) -> exp.Table:
    """A schema by its quoted name."""
    return exp.Table(db=exp.to_identifier(name, quoted=True))


def member(name: str, of: str) -> exp.Table:
    """What has a name in a schema."""
    return exp.table_(name, db=of, quoted=True)


def create_schema(name: str) -> exp.Create:
    """Make a schema."""
    return exp.Create(this=schema(name), kind="SCHEMA")


def drop_schema(name: str) -> exp.Drop:
    """Do away with a schema in which nothing is left."""
    return exp.Drop(tables=[schema(name)], kind="SCHEMA")


def drop_member(kind: str, name: str, of: str, *, cascade: bool) -> exp.Drop:
    """Do away with what has a name in a schema, and where that is said with what needs it."""
    return exp.Drop(tables=[member(name, of)], kind=kind, cascade=cascade)


def comment(kind: str, on: exp.Table, text: str) -> exp.Comment:
    """Say something of a schema, or of what stands in one."""
    return exp.Comment(this=on, kind=kind, expression=exp.Literal.string(text))


def view_of(name: str, within: str, of: str) -> exp.Create:
    """Make a view, or replace it, of what has the same name in another schema."""
    query = exp.select("*").from_(member(name, of))
    return exp.Create(this=member(name, within), kind="VIEW", replace=True, expression=query)


def grant(right: str, kind: str | None, on: exp.Table, roles: Sequence[str]) -> exp.Grant:
    """Let roles use a schema, or read what stands in one."""
    return exp.Grant(
        privileges=[exp.GrantPrivilege(this=exp.Var(this=right))],
        kind=kind,
        securable=on,
        principals=[
            exp.GrantPrincipal(this=exp.to_identifier(role, quoted=True)) for role in roles
        ],
    )


def set_locally(name: str, value: str) -> exp.Select:
    """Have a setting until the transaction ends."""
    texts = [exp.Literal.string(text) for text in (name, value)]
    return exp.select(exp.func("set_config", *texts, exp.true()))


def of_namespace(name: str) -> exp.Expr:
    """The number of a schema in PostgreSQL's catalogue, null where there is none."""
    quoted = exp.func("quote_ident", exp.Literal.string(name))
    return exp.func("to_regnamespace", quoted)
