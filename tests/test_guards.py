"""The list of what guards what names tests and guards that are there."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.fork_server import ROOT

AGAIN = "〃"  # the test of the row above
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Row(NamedTuple):
    """A class of faults, the tests that notice, and the file and name of their guard."""

    fault: str
    tests: list[str]
    file: str
    guard: str


def rows() -> Iterator[Row]:
    """Every row of the table, each with its own test."""
    test = ""
    for line in (ROOT / "tests/GUARDS.md").read_text(encoding="utf-8").splitlines():
        if not line.startswith("| ") or line.startswith("| class |"):
            continue  # words, and the head of the table
        fault, noticed_by, broken = (cell.strip() for cell in line.strip("| ").split(" | "))
        test = test if noticed_by == AGAIN else noticed_by
        file, guard = broken.split(", ")
        tests = [name.strip("`") for name in test.split(" and ")]
        yield Row(fault, tests, file.strip("`"), guard.strip("`"))


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def names_in(path: Path) -> Iterator[str]:
    """Every function, class and constant of a file, and methods as `Class.method`, too."""
    for node in ast.walk(parse(path)):
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield node.name
        if isinstance(node, ast.ClassDef):
            yield from (
                f"{node.name}.{member.name}"
                for member in node.body
                if isinstance(member, FUNCTIONS)
            )
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def is_there(path: Path, test: list[str]) -> bool:
    """Tell if a file has a test, or a class of tests that has it or inherits it."""
    defined = {node.name: node for node in parse(path).body if hasattr(node, "name")}
    first, *rest = test
    definition = defined.get(first)
    if not rest:
        return isinstance(definition, FUNCTIONS)
    return isinstance(definition, ast.ClassDef) and _has(path, definition, rest[0])


def _has(path: Path, definition: ast.ClassDef, test: str) -> bool:
    own = {node.name for node in definition.body if isinstance(node, FUNCTIONS)}
    return test in own or any(
        is_there(where, [base, test]) for base, where in _bases(path, definition).items()
    )


def _bases(path: Path, definition: ast.ClassDef) -> dict[str, Path]:
    """The classes that a class of tests inherits from, and the files where they stand."""
    names = {base.id for base in definition.bases if isinstance(base, ast.Name)}
    from_elsewhere = {
        alias.name: ROOT / f"{node.module.replace('.', '/')}.py"
        for node in parse(path).body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    return {name: from_elsewhere.get(name, path) for name in names}


LISTED = list(rows())


def test_there_are_rows():
    assert len(LISTED) > 150


@pytest.mark.parametrize("row", LISTED, ids=[row.fault for row in LISTED])
def test_a_row_names_tests_and_a_guard(row):
    for named in row.tests:
        file, *test = named.split("::")
        assert is_there(ROOT / "tests" / file, test), named
    assert row.guard in names_in(ROOT / row.file), row.guard


def test_what_is_not_there_is_noticed():
    laws = ROOT / "tests/destinations/test_laws.py"
    inherited = "test_another_line_of_that_name_is_refused_and_nothing_overwritten"
    assert is_there(laws, ["TestStore", inherited])
    assert not is_there(laws, ["TestStore", "test_nothing_of_the_kind"])
    assert not is_there(laws, [inherited])
