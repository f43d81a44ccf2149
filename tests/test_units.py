"""Units of tests that workers are given, and the parts of the suite."""

import re

import pytest

from tests.fork_server import ROOT
from tests.units import EVERYDAY, LATER, LONG, PARTS, READER, part_of, parts_of


def test_every_file_that_is_named_is_there():
    assert [file for file in LONG if not (ROOT / file).is_file()] == []
    assert [
        place for place in (*EVERYDAY, *LATER, *READER) if not list(ROOT.glob(f"{place}*"))
    ] == []


@pytest.mark.parametrize(
    ("nodeid", "markers", "expected"),
    [
        ("tests/laws/test_lattice.py::test_one", (), "everyday"),
        ("tests/laws/test_lattice.py::test_one", ("postgres",), "rest"),
        ("tests/house/test_imports.py::test_one", (), "rest"),
        ("tests/query/test_ask.py::test_one", ("postgres",), "reader"),
    ],
)
def test_a_test_belongs_to_one_part(nodeid, markers, expected):
    assert part_of(nodeid, markers) == expected


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("tests/laws/test_lattice.py", "", {"everyday"}),
        ("tests/sql/test_source_query.py", "@pytest.mark.postgres", {"everyday", "rest"}),
        ("tests/query/test_load.py", "@pytest.mark.postgres", {"reader"}),
        ("tests/browser/test_page.py", "pytest.mark.browser", {"rest"}),
    ],
)
def test_a_file_is_read_for_the_parts_that_its_tests_can_be_of(file, text, expected):
    assert parts_of(file, text) == expected


def test_continuous_integration_runs_all_parts():
    targets = re.findall(r"^make (\w+)$", (ROOT / ".ci/run").read_text(encoding="utf-8"), re.M)
    recipes = (ROOT / "Makefile").read_text(encoding="utf-8")
    parts = [
        re.search(rf"^{name}: \$.*\n(?:\t.*\n)*?.*--part (\w+)$", recipes, re.M) for name in targets
    ]
    assert [match and match[1] for match in parts] == list(PARTS)
