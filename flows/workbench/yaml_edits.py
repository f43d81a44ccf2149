"""Changes of a spec's text, which leave every other character as a person wrote it.

A parser gives the place of each value, and only this place is written again. The result is read
once more: a change that would mean anything but itself is refused.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.inputs.documents import parse_yaml

Place = Sequence[str | int]
"""The way to a value: keys of mappings, and positions in lists from 0."""
_WIDE = 10**6


def with_value(text: str, place: Place, value: Any) -> str:
    r"""Return a YAML text with another value at a place; missing keys of mappings are added.

    A position just behind the end of a list adds an item.

    Args:
        text: the YAML text, whose document is a mapping.
        place: the way to the value.
        value: the new value: mappings, lists, texts, numbers, True, False or None.

    Raises:
        SpecError: where the text is written in a way that cannot be changed here.

    >>> with_value("k: 5  # people\nl: {a: 1}\n", ["l", "b"], 2)
    'k: 5  # people\nl: {a: 1, b: 2}\n'
    """
    changed = _with_value(text, yaml.compose(text, Loader=yaml.SafeLoader), list(place), value)
    return _require_meaning(changed, set_in(parse_yaml(text) or {}, place, value), place)


def removal_of(text: str, place: Place) -> str:
    r"""Return a YAML text without the key or item at a place; a missing key changes nothing.

    Raises:
        SpecError: where the text is written in a way that cannot be changed here.

    >>> removal_of("k: 5  # people\nl: {a: 1, b: 2}\n", ["l", "a"])
    'k: 5  # people\nl: {b: 2}\n'
    """
    document = parse_yaml(text)
    if not has_place(document, place):
        return text
    changed = _removal(text, yaml.compose(text, Loader=yaml.SafeLoader), place)
    return _require_meaning(changed, removal_in(document, place), place)


def has_place(document: Any, place: Place) -> bool:
    """Return True if a document has a value at a place."""
    for key in place:
        is_item = isinstance(document, list) and isinstance(key, int) and key < len(document)
        if not is_item and not (isinstance(document, Mapping) and key in document):
            return False
        document = document[key]
    return True


def set_in(document: Any, place: Place, value: Any) -> Any:
    """Return a document with another value at a place; the document itself stays."""
    if not place:
        return value
    first, *rest = place
    if isinstance(document, list) and isinstance(first, int):
        inside = document[first] if first < len(document) else None
        return [*document[:first], set_in(inside, rest, value), *document[first + 1 :]]
    mapping = document if isinstance(document, Mapping) else {}
    return {**mapping, first: set_in(mapping.get(first), rest, value)}


def removal_in(document: Any, place: Place) -> Any:
    """Return a document without the key or item at a place, which it has."""
    first, *rest = place
    if rest:
        return set_in(document, [first], removal_in(document[first], rest))
    if isinstance(document, list):
        return [item for number, item in enumerate(document) if number != first]
    return {key: item for key, item in document.items() if key != first}


def flow_text(value: Any) -> str:
    """Return a value as YAML on one line.

    >>> flow_text({"model": "k-anonymity", "k": 5})
    '{model: k-anonymity, k: 5}'
    """
    text = yaml.safe_dump(
        value, default_flow_style=True, width=_WIDE, allow_unicode=True, sort_keys=False
    )
    return text.removesuffix("...\n").strip()


def _require_meaning(text: str, document: Any, place: Place) -> str:
    """Return a text that means the document.

    Raises:
        SpecError: where it means something different.
    """
    try:
        if (parse_yaml(text) or {}) == document:
            return text
    except (ValueError, yaml.YAMLError):
        pass
    name = ".".join(map(str, place))
    raise SpecError(
        f"{name}: the spec is written in a way that the workbench cannot change. Change this key "
        "in an editor, and reload this page"
    )


def _node(node: Any, place: Place) -> Any:
    """Return the node at a place, or None."""
    return _key_and_node(node, place)[1]


def _key_and_node(node: Any, place: Place) -> tuple[Any, Any]:
    """Return the node of a key and that of its value; None for what is missing or has no key."""
    name = None
    for key in place:
        if isinstance(node, yaml.MappingNode):
            pairs = [pair for pair in node.value if pair[0].value == key]
            name, node = pairs[0] if pairs else (None, None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(key, int):
            name, node = None, node.value[key] if key < len(node.value) else None
        else:
            return None, None
    return name, node


def _with_value(text: str, root: Any, place: list[str | int], value: Any) -> str:
    if _node(root, place) is not None:
        return _replacement(text, root, place, value)
    while _node(root, place[:-1]) is None:  # missing parents are written with their only value
        value = {place[-1]: value}
        place = place[:-1]
    parent, key = _node(root, place[:-1]), place[-1]
    if not isinstance(parent, yaml.CollectionNode):  # an empty value, where a mapping belongs
        return _replacement(text, root, place[:-1], {key: value})
    entry = flow_text(value) if isinstance(key, int) else f"{flow_text(key)}: {flow_text(value)}"
    return _addition(text, parent, entry)


def _replacement(text: str, root: Any, place: Place, value: Any) -> str:
    """Return the text with another value in place of one; a value in lines moves beside its key."""
    key, node = _key_and_node(root, place)
    start, end = node.start_mark.index, _end(text, node)
    is_block = isinstance(node, yaml.CollectionNode) and not node.flow_style
    if not is_block or key is None:
        blank = " " if text[:start].endswith((":", "-")) else ""
        return f"{text[:start]}{blank}{flow_text(value)}{text[end:]}"
    colon = text.index(":", key.end_mark.index) + 1
    return f"{text[:colon]} {flow_text(value)}{text[colon:start].rstrip()}{text[end:]}"


def _end(text: str, node: yaml.Node) -> int:
    """Return the place behind the last character of a value; comments below do not belong to it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(text, last[1] if isinstance(last, tuple) else last)
    start, end = node.start_mark.index, node.end_mark.index
    return start + len(text[start:end].rstrip())


def _addition(text: str, parent: yaml.CollectionNode, entry: str) -> str:
    """Return the text with a further entry of a mapping or list, behind the last one."""
    end = _end(text, parent)
    if parent.flow_style or not parent.value:
        comma = ", " if parent.value else ""
        return f"{text[: end - 1]}{comma}{entry}{text[end - 1 :]}"
    mark = "- " if isinstance(parent, yaml.SequenceNode) else ""
    line, first = _line_end(text, end), parent.start_mark
    indent = text[first.index - first.column : first.index]
    return f"{text[:line]}\n{indent}{mark}{entry}{text[line:]}"


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def _removal(text: str, root: Any, place: Place) -> str:
    """Return the text without an entry: its lines, or the entry and a comma."""
    parent, key = _node(root, place[:-1]), place[-1]
    pairs = [entry if isinstance(entry, tuple) else (entry, entry) for entry in parent.value]
    is_list = isinstance(parent, yaml.SequenceNode)
    number = key if isinstance(key, int) and is_list else [n.value for n, _ in pairs].index(key)
    places = [(first.start_mark.index, _end(text, last)) for first, last in pairs]
    start, end = places[number]
    if not parent.flow_style:
        if len(places) == 1 and place[:-1]:
            return _replacement(text, root, place[:-1], [] if is_list else {})
        return text[: text.rfind("\n", 0, start) + 1] + text[_line_end(text, end) + 1 :]
    if number + 1 < len(places):
        return text[:start] + text[places[number + 1][0] :]
    return text[: places[number - 1][1] if number else start] + text[end:]
