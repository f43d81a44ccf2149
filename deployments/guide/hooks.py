"""Hooks of the guide: generated chapters, and pages that nav does not name."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generated.commands import write_commands
from generated.examples import write_examples
from generated.experiments import write_experiments
from generated.keys import write_keys
from generated.ledger_changes import write_changes
from generated.objects import write_objects

_CHAPTERS = {
    "comparison/experiments.md": write_experiments,
    "comparison/ledger-changes.md": write_changes,
    "reference/commands.md": write_commands,
    "reference/examples.md": write_examples,
    "reference/python.md": write_objects,
    "reference/spec.md": write_keys,
}
_ROW = re.compile(r"^\|.*$", re.MULTILINE)
_CODE = re.compile(r"`[^`]*`")
# The theme's search has no name for who cannot see it.
_MENDED = {
    'data-md-component="search" role="dialog"': 'data-md-component="search" role="dialog" '
    'aria-label="Search"'
}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put each generated chapter below the words of its page.

    In code in tables an escaped bar becomes a bar: other readers of the sources need the
    backslash, this one would show it.
    """
    write = _CHAPTERS.get(page.file.src_uri)
    whole = markdown if write is None else f"{markdown}\n\n{write()}"
    return _ROW.sub(lambda row: _CODE.sub(lambda code: code[0].replace(r"\|", "|"), row[0]), whole)


def on_config(config: Any) -> Any:
    """Append to each section of the navigation the pages of its folder that it does not name.

    A page for addresses that are not there would need a server: there is none.
    """
    config.theme.static_templates.discard("404.html")
    named = set(_pages(config.nav))
    folder = Path(config.docs_dir)
    for section in config.nav:
        (pages,) = section.values()
        if isinstance(pages, list) and "/" in (first := next(_pages(pages))):
            inside = (folder / first).parent.glob("*.md")
            present = {path.relative_to(folder).as_posix() for path in inside}
            pages.extend(sorted(present - named))
            named |= present
    return config


def _pages(nav: Any) -> Iterator[str]:
    """Yield the pages that a part of the navigation names, in its sections too."""
    if isinstance(nav, str):
        yield nav
        return
    for part in nav.values() if isinstance(nav, dict) else nav:
        yield from _pages(part)


def on_post_page(output: str, **_: Any) -> str:
    """Add what the theme leaves out, and fail if the theme has changed.

    Raises:
        ValueError: naming what is no longer in the theme's pages.
    """
    for left_out, mended in _MENDED.items():
        if left_out not in output:
            raise ValueError(f"the theme has no {left_out}: is it mended by itself?")
        output = output.replace(left_out, mended)
    return output
