"""All dialects by name."""

from collections.abc import Mapping

from sfumato.expectations.shared.registered import Entries
from sfumato.tasks.sql.dialects.dialect import Dialect

DIALECTS: Mapping[str, Dialect] = Entries(
    "sfumato.tasks.sql.dialects",
    {
        "duckdb": "duckdb:duckdb",
        "postgres": "postgres:postgres",
        "sqlite": "sqlite:sqlite",
        "mariadb": "mariadb:mariadb",
    },
)
