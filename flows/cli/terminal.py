"""The one way to the terminal: no text is markup, and no character acts on the terminal.

Texts may come from a release that somebody else made. Escape sequences in them could hide or
change what stands on the screen, and controls of direction could reorder it.
"""

import json
import re
from typing import Any

import click

INTERRUPTED = 130
"""The exit code of what an interrupt ended: 128 and the number of its signal."""

# Controls but tab and newline, of both sets; delete; line and direction controls of Unicode; halves
# of characters, which have no place in UTF-8.
_ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""The text with each character that would act on a terminal written as `\x1b`.

    >>> visible("\x1b[2J harmless")
    '\\x1b[2J harmless'
    """
    return _ACTING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    """The text on one line, visible."""
    return visible(" ".join(text.split()))


def echo(text: object, *, err: bool = False) -> None:
    """Print a text, lines of it as lines."""
    click.echo(visible(str(text)), err=err)  # noqa: TID251 - the one place


def echo_json(document: Any, indent: int | None = None, *, err: bool = False) -> None:
    """Print a document as JSON, which has its own way of writing such characters."""
    text = json.dumps(document, ensure_ascii=False, indent=indent)
    written = _ACTING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    click.echo(written, err=err)  # noqa: TID251 - the one place
