"""A schema that Sfumato made, and what it made in it."""

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
    """How what is made is marked as ours, and what the place is called in messages."""

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
        """What we made, by name."""
        return sorted(one.name for one in self._members() if one.ours)

    def create(self) -> None:
        """Make it."""
        self._database.run(create_schema(self._name))

    def drop(self) -> bool:
        """Drop it where nothing is left in it; False where something is."""
        return self._attempt(lambda: self._database.run(drop_schema(self._name)))

    def mark(self, text: str) -> None:
        """Say of the schema itself what it is."""
        self._database.run(comment("SCHEMA", schema(self._name), text))

    def mark_all(self, text: str) -> None:
        """Say of all that stands in it what it is: all of it was made just now."""
        for one in self._members():
            self._database.run(comment(one.kind, member(one.name, self._name), text))

    def drop_all(self, *, cascade: bool) -> None:
        """Drop what we made: functions, then views, then tables."""
        order = list(reversed(_KINDS.values()))
        for one in sorted(self._members(), key=lambda one: order.index(one.kind)):
            if one.ours and one.name in self.names:  # a cascade may have taken it
                self._drop(one, cascade=cascade)

    def settle_functions(self) -> None:
        """Have functions read this schema, whoever calls them from wherever."""
        quoted = self._database.dialect.quoted
        for one in self._members():
            if one.kind == "FUNCTION":
                called = f"{quoted(self._name)}.{quoted(one.name)}"
                path = f"{quoted(self._name)}, pg_temp"
                self._database.execute(f"ALTER FUNCTION {called} SET search_path = {path}")

    def let_read(self, roles: Sequence[str]) -> None:
        """Let roles read what we made."""
        self._database.run(grant("USAGE", "SCHEMA", schema(self._name), roles))
        for one in self._members():
            if one.ours and one.kind != "FUNCTION":
                self._database.run(grant("SELECT", None, member(one.name, self._name), roles))

    def show(self, source: "PublishedSchema", marked: Marked, *, cascade: bool) -> None:
        """Have a view of each table and view of another schema, and no other view of ours.

        Raises:
            PromiseError: where something that is not ours has the name of one.
        """
        wanted = [one.name for one in source._members() if one.ours and one.kind != "FUNCTION"]
        self._require_free(wanted, marked)
        for one in self._members():
            if one.ours and one.kind == "VIEW" and one.name not in wanted:
                self._drop(one, cascade=cascade)
        for name in wanted:
            made = view_of(name, self._name, source._name)
            old = SchemaMember(name, "VIEW", True)
            self._replace(old, partial(self._database.run, made), cascade=cascade)
            self._database.run(comment("VIEW", member(name, self._name), marked.text))

    def replace_functions(
        self, functions: Sequence[Made], marked: Marked, *, cascade: bool
    ) -> None:
        """Have these functions, and no other of ours; the current schema is this one."""
        self._require_free([one.name for one in functions], marked)
        for one in self._members():
            if one.ours and one.kind == "FUNCTION" and one.name not in {f.name for f in functions}:
                self._drop(one, cascade=cascade)
        for made in functions:
            old = SchemaMember(made.name, "FUNCTION", True)
            self._replace(old, partial(self._database.execute, made.replace), cascade=cascade)
            self._database.run(comment("FUNCTION", member(made.name, self._name), marked.text))
        self.settle_functions()

    def _replace(self, old: SchemaMember, make: Callable[[], object], *, cascade: bool) -> None:
        """Make what may be there; where it cannot be replaced as it is, it is dropped first."""
        if not self._attempt(make):
            self._drop(old, cascade=cascade)
            make()

    def _drop(self, one: SchemaMember, *, cascade: bool) -> None:
        self._database.run(drop_member(one.kind, one.name, self._name, cascade=cascade))

    def _attempt(self, do: Callable[[], object]) -> bool:
        """Do something in a part of the transaction; False where the database refuses."""
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

    def _require_free(self, wanted: Sequence[str], marked: Marked) -> None:
        for one in self._members():
            if not one.ours and one.name in wanted:
                raise PromiseError(
                    f"{marked.place}: {one.name} in schema {self._name} is not Sfumato's: name "
                    "another schema (publish.database.schema), or rename it"
                )

    def _members(self) -> list[SchemaMember]:
        """The tables, views and functions in it; what else there is nobody drops."""
        found = [row for query in _queries(self._name) for row in self._database.execute(query)]
        return [
            SchemaMember(name, _KINDS[kind], (said or "").startswith(_MARK))
            for name, kind, said in found
            if kind in _KINDS
        ]


_OF_OTHERS = {"2BP01", "42P16", "42P13"}
"""The codes where others need something, and where a view or a function cannot be replaced."""


def _queries(name: str) -> Iterator[str]:
    """For names, kinds and comments of what stands in a schema."""
    for table, column, kind in (("pg_class", "rel", None), ("pg_proc", "pro", "function")):
        known = exp.column(f"{column}kind") if kind is None else exp.Literal.string(kind)
        said = exp.func("obj_description", exp.column("oid"), exp.Literal.string(table))
        query = exp.select(
            exp.cast(exp.column(f"{column}name"), "text"), exp.cast(known, "text"), said
        )
        query = query.from_(exp.table_(table, db="pg_catalog"))
        within = exp.EQ(this=exp.column(f"{column}namespace"), expression=of_namespace(name))
        yield query.where(within).sql("postgres")
