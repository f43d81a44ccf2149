"""The versions that are pinned: what is installed, on every Python that is supported."""

import re
import tomllib
from importlib.metadata import distributions
from pathlib import Path

from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[2]
PINS = ROOT / "deployments" / "constraints.txt"


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_pins_can_be_installed_on_the_first_python_that_is_supported():
    """Debian 12 has Python 3.11.2, which a pin for 3.11.5 or newer leaves without its set-up."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    least = re.sub(r"[^0-9.]", "", project["requires-python"]) + ".0"
    pinned = {
        plain(line.split("==")[0])
        for line in PINS.read_text(encoding="utf-8").splitlines()
        if "==" in line
    }
    needed = {
        plain(each.name): each.metadata.get("Requires-Python")
        for each in distributions()
        if plain(each.name) in pinned
    }
    assert len(needed) > 100
    assert {
        name: python
        for name, python in needed.items()
        if python is not None and not SpecifierSet(python).contains(least)
    } == {}
