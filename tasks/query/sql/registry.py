"""The SQL of releases, by the name of the way in which a form shows a person."""

from collections.abc import Mapping

from sfumato.tasks.query.sql.columns import columns
from sfumato.tasks.query.sql.labels import labels
from sfumato.tasks.query.sql.rows import rows
from sfumato.tasks.query.sql.subdomains import subdomains
from sfumato.tasks.query.sql.way import SqlWay

SQL_WAYS: Mapping[str, SqlWay] = {
    "rows": rows,
    "columns": columns,
    "subdomains": subdomains,
    "labels": labels,
}
