"""A page of the guide as a test reads it: sections, and the commands of their blocks."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from tests.fork_server import ROOT

PAGES = ROOT / "deployments" / "guide" / "pages"
_BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"\s+# exit (\d)$")


@dataclass(frozen=True)
class Told:
    """A command, the code that it is said to end with, and parts of what it prints."""

    command: str
    code: int = 0
    prints: tuple[str, ...] = ()


def sections(page: Path) -> dict[str, str]:
    """The text of each section by its heading; that before the first has none."""
    parts = re.split(r"^## (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(["", *parts[1::2]], parts[::2], strict=True))


def blocks(text: str, kind: str) -> list[str]:
    """The blocks of a kind, in order."""
    return [content for language, content in _BLOCK.findall(text) if language == kind]


def commands(text: str) -> list[Told]:
    """The commands of a section's console blocks, in order."""
    commands_found: list[Told] = []
    lines = "".join(blocks(text, "console")).replace("\\\n", "").splitlines()
    for line in filter(str.strip, lines):
        if line.startswith("#> "):
            last = commands_found.pop()
            commands_found.append(replace(last, prints=(*last.prints, line.removeprefix("#> "))))
            continue
        code = _CODE.search(line)
        commands_found.append(Told(_CODE.sub("", line), int(code[1]) if code else 0))
    return commands_found
