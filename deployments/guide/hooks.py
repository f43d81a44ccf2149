"""What the guide has beside its pages: generated chapters, and pages that nav does not name."""

from pathlib import Path
from typing import Any

from generated.commands import write_commands
from generated.examples import write_examples
from generated.keys import write_keys
from generated.objects import write_objects

_CHAPTERS = {
    "reference/commands.md": write_commands,
    "reference/examples.md": write_examples,
    "reference/python.md": write_objects,
    "reference/spec.md": write_keys,
}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put each generated chapter below the words of its page."""
    write = _CHAPTERS.get(page.file.src_uri)
    return markdown if write is None else f"{markdown}\n\n{write()}"


def on_config(config: Any) -> Any:
    """Append to each section of the navigation the pages of its folder that it does not name."""
    named = {page for _, pages in _sections(config.nav) for page in pages}
    folder = Path(config.docs_dir)
    for _, pages in _sections(config.nav):
        if pages and "/" in pages[0]:
            inside = (folder / pages[0]).parent.glob("*.md")
            found = {path.relative_to(folder).as_posix() for path in inside}
            pages.extend(sorted(found - named))
    return config


def _sections(nav: list[Any]) -> list[tuple[str, list[str]]]:
    return [
        (title, pages)
        for section in nav
        for title, pages in section.items()
        if isinstance(pages, list)
    ]
