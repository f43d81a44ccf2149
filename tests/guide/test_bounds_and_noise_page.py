"""The page on bounds and noise: what it says in words stands in its tables."""

import re

import pytest

from tests.benchmarks.bounds_and_noise import NOISY, TABLES, methods_of
from tests.fork_server import ROOT
from tests.guide.page import PAGES

PAGE = (PAGES / "comparison" / "bounds-and-noise.md").read_text(encoding="utf-8")
PICTURE = (PAGES / "pictures" / "bounds-and-noise.svg").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("|")]
FIGURE = r"±[0-9.]+ %"


def figures_of(text):
    return set(re.findall(FIGURE, text))


def test_figures_in_sentences_stand_in_a_table():
    in_tables = figures_of("\n".join(ROWS))
    sentences = PAGE[PAGE.index("## What the figures say") :]
    assert len(figures_of(sentences)) >= 8
    assert figures_of(sentences) - in_tables - {"±100 %"} == set()


def test_the_picture_shows_two_columns_of_the_first_table():
    start = PAGE.index("**AVG of hours a week**")
    table = PAGE[start : PAGE.index("**COUNT", start)]
    rows = [line.split(" | ") for line in table.splitlines() if "%" in line]
    columns = {cell.strip(" |") for row in rows for cell in (row[2], row[4])}
    description = re.search(r"<desc[^>]*>(.*)</desc>", PICTURE)[1]
    assert len(figures_of(description)) >= 20
    assert figures_of(description) - figures_of(" ".join(columns)) == set()


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.sensitive)
def test_every_way_has_a_line_in_every_table(table):
    ways = [
        f"{method.words}: {answers}"
        for method in methods_of(table)
        for answers in ("bounds", "estimates")
    ]
    lines = [row.split(" | ")[0].strip("| ") for row in ROWS]
    assert [way for way in (*ways, *NOISY.values()) if lines.count(way) < 4] == []


def test_the_page_names_the_version_that_the_command_installs():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    version = re.search(r"^opendp := (.+)$", makefile, re.MULTILINE)[1]
    assert f"OpenDP {version}" in PAGE
    assert "\nbench-noise: " in makefile
    assert "make bench-noise" in PAGE
