"""Tables of answers for people: plain ones are written here, and all others by rich.

Rich takes longer to import than most questions take to answer. A table is plain if each of its
texts fills as many places as it has characters, and if every line fits the width; rich wraps lines,
measures wide characters, and knows unusual terminals. Plain tables have the bytes that rich writes.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence

_PLAIN = frozenset("…≈−±≤≥")  # what our own texts have beside ASCII; each fills one place
_DECIDING = ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
_NARROW = 80  # characters, where nothing says how wide the terminal is


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table with a frame to stdout."""
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
    if _is_plain(headers, rows) and sum(widths) + 3 * len(widths) < _width(os.environ):
        bold = sys.stdout.isatty()
        sys.stdout.write("".join(f"{line}\n" for line in _lines(headers, rows, widths, bold=bold)))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for header in headers:
        table.add_column(Text(header))
    for cells in rows:
        table.add_row(*map(Text, cells))
    Console().print(table)


def _is_plain(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Decide whether rich would write the texts as they are, in a frame of Unicode's lines."""
    texts = (text for cells in (headers, *rows) for text in cells)
    return bool(headers) and _is_usual(os.environ) and all(map(_fills_its_length, texts))


def _is_usual(environ: Mapping[str, str]) -> bool:
    """Decide whether stdout is a file, or a terminal about which nothing special is set."""
    unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    dumb = environ.get("TERM", "").lower() in ("dumb", "unknown")
    decided = dumb or any(name in environ for name in _DECIDING)
    return unicode and not decided and sys.platform != "win32"


def _fills_its_length(text: str) -> bool:
    """Decide whether a text is not empty, and fills as many places as it has characters."""
    others = "".join(character for character in text if not " " <= character <= "~")
    return bool(text) and text == text.strip() and _PLAIN.issuperset(others)


def _width(environ: Mapping[str, str]) -> int:
    """Return the width of the terminal in characters, as rich finds it out."""
    if (columns := environ.get("COLUMNS", "")).isdigit():
        return int(columns)
    for stream in (sys.__stdin__, sys.__stdout__, sys.__stderr__):
        try:
            width = os.get_terminal_size(stream.fileno()).columns if stream else 0
        except (OSError, ValueError):  # no terminal, or closed
            continue
        return width or _NARROW
    return _NARROW


def _lines(
    headers: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int], *, bold: bool
) -> Iterator[str]:
    """Yield the lines of a plain table; a terminal shows the headers bold."""
    heavy, light = ([line * (width + 2) for width in widths] for line in "━─")
    yield f"┏{'┳'.join(heavy)}┓"
    yield f"┃{'┃'.join(map(_bold if bold else _cell, headers, widths))}┃"
    yield f"┡{'╇'.join(heavy)}┩"
    for cells in rows:
        yield f"│{'│'.join(map(_cell, cells, widths))}│"
    yield f"└{'┴'.join(light)}┘"


def _cell(text: str, width: int) -> str:
    return f" {text:<{width}} "


def _bold(text: str, width: int) -> str:
    """Return a bold cell: its text and the spaces around it are each bold."""
    return "".join(f"\x1b[1m{piece}\x1b[0m" for piece in (" ", f"{text:<{width}}", " "))
