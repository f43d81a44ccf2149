"""datapackage.json: a Frictionless Data Package that lists every file and what was promised."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.tasks.declaration.opened import MANIFEST, SIGNATURE
from sfumato.tasks.declaration.tables import schemas
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.schema.stated.words import PublishedWords, mail_address, web_address
from sfumato.tasks.verification.integrity import digest, sha256_of

_PROFILE = "https://datapackage.org/profiles/2.0/datapackage.json"
MEDIA = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".parquet": "application/vnd.apache.parquet",
    ".sql": "application/sql",
}
"""The media types of published files, by their endings."""


def manifest(directory: Path, declared: Declared, observed: list[dict[str, Any]]) -> dict[str, Any]:
    """Describe every file in a release directory, and seal the description with its digest."""
    tables = schemas(declared)
    document: dict[str, Any] = {
        "$schema": _PROFILE,
        "name": declared.name,
        "title": declared.title,
        **_said(declared.words),
        "resources": [
            _resource(directory, path, tables, declared.words.columns) for path in files(directory)
        ],
        "sfumato": {
            **({"format": declared.format} if declared.format else {}),
            **declared.model_dump(mode="json", by_alias=True, exclude_none=True),
            "observed": observed,
            "digest": "",
        },
    }
    document["sfumato"]["digest"] = digest(document)
    return document


def files(directory: Path) -> list[Path]:
    """Every file of a release but its manifest and the signature of that, relative and sorted."""
    found = {path.relative_to(directory) for path in directory.rglob("*") if not path.is_dir()}
    return sorted(found - {Path(MANIFEST), Path(SIGNATURE)}, key=Path.as_posix)


def _said(words: PublishedWords) -> dict[str, Any]:
    """Words as a Data Package has them: `description`, `licenses` and `contributors`."""
    said: dict[str, Any] = {} if words.description is None else {"description": words.description}
    if words.licence is not None:
        key = "path" if web_address(words.licence) else "name"
        said["licenses"] = [{key: words.licence}]
    contributors = []
    if words.publisher is not None:
        contributors.append({"title": words.publisher, "roles": ["publisher"]})
    if words.contact is not None:
        contributors.append({**_contact(words.contact), "roles": ["contact"]})
    return said | ({"contributors": contributors} if contributors else {})


def _contact(text: str) -> dict[str, str]:
    if mail_address(text):
        return {"title": text, "email": text}
    return {"title": text, "path": text} if web_address(text) else {"title": text}


def _resource(
    directory: Path, path: Path, tables: Mapping[str, pa.Schema], described: Mapping[str, str]
) -> dict[str, Any]:
    resource: dict[str, Any] = {
        "name": path.name.replace(".", "-"),
        "path": path.as_posix(),
        "format": path.suffix[1:],
        "mediatype": MEDIA[path.suffix],
        "bytes": (directory / path).stat().st_size,
        "hash": f"sha256:{sha256_of(directory / path)}",
    }
    if path.parent.name == "data":
        resource["type"] = "table"
        resource["schema"] = {"fields": [_field(field, described) for field in tables[path.stem]]}
    return resource


def _field(field: pa.Field, described: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {"name": field.name, "type": _frictionless(field.type)}
    if field.name in described:
        found["description"] = described[field.name]
    if not field.nullable:
        found["constraints"] = {"required": True}
    return found


def _frictionless(type_: pa.DataType) -> str:
    if pa.types.is_integer(type_):
        return "integer"
    if pa.types.is_decimal(type_) or pa.types.is_floating(type_):
        return "number"
    if pa.types.is_date(type_):
        return "date"
    if pa.types.is_timestamp(type_):
        return "datetime"
    return "boolean" if pa.types.is_boolean(type_) else "string"
