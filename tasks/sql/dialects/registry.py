"""Every dialect by its name."""

from collections.abc import Mapping

from sfumato.tasks.sql.dialects.dialect import Dialect
from sfumato.tasks.sql.dialects.duckdb import duckdb
from sfumato.tasks.sql.dialects.mariadb import mariadb
from sfumato.tasks.sql.dialects.postgres import postgres
from sfumato.tasks.sql.dialects.sqlite import sqlite

DIALECTS: Mapping[str, Dialect] = {
    "duckdb": duckdb,
    "postgres": postgres,
    "sqlite": sqlite,
    "mariadb": mariadb,
}
