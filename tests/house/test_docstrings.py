"""Docstrings list attributes and parameters by the names that they have in the code."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.house.survey import ROOT, sources

SECTION = r"(?m)^{}:\n((?:    .*\n?|\n)+)"
ENTRY = re.compile(r"(?m)^    ((?:\*{0,2}\w+, )*\*{0,2}\w+):")


def list_names(docstring: str, section: str) -> list[str]:
    """Return the names that a section of a docstring explains."""
    match = re.search(SECTION.format(section), docstring)
    entries = ENTRY.findall(match[1]) if match else []
    return [name.strip("*") for entry in entries for name in entry.split(", ")]


def unknown(source: str) -> Iterator[str]:
    """Find what docstrings explain and the code lacks; classes with bases may inherit it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and not node.bases:
            names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            names |= {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
            names |= {n.name for n in ast.walk(node) if isinstance(n, ast.FunctionDef)}
            section = "Attributes"
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = {n.arg for n in ast.walk(node.args) if isinstance(n, ast.arg)}
            names |= {name.removeprefix("_") for name in names}
            section = "Args"
        else:
            continue
        docstring = ast.get_docstring(node) or ""
        yield from (f"{node.name}: {n}" for n in list_names(docstring, section) if n not in names)


def test_what_docstrings_explain_is_there():
    places = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in sources()}
    wrong = {file: list(unknown(source)) for file, source in places.items()}
    assert {file: names for file, names in wrong.items() if names} == {}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        (
            'class A:\n    """A.\n\n    Attributes:\n        of: all.\n    """\n    all: int',
            ["A: of"],
        ),
        ('class A:\n    """A.\n\n    Attributes:\n        of: all.\n    """\n    of: int', []),
        ('def f(x):\n    """F.\n\n    Args:\n        x, y: numbers.\n    """', ["f: y"]),
        ('def f(_x):\n    """F.\n\n    Args:\n        x: a number.\n    """', []),
    ],
)
def test_former_names_are_found(source, names):
    assert list(unknown(source)) == names
