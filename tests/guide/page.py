"""A page of the guide as a test reads it: sections, and the commands of their blocks."""

import math
import re
from dataclasses import dataclass, replace
from pathlib import Path

from tests.fork_server import ROOT

PAGES = ROOT / "deployments" / "guide" / "pages"
_BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
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


@dataclass(frozen=True)
class Transcript:
    """A command as it was typed, and all that it printed; a last line `…` is the rest."""

    command: str
    printed: tuple[str, ...]

    def __str__(self) -> str:
        """Return the command."""
        return self.command

    def fits(self, output: str) -> bool:
        """Return True if an output has these lines, with numbers that differ by 1 % at most.

        Groups are drawn: which of several people with the same value is in which group differs
        from one release to the next.
        """
        lines = output.splitlines()
        expected = list(self.printed)
        if expected[-1] == "…":
            lines, expected = lines[: len(expected) - 1], expected[:-1]
        return [_NUMBER.sub("0", line) for line in lines] == [
            _NUMBER.sub("0", line) for line in expected
        ] and all(map(_are_near, _numbers("".join(lines)), _numbers("".join(expected))))


def _numbers(text: str) -> list[float]:
    return [float(number.replace(",", "")) for number in _NUMBER.findall(text)]


def _are_near(number: float, expected: float) -> bool:
    return math.isclose(number, expected, rel_tol=0.01)


def transcripts(page: Path) -> list[Transcript]:
    """Return the commands of a page's console blocks, each after `$ `, with what they printed."""
    text = "".join(blocks(page.read_text(encoding="utf-8"), "console"))
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    commands_and_lines = [part.splitlines() for part in parts]
    return [Transcript(command, tuple(lines)) for command, *lines in commands_and_lines]
