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
        own = people(first=1000 * number)  # lines about the same people would be held together
        Small(machine.specs / name).write(own, **{"name": name, **changes})


def released(machine: Machine, line: str) -> list[Path]:
    """The versions of a line."""
    return sorted((machine.specs / line / "public" / line).glob("[0-9]*"))
