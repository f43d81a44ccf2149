"""A project of an analyst's own: static checkers read the types of the Python face, strictly."""

import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.house.survey import ROOT

PROJECT = Path(__file__).with_name("user_project.py").read_text(encoding="utf-8")
WRONG = {
    "row.bounds(name)": ('bounds: Bounds = row.bounds("mean")', 'bounds: Row = row.bounds("mean")'),
    "release.columns": ("column.role}", "column.rolle}"),
    "release.query([…])": ("first, second = release.query([", "first, second = release.qery(["),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Return a function that checks a text as a project in which Sfumato is installed."""
    folder = tmp_path_factory.mktemp("project")
    venv.create(folder / "venv", with_pip=False)
    (packages,) = (folder / "venv").glob("lib/python*/site-packages")
    own = next(path for path in map(Path, sys.path) if path.name == "site-packages")
    (packages / "installed.pth").write_text(f"{ROOT}\n{own}\n")

    def check(text, *checker):
        (folder / "report.py").write_text(text, encoding="utf-8")
        done = subprocess.run(
            [str(Path(sys.executable).with_name(checker[0])), *checker[1:], "report.py"],
            cwd=folder,
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout + done.stderr

    return check


MYPY = ("mypy", "--strict", "--python-executable", "venv/bin/python")
TY = ("ty", "check", "--python", "venv")


def test_mypy_is_content_with_a_project(project):
    """It is strict; the second run reads what the first one kept, and finds what is wrong."""
    assert project(PROJECT, *MYPY)[0] == 0
    code, output = project(PROJECT.replace(*WRONG["row.bounds(name)"]), *MYPY)
    assert code == 1
    assert 'expression has type "Bounds", variable has type "Row"' in output


def test_another_checker_is_content_too(project):
    code, output = project(PROJECT, *TY)
    assert code == 0, output


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_found(project, wrong):
    assert PROJECT.replace(*WRONG[wrong]) != PROJECT
    assert project(PROJECT.replace(*WRONG[wrong]), *TY)[0] == 1
