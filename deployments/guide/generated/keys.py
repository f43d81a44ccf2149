"""The keys of a spec, from its JSON Schema: a section for each object that has keys."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sfumato.flows.inputs.spec import json_schema

Schema = Mapping[str, Any]
_LIMITS = {
    "minimum": "≥",
    "ge": "≥",
    "exclusiveMinimum": ">",
    "gt": ">",
    "maximum": "≤",
    "le": "≤",
    "lt": "<",
    "minItems": "items ≥",
    "maxLength": "characters ≤",
}


def write_keys() -> str:
    """Return Markdown of all keys: each object by its place in a spec."""
    sections: dict[str, tuple[Schema, list[str]]] = {}
    root = json_schema()
    _collect(root, "", root["$defs"], sections)
    objects = {title: schema for title, (schema, _) in sections.items()}
    return "\n".join(_section(schema, places, objects) for schema, places in sections.values())


def _name(schema: Schema) -> str:
    """Return an object's name for tables: `method: ke`, or the words of its title."""
    apart = "".join(f" {c.lower()}" if c.isupper() else c for c in schema["title"].strip("_"))
    return _kind(schema).strip(" ()") or apart.strip()


def _collect(
    schema: Schema, place: str, defs: Schema, sections: dict[str, tuple[Schema, list[str]]]
) -> None:
    """Collect every object with keys and its places, each object after the one that has it."""
    if "$ref" in schema:
        schema = defs[schema["$ref"].rpartition("/")[2]]
    if "properties" not in schema:
        for below, inner in _inner_schemas(schema, place):
            _collect(inner, below, defs, sections)
        return
    title, place = schema["title"], place + _kind(schema)
    if title in sections:
        if place not in sections[title][1]:
            sections[title][1].append(place)
        return
    sections[title] = (schema, [place])
    for key, inner in schema["properties"].items():
        _collect(inner, f"{place}.{key}".lstrip("."), defs, sections)


def _inner_schemas(schema: Schema, place: str) -> Iterator[tuple[str, Schema]]:
    """Yield the schemas inside a list, a mapping or a choice, each with its place."""
    for choice in ("anyOf", "oneOf"):
        for inner in schema.get(choice, ()):
            yield place, inner
    if isinstance(schema.get("items"), dict):
        yield f"{place}[]", schema["items"]
    if isinstance(schema.get("additionalProperties"), dict):
        yield f"{place}.<name>", schema["additionalProperties"]


def _kind(schema: Schema) -> str:
    """Return what distinguishes an object: `(model: l-diversity, variant: distinct)`."""
    marks = [
        f"{key}: {schema['properties'][key]['const']}"
        for key in ("model", "method", "kind", "variant")
        if "const" in schema["properties"].get(key, {})
    ]
    return f" ({', '.join(marks)})" if marks else ""


def _section(schema: Schema, places: list[str], objects: Mapping[str, Schema]) -> str:
    heading = f"`{places[0]}`" if places[0] else "All keys"
    lines = [f"## {heading} {{ #{anchor(schema['title'])} }}", "", _words(schema), ""]
    if len(places) > 1:
        others = ", ".join(f"`{place}`" for place in places[1:])
        lines += [f"The same keys stand in {others}.", ""]
    lines += ["| key | value | default | what it is |", "|---|---|---|---|"]
    required = schema.get("required", ())
    either = schema.get("else", {}).get("required", ())
    for key, inner in schema["properties"].items():
        default = "**required**" if key in (*required, *either) else _default(inner)
        fixed = "tells which one it is" if "const" in inner else ""
        words = _words(inner) or fixed or _words(objects.get(_title(inner), {}))
        cells = (f"`{key}`", _value(inner, objects), default, words)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join((*lines, ""))


def anchor(title: str) -> str:
    """Return the anchor of an object's section."""
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in title).strip("-_")


def _words(schema: Schema) -> str:
    """Return the description of a schema as one paragraph, without the examples that end it."""
    text = schema.get("description", "").partition(">>>")[0]
    return " ".join(text.split())


def _default(schema: Schema) -> str:
    default = schema.get("default")
    return (
        ""
        if default in (None, []) or isinstance(default, dict)
        else f"`{json.dumps(default, ensure_ascii=False).strip(chr(34))}`"
    )


def _value(schema: Schema, objects: Mapping[str, Schema]) -> str:
    """Return the possible values in words, with links to the sections of objects."""
    alternatives = dict.fromkeys(_alternatives(schema, objects))
    limits = [f"{sign} {schema[key]}" for key, sign in _LIMITS.items() if key in schema]
    return " or ".join(alternatives) + (f" ({', '.join(limits)})" if limits else "")


def _alternatives(schema: Schema, objects: Mapping[str, Schema]) -> list[str]:
    for reader in (_choices, _objects, _lists):
        if words := reader(schema, objects):
            return words
    kinds = schema.get("type", [])
    return [kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null"]


def _choices(schema: Schema, objects: Mapping[str, Schema]) -> list[str]:
    if "const" in schema:
        return [f"`{schema['const']}`"]
    if "enum" in schema:
        return [f"`{json.dumps(choice).strip(chr(34))}`" for choice in schema["enum"]]
    alternatives = []
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        flat = len(choice) == 1 or "enum" in choice
        alternatives += _alternatives(choice, objects) if flat else [_value(choice, objects)]
    return [text for text in alternatives if text]


def _objects(schema: Schema, objects: Mapping[str, Schema]) -> list[str]:
    title = _title(schema)
    there = title in objects and ("$ref" in schema or "properties" in schema)
    return [f"[{_name(objects[title])}](#{anchor(title)})"] if there else []


def _title(schema: Schema) -> str:
    title: str = schema.get("$ref", "").rpartition("/")[2] or schema.get("title", "")
    return title


def _lists(schema: Schema, objects: Mapping[str, Schema]) -> list[str]:
    if schema.get("type") == "array":
        inner = schema.get("items") or (schema.get("prefixItems") or [{}])[0]
        return [f"list of {_value(inner, objects) or 'values'}"]
    if isinstance(schema.get("additionalProperties"), dict):
        return [f"names, each with {_value(schema['additionalProperties'], objects)}"]
    return []
