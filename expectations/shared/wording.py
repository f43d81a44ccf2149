"""The faults of a document in our words: the path of a key, the rule, and what may have been meant.

Pydantic finds the faults, and its own words reach nobody: `_RULES` has ours for each kind.
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
    "string_too_short": "needs characters, {min_length} or more",
    "string_too_long": "has too many characters, may have at most {max_length}",
    "string_pattern_mismatch": "must match {pattern}",
    "dict_type": _MAPPING,
    "model_type": _MAPPING,
    "model_attributes_type": _MAPPING,
    "dataclass_type": _MAPPING,
    "dataclass_exact_type": _MAPPING,
    "list_type": _LIST,
    "tuple_type": _LIST,
    "too_short": "needs entries, {min_length} or more",
    "too_long": "has too many entries, may have at most {max_length}",
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
    found = _of_one_branch(_innermost(error.errors(include_url=False)), document)
    told = list(dict.fromkeys(_told(found, document, schema or {})))
    more = f" (and {len(told) - _MOST} more)" if len(told) > _MOST else ""
    return " ".join("; ".join(told[:_MOST]).split()) + more


def _innermost(errors: Sequence[ErrorDetails]) -> list[ErrorDetails]:
    """Without the faults of a whole that follow from those of its parts."""
    inside = {e["loc"][:end] for e in errors for end in range(len(e["loc"]))}
    return [e for e in errors if e["loc"] not in inside]


def _of_one_branch(errors: Sequence[ErrorDetails], document: Any) -> list[ErrorDetails]:
    """Of each part that may be of several kinds, the faults by the kind that it is most like."""
    branches: dict[Path, dict[int | str, list[ErrorDetails]]] = {}
    for one in errors:
        labels = [at for at, named in enumerate(_named(one, document)) if not named]
        at = labels[-1] if labels else len(one["loc"])
        label = one["loc"][at] if labels else ""
        branches.setdefault(one["loc"][:at], {}).setdefault(label, []).append(one)
    return [one for place, kinds in branches.items() for one in _likeliest(len(place), kinds)]


def _likeliest(depth: int, kinds: Mapping[int | str, list[ErrorDetails]]) -> list[ErrorDetails]:
    def distance(errors: list[ErrorDetails]) -> tuple[bool, int]:
        whole = [e for e in errors if len(e["loc"]) <= depth + 1 and e["type"] not in _KEYS]
        of_another_kind = any(one["type"] != "value_error" for one in whole)
        return of_another_kind, sum(one["type"] in _KEYS for one in errors)

    least = min(map(distance, kinds.values()))
    likeliest = [errors for errors in kinds.values() if distance(errors) == least]
    if len(likeliest) == 1:
        return likeliest[0]
    unknown = [e for errors in likeliest for e in errors if _RULES.get(e["type"]) == _UNKNOWN]
    return unknown or likeliest[0]


def _named(error: ErrorDetails, document: Any) -> list[bool]:
    """Of each part of an error's place, whether it is a key: others name one of several kinds."""
    place, here, named = error["loc"], document, []
    for at, part in enumerate(place):
        child, then = _child(here, part), place[at + 1 : at + 2]
        last = not then and (error["type"] in _KEYS or part == "[key]")
        leads = not then or isinstance(child, dict) or not _is_beside(then[0], here, error)
        named.append(last or (_has(here, part) and leads))
        here = child if named[-1] else here
    return named


def _is_beside(then: int | str, here: Any, error: ErrorDetails) -> bool:
    """True where the next part of a place can only be a key of the same mapping as this one."""
    return isinstance(then, str) and (_has(here, then) or error["type"] in _KEYS)


def _has(here: Any, part: int | str) -> bool:
    return isinstance(part, int) or (isinstance(here, dict) and part in here)


def _child(here: Any, part: int | str) -> Any:
    if isinstance(here, dict):
        return here.get(part)
    if isinstance(here, list | tuple) and isinstance(part, int) and part < len(here):
        return here[part]
    return None


