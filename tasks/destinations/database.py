"""A PostgreSQL database: a schema for each version, and one of views of the current version.

    wages_0001    tables, help tables, views and functions of a version, as `sfumato load` has
    wages         views of all tables of the current version, and the same functions

All is done in one transaction, under a lock: readers see the line as it was before, or as it is.
Views are replaced, so that what was granted on them stays, and dropped only where their columns
changed. Each schema, and each thing in it, is marked by a comment as Sfumato's, with the digest of
its version: nothing without that mark is ever dropped.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlglot import exp

from sfumato.expectations.shared.errors import InputError, PromiseError, TransientFault
from sfumato.tasks.destinations.declared import DatabaseDestination
from sfumato.tasks.destinations.destination import (
    DestinationKind,
    another_release,
    require_same_line,
    withdrawn_there,
)
from sfumato.tasks.destinations.views import Marked, PublishedSchema
from sfumato.tasks.lines.snapshot import LineSnapshot, VersionSnapshot
from sfumato.tasks.lines.versions import Record
from sfumato.tasks.query.load import functions_of, load_within
from sfumato.tasks.sql.dialects.dialect import Dialect
from sfumato.tasks.sql.dialects.statements import set_locally
from sfumato.tasks.sql.target import TargetDatabase, target
from sfumato.tasks.terms.opened import open_release
from sfumato.tasks.verification.integrity import require_intact

_RULES = {
    "2BP01": "tables or views of others depend on the old views. Drop these first",
    "3F000": "the schema does not exist",
    "42501": "the user may not do this there (it needs CREATE on the database, and to own schemas "
    "that are there)",
    "53100": "the disk of the database is full",
    "55P03": "a long query is reading the line there. Deliver again later",
}
_BROKEN = ("08", "40", "57")
"""The beginnings of codes of broken connections and transactions."""
_PATIENCE = "30s"  # for those who read a view that is to be replaced
_SCHEMAS = (
    "SELECT nspname, pg_catalog.obj_description(oid, 'pg_namespace') FROM pg_catalog.pg_namespace"
)
_ROLES = "SELECT rolname FROM pg_catalog.pg_roles"


@contextmanager
def translate_errors(place: str, dialect: Dialect) -> Iterator[None]:
    """Translate the database's errors into ours, with no more of them than the SQLSTATE.

    Raises:
        InputError: where the database refuses.
        TransientFault: where the connection broke.
    """
    try:
        yield
    except dialect.access.errors() as error:
        code = str(dialect.access.code(error) or "")
        rule = _RULES.get(code, "the database refuses")
        message = f"{place}: {rule} ({code or type(error).__name__})"
        broken = not code or code.startswith(_BROKEN)
        raise (TransientFault if broken else InputError)(message) from None


@contextmanager
def open_database(
    declared: DatabaseDestination, line: LineSnapshot, environ: Mapping[str, str]
) -> Iterator["SchemasOfLine"]:
    """Open a database for a line, in one transaction.

    Raises:
        InputError: where it cannot be reached, or refuses.
        PromiseError: where another line is there.
    """
    with (
        target(declared.uri, environ) as database,
        translate_errors(declared.uri, database.dialect),
    ):
        schemas = SchemasOfLine(declared, line, database)
        yield schemas
        database.end(well=True)


class SchemasOfLine:
    """The schemas of a line, in a transaction."""

    def __init__(
        self, declared: DatabaseDestination, line: LineSnapshot, database: TargetDatabase
    ) -> None:
        self.notices: list[str] = []
        self._declared, self._line, self._database = declared, line, database
        self._base = declared.schema_of(line.name)
        self._withdrawn: list[str] = []
        database.begin()
        self._lock()
        self._there: dict[str, str | None] = dict(database.execute(_SCHEMAS))
        self._line_mark = self._require_our_line()
        self._require_readers()

    def withdraw(self, version: VersionSnapshot) -> None:
        """Note that a version's schema goes, once no view reads it."""
        name = self._name(version.number)
        if name in self._there and self._mark(name) is not None:
            self._withdrawn.append(name)

    def put(self, version: VersionSnapshot) -> bool:
        """Load a version into a schema of its own, unless it is there."""
        version.manifest()
        name = self._name(version.number)
        if version.number in self._line_mark.get("withdrawn", ()):
            raise withdrawn_there(self._declared.uri, version.number)
        if name in self._there:
            mark = self._require_mark(name)
            if mark["digest"] != version.digest:
                raise another_release(self._declared.uri, version.number, str(mark["digest"]))
            if PublishedSchema(self._database, name).names == mark["members"]:
                return False
            PublishedSchema(self._database, name).drop_all(cascade=True)
        else:
            PublishedSchema(self._database, name).create()
        self._load(version, name)
        return True

    def tell(self, line: LineSnapshot) -> None:
        """Switch the views to the current version, drop what was withdrawn, let readers read."""
        base, current = PublishedSchema(self._database, self._base), line.record.current
        withdrawing = bool(self._withdrawn)
        if current is not None:
            self._switch(base, current, withdrawing)
        elif self._base in self._there:
            self._drop(self._base)
        for name in self._withdrawn:
            self._drop(name)
        if self._declared.readers:
            names = [self._base, *map(self._name, (version.number for version in line.live))]
            for name in names if line.live else ():
                PublishedSchema(self._database, name).let_read(self._declared.readers)

    def _load(self, version: VersionSnapshot, name: str) -> None:
        release = open_release(version.directory)
        require_intact(release)
        self._database.run(set_locally("search_path", f'"{name}"'))
        load_within(release, self._database)
        schema = PublishedSchema(self._database, name)
        mark = {"version": version.number, "digest": version.digest}
        schema.settle_functions()
        schema.mark_all(self._text(mark))
        schema.mark(self._text({**mark, "members": schema.names}))

    def _switch(self, base: PublishedSchema, current: str, withdrawing: bool) -> None:
        (version,) = [version for version in self._line.live if version.number == current]
        if self._base not in self._there:
            base.create()
        source = PublishedSchema(self._database, self._name(current))
        text = self._text({"version": current, "digest": version.digest})
        base.show(source, Marked(text, self._declared.uri), cascade=withdrawing)
        declared = open_release(version.directory).declared
        functions = functions_of(declared, self._database.dialect, source.names)
        self._database.run(set_locally("search_path", f'"{self._base}"'))
        base.replace_functions(functions, Marked(text, self._declared.uri), cascade=withdrawing)
        withdrawn = [version.number for version in self._line.withdrawn]
        state = {"counter": self._line.record.counter, "withdrawn": withdrawn}
        base.mark(self._text({"current": current, **state}))

    def _drop(self, name: str) -> None:
        schema = PublishedSchema(self._database, name)
        schema.drop_all(cascade=True)
        if not schema.drop():
            schema.mark(self._text({"withdrawn": True}))
            self.notices.append(
                f"{self._declared.uri}: schema {name} was not deleted, because it "
                "contains things that Sfumato did not make"
            )

    def _lock(self) -> None:
        """Wait for others that write the same line."""
        self._database.run(set_locally("lock_timeout", _PATIENCE))
        number = exp.func("hashtext", exp.Literal.string(f"sfumato {self._base}"))
        self._database.run(exp.select(exp.func("pg_advisory_xact_lock", number)))

    def _require_our_line(self) -> dict[str, Any]:
        """Return the mark of the schema of views; empty if there is no such schema."""
        if self._base not in self._there:
            return {}
        mark = self._require_mark(self._base)
        owner_and_counter = {
            key: mark[key] for key in ("owner", "counter") if mark.get(key) is not None
        }
        there = Record(name=str(mark["line"]), **owner_and_counter)
        require_same_line(f"{self._declared.uri}, schema {self._base}", there, self._line)
        return mark

    def _require_readers(self) -> None:
        roles = (
            {name for (name,) in self._database.execute(_ROLES)} if self._declared.readers else ()
        )
        for role in self._declared.readers:
            if role not in roles:
                raise InputError(
                    f"{self._declared.uri}: the database has no role {role!r}. Correct "
                    "publish.database.readers, or create the role"
                )

    def _require_mark(self, name: str) -> dict[str, Any]:
        mark = self._mark(name)
        if mark is None:
            raise PromiseError(
                f"{self._declared.uri}: a schema {name} exists that this line did not "
                "make. Name another one (publish.database.schema), or drop it"
            )
        return mark

    def _mark(self, name: str) -> dict[str, Any] | None:
        """Return the mark in a schema's comment, or None if it is not this line's."""
        try:
            mark = json.loads(self._there[name] or "")
            return dict(mark) if mark["sfumato"] and mark["line"] == self._line.name else None
        except (ValueError, KeyError, TypeError):
            return None

    def _text(self, mark: Mapping[str, Any]) -> str:
        """Return a comment that marks something as this line's."""
        whose = {"sfumato": 1, "line": self._line.name, "owner": self._line.record.owner}
        return json.dumps({**whose, **mark})

    def _name(self, number: str) -> str:
        return f"{self._base}_{number}"


DATABASE = DestinationKind(DatabaseDestination, open_database)
