"""A release as tables of a database, in which rewritten queries return the same bounds.

Everything is done in one transaction. In MariaDB, where transactions do not include the creation
of tables, tables are filled under temporary names, and one statement exchanges all names.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.query.ask import files_of_tables
from sfumato.tasks.query.engines.engine import read_table
from sfumato.tasks.query.help_tables.rows import help_name
from sfumato.tasks.query.question.ways import GROUP_ID
from sfumato.tasks.query.sql.registry import SQL_WAYS
from sfumato.tasks.query.views import arrays_name, arrays_table, bounds_function, groups_view
from sfumato.tasks.sql.dialects.dialect import Dialect, Made
from sfumato.tasks.sql.dialects.statements import analyze, drop_tables
from sfumato.tasks.sql.fill import create, fill, index, require_fitting
from sfumato.tasks.sql.target import TargetDatabase, target, translate_refusals
from sfumato.tasks.terms.opened import Release
from sfumato.tasks.terms.terms import Terms

_KEY = (GROUP_ID, "hits")


@dataclass(frozen=True)
class _Loaded:
    """The tables, views and functions that a database gets.

    Attributes:
        tables: by their names.
        arrays: tables made from help tables.
        views: over the tables.
        functions: that read the tables.
    """

    tables: Mapping[str, pa.Table]
    arrays: Sequence[Made]
    views: Sequence[Made]
    functions: Sequence[Made]

    @property
    def names(self) -> list[str]:
        """All names, in the order of creation."""
        made = (*self.arrays, *self.views, *self.functions)
        return [*self.tables, *(ready.name for ready in made)]


def load(
    release: Release, url: str, replace: bool = False, environ: Mapping[str, str] = os.environ
) -> list[str]:
    """Create and fill the tables that rewritten queries read, and the views and functions on them.

    SQLite has neither moments nor decimals: dates and timestamps are ISO texts there, as in
    '2020-01-31 10:00:00.000000', and decimals are REAL. Sums of decimals are therefore rounded.

    Args:
        release: an open release.
        url: of the database, in the form of its dialect.
        replace: whether tables, views and functions of the same names are done away with; those
            of other names, which an earlier release in another form may have left, stay.
        environ: what `${NAME}` in the address stands for.

    Returns:
        The names of the tables, views and functions.

    Raises:
        InputError: where a file of the release is missing, the database cannot be reached, has one
            of the tables already, cannot hold a value, or refuses.
    """
    tables = _tables(release)
    with target(url, environ) as database:
        loaded = _ready(release.declared, tables, database)
        with translate_refusals(f"{database.place}: the database refuses", database.dialect):
            _require_ready(database)
            _require_free(database, loaded, replace)
            fill_all = _in_one if database.dialect.access.exchanges is None else _exchange
            fill_all(database, loaded, replace)
    return loaded.names


def load_within(release: Release, database: TargetDatabase) -> list[str]:
    """Create and fill the tables in an open transaction, whose current schema is empty.

    Returns:
        The names of the tables, views and functions.

    Raises:
        InputError: where a file of the release is missing, or the database cannot hold a value.
    """
    loaded = _ready(release.declared, _tables(release), database)
    _require_ready(database)
    _make_all(database, loaded)
    return loaded.names


def functions_of(declared: Terms, dialect: Dialect, table_names: Collection[str]) -> list[Made]:
    """Return the functions that bound aggregates, which read tables of the current schema.

    Args:
        declared: what the release declares.
        dialect: of the database.
        table_names: the names of these tables.
    """
    names = SQL_WAYS[declared.form.shows].views(declared)
    functions = [
        bounds_function(declared, name, dialect, arrays=arrays_name(name) in table_names)
        for name in names
    ]
    return [function for function in functions if function is not None]


def _tables(release: Release) -> dict[str, pa.Table]:
    """Return the published tables, and those that are derived from them for databases."""
    declared = release.declared
    paths = files_of_tables(release, declared.names_with_roles("sensitive"))
    published = {name: read_table(path) for name, path in paths.items()}
    return {**published, **SQL_WAYS[declared.form.shows].beside(published, declared)}


def _ready(declared: Terms, tables: Mapping[str, pa.Table], database: TargetDatabase) -> _Loaded:
    for name, table in tables.items():
        require_fitting(database, name, table, exact=not name.startswith("help_"))
    sensitive = SQL_WAYS[declared.form.shows].views(declared)
    dialect = database.dialect
    arrays = [
        arrays_table(name, tables[help_name(name)].column_names, dialect)
        for name in sensitive
        if dialect.arrays
    ]
    views = [groups_view(declared, name, dialect) for name in sensitive]
    functions = functions_of(declared, dialect, {made.name for made in arrays})
    return _Loaded(tables, arrays, views, functions)


def _require_ready(database: TargetDatabase) -> None:
    """Check that the database is set up as its dialect requires."""
    required = database.dialect.access.require
    if required is not None:
        query, expected, rule = required
        ((value,),) = database.execute(query)
        if value != expected:
            raise InputError(f"{database.place}: {rule}")


def _require_free(database: TargetDatabase, loaded: _Loaded, replace: bool) -> None:
    if replace:
        return
    existing = {name.casefold() for (name,) in database.execute(database.dialect.access.existing)}
    made = (*loaded.arrays, *loaded.views)
    for name in [*loaded.tables, *(ready.name for ready in made)]:
        if name.casefold() in existing:
            raise InputError(
                f"{database.place}: table {name!r} exists already. To replace it: --replace"
            )


def _in_one(database: TargetDatabase, loaded: _Loaded, replace: bool) -> None:
    """Load everything in one transaction."""
    done = False
    database.begin()
    try:
        if replace:
            _drop(database, loaded)
        _make_all(database, loaded)
        database.end(well=True)
        done = True
    finally:
        if not done:
            database.end(well=False)


def _make_all(database: TargetDatabase, loaded: _Loaded) -> None:
    for name, table in loaded.tables.items():
        _make(database, name, table, name)
    for ready in loaded.arrays:
        database.execute(ready.create)
        index(database, ready.name, GROUP_ID, f"{ready.name}_{GROUP_ID}")
    for ready in (*loaded.views, *loaded.functions):
        database.execute(ready.create)
    if database.dialect.access.analyzes:
        for name in (*loaded.tables, *(ready.name for ready in loaded.arrays)):
            database.run(analyze(name))


def _drop(database: TargetDatabase, loaded: _Loaded) -> None:
    for ready in (*loaded.functions, *loaded.views, *loaded.arrays):
        database.execute(ready.drop)
    for name in loaded.tables:
        database.run(drop_tables(name))


def _make(database: TargetDatabase, name: str, table: pa.Table, table_name: str) -> None:
    """Create and fill a table under a name that may be temporary."""
    keyed = name.startswith("help_") and set(_KEY) <= set(table.column_names)
    create(database, table_name, table, _KEY if keyed else ())
    fill(database, table_name, table)
    if not keyed and GROUP_ID in table.column_names:
        index(database, table_name, GROUP_ID, f"{name}_{GROUP_ID}")


def _exchange(database: TargetDatabase, loaded: _Loaded, replace: bool) -> None:
    """Fill tables under temporary names, and exchange them for the final names at once."""
    ((connection,),) = database.execute("SELECT CONNECTION_ID()")
    new = {name: f"sfumato_new_{connection}_{n}" for n, name in enumerate(loaded.tables)}
    old = {name: f"sfumato_old_{connection}_{n}" for n, name in enumerate(loaded.tables)}
    leftovers = [*new.values()]
    try:
        for name, table in loaded.tables.items():
            database.run(drop_tables(new[name], old[name]))
            _make(database, name, table, new[name])
        database.end(well=True)
        there = {name for (name,) in database.execute(str(database.dialect.access.exchanges))}
        away = [(name, old[name]) for name in loaded.tables if name in there]
        moves = [*away, *((called, name) for name, called in new.items())]
        _rename(database, moves)
        try:
            _make_ready(database, loaded, replace)
        except BaseException:
            _rename(database, [(after, before) for before, after in reversed(moves)])
            raise
        leftovers += [after for _, after in away]
    finally:
        database.run(drop_tables(*leftovers))


def _make_ready(database: TargetDatabase, loaded: _Loaded, replace: bool) -> None:
    made: list[Made] = []
    try:
        for ready in (*loaded.views, *loaded.functions):
            if replace:
                database.execute(ready.replace)
            else:
                database.execute(ready.create)
                made.append(ready)
    except BaseException:
        for ready in made:
            database.execute(ready.drop)
        raise


def _rename(database: TargetDatabase, moves: Sequence[tuple[str, str]]) -> None:
    """Rename tables, all at once: sqlglot knows no statement for several."""
    quoted = database.dialect.quote
    pairs = (f"{quoted(old)} TO {quoted(new)}" for old, new in moves)
    database.execute(f"RENAME TABLE {', '.join(pairs)}")
