"""CSV on the Web: the CSV files of a release as a table group, as JSON-LD.

Source: W3C, Metadata Vocabulary for Tabular Data (2015), and Model for Tabular Data and Metadata
on the Web (2015).
"""

import re
from typing import Any
from urllib.parse import quote

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.metadata.description import (
    Document,
    ReleaseDescription,
    ReleasedField,
    ReleasedFile,
    json_text,
)
from sfumato.tasks.metadata.sentences import summary
from sfumato.tasks.schema.stated import web_address

_CONTEXT = "http://www.w3.org/ns/csvw"
_CSV = "text/csv"
_TYPES: dict[str, Any] = {
    "boolean": "boolean",
    "date": "date",
    "datetime": {"base": "datetime", "format": "yyyy-MM-dd HH:mm:ss.SSSSSS"},
    "integer": "integer",
    "number": "number",
    "string": "string",
}
_DIALECT = {"encoding": "utf-8", "lineTerminators": ["\n"], "commentPrefix": None}
_SIX = 6  # decimals up to which a decimal is never written with an exponent
_NO_VARIABLE = re.compile(r"[^A-Za-z0-9_]|^_")


def csvw(release: ReleaseDescription) -> Document:
    """Return the CSV files of a release as a table group.

    Raises:
        InputError: if the tables have no CSV files.
    """
    files = [file for file in release.tables if file.mediatype == _CSV]
    if not files:
        raise InputError(
            f"{release.release.directory}: has no CSV files, and CSVW describes only these. "
            "Publish with `formats: [parquet, csv]`, or ask for another standard: croissant"
        )
    document = {
        "@context": _CONTEXT,
        "@type": "TableGroup",
        "dc:title": release.title,
        "dc:description": summary(release),
        "dc:identifier": release.urn,
        **_words(release),
        "dialect": _DIALECT,
        "tables": [_table(release, file) for file in files],
    }
    return Document(json_text(document))


def _words(release: ReleaseDescription) -> dict[str, Any]:
    words: dict[str, Any] = {}
    if release.publisher:
        words["dc:publisher"] = release.publisher
    if release.licence:
        address = web_address(release.licence)
        words |= {"dc:license": {"@id": address}} if address else {"dc:rights": release.licence}
    if release.version is not None:
        words["dc:issued"] = release.version.day
    return words


def _table(release: ReleaseDescription, file: ReleasedFile) -> dict[str, Any]:
    return {
        "@type": "Table",
        "url": release.address(file.path),
        "dc:title": file.table,
        "tableSchema": {
            "@type": "Schema",
            "columns": [_column(field) for field in file.fields],
            **_keys(release, file),
        },
    }


def _keys(release: ReleaseDescription, file: ReleasedFile) -> dict[str, Any]:
    """Return the key of a table of groups, or the columns that refer to it."""
    own = [_variable(field.name) for field in file.fields if release.is_key(file, field)]
    foreign = [
        {
            "columnReference": _variable(field.name),
            "reference": {
                "resource": next(
                    release.address(other.path)
                    for other in release.tables
                    if (other.table, other.mediatype) == (referred[0], _CSV)
                ),
                "columnReference": _variable(referred[1]),
            },
        }
        for field in file.fields
        if (referred := release.referred_key(file, field)) is not None
    ]
    keys: dict[str, Any] = {"primaryKey": own[0]} if own else {}
    return {**keys, "foreignKeys": foreign} if foreign else keys


def _column(field: ReleasedField) -> dict[str, Any]:
    column: dict[str, Any] = {
        "@type": "Column",
        "name": _variable(field.name),
        "titles": field.name,
        "datatype": _datatype(field),
        "required": field.required,
    }
    if field.required and field.type == "string":
        column["null"] = []  # an empty text is a value there
    if field.description:
        column["dc:description"] = field.description
    return column


def _datatype(field: ReleasedField) -> Any:
    """Return the type of a column; decimals that may have an exponent are numbers."""
    column = field.column
    if field.type == "number" and column is not None and column.type == "decimal":
        return "decimal" if (column.scale or 0) <= _SIX else "number"
    return _TYPES[field.type]


def _variable(name: str) -> str:
    """Return a name that URI templates can have as a variable (RFC 6570), different for each name.

    >>> _variable("capital-loss"), _variable("_id")
    ('capital%2Dloss', '%5Fid')
    """
    return _NO_VARIABLE.sub(lambda match: _percent(match[0]), name)


def _percent(character: str) -> str:
    encoded = quote(character, safe="")
    return encoded if encoded != character else f"%{ord(character):02X}"
