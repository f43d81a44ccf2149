"""Editors find what modules import: a static checker resolves every import of the product."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.survey import PACKAGES, ROOT

TY = Path(sys.executable).with_name("ty")
IMPORTS = ("--ignore", "all", "--error", "import-not-found")


def unresolved_imports(folder, *paths):
    """Run the checker on paths below a folder; return the lines with imports that it misses."""
    options = ["--python", sys.prefix, "--output-format", "concise", "--project", str(folder)]
    done = subprocess.run(
        [str(TY), "check", *IMPORTS, *options, *paths],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode in (0, 1), done.stderr
    return [line for line in done.stdout.splitlines() if "import" in line]


def test_every_import_resolves():
    assert unresolved_imports(ROOT, *PACKAGES, "sfumato/__init__.py", "tests") == []


@pytest.mark.parametrize("name", ["sfumato.tasks.nowhere", "sfumato.nothing", "tests.nowhere"])
def test_an_import_of_nothing_is_found(tmp_path, name):
    (tmp_path / "module.py").write_text(f"import {name}\n")
    (tmp_path / "sfumato").symlink_to(ROOT / "sfumato")
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    (missing,) = unresolved_imports(tmp_path, "module.py")
    assert name in missing
