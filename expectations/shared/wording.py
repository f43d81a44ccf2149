"""The faults of a document in our words: the path of a key, the rule, and a suggestion.

Pydantic finds the faults, but its own words are shown to nobody: `_RULES` has ours for each kind.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

_MOST = 4  # faults in one message
_MAPPING, _LIST, _TEXT = "must be a mapping of keys", "must be a list", "must be a text"
_WHOLE, _NUMBER, _DATE = "must be a whole number", "must be a number", "must be a date"
_EITHER, _UNKNOWN, _MISSING = "must be true or false", "is no key here", "is missing"
_RULES: Mapping[str, str] = {
    "value_error": "{error}",
    "extra_forbidden": _UNKNOWN,
    "unexpected_keyword_argument": _UNKNOWN,
    "missing": _MISSING,
    "union_tag_not_found": _MISSING,
    "union_tag_invalid": "must be one of {expected_tags}",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "bool_type": _EITHER,
    "bool_parsing": _EITHER,
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_parsing_size": _WHOLE,
    "int_from_float": _WHOLE,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "decimal_type": _NUMBER,
    "decimal_parsing": _NUMBER,
    "finite_number": "must be a finite number",
    "date_type": _DATE,
    "date_parsing": _DATE,
    "date_from_datetime_parsing": _DATE,
    "date_from_datetime_inexact": _DATE,
    "string_type": _TEXT,
    "string_too_short": "must have {min_length} or more characters",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must match {pattern}",
    "dict_type": _MAPPING,
    "model_type": _MAPPING,
    "model_attributes_type": _MAPPING,
    "dataclass_type": _MAPPING,
    "dataclass_exact_type": _MAPPING,
    "list_type": _LIST,
    "tuple_type": _LIST,
    "too_short": "must have {min_length} or more entries",
    "too_long": "must have at most {max_length} entries",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
}
_KEYS = {kind for kind, rule in _RULES.items() if rule in (_UNKNOWN, _MISSING)}
Path = tuple[int | str, ...]


def readable(error: ValidationError, document: Any, schema: Mapping[str, Any] | None = None) -> str:
    """Write the first faults of a document on one line, each with the path of its key.

    Args:
        error: what was found.
        document: in which it was found.
        schema: JSON Schema of such documents, where a hint at keys is wanted.
    """
    faults = _likeliest_faults(_innermost(error.errors(include_url=False)), document)
    messages = list(dict.fromkeys(_messages(faults, document, schema or {})))
    more = f" (and {len(messages) - _MOST} more)" if len(messages) > _MOST else ""
    return " ".join("; ".join(messages[:_MOST]).split()) + more


def _innermost(errors: Sequence[ErrorDetails]) -> list[ErrorDetails]:
    """Return the faults, without those of a whole that follow from faults of its parts."""
    inside = {e["loc"][:end] for e in errors for end in range(len(e["loc"]))}
    return [e for e in errors if e["loc"] not in inside]


def _likeliest_faults(errors: Sequence[ErrorDetails], document: Any) -> list[ErrorDetails]:
    """Return, for each part that may be of several kinds, the faults by the most similar kind."""
    branches: dict[Path, dict[int | str, list[ErrorDetails]]] = {}
    for error in errors:
        labels = [
            position for position, named in enumerate(_key_marks(error, document)) if not named
        ]
        end = labels[-1] if labels else len(error["loc"])
        label = error["loc"][end] if labels else ""
        branches.setdefault(error["loc"][:end], {}).setdefault(label, []).append(error)
    return [error for place, kinds in branches.items() for error in _likeliest(len(place), kinds)]


def _likeliest(depth: int, kinds: Mapping[int | str, list[ErrorDetails]]) -> list[ErrorDetails]:
    def distance(errors: list[ErrorDetails]) -> tuple[bool, int]:
        whole = [e for e in errors if len(e["loc"]) <= depth + 1 and e["type"] not in _KEYS]
        of_another_kind = any(error["type"] != "value_error" for error in whole)
        return of_another_kind, sum(error["type"] in _KEYS for error in errors)

    least = min(map(distance, kinds.values()))
    likeliest = [errors for errors in kinds.values() if distance(errors) == least]
    if len(likeliest) == 1:
        return likeliest[0]
    unknown = [e for errors in likeliest for e in errors if _RULES.get(e["type"]) == _UNKNOWN]
    return unknown or likeliest[0]


def _key_marks(error: ErrorDetails, document: Any) -> list[bool]:
    """Return, by part of an error's place, whether it is a key.

    Other parts name one of several kinds.
    """
    place, here, named = error["loc"], document, []
    for index, part in enumerate(place):
        child, then = _child(here, part), place[index + 1 : index + 2]
        last = not then and (error["type"] in _KEYS or part == "[key]")
        leads = not then or isinstance(child, dict) or not _is_beside(then[0], here, error)
        named.append(last or (_has(here, part) and leads))
        here = child if named[-1] else here
    return named


def _is_beside(then: int | str, here: Any, error: ErrorDetails) -> bool:
    """Return True if the next part of a place can only be a key of the same mapping as this one."""
    return isinstance(then, str) and (_has(here, then) or error["type"] in _KEYS)


def _has(here: Any, part: int | str) -> bool:
    return isinstance(part, int) or (isinstance(here, dict) and part in here)


def _child(here: Any, part: int | str) -> Any:
    if isinstance(here, dict):
        return here.get(part)
    if isinstance(here, list | tuple) and isinstance(part, int) and part < len(here):
        return here[part]
    return None


def _messages(
    errors: Sequence[ErrorDetails], document: Any, schema: Mapping[str, Any]
) -> Iterator[str]:
    places = [_keys(error, document) for error in errors]
    hints = [
        _suggestion(error, place, document, schema)
        for error, place in zip(errors, places, strict=True)
    ]
    renamed = {
        (*keys[:-1], to) for error, keys, to in zip(errors, places, hints, strict=True) if keys
    }
    for error, place, hint in zip(errors, places, hints, strict=True):
        if error["type"] == "missing" and place in renamed:
            continue
        path = ".".join(str(p) if str(p).isprintable() else repr(p) for p in place)
        yield f"{path}: {_rule(error)}".removeprefix(": ") + (
            f"; did you mean {hint}?" if hint else ""
        )


def _keys(error: ErrorDetails, document: Any) -> Path:
    """Return the keys on the way to a fault, and the one that is wrong."""
    named = zip(error["loc"], _key_marks(error, document), strict=True)
    keys = tuple(part for part, is_key in named if is_key and part != "[key]")
    tag = error.get("ctx", {}).get("discriminator", "")
    return (*keys, tag.strip("'")) if tag and not _is_of_a_kind_without_a_name(error) else keys


def _rule(error: ErrorDetails) -> str:
    rule = _RULES.get(error["type"], f"is not valid ({error['type']})")
    if _is_of_a_kind_without_a_name(error):
        return "has no form that is allowed here"
    key = "the key " if error["loc"][-1:] == ("[key]",) else ""
    return key + rule.format(**error.get("ctx", {}))


def _is_of_a_kind_without_a_name(error: ErrorDetails) -> bool:
    """Return True if the kinds of a part are not distinguished by a key of theirs."""
    return str(error.get("ctx", {}).get("discriminator", "")).endswith("()")


def _suggestion(
    error: ErrorDetails, place: Path, document: Any, schema: Mapping[str, Any]
) -> str | None:
    """Return the known key or value that is nearest to an unknown one, None if none is near."""
    context = error.get("ctx", {})
    written: Any = context.get("tag", error["input"])
    choices = re.findall(
        "'([^']*)'", str(context.get("expected_tags", context.get("expected", "")))
    )
    if _RULES.get(error["type"]) == _UNKNOWN:
        written, choices = place[-1], sorted(_known_keys(schema, place[:-1], document))
    elif _is_of_a_kind_without_a_name(error) and isinstance(error["input"], dict):
        written = next(iter(error["input"]), None)
        choices = sorted(_known_keys(schema, place, document))
    close = get_close_matches(written, choices, 1) if isinstance(written, str) else []
    return close[0] if close and close[0] != written else None


def _known_keys(schema: Mapping[str, Any], place: Path, document: Any) -> set[str]:
    """Return the keys that a schema has at a place of a document."""
    here = [*_kinds(schema, schema, document)]
    for part in place:
        document = _child(document, part)
        below = [schema_part for kind in here for schema_part in _parts_below(kind, part)]
        here = [kind for schema_part in below for kind in _kinds(schema, schema_part, document)]
    return {name for kind in here for name in kind.get("properties", {})}


def _parts_below(kind: Mapping[str, Any], part: int | str) -> list[Any]:
    inside = [kind.get("items")] if isinstance(part, int) else []
    inside += [kind.get("properties", {}).get(part), kind.get("additionalProperties")]
    return [found_part for found_part in inside if isinstance(found_part, dict)]


def _kinds(
    schema: Mapping[str, Any], part: Mapping[str, Any], document: Any
) -> Iterator[Mapping[str, Any]]:
    """Yield the kinds that a part of a schema admits and the document does not contradict."""
    if "$ref" in part:
        yield from _kinds(schema, schema["$defs"][part["$ref"].rpartition("/")[2]], document)
    for kind in (*part.get("anyOf", ()), *part.get("oneOf", ())):
        yield from _kinds(schema, kind, document)
    if not any(
        _is_other(rule, name, document) for name, rule in part.get("properties", {}).items()
    ):
        yield part


def _is_other(rule: Any, name: str, document: Any) -> bool:
    """Return True if a key has only one value in a kind, and another in the document."""
    return "const" in rule and _has(document, name) and document[name] != rule["const"]
