"""Documents from outside, refused where they are nested deeper than any of ours is.

Depth costs its writer a byte and its reader a call: what recursion would end on is refused first.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

DEEPEST = 50
TOO_DEEP = f"nested deeper than {DEEPEST} levels"


class NestingError(ValueError):
    """A document is nested too deep."""

    def __init__(self) -> None:
        super().__init__(TOO_DEEP)


def parse_json(content: str | bytes) -> Any:
    """Parse JSON from outside.

    Raises:
        NestingError: where it is nested deeper than `DEEPEST`.
        ValueError: where it is no JSON.
    """
    try:
        document = json.loads(content)
    except RecursionError:
        raise NestingError from None
    require_shallow(document)
    return document


def require_shallow(document: Any) -> None:
    """Make sure that lists and mappings do not stand in one another too deep.

    Raises:
        NestingError: where they do.
    """
    level = [document]
    for _ in range(DEEPEST):
        level = [part for whole in level for part in _containers_in(whole)]
        if not level:
            return
    raise NestingError


def _containers_in(whole: Any) -> Iterable[Any]:
    """The lists and mappings that stand in a list or mapping."""
    parts = whole.values() if isinstance(whole, Mapping) else whole
    if not isinstance(whole, Mapping | list):
        return ()
    return [part for part in parts if isinstance(part, Mapping | list)]
