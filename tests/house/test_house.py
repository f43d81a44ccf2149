"""Laws of the whole house: small rooms, no circles, one name for one thing."""

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
    entries,
    files_by_room,
    sources,
)

FEWEST_MODULES, MOST_MODULES, MOST_FOLDERS = 3, 25, 3
FEWEST_LINES, MOST_LINES = 80, 500
SMALL_ROOMS = {
    "expectations",  # the gallery alone, under the name that other projects import
    "flows/cli/review",  # the command that only reviewers have
}
CONTRACTS = {"registry.py", "parameters.py", "declared.py", "way.py", "form.py", "engine.py"}
ENTRIES = (
    r"tasks/\w+\.py|flows/cli/(analyst|choice|life|review|steward)/\w+\.py|flows/rules/\w+\.py"
    r"|tasks/attacks/(group/)?\w+\.py|tasks/query/aggregates/\w+\.py"
)
SHORT = {
    "expectations/shared/errors.py": "every module imports it",
    "expectations/groups/connected.py": "imports nothing but NumPy",
    "expectations/gallery.py": "the name that other projects import",
    "expectations/shared/numbers.py": "what reads JSON imports it, without Arrow",
    "flows/api/opening.py": "imports nothing before a release is opened",
    "flows/cli/grouped.py": "every start imports it",
    "flows/choice/labels.py": "imports no draft of a spec",
    "flows/workbench/steps.py": "the steps in order",
    "expectations/machine/prefect_in_use.py": "every release imports it",
    "flows/experiments.py": "a flow",
    "flows/publish.py": "a flow",
    "flows/release.py": "a flow",
    "flows/inputs/server_in_use.py": "imported before it is known whether Prefect is",
    "flows/runs/prefect_flow.py": "imports Prefect",
    "flows/runs/without_prefect.py": "imports no Prefect",
    "flows/life/copies.py": "most lines have no copies, and import no more than this",
    "flows/life/delivery.py": "imports what delivers",
    "flows/life/description.py": "a command of lines",
    "flows/life/hand_over.py": "a command of lines",
    "flows/inputs/hidden.py": "what Prefect must not store",
    "flows/operation/log_lines.py": "every start imports it",
    "tasks/arrays/compiled.py": "the one door to numba",
    "tasks/query/engines/columns.py": "asks SQL alone",
    "tasks/arrays/ranks.py": "imported without compiled loops",
    "tasks/candidates/calibrate.py": "imported where intervals are asked for",
    "tasks/experiments/diversity/setting.py": "what the experiments of a paper share",
    "tasks/forms/lineage.py": "read without the forms",
    "tasks/microdata/databases/faults.py": "imported without a driver",
    "tasks/microdata/readers/reader.py": "the contract of readers",
    "tasks/query/intervals/calibration/quantiles_of_block.py": "imported where quantiles are asked",
    "tasks/query/question/rest.py": "the Python face has it, and imports nothing for it",
    "tasks/sql/dialects/address.py": "read without a driver",
    "tasks/sql/parted.py": "imports no DuckDB",
    "tasks/sql/reserved.py": "a list of words, known without sqlglot",
    "tasks/verification/elsewhere/place.py": "the contract of places",
}
"""Shorter modules that stand by themselves, and why."""
PREPOSITION = r"apart|as|at|by|from|in|into|of|out|over|to|with"
IRREGULAR = r"bound|broken|chosen|drawn|found|given|gone|held|hidden|kept|known|left|lost|made|seen"
PARTICIPLE = rf"[a-z]+ed|[a-z]+ing|{IRREGULAR}|shown|taken|told|written"
STATE = re.compile(rf"(?:(?:{PREPOSITION})_)*(?:{PARTICIPLE})(?:_(?:{PARTICIPLE}|{PREPOSITION}))*")
# Nouns, and states that a `with` block is in.
REVIEWED = {"covering", "singling_out", "listening"}
OLD = set(Path(__file__).with_name("old_paths.txt").read_text(encoding="utf-8").split())
ELSEWHERE = ("tests", "deployments", ".ci")


def test_rooms_are_topics():
    """A room has 3 to 25 modules and is at most three folders deep; `SMALL_ROOMS` are reviewed."""
    rooms = files_by_room()
    assert {room: files for room, files in rooms.items() if files > MOST_MODULES} == {}
    assert {room for room, files in rooms.items() if files < FEWEST_MODULES} == SMALL_ROOMS
    assert max(room.count("/") for room in rooms) <= MOST_FOLDERS


def test_modules_are_topics():
    """A module has 80 to 500 lines, or is an entry of a registry, a task, a command, a contract."""
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in sources()}
    inside = {path.relative_to(ROOT).as_posix(): number for path, number in lines.items()}
    assert {path: number for path, number in inside.items() if number > MOST_LINES} == {}
    registered = {entry.module.removeprefix("sfumato.").replace(".", "/") for entry in entries()}
    short = {
        path
        for path, number in inside.items()
        if number < FEWEST_LINES
        and path.removesuffix(".py") not in registered
        and Path(path).name not in CONTRACTS
        and not re.fullmatch(ENTRIES, path)
    }
    assert short == SHORT.keys()


def test_no_modules_import_one_another_in_a_circle():
    assert circles(arrows(with_types=True)) == []


def test_no_rooms_import_one_another_in_a_circle():
    assert circles_of_rooms() == []
    assert arrows_back() == []


@pytest.mark.parametrize("kind", ["ab", "abc", "none"])
def test_circles_are_found(kind):
    lines = {"ab": {"a": "b", "b": "ac", "c": ""}, "abc": {"a": "b", "b": "c", "c": "ab"}}
    arrows_of_nodes = {
        node: frozenset(others) for node, others in lines.get(kind, {"a": "b"}).items()
    }
    assert circles(arrows_of_nodes) == [list(members) for members in [kind] if kind != "none"]


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
    texts_by_path = {}
    for path in (*folders, *ROOT.iterdir()):
        inside = path.relative_to(ROOT)
        if path.is_file() and "__pycache__" not in inside.parts:
            try:
                texts_by_path[str(inside)] = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue
    return {name: text for name, text in texts_by_path.items() if name not in NOT_READ}


NOT_READ = {"CHANGELOG.md", "tests/house/old_paths.txt", "tests/house/test_house.py"}


def test_no_path_of_a_module_that_moved_is_left():
    gone = {path.removesuffix(".py") for path in OLD if not (ROOT / path).exists()}
    gone = {path for path in gone if not (ROOT / path).is_dir()}  # a folder has the name now
    assert len(gone) > 100
    named = re.compile(r"\b(?:flows|tasks|expectations)(?:[./]\w+)+")
    leftovers = [
        f"{name}: {path_found}"
        for name, text in texts().items()
        for path_found in named.findall(text)
        if prefixes(path_found) & gone
    ]
    assert leftovers == []


def prefixes(path_text: str) -> set[str]:
    """A module path or file path, and what it stands in, as paths without suffix."""
    parts = re.split(r"[./]", path_text)
    return {"/".join(parts[:length]) for length in range(2, len(parts) + 1)}


def test_sql_is_never_excused_from_being_a_tree():
    excuses = [name for name, text in texts().items() if re.search(r"noqa:.*\bS608\b", text)]
    assert excuses == []
    assert "S608" not in texts()["pyproject.toml"]
