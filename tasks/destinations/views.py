"""A schema that Sfumato made, and the tables, views and functions that it made in the schema."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from sqlglot import exp

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.sql.dialects.dialect import Made
from sfumato.tasks.sql.dialects.statements import (
    comment,
    create_schema,
    drop_member,
    drop_schema,
    grant,
    member,
    of_namespace,
    schema,
    view_of,
)
from sfumato.tasks.sql.target import TargetDatabase

_KINDS = {"r": "TABLE", "v": "VIEW", "function": "FUNCTION"}
_MARK = '{"sfumato": '
_SAVEPOINT = "sfumato"


@dataclass(frozen=True)
class Marked:
    """Comment that marks things as ours, and the place's name in messages."""

    text: str
    place: str


@dataclass(frozen=True)
class SchemaMember:
    """A table, view or function of a schema, and whether we made it."""

    name: str
    kind: str
    ours: bool


class PublishedSchema:
    """A schema of a database, in a transaction."""

    def __init__(self, database: TargetDatabase, name: str) -> None:
        self._database, self._name = database, name

    @property
    def names(self) -> list[str]:
        """The names of the things that we made, sorted."""
        return sorted(entry.name for entry in self._members() if entry.ours)

    def create(self) -> None:
        """Make it."""
        self._database.run(create_schema(self._name))

    def drop(self) -> bool:
        """Drop the schema if nothing is left in it; return False if something is."""
        return self._attempt(lambda: self._database.run(drop_schema(self._name)))

    def mark(self, text: str) -> None:
        """Set the comment of the schema itself."""
        self._database.run(comment("SCHEMA", schema(self._name), text))

    def mark_all(self, text: str) -> None:
        """Set the comment of everything in the schema: all of it was made just now."""
        for entry in self._members():
            self._database.run(comment(entry.kind, member(entry.name, self._name), text))

    def drop_all(self, *, cascade: bool) -> None:
        """Drop what we made: functions, then views, then tables."""
        order = list(reversed(_KINDS.values()))
        for entry in sorted(self._members(), key=lambda entry: order.index(entry.kind)):
            if entry.ours and entry.name in self.names:  # a cascade may have taken it
                self._drop(entry, cascade=cascade)

    def settle_functions(self) -> None:
        """Make functions read this schema, independently of the caller's search path."""
        quoted = self._database.dialect.quote
        for entry in self._members():
            if entry.kind == "FUNCTION":
                called = f"{quoted(self._name)}.{quoted(entry.name)}"
                path = f"{quoted(self._name)}, pg_temp"
                self._database.execute(f"ALTER FUNCTION {called} SET search_path = {path}")

    def let_read(self, roles: Sequence[str]) -> None:
        """Let roles read what we made."""
        self._database.run(grant("USAGE", "SCHEMA", schema(self._name), roles))
        for entry in self._members():
            if entry.ours and entry.kind != "FUNCTION":
                self._database.run(grant("SELECT", None, member(entry.name, self._name), roles))

    def show(self, source: "PublishedSchema", marked: Marked, *, cascade: bool) -> None:
        """Make a view of each table and view of another schema, and drop our other views.

        Raises:
            PromiseError: where something that is not ours has the name of one.
        """
        names = [
            entry.name for entry in source._members() if entry.ours and entry.kind != "FUNCTION"
        ]
        self._require_free(names, marked)
        for entry in self._members():
            if entry.ours and entry.kind == "VIEW" and entry.name not in names:
                self._drop(entry, cascade=cascade)
        for name in names:
            made = view_of(name, self._name, source._name)
            old = SchemaMember(name, "VIEW", True)
            self._replace(old, partial(self._database.run, made), cascade=cascade)
            self._database.run(comment("VIEW", member(name, self._name), marked.text))

    def replace_functions(
        self, functions: Sequence[Made], marked: Marked, *, cascade: bool
    ) -> None:
        """Make these functions, and drop our others; this is the current schema."""
        self._require_free([function.name for function in functions], marked)
        for entry in self._members():
            if (
                entry.ours
                and entry.kind == "FUNCTION"
                and entry.name not in {f.name for f in functions}
            ):
                self._drop(entry, cascade=cascade)
        for made in functions:
            old = SchemaMember(made.name, "FUNCTION", True)
            self._replace(old, partial(self._database.execute, made.replace), cascade=cascade)
            self._database.run(comment("FUNCTION", member(made.name, self._name), marked.text))
        self.settle_functions()

    def _replace(self, old: SchemaMember, make: Callable[[], object], *, cascade: bool) -> None:
        """Make something that may exist; drop it first if it cannot be replaced in place."""
        if not self._attempt(make):
            self._drop(old, cascade=cascade)
            make()

    def _drop(self, entry: SchemaMember, *, cascade: bool) -> None:
        self._database.run(drop_member(entry.kind, entry.name, self._name, cascade=cascade))

    def _attempt(self, do: Callable[[], object]) -> bool:
        """Do something in a part of the transaction; return False if the database refuses."""
        self._database.execute(f"SAVEPOINT {_SAVEPOINT}")
        try:
            do()
        except self._database.dialect.access.errors() as error:
            if self._database.dialect.access.code(error) not in _OF_OTHERS:
                raise
            self._database.execute(f"ROLLBACK TO SAVEPOINT {_SAVEPOINT}")
            return False
        self._database.execute(f"RELEASE SAVEPOINT {_SAVEPOINT}")
        return True

    def _require_free(self, names: Sequence[str], marked: Marked) -> None:
        for entry in self._members():
            if not entry.ours and entry.name in names:
                raise PromiseError(
                    f"{marked.place}: {entry.name} in schema {self._name} was not made "
                    "by Sfumato. Name another schema (publish.database.schema), or "
                    "rename it"
                )

    def _members(self) -> list[SchemaMember]:
        """List the tables, views and functions in the schema; nobody drops other things."""
        rows = [row for query in _queries(self._name) for row in self._database.execute(query)]
        return [
            SchemaMember(name, _KINDS[kind], (remark or "").startswith(_MARK))
            for name, kind, remark in rows
            if kind in _KINDS
        ]


_OF_OTHERS = {"2BP01", "42P16", "42P13"}
"""The codes if others need something, and if a view or a function cannot be replaced."""


def _queries(name: str) -> Iterator[str]:
    """Yield queries for the names, kinds and comments of the things in a schema."""
    for table, column, kind in (("pg_class", "rel", None), ("pg_proc", "pro", "function")):
        kind_value = exp.column(f"{column}kind") if kind is None else exp.Literal.string(kind)
        remark = exp.func("obj_description", exp.column("oid"), exp.Literal.string(table))
        query = exp.select(
            exp.cast(exp.column(f"{column}name"), "text"), exp.cast(kind_value, "text"), remark
        )
        query = query.from_(exp.table_(table, db="pg_catalog"))
        within = exp.EQ(this=exp.column(f"{column}namespace"), expression=of_namespace(name))
        yield query.where(within).sql("postgres")
