"""What holds for the whole house: small rooms, no circles, one name for one thing."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from tests.house.survey import (
    PACKAGES,
    ROOT,
    arrows,
    arrows_back,
    circles,
    circles_of_rooms,
    definitions,
    files_by_room,
)

MOST_MODULES = 25
PREPOSITION = r"apart|as|at|by|from|in|into|of|out|over|to|with"
IRREGULAR = r"bound|broken|chosen|drawn|found|given|gone|held|hidden|kept|known|left|lost|made|seen"
PARTICIPLE = rf"[a-z]+ed|[a-z]+ing|{IRREGULAR}|shown|taken|told|written"
STATE = re.compile(rf"(?:(?:{PREPOSITION})_)*(?:{PARTICIPLE})(?:_(?:{PARTICIPLE}|{PREPOSITION}))*")
# Nouns, and states that a `with` block is in.
REVIEWED = {"covering", "singling_out", "listening", "locked", "sanitised"}
OLD = set(Path(__file__).with_name("old_paths.txt").read_text(encoding="utf-8").split())
ELSEWHERE = ("tests", "deployments", ".ci")


def test_rooms_have_few_modules():
    assert {room: files for room, files in files_by_room().items() if files > MOST_MODULES} == {}


def test_no_modules_import_one_another_in_a_circle():
    assert circles(arrows(with_types=True)) == []


def test_no_rooms_import_one_another_in_a_circle():
    assert circles_of_rooms() == []
    assert arrows_back() == []


@pytest.mark.parametrize("kind", ["ab", "abc", "none"])
def test_circles_are_found(kind):
    lines = {"ab": {"a": "b", "b": "ac", "c": ""}, "abc": {"a": "b", "b": "c", "c": "ab"}}
    found = {node: frozenset(others) for node, others in lines.get(kind, {"a": "b"}).items()}
    assert circles(found) == [list(members) for members in [kind] if kind != "none"]


def test_a_class_has_its_name_for_itself():
    places = defaultdict(list)
    for path, name in definitions(ast.ClassDef):
        places[name].append(str(path))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_public_functions_are_verbs_or_nouns():
    functions = definitions(ast.FunctionDef, ast.AsyncFunctionDef)
    public = [(path, name) for path, name in functions if not name.startswith("_")]
    assert [f"{p}: {n}" for p, n in public if STATE.fullmatch(n) and n not in REVIEWED] == []


@cache
def texts() -> dict[str, str]:
    """Every text file of the repository but the history and the list of old paths."""
    folders = [path for name in (*PACKAGES, *ELSEWHERE) for path in (ROOT / name).rglob("*")]
    found = {}
    for path in (*folders, *ROOT.iterdir()):
        inside = path.relative_to(ROOT)
        if path.is_file() and "__pycache__" not in inside.parts:
            try:
                found[str(inside)] = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue
    return {name: text for name, text in found.items() if name not in NOT_READ}


NOT_READ = {"CHANGELOG.md", "tests/house/old_paths.txt", "tests/house/test_house.py"}


def test_no_path_of_a_module_that_moved_is_left():
    gone = {path.removesuffix(".py") for path in OLD if not (ROOT / path).exists()}
    gone = {path for path in gone if not (ROOT / path).is_dir()}  # a folder has the name now
    assert len(gone) > 100
    named = re.compile(r"\b(?:flows|tasks|expectations)(?:[./]\w+)+")
    left = [
        f"{name}: {found}"
        for name, text in texts().items()
        for found in named.findall(text)
        if prefixes(found) & gone
    ]
    assert left == []


def prefixes(found: str) -> set[str]:
    """A module path or file path, and what it stands in, as paths without suffix."""
    parts = re.split(r"[./]", found)
    return {"/".join(parts[:length]) for length in range(2, len(parts) + 1)}


def test_sql_is_never_excused_from_being_a_tree():
    excuses = [name for name, text in texts().items() if re.search(r"noqa:.*\bS608\b", text)]
    assert excuses == []
    assert "S608" not in texts()["pyproject.toml"]
