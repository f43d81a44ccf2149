"""Keys of a declaration that came after the first format, each marked where it is declared.

Format 0 has every key at any value. A later key is left out wherever it is at its default, so that
what does not use it is written, and digested, as it always was.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import Field

_MARK = "x-since-format"


def since(format_: int, default: Any, description: str) -> Any:
    """A key that came with a format: written where it is not at its default."""
    return Field(
        default,
        description=description,
        exclude_if=lambda value: value == default,
        json_schema_extra={_MARK: format_},
    )


def lowest_format(part: Any) -> int:
    """The lowest format that can say a declaration, a part of one, or parts in any container.

    A kind of part that came later (a promise, partition or form) says so by an attribute `since`.
    """
    return max([getattr(type(part), "since", 0), *_formats_within(part)], default=0)


def _formats_within(part: Any) -> Iterator[int]:
    if isinstance(part, Mapping):
        yield from map(lowest_format, part.values())
    elif isinstance(part, Sequence) and not isinstance(part, str | bytes):
        yield from map(lowest_format, part)
    else:
        for name, field in getattr(type(part), "__pydantic_fields__", {}).items():
            value = getattr(part, name)
            if value != field.default:
                extra = field.json_schema_extra
                yield extra.get(_MARK, 0) if isinstance(extra, dict) else 0
                yield lowest_format(value)