def _told(
    errors: Sequence[ErrorDetails], document: Any, schema: Mapping[str, Any]
) -> Iterator[str]:
    places = [_keys(one, document) for one in errors]
    meant = [
        _meant(one, place, document, schema) for one, place in zip(errors, places, strict=True)
    ]
    renamed = {(*at[:-1], to) for one, at, to in zip(errors, places, meant, strict=True) if at}
    for one, place, hint in zip(errors, places, meant, strict=True):
        if one["type"] == "missing" and place in renamed:
            continue
        path = ".".join(str(p) if str(p).isprintable() else repr(p) for p in place)
        yield f"{path}: {_rule(one)}".removeprefix(": ") + (
            f"; did you mean {hint}?" if hint else ""
        )


def _keys(error: ErrorDetails, document: Any) -> Path:
    """The keys on the way to a fault, and the one that is wrong."""
    named = zip(error["loc"], _named(error, document), strict=True)
    keys = tuple(part for part, is_key in named if is_key and part != "[key]")
    tag = error.get("ctx", {}).get("discriminator", "")
    return (*keys, tag.strip("'")) if tag and not _is_of_a_kind_without_a_name(error) else keys


def _rule(error: ErrorDetails) -> str:
    rule = _RULES.get(error["type"], f"is not valid ({error['type']})")
    if _is_of_a_kind_without_a_name(error):
        return "is nothing that it may be"
    key = "the key " if error["loc"][-1:] == ("[key]",) else ""
    return key + rule.format(**error.get("ctx", {}))


def _is_of_a_kind_without_a_name(error: ErrorDetails) -> bool:
    """True where the kinds of a part are told apart otherwise than by a key of theirs."""
    return str(error.get("ctx", {}).get("discriminator", "")).endswith("()")


def _meant(
    error: ErrorDetails, place: Path, document: Any, schema: Mapping[str, Any]
) -> str | None:
    """What may have been meant in the place of an unknown key or value."""
    context = error.get("ctx", {})
    written: Any = context.get("tag", error["input"])
    known = re.findall("'([^']*)'", str(context.get("expected_tags", context.get("expected", ""))))
    if _RULES.get(error["type"]) == _UNKNOWN:
        written, known = place[-1], sorted(_known_keys(schema, place[:-1], document))
    elif _is_of_a_kind_without_a_name(error) and isinstance(error["input"], dict):
        written = next(iter(error["input"]), None)
        known = sorted(_known_keys(schema, place, document))
    close = get_close_matches(written, known, 1) if isinstance(written, str) else []
    return close[0] if close and close[0] != written else None


def _known_keys(schema: Mapping[str, Any], place: Path, document: Any) -> set[str]:
    """The keys that a schema has at a place of a document."""
    here = [*_kinds(schema, schema, document)]
    for part in place:
        document = _child(document, part)
        below = [one for kind in here for one in _below(kind, part)]
        here = [kind for one in below for kind in _kinds(schema, one, document)]
    return {name for kind in here for name in kind.get("properties", {})}


def _below(kind: Mapping[str, Any], part: int | str) -> list[Any]:
    inside = [kind.get("items")] if isinstance(part, int) else []
    inside += [kind.get("properties", {}).get(part), kind.get("additionalProperties")]
    return [one for one in inside if isinstance(one, dict)]


def _kinds(
    schema: Mapping[str, Any], part: Mapping[str, Any], document: Any
) -> Iterator[Mapping[str, Any]]:
    """What a part of a schema admits, but kinds that the document says it is none of."""
    if "$ref" in part:
        yield from _kinds(schema, schema["$defs"][part["$ref"].rpartition("/")[2]], document)
    for kind in (*part.get("anyOf", ()), *part.get("oneOf", ())):
        yield from _kinds(schema, kind, document)
    if not any(
        _is_other(rule, name, document) for name, rule in part.get("properties", {}).items()
    ):
        yield part


def _is_other(rule: Any, name: str, document: Any) -> bool:
    """True where a key has one value alone in a kind, and another in the document."""
    return "const" in rule and _has(document, name) and document[name] != rule["const"]
