"""Lines of small tables, as an operator has them below one directory."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.harness.machine import Machine
from tests.release.small import Small, people


def write_lines(machine: Machine, lines: Mapping[str, Mapping[str, Any]]) -> None:
    """Write a spec and a source of each line, with what is said of its spec."""
    machine.specs.mkdir(parents=True)
    for number, (name, changes) in enumerate(lines.items()):
        write_line(machine, name, changes, number)


def write_line(machine: Machine, name: str, changes: Mapping[str, Any], number: int = 0) -> None:
    """Write those of one line; lines of the same number are about the same people."""
    Small(machine.specs / name).write(people(first=1000 * number), **{"name": name, **changes})


def list_versions(machine: Machine, line: str) -> list[Path]:
    """The versions of a line."""
    return sorted((machine.specs / line / "public" / line).glob("[0-9]*"))
