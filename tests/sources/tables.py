"""Tables of people in databases, and the source that reads them."""

from typing import Any

from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.source import Ingested, ingest
from tests.microdata.sources import column

CANARY = "CANARYcell"
TYPES = {
    "person": "integer",
    "born": "date",
    "seen": "timestamp",
    "wage": "decimal",
    "weight": "float",
    "town": "string",
    "insured": "boolean",
}
QUERY = f"SELECT {', '.join(TYPES)} FROM people"
ROWS = [
    (1, "1980-02-29", "2024-05-01 10:00:00", "1500.50", 70.5, "Zoë's", True),
    (2, None, "2024-05-31 23:59:59.5", "99.99", None, "a: b %s \\ ?", False),
    (3, "1999-12-31", None, None, 1e-300, None, None),
]


def read(uri: str, query: str = QUERY, *, types: Any = None, environ: Any = None, **keys: Any):
    """Return what a query gives, as values of types by column."""
    return rows_of(ingest_source(uri, query, types, environ, **keys), types or TYPES)


def ingest_source(
    uri: str, query: str, types: Any = None, environ: Any = None, **keys: Any
) -> Ingested:
    from pathlib import Path

    source = Source.model_validate({"uri": uri, "query": query, **keys})
    columns = {name: column(type_) for name, type_ in (types or TYPES).items()}
    return ingest(source, columns, "category", Path(), environ or {})


def rows_of(result: Ingested, types: Any) -> list[tuple[Any, ...]]:
    columns = [result.microdata[name].array().to_pylist() for name in types]
    return list(zip(*columns, strict=True))
