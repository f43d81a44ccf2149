"""DuckDB connections that cost little: cursors of one database in place of a database each.

To open a database takes 25 ms of CPU, which is most of what a query on ten rows takes. Cursors of
one see only the tables that are registered with them, as databases of their own would.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from unittest.mock import patch

import duckdb
import pyarrow as pa

from sfumato.tasks.sql import session
from sfumato.tasks.sql.parted import TableInParts


@contextmanager
def quick_sessions() -> Iterator[None]:
    """Open sessions as cursors of one database while this is entered."""
    config = {"threads": 1, "python_enable_replacements": "false"}
    with duckdb.connect(config=config) as shared:

        def open_session(
            tables: Mapping[str, TableInParts], _limits: session.Limits
        ) -> duckdb.DuckDBPyConnection:
            cursor = shared.cursor()
            cursor.execute("PRAGMA disable_optimizer")  # planning takes longer than ten rows
            for name, table in tables.items():
                cursor.register(name, pa.concat_tables(table.tables()))
            return cursor

        with patch.object(session, "_open_database", open_session):
            yield
