"""The JSON Schema of a release's manifest (draft 2020-12), made of the model that reads it.

The model reads more than it writes: numbers as texts, keys at their defaults, missing keys. A
manifest is valid only in the one way in which it is written, and so the schema has that one:
no key is null, a key that came with a later format is not at its default, and all others are there.

    python -m deployments.guide.generated.manifest_schema

writes the file in the guide, and the module of the second verifier that has the same value.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from sfumato.expectations.shared.numbers import LARGEST, SINCE
from sfumato.tasks.schema.formats import NEWEST
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.terms import Declared, LineName, Title, Word

PLACE = (
    Path(__file__).parents[1] / "pages" / "reference" / "release-format" / "datapackage.schema.json"
)
_MODULE = Path(__file__).parents[2] / "verifier" / "modules" / "schema.js"
_MODULE_HEAD = (
    "/** The JSON Schema of the specification, as a module: the same value as in "
    "datapackage.schema.json. */\nexport default "
)
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PROFILE = "https://datapackage.org/profiles/2.0/datapackage.json"
_DIGEST = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_KEYED_DIGEST = {"type": "string", "pattern": "^hmac-sha256:[0-9a-f]{64}$"}
_OF_PYDANTIC = ("title", "discriminator", "default", "decimal_places", "max_digits")
_LIMITS = {
    "ge": "x-at-least",
    "gt": "x-above",
    "le": "x-at-most",
    "lt": "x-below",
}
"""Limits of numbers that may be written as texts: JSON Schema has no words for them."""
_EXACT = {
    "description": "An exact number: an integer, or the text of a decimal without needless digits.",
    "oneOf": [
        {"type": "integer", "minimum": -LARGEST, "maximum": LARGEST},
        {"type": "string", "pattern": r"^-?(0|[1-9][0-9]*)\.[0-9]*[1-9]$"},
        {"type": "string", "pattern": "^-?[1-9][0-9]{15,}$"},
    ],
}
_OBSERVED = {
    "description": "An exact number: an integer, or the text of a decimal or a fraction.",
    "oneOf": [
        {"type": "integer"},
        {"type": "string", "pattern": r"^(-?[0-9]+([./][0-9]+)?|infinite)$"},
    ],
}
Node = dict[str, Any]


def manifest_schema() -> Node:
    """Return the schema of `datapackage.json`."""
    definitions: Node = {"ExactNumber": _EXACT, "Observed": _OBSERVED}
    sfumato = _declaration(definitions)
    return {
        "$schema": _DIALECT,
        "title": "datapackage.json of a Sfumato release, specification 1.7",
        "type": "object",
        "properties": {
            "$schema": {"const": _PROFILE},
            "name": _schema_of(LineName),
            "title": _schema_of(Title),
            "description": {"type": "string", "minLength": 1, "maxLength": 4000},
            "licenses": _licences(),
            "contributors": _contributors(),
            "resources": {"type": "array", "minItems": 1, "items": _resource()},
            "sfumato": sfumato,
        },
        "required": ["$schema", "name", "title", "resources", "sfumato"],
        "additionalProperties": False,
        "$defs": dict(sorted(definitions.items())),
    }


def write() -> None:
    """Write the schema beside the pages of the specification, and as a module of the verifier."""
    text = text_of(manifest_schema())
    PLACE.write_text(text, encoding="utf-8")
    _MODULE.write_text(_MODULE_HEAD + text, encoding="utf-8")


def text_of(schema: Node) -> str:
    """Return a schema as it is written into its file."""
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def _declaration(definitions: Node) -> Node:
    """Return the schema of the key `sfumato`; what it refers to is added to the definitions."""
    written = Declared.model_json_schema(by_alias=True, mode="serialization")
    column = TypeAdapter(DeclaredColumn).json_schema(by_alias=True, mode="serialization")
    for name, node in {**column.pop("$defs"), **written.pop("$defs")}.items():
        definitions[name] = _as_written(node)
    definitions["Column"] = _as_written(column)
    definitions["Column"]["properties"] |= {"name": {"type": "string", "minLength": 1}}
    definitions["Column"]["required"].append("name")
    whole: Node = _as_written(written)
    properties = whole["properties"]
    properties["columns"] = {
        "type": "array",
        "minItems": 1,
        "items": {"$ref": "#/$defs/Column"},
    }
    properties["name"], properties["title"] = _schema_of(LineName), _schema_of(Title)
    properties["promises"]["minItems"] = 1
    properties["formats"] |= {"uniqueItems": True, "contains": {"const": "parquet"}}
    properties["software"] = {
        "type": "object",
        "propertyNames": _schema_of(Word),
        "additionalProperties": _schema_of(Word),
    }
    properties |= {
        "format": {"type": "integer", "minimum": 1, "maximum": NEWEST},
        "observed": {"type": "array", "minItems": 1, "items": _observation()},
        "digest": _DIGEST,
    }
    whole["required"] += ["observed", "digest"]
    return whole


def _as_written(node: Any) -> Any:
    """Return a part of a schema as manifests are written, without the words of pydantic."""
    if isinstance(node, list):
        return [_as_written(part) for part in node]
    if not isinstance(node, dict):
        return node
    if node.get("type") == ["string", "number", "boolean"]:
        return {"type": "string"}
    if _is_exact(node):
        limits = {_LIMITS[key]: node[key] for key in _LIMITS if key in node}
        return {"$ref": "#/$defs/ExactNumber", **limits, **_pick(node, "description", SINCE)}
    if "anyOf" in node:
        node = _without_null(node)
    plain = {
        key: _as_written(part)
        for key, part in node.items()
        if key not in (*_OF_PYDANTIC, *_LIMITS, "properties", "required")
    }
    if "properties" not in node:
        return plain
    plain.pop("description", None)  # the docstring of a class
    return plain | _object(node)


def _object(node: Node) -> Node:
    """Return the properties of an object, and which of them are always written."""
    properties, required = {}, []
    for name, part in node["properties"].items():
        properties[name] = _as_written(part)
        if SINCE in part and part.get("default") is not None:
            properties[name]["not"] = {"const": _without_nulls(part["default"])}
        if SINCE not in part and part.get("default", ...) is not None:
            required.append(name)
    if "quasi-identifiers" in properties:  # of a promise: a spec may leave it out
        required.append("quasi-identifiers")
    if "reference" in properties:
        properties["reference"] = _KEYED_DIGEST
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _is_exact(node: Node) -> bool:
    choices = node.get("anyOf", ())
    return {"type": "integer"} in choices and {"type": "string"} in choices


def _without_null(node: Node) -> Node:
    """Return a choice without null; the choice itself where only one is left."""
    choices = [part for part in node["anyOf"] if part.get("type") != "null"]
    if len(choices) > 1:
        return {**node, "anyOf": choices}
    return {**choices[0], **{key: part for key, part in node.items() if key != "anyOf"}}


def _without_nulls(default: Any) -> Any:
    if isinstance(default, dict):
        return {key: value for key, value in default.items() if value is not None}
    return default


def _pick(node: Node, *keys: str) -> Node:
    return {key: node[key] for key in keys if key in node}


def _schema_of(kind: Any) -> Node:
    schema: Mapping[str, Any] = TypeAdapter(kind).json_schema()
    return dict(schema)


def _observation() -> Node:
    numbers = {"type": "object", "additionalProperties": {"$ref": "#/$defs/Observed"}}
    return {
        "type": "object",
        "properties": {
            "promise": {"type": "object"},
            "groups": {"type": "integer", "minimum": 1},
            "observed": numbers,
            "people": numbers,
            "households": numbers,
        },
        "required": ["promise", "groups", "observed"],
        "additionalProperties": False,
    }


def _resource() -> Node:
    return {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1},
            "path": {"type": "string", "pattern": r"^(?!/)(?!.*(^|/)\.\.?(/|$)).+$"},
            "format": {"enum": ["csv", "html", "json", "parquet", "sql"]},
            "mediatype": {"type": "string"},
            "bytes": {"type": "integer", "minimum": 0},
            "hash": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
            "encoding": {"const": "utf-8"},
            "type": {"const": "table"},
            "dialect": {"const": {"header": False}},
            "schema": {"type": "object"},
        },
        "required": ["name", "path", "format", "mediatype", "bytes", "hash"],
        "additionalProperties": False,
    }


def _licences() -> Node:
    licence = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "path": {"type": "string"}},
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
    }
    return {"type": "array", "minItems": 1, "maxItems": 1, "items": licence}


def _contributors() -> Node:
    contributor = {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "email": {"type": "string"},
            "path": {"type": "string"},
            "roles": {"enum": [["publisher"], ["contact"]]},
        },
        "required": ["title", "roles"],
        "additionalProperties": False,
    }
    return {"type": "array", "minItems": 1, "maxItems": 2, "items": contributor}


if __name__ == "__main__":
    write()
